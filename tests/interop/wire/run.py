"""Has the conversation with a peer's program, in either role."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from tests.peers import ROOT

from . import client_v1, client_v2

__all__ = ["talk_to_agent", "talk_to_client"]

BOUND_SECONDS = 300.0


def talk_to_agent(
    command: Sequence[str], version: int, *, withdraws: bool = True
) -> dict[str, Any]:
    """Return what our client sees of their agent."""
    converse = {1: client_v1.converse, 2: client_v2.converse}[version]

    async def bounded() -> dict[str, Any]:
        async with asyncio.timeout(BOUND_SECONDS):
            return await converse(command, withdraws=withdraws)

    return asyncio.run(bounded())


def talk_to_client(
    command: Sequence[str], version: int, agent: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what their client, which is given our agent's command, or another, sees of it."""
    agent = agent or (sys.executable, "-m", f"tests.interop.wire.agent_v{version}")
    done = subprocess.run(
        [*command, *agent],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report
