"""Answers that are remembered: exactly what was answered, by several processes, for one user."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from parley.policy import Subject
from parley.policy._remembered import Answer, Remembered, Scope

EDIT = Subject(
    kind="edit",
    tool="write",
    paths=("/p/a",),
    agent="a",
    session="s",
    agent_id="a1",
    opening="o1",
)


def answer(
    subject: Subject = EDIT,
    *,
    scope: Scope = "project",
    project: str = "/p",
    decision: Literal["allow", "deny"] = "allow",
) -> Answer:
    return Answer(decision=decision, scope=scope, project=project, subject=subject, at=1.0)


def changed(**fields: object) -> Subject:
    return msgspec.structs.replace(EDIT, **fields)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "permissions.jsonl"


@pytest.mark.requirement("SAFE-USER-07")
def test_an_answer_survives_in_a_private_file(path: Path) -> None:
    assert Remembered(path).add(answer())
    found = Remembered(path).find(EDIT, "/p")
    assert found is not None
    assert found.decision == "allow"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


OTHER = {
    "another tool": changed(tool="edit"),
    "another kind": changed(kind="delete"),
    "another path": changed(paths=("/p/b",)),
    "one more path": changed(paths=("/p/a", "/p/b")),
    "no path": changed(paths=()),
    "a command": changed(commands=("ls",)),
    "something else too": changed(also=("execute",)),
    "elsewhere": changed(cwd="/"),
}


@pytest.mark.parametrize("other", OTHER.values(), ids=OTHER.keys())
@pytest.mark.requirement("SAFE-REACH-04")
def test_an_answer_is_never_broader_than_its_question(other: Subject) -> None:
    remembered = Remembered()
    remembered.add(answer())
    assert remembered.find(EDIT, "/p")
    assert remembered.find(other, "/p") is None


@pytest.mark.requirement("SAFE-REACH-09")
def test_an_answer_for_a_session_is_for_one_opening_by_one_agent(path: Path) -> None:
    remembered = Remembered(path)
    assert remembered.add(answer(scope="session"))
    assert remembered.find(EDIT, "/p")
    assert remembered.find(changed(opening="o2"), "/p") is None, "the same id, opened again"
    assert remembered.find(changed(agent_id="b1"), "/p") is None, "the same name and id"
    assert remembered.find(changed(opening=""), "/p") is None
    assert remembered.find(EDIT, "/q") is None
    assert Remembered(path).find(EDIT, "/p") is None, "it ends with the process"
    assert not path.exists()


@pytest.mark.requirement("SAFE-REACH-09")
@pytest.mark.parametrize("scope", ["session", "project"])
def test_an_answer_that_does_not_say_whose_it_is_grants_nothing(path: Path, scope: str) -> None:
    """As earlier versions wrote them: with the agent's name and the session's id alone."""
    subject = {"kind": "edit", "tool": "write", "paths": ["/p/a"], "agent": "a", "session": "s"}
    line = {"decision": "allow", "scope": scope, "project": "/p", "subject": subject, "at": 1.0}
    path.parent.mkdir()
    path.write_bytes(msgspec.json.encode(line) + b"\n")
    path.chmod(0o600)
    remembered = Remembered(path)
    assert [each.is_bound for each in remembered.answers("/p")] == [False]
    for each in (EDIT, changed(agent_id="", opening="")):
        assert remembered.find(each, "/p") is None
    assert remembered.forget("/p") == 1
    assert path.read_bytes() == b""


def test_of_two_answers_in_memory_and_in_the_file_the_newer_counts(path: Path) -> None:
    remembered = Remembered(path)
    for at, scope, decision in ((1.0, "session", "allow"), (2.0, "project", "deny")):
        given = answer(scope=scope, decision=decision)  # type: ignore[arg-type]  # of a test
        remembered.add(msgspec.structs.replace(given, at=at))
    found = remembered.find(EDIT, "/p")
    assert found is not None
    assert found.decision == "deny"


@pytest.mark.requirement("SAFE-REACH-09")
def test_an_answer_for_a_project_is_for_one_agent_in_that_project() -> None:
    remembered = Remembered()
    remembered.add(answer())
    assert remembered.find(changed(session="t", opening="o2", agent="b"), "/p")
    assert remembered.find(changed(agent_id="b1"), "/p") is None
    assert remembered.find(EDIT, "/p/below") is None


def test_commands_are_the_same_if_they_run_the_same() -> None:
    remembered = Remembered()

    def run(command: str) -> Subject:
        return Subject(kind="execute", commands=(command,), agent_id="a1")

    def found(command: str) -> bool:
        return remembered.find(run(command), "/p") is not None

    remembered.add(answer(run("echo 'a b'")))

    assert found('echo "a b"')
    assert found("bash -lc \"echo 'a b'\"")
    assert not found("echo a b")
    assert not found("echo 'a b' c")
    remembered.add(answer(run("rm '*'")))
    assert found("rm '*'")
    assert not found("rm *"), "a shell makes all files of it"
    remembered.add(answer(run("'A=b' make")))
    assert not found("A=b make"), "that is a variable"


def test_what_nothing_tells_from_other_calls_is_not_remembered(path: Path) -> None:
    assert not Remembered(path).add(answer(Subject(kind="other", agent_id="a1")))
    assert not path.exists()
    remembered = Remembered(path)
    assert not remembered.add(answer(changed(paths=("/p/\udcff",)))), "its name is no text"
    assert remembered.add(answer(Subject(kind="other", tool="todo", agent_id="a1")))
    assert remembered.find(Subject(kind="other", tool="todo", agent_id="a1"), "/p")
    assert remembered.find(Subject(kind="other", tool="todo", agent_id="b1"), "/p") is None
    assert remembered.find(Subject(kind="other", tool="more", agent_id="a1"), "/p") is None


def test_what_another_process_adds_is_seen_at_once(path: Path) -> None:
    one, other = Remembered(path), Remembered(path)
    assert one.find(EDIT, "/p") is None
    other.add(answer())
    assert one.find(EDIT, "/p")
    other.add(answer(decision="deny"))
    found = one.find(EDIT, "/p")
    assert found is not None
    assert found.decision == "deny"


WRITER = """
import sys
from pathlib import Path
from parley.policy import Subject
from parley.policy._remembered import Answer, Remembered
remembered = Remembered(Path(sys.argv[1]))
for number in range(50):
    path = f"/p/{sys.argv[2]}/{number}" + "x" * 9000
    subject = Subject(kind="edit", paths=(path,), agent_id="a1")
    remembered.add(
        Answer(decision="allow", scope="project", project="/p", subject=subject, at=1.0)
    )
