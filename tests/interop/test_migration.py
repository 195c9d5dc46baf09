"""The cookbook's recipes for moving from the official Python SDK: old and new do the same."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers import PYTHON_SDK, PYTHON_SDKS, ROOT, Peer

COOKBOOK = ROOT / "examples" / "cookbook"
AGENTS = {"sdk": "official_sdk/agent.py", "parley": "migrated_agent.py"}
CLIENTS = {"sdk": "official_sdk/client.py", "parley": "migrated_client.py"}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("agent", AGENTS)
def test_a_migrated_program_does_what_it_did(
    agent: str, client: str, find_peer: Callable[[Peer], Path]
) -> None:
    pythons = {"sdk": str(find_peer(PYTHON_SDKS[PYTHON_SDK])), "parley": sys.executable}
    target = shlex.join([pythons[agent], str(COOKBOOK / AGENTS[agent])])
    done = subprocess.run(
        [pythons[client], str(COOKBOOK / CLIENTS[client]), target],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "notes.txt is deleted.\nend_turn\n", done.stderr
