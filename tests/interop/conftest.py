"""A peer that is not there skips its tests, and the end of the output says so loudly.

In CI the official SDKs have to be there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers import TYPESCRIPT, Missing, Peer, find_node

MISSING = pytest.StashKey[dict[str, str]]()


@pytest.fixture(scope="session")
def find_peer(request: pytest.FixtureRequest) -> Callable[[Peer], Path]:
    """Return a function that says where a peer is."""
    missing = request.config.stash.setdefault(MISSING, {})

    def find(peer: Peer) -> Path:
        try:
            return peer.find()
        except Missing as error:
            reason = str(error)
        missing[peer.name] = reason
        if peer.is_official and os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)

    return find


@pytest.fixture
def node(find_peer: Callable[[Peer], Path]) -> str:
    """Return the node that runs what uses the TypeScript SDK."""
    find_peer(TYPESCRIPT)
    return find_node()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    missing = terminalreporter.config.stash.get(MISSING, None)
    if missing:
        terminalreporter.section("PEERS THAT WERE NOT TALKED TO", sep="!", red=True, bold=True)
        for reason in missing.values():
            terminalreporter.write_line(reason, red=True)
