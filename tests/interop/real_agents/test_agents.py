"""Turns with tools against agents that others wrote, by a program of ours.

Versions 1 and 2 as the agent speaks them. The agents are steered by the scripted model.
`parley run` is in `test_headless.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers import CODEX, FAST_AGENT, OPENCODE, Peer

from .launch import codex, fast_agent, opencode
from .model import ANSWER, TEXT, serve_model
from .turn import take_turn

Find = Callable[[Peer], Path]
RUN = "Please RUN echo hi > ran.txt;"

both = pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


def test_opencode_is_offered_version_2_and_speaks_version_1(
    find_peer: Find, tmp_path: Path, work: Path
) -> None:
    program = find_peer(OPENCODE)
    with serve_model() as model:
        launch = opencode(program, tmp_path / "home", model.url)
        turn = take_turn(launch, work, f"{RUN} and WRITE {work}/hello.txt")
    assert (turn.version, turn.end) == (1, "end_turn")
    assert turn.asked == ["permission", "permission", "write hello.txt"]
    assert turn.tools == ["completed", "completed"]
    assert turn.text.strip() == ANSWER
    assert (work / "ran.txt").read_text() == "hi\n"
    assert (work / "hello.txt").read_text() == TEXT


@both
def test_codex_runs_a_command_that_we_permit(
    find_peer: Find, tmp_path: Path, work: Path, version: int
) -> None:
    program = find_peer(CODEX)
    with serve_model() as model:
        launch = codex(program, tmp_path / "home", model.url)
        turn = take_turn(launch, work, RUN, versions=tuple(range(1, version + 1)))
    assert (turn.version, turn.end) == (version, "end_turn")
    assert turn.asked == ["permission"]
    assert turn.tools == ["completed"]
    assert turn.text.endswith(ANSWER)
    assert (work / "ran.txt").read_text() == "hi\n"


def test_fast_agent_runs_a_command_in_our_terminal(
    find_peer: Find, tmp_path: Path, work: Path
) -> None:
    launch = fast_agent(find_peer(FAST_AGENT), tmp_path / "home")
    turn = take_turn(launch, work, '***CALL_TOOL execute {"command":"echo hi"}')
    assert (turn.version, turn.end) == (1, "end_turn")
    assert turn.asked == ["permission", "run", "release"]
    assert turn.tools == ["pending", "completed"]  # what it asks about is never heard of again
    assert turn.text.startswith("hi")
