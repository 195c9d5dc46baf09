"""The agent under test, on the official Python SDK (0.12.1 and 1.0.0rc3 alike).

The prompt `updates N` sends N updates; any other prompt is just received. What it cost goes to
the report file: seconds of CPU and of wall clock since the mark, and the peak of memory.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
)
from acp.schema import AgentMessageChunk, SetSessionModeResponse, TextContentBlock

LIMIT_BYTES = 128 << 20
FILLER = "the quick brown fox jumps over the lazy dog, again."


def texts(count: int) -> list[str]:
    """Make what is said beforehand, which is none of the SDK's work."""
    return [f"{number:08d} {FILLER}" for number in range(count)]


class BenchAgent:
    def __init__(self, report: Path) -> None:
        self.report = report
        self.begin()

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **rest: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, cwd: str, **rest: Any) -> NewSessionResponse:
        self.begin()
        return NewSessionResponse(session_id="bench")

    async def set_session_mode(self, **rest: Any) -> SetSessionModeResponse:
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **rest: Any) -> PromptResponse:
        text = prompt[0].text
        if text.startswith("updates "):
            said = texts(int(text.split()[1]))
            self.begin()
            await self.send_updates(session_id, said)
        self.write_report()
        return PromptResponse(stop_reason="end_turn")

    async def send_updates(self, session_id: str, said: list[str]) -> None:
        for text in said:
            content = TextContentBlock(type="text", text=text)
            update = AgentMessageChunk(session_update="agent_message_chunk", content=content)
            await self.conn.session_update(session_id, update)

    def begin(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def write_report(self) -> None:
        cpu, wall = time.process_time() - self.cpu, time.perf_counter() - self.wall
        status = Path("/proc/self/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
        self.report.write_text(json.dumps({"cpu": cpu, "wall": wall, "peak": peak}))


def loop_factory(uvloop_wanted: bool) -> Callable[[], asyncio.AbstractEventLoop]:
    if not uvloop_wanted:
        return asyncio.new_event_loop
    import uvloop

    return uvloop.new_event_loop


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--report", type=Path, default=Path("/dev/null"))
    options = parser.parse_args()
    agent = BenchAgent(options.report)
    with asyncio.Runner(loop_factory=loop_factory(options.uvloop)) as runner:
        runner.run(run_agent(agent, stdio_buffer_limit_bytes=LIMIT_BYTES))


if __name__ == "__main__":
    main()
