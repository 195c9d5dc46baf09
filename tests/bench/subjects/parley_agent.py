"""The agent under test, on Parley: a `Peer` with version 1's types on stdio.

The prompt `updates N` sends N updates; any other prompt is just received. What it cost goes to
the report file: seconds of CPU and of wall clock since the mark, and the peak of memory.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

from parley.peer import Peer, RequestContext, RequestHandler
from parley.peer._initialize import Negotiated, respond_to_initialize
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport._stdio import StdioTransport

FILLER = "the quick brown fox jumps over the lazy dog, again."


def texts(count: int) -> list[str]:
    """Make what is said beforehand, which is none of the SDK's work."""
    return [f"{number:08d} {FILLER}" for number in range(count)]


class BenchAgent:
    def __init__(self, peer: Peer, report: Path) -> None:
        self.peer = peer
        self.report = report
        self.begin()
        respond_to_initialize(peer, self.initialize, self.agreed, versions=(1,))

    async def initialize(self, version: int, params: v1.InitializeRequest) -> v1.InitializeResponse:
        return v1.InitializeResponse(protocol_version=version)

    def agreed(self, agreement: Negotiated) -> None:
        handlers: dict[str, RequestHandler] = {
            "session/new": self.new_session,
            "session/set_mode": self.set_session_mode,
            "session/prompt": self.prompt,
        }
        self.peer.set_handlers(agreement.table, requests=handlers)

    async def new_session(
        self, params: v1.NewSessionRequest, request: RequestContext
    ) -> v1.NewSessionResponse:
        self.begin()
        return v1.NewSessionResponse(session_id="bench")

    async def set_session_mode(
        self, params: v1.SetSessionModeRequest, request: RequestContext
    ) -> v1.SetSessionModeResponse:
        return v1.SetSessionModeResponse()

    async def prompt(self, params: v1.PromptRequest, request: RequestContext) -> v1.PromptResponse:
        block = params.prompt[0]
        assert isinstance(block, v1.TextContent)
        if block.text.startswith("updates "):
            said = texts(int(block.text.split()[1]))
            self.begin()
            await self.send_updates(params.session_id, said)
        self.write_report()
        return v1.PromptResponse(stop_reason="end_turn")

    async def send_updates(self, session_id: str, said: list[str]) -> None:
        for text in said:
            content = v1.TextContent(text=text)
            update = v1.AgentMessageChunk(content=content)
            notification = v1.SessionNotification(session_id=session_id, update=update)
            await self.peer.notify(methods.UPDATE_SESSION, notification)

    def begin(self) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def write_report(self) -> None:
        cpu, wall = time.process_time() - self.cpu, time.perf_counter() - self.wall
        status = Path("/proc/self/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024
        self.report.write_text(json.dumps({"cpu": cpu, "wall": wall, "peak": peak}))


async def run(report: Path) -> None:
    peer = Peer(StdioTransport(), "agent")
    BenchAgent(peer, report)
    async with peer:
        await peer.wait_closed()


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
    with asyncio.Runner(loop_factory=loop_factory(options.uvloop)) as runner:
        runner.run(run(options.report))


if __name__ == "__main__":
    main()
