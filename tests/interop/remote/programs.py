"""Programs on the official SDKs that are remote agents, or clients of ours."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.peers import (
    NEXT_PYTHON_SDK,
    PYTHON_SDK,
    PYTHON_SDKS,
    TYPESCRIPT,
    WEBSOCKETS,
    Peer,
    find_node,
)

__all__ = ["Program", "everybody", "listening", "reported"]

PEERS = Path(__file__).parents[1] / "peers"
BOUND_SECONDS = 300.0


@dataclass(frozen=True)
class Program:
    """A peer, and the version of the protocol that it speaks."""

    name: str
    version: int

    def command(self, find_peer: Callable[[Peer], Path], role: str) -> list[str]:
        """Return how to start it as `server` or as `remote_client`."""
        if self.name == "typescript":
            for peer in (TYPESCRIPT, WEBSOCKETS):
                find_peer(peer)
            return [find_node(), str(PEERS / f"typescript_{role}.mjs"), str(self.version)]
        python = find_peer(PYTHON_SDKS[self.name])
        return [str(python), str(PEERS / f"python_{role}.py"), str(self.version)]


PROGRAMS = [
    Program("typescript", 1),
    Program("typescript", 2),
    Program(PYTHON_SDK, 1),
    Program(NEXT_PYTHON_SDK, 1),
    Program(NEXT_PYTHON_SDK, 2),
]
everybody = pytest.mark.parametrize(
    ("program", "scheme"),
    [(program, scheme) for program in PROGRAMS for scheme in ("http", "ws")],
    ids=lambda value: value if isinstance(value, str) else f"{value.name}-v{value.version}",
)


@asynccontextmanager
async def listening(command: list[str]) -> AsyncGenerator[int]:
    """Run a server of theirs; gives out its port."""
    program = await asyncio.create_subprocess_exec(
        *command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stdin is not None
    try:
        yield int(await program.stdout.readline())
    finally:
        program.stdin.close()
        await program.wait()


async def reported(command: list[str], url: str) -> dict[str, Any]:
    """Run a client of theirs to its end and return what it saw."""
    program = await asyncio.create_subprocess_exec(*command, url, stdout=subprocess.PIPE)
    try:
        async with asyncio.timeout(BOUND_SECONDS):
            out, _ = await program.communicate()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    assert program.returncode == 0
    report: dict[str, Any] = json.loads(out)
    return report
