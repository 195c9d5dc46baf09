"""The demo agent and its twins: programs on the official SDKs talk to ours, in both roles.

What clients do is in `demo/tour.py` and `demo/visit.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers import NEXT_PYTHON_SDK, PYTHON_SDK, TYPESCRIPT_SDK, Peer

from parley.testing.demo import HELP

from .demo.golden import NOTES
from .demo.programs import OUR_AGENT, every_sdk, find_program, run_client
from .demo.tour import expected, tidy, without_deletion, without_news
from .demo.visit import COMMANDS, sights, visit


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text(NOTES)
    return tmp_path


@every_sdk
def test_their_client_can_do_everything_with_our_demo_agent(
    sdk: str, version: int, cwd: Path, find_peer: Callable[[Peer], Path]
) -> None:
    seen = expected(version, cwd)
    if sdk == PYTHON_SDK:
        seen = without_deletion(seen)
    if (sdk, version) == (NEXT_PYTHON_SDK, 2):
        seen = without_news(seen)
    if (sdk, version) == (TYPESCRIPT_SDK, 1):
        seen["withdrawn"] = "cancelled"
    client = find_program("client", sdk, version, find_peer)
    assert tidy(run_client(client, cwd)) == seen
    if version == 1:
        assert (cwd / "notes.txt.out").read_text() == NOTES.upper()


@every_sdk
def test_our_client_can_do_everything_with_their_twin_of_it(
    sdk: str, version: int, cwd: Path, find_peer: Callable[[Peer], Path]
) -> None:
    seen = sights(version, cwd, " ".join(COMMANDS))
    if sdk == PYTHON_SDK:
        seen = without_deletion(seen)
    if (sdk, version) == (NEXT_PYTHON_SDK, 2):
        seen["commands"] = []  # in this SDK they have no type yet, and are left out
        seen["turns"]["boom"] |= {"states": [], "entries": []}  # it is refused before it begins
    agent = find_program("agent", sdk, version, find_peer)
    assert visit(agent, cwd) == seen
    if version == 1:
        assert (cwd / "notes.txt.out").read_text() == NOTES.upper()


@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
def test_our_client_sees_the_same_of_our_own_demo_agent(version: int, cwd: Path) -> None:
    assert visit(OUR_AGENT, cwd, versions=(version,)) == sights(version, cwd, HELP)
