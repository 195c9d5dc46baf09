"""Turns with tools against agents that others wrote, by a program of ours and by `parley run`.

Versions 1 and 2 as the agent speaks them. The agents are steered by the scripted model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers import CODEX, FAST_AGENT, OPENCODE, Peer

from .launch import codex, fast_agent, opencode
from .model import ANSWER, TEXT, serve_model
from .turn import run_turn, take_turn

Find = Callable[[Peer], Path]
RUN = "Please RUN echo hi > ran.txt;"

both = pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


def test_opencode_writes_a_file_through_us(find_peer: Find, tmp_path: Path, work: Path) -> None:
    program = find_peer(OPENCODE)
    with serve_model() as model:
        launch = opencode(program, tmp_path / "home", model.url)
        turn = take_turn(launch, work, f"Please WRITE {work}/hello.txt", versions=(1,))
    assert (turn.version, turn.end) == (1, "end_turn")
    assert turn.asked == ["permission", "write hello.txt"]
    assert turn.tools == ["completed"]
    assert turn.text.strip() == ANSWER
    assert (work / "hello.txt").read_text() == TEXT


def test_opencode_is_offered_version_2_and_speaks_version_1(
    find_peer: Find, tmp_path: Path, work: Path
) -> None:
    program = find_peer(OPENCODE)
    with serve_model() as model:
        turn = take_turn(opencode(program, tmp_path / "home", model.url), work, RUN)
    assert (turn.version, turn.end) == (1, "end_turn")
    assert turn.asked == ["permission"]
    assert (work / "ran.txt").read_text() == "hi\n"


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


def test_parley_run_has_opencode_write_a_file(find_peer: Find, tmp_path: Path, work: Path) -> None:
    program = find_peer(OPENCODE)
    with serve_model() as model:
        launch = opencode(program, tmp_path / "home", model.url)
        wish = f"Please WRITE {work}/hello.txt"
        run = run_turn(launch, work, wish, "--allow", "edit:*.txt")
    assert run.code == 0, run.err
    assert run.out.strip() == ANSWER
    assert "Allow once (by a rule)" in run.err
    assert "✓ edit: " in run.err
    assert (work / "hello.txt").read_text() == TEXT


def test_parley_run_keeps_opencode_from_what_nobody_allows(
    find_peer: Find, tmp_path: Path, work: Path
) -> None:
    program = find_peer(OPENCODE)
    with serve_model() as model:
        run = run_turn(opencode(program, tmp_path / "home", model.url), work, RUN)
    assert "nobody can be asked here" in run.err
    assert not (work / "ran.txt").exists()


@both
def test_parley_run_has_codex_run_a_command(
    find_peer: Find, tmp_path: Path, work: Path, version: int
) -> None:
    program = find_peer(CODEX)
    with serve_model() as model:
        launch = codex(program, tmp_path / "home", model.url)
        options = ("--allow", "execute:echo hi > ran.txt", "--protocol", str(version), "--json")
        run = run_turn(launch, work, RUN, *options)
    assert run.code == 0, run.err
    decisions = [each for each in run.events if each["event"] == "permission"]
    assert [(each["optionId"], each["by"]) for each in decisions] == [("allow_once", "rule")]
    updates = [each["update"] for each in run.events if each["event"] == "update"]
    calls = [each for each in updates if each["sessionUpdate"] == "tool_call_update"]
    assert (calls[0]["title"], calls[-1]["status"]) == ("echo hi > ran.txt", "completed")
    assert run.events[-1]["stopReason"] == "end_turn"
    assert run.events[-1]["text"].endswith(ANSWER)
    assert (work / "ran.txt").read_text() == "hi\n"


def test_parley_run_has_fast_agent_write_a_file(
    find_peer: Find, tmp_path: Path, work: Path
) -> None:
    launch = fast_agent(find_peer(FAST_AGENT), tmp_path / "home")
    call = '***CALL_TOOL write_text_file {"path":"hello.txt","content":"hi"}'
    run = run_turn(launch, work, call)
    assert run.code == 0, run.err
    assert run.out.strip() == "Successfully wrote file: hello.txt"
    assert "✓ edit: environment/write_text_file" in run.err
    assert (work / "hello.txt").read_text() == "hi"