"""


def test_processes_that_write_at_once_lose_nothing(path: Path) -> None:
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)])
        for number in range(3)
    ]
    assert [each.wait(timeout=300) for each in running] == [0, 0, 0]
    assert len(Remembered(path).answers()) == 150


def test_a_line_that_cannot_be_read_is_left_out(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    remembered = Remembered(path)
    remembered.add(answer())
    with path.open("ab") as file:
        file.write(b'\xff\n{"decision": "maybe"}\n{"decision":"allow","sco')
    remembered.add(answer(changed(paths=("/p/b",))))
    with caplog.at_level(logging.WARNING):
        assert remembered.find(EDIT, "/p")
        assert remembered.find(changed(paths=("/p/b",)), "/p")
    lines = [each.getMessage().partition("line ")[2] for each in caplog.records]
    assert lines == [f"{number} cannot be read and is left out" for number in (2, 3, 4)]


def test_what_is_forgotten_is_gone_from_the_file(path: Path) -> None:
    remembered = Remembered(path)
    for project in ("/p", "/q"):
        remembered.add(answer(project=project))
    assert remembered.forget("/p") == 1
    assert remembered.forget("/p") == 0
    assert b'"/p"' not in path.read_bytes()
    assert Remembered(path).find(EDIT, "/q")
    assert remembered.forget() == 1
    assert Remembered(path).answers() == []
    memory = Remembered()
    memory.add(answer())
    assert (memory.forget("/q"), memory.forget("/p"), memory.answers()) == (0, 1, [])


def planted(path: Path) -> None:
    """Write an answer as somebody else would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(answer()) + b"\n")
    path.chmod(0o600)


def test_a_file_that_is_not_the_users_own_is_not_believed(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    planted(path)
    assert Remembered(path).find(EDIT, "/p"), "else the rest would show nothing"
    path.chmod(0o666)
    remembered = Remembered(path)
    assert remembered.find(EDIT, "/p") is None
    assert "others may write to it; no answer is taken from it" in caplog.text
    with pytest.raises(OSError, match="others may write to it"):
        remembered.add(answer())
    path.unlink()
    os.mkfifo(path)
    assert Remembered(path).find(EDIT, "/p") is None


def test_a_symlink_in_place_of_the_file_is_not_followed(path: Path, tmp_path: Path) -> None:
    planted(tmp_path / "project" / "answers")
    path.parent.mkdir()
    path.symlink_to(tmp_path / "project" / "answers")
    remembered = Remembered(path)
    assert remembered.find(EDIT, "/p") is None
    with pytest.raises(OSError):  # noqa: PT011 - its text is the system's
        remembered.add(answer(changed(paths=("/p/b",))))
    assert (tmp_path / "project" / "answers").read_bytes().count(b"\n") == 1
