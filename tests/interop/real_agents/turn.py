"""One turn with a real agent: by a program of ours that allows everything, or by `parley run`."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct
from tests.interop.host import Host

import parley
from parley.schema.version import SUPPORTED

from .launch import Launch

__all__ = ["Run", "Turn", "run_turn", "take_turn"]

BOUND_SECONDS = 90.0


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
                launch.command, cwd, env=launch.env, versions=versions, **host.offers()
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


class Run(Struct):
    """What `parley run` did."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[Any]:
        """What `--json` printed."""
        return [json.loads(line) for line in self.out.splitlines()]


def run_turn(launch: Launch, cwd: Path, prompt: str, *options: str) -> Run:
    """Have `parley run` start an agent and prompt it."""
    command = [sys.executable, "-m", "parley", "run", prompt, "-a", shlex.join(launch.command)]
    for name, value in launch.env.items():
        command += ["--env", f"{name}={value}"]
    done = subprocess.run(
        [*command, "--cwd", str(cwd), *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    return Run(done.returncode, done.stdout, done.stderr)
