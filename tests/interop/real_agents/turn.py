"""One turn with a real agent by a program of ours, which does and allows everything."""

from __future__ import annotations

import asyncio
from pathlib import Path

from msgspec import Struct
from tests.interop.host import Host

import parley
from parley.client import Process
from parley.schema.version import SUPPORTED

from .launch import Launch

__all__ = ["BOUND_SECONDS", "Turn", "take_turn"]

BOUND_SECONDS = 300.0


class Turn(Struct):
    """What happened."""

    version: int
    end: str
    text: str
    tools: list[str]
    """The last status of each tool call."""
    asked: list[str]
    """What the agent asked the client for, in order."""


def take_turn(
    launch: Launch, cwd: Path, prompt: str, *, versions: tuple[int, ...] = SUPPORTED
) -> Turn:
    """Start an agent, prompt it once and end it."""

    async def bounded() -> Turn:
        host = Host()
        async with (
            asyncio.timeout(BOUND_SECONDS),
            parley.connect(
                launch.command,
                cwd,
                process=Process(env=launch.env),
                versions=versions,
                **host.offers(),
            ) as connection,
        ):
            session = await connection.new_session()
            result = await session.prompt(prompt)
            return Turn(
                version=connection.version,
                end=result.stop_reason,
                text=result.text,
                tools=[str(each.status) for each in session.transcript.tool_calls.values()],
                asked=host.asked,
            )

    return asyncio.run(bounded())
