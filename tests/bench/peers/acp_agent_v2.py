"""The agent under test, on the official Python SDK's experimental version 2 (1.0.0rc3).

The prompt `updates N` sends N updates; any other prompt writes to the report file the seconds of
CPU since the last prompt for updates.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

from acp.experimental.v2 import run_agent, schema

FILLER = "the quick brown fox jumps over the lazy dog, again."


def texts(count: int) -> list[str]:
    """Make what is said beforehand, which is none of the SDK's work."""
    return [f"{number:08d} {FILLER}" for number in range(count)]


class BenchAgent:
    def __init__(self, report: Path) -> None:
        self.report = report
        self.cpu = time.process_time()
        self.turns: list[asyncio.Task[None]] = []

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **rest: Any) -> schema.InitializeResponse:
        me = schema.Implementation(name="bench", version="1")
        return schema.InitializeResponse(protocol_version=2, info=me)

    async def new_session(self, cwd: str, **rest: Any) -> schema.NewSessionResponse:
        return schema.NewSessionResponse(session_id="bench")

    async def prompt(
        self, session_id: str, prompt: list[Any], **rest: Any
    ) -> schema.PromptResponse:
        message_id = f"user-{len(self.turns)}"
        self.turns.append(asyncio.create_task(self.turn(session_id, message_id, prompt)))
        return schema.PromptResponse(message_id=message_id)

    async def turn(self, session_id: str, message_id: str, prompt: list[Any]) -> None:
        word, _, count = prompt[0].text.partition(" ")
        said = texts(int(count)) if word == "updates" else []
        if said:
            self.cpu = time.process_time()
        else:
            self.report.write_text(json.dumps({"cpu": time.process_time() - self.cpu}))
        user = schema.UserMessageUpdate(
            session_update="user_message", message_id=message_id, content=prompt
        )
        await self.conn.session_update(session_id, user)
        running = schema.RunningSessionStateUpdate(session_update="state_update", state="running")
        await self.conn.session_update(session_id, running)
        await self.send_updates(session_id, f"agent-{message_id}", said)
        idle = schema.IdleSessionStateUpdate(
            session_update="state_update", state="idle", stop_reason="end_turn"
        )
        await self.conn.session_update(session_id, idle)

    async def send_updates(self, session_id: str, message_id: str, said: list[str]) -> None:
        for text in said:
            content = schema.TextContentBlock(type="text", text=text)
            update = schema.AgentMessageChunk(
                session_update="agent_message_chunk", message_id=message_id, content=content
            )
            await self.conn.session_update(session_id, update)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", type=Path, default=Path("/dev/null"))
    asyncio.run(run_agent(BenchAgent(parser.parse_args().report)))


if __name__ == "__main__":
    main()
