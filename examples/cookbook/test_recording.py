"""Test a client against a recorded conversation: no model, no process, the same every time."""

import asyncio
from pathlib import Path

import parley
from parley.testing import Replay

RECORDING = Path(__file__).with_name("recording.jsonl")


async def titles(target: str | Replay, *prompts: str) -> list[str | None]:
    """Return what an agent did; this is the code to test."""
    async with parley.connect(target, cwd="/tmp") as agent:
        session = await agent.new_session()
        for prompt in prompts:
            await session.prompt(prompt)
        return [call.title for call in session.transcript.tool_calls.values()]


def test_every_tool_call_is_listed() -> None:
    replay = Replay.load(RECORDING)
    assert asyncio.run(titles(replay, "tool", "diff")) == ["Count to three", "Edit demo.txt"]
