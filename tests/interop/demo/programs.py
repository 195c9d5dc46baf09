"""The programs on the official SDKs that try the demo agent, or are one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.peers import (
    NEXT_PYTHON_SDK,
    PYTHON_SDK,
    PYTHON_SDKS,
    TYPESCRIPT,
    TYPESCRIPT_SDK,
    Peer,
    find_node,
)

__all__ = ["BOUND_SECONDS", "OUR_AGENT", "PEERS", "every_sdk", "find_program", "run_client"]

PEERS = Path(__file__).parents[1] / "peers"
OUR_AGENT = (sys.executable, "-m", "parley", "demo")
BOUND_SECONDS = 300.0

every_sdk = pytest.mark.parametrize(
    ("sdk", "version"),
    [
        (PYTHON_SDK, 1),
        (NEXT_PYTHON_SDK, 1),
        (NEXT_PYTHON_SDK, 2),
        (TYPESCRIPT_SDK, 1),
        (TYPESCRIPT_SDK, 2),
    ],
    ids=["python-0.12.1-v1", "python-1.0.0rc3-v1", "python-1.0.0rc3-v2", "ts-v1", "ts-v2"],
)
"""The official SDKs in the versions of the protocol that they speak."""


def find_program(
    role: Literal["agent", "client"], sdk: str, version: int, find_peer: Callable[[Peer], Path]
) -> list[str]:
    """Return the command that starts a program."""
    if sdk == TYPESCRIPT_SDK:
        find_peer(TYPESCRIPT)
        return [find_node(), str(PEERS / f"typescript_demo_{role}.mjs"), str(version)]
    name = f"python_demo_{role}.py" if version == 1 else f"python_demo_{role}_v2.py"
    return [str(find_peer(PYTHON_SDKS[sdk])), str(PEERS / name)]


def run_client(command: Sequence[str], cwd: Path) -> dict[str, Any]:
    """Have a client of theirs try our agent; returns what it saw."""
    done = subprocess.run(
        [*command, str(cwd), *OUR_AGENT],
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report
