"""What a question is about is read from its real input, whatever the agent calls it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from parley.policy import Subject, subject_of
from parley.policy._evidence import MAX_PATHS
from parley.schema import v2
from parley.session._diffs import make_diff
from parley.session._transcript_entries import ToolCallEntry


def asked(subject: v2.RequestPermissionSubject | None = None) -> v2.RequestPermissionRequest:
    options = [v2.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]
    return v2.RequestPermissionRequest(
        session_id="s", title="Run `ls`", subject=subject, options=options
    )


def called(kind: str, raw_input: Any = None, **fields: Any) -> ToolCallEntry:
    call = ToolCallEntry("t")
    call.title, call.kind, call.raw_input = "Run `ls`", kind, raw_input
    for name, value in fields.items():
        setattr(call, name, value)
    return call


def seen(kind: str, raw_input: Any = None, **fields: Any) -> Subject:
    return subject_of(asked(), called(kind, raw_input, **fields), "/w")


def at(*paths: str) -> list[v2.ToolCallLocation]:
    return [v2.ToolCallLocation(path=path) for path in paths]


@pytest.mark.requirement("SAFE-REACH-04")
def test_the_real_input_counts_and_not_the_title() -> None:
    assert seen("execute").commands == ()
    assert seen("execute", {"command": "rm -rf /"}).commands == ("rm -rf /",)
    about = v2.CommandPermissionSubject(command="rm -rf /", cwd="/w/x")
    subject = subject_of(asked(about), None, "/w", agent="a", session="s")
    assert subject == Subject(
        kind="execute", commands=("rm -rf /",), cwd="/w/x", agent="a", session="s"
    )
    assert subject_of(asked(), None) == Subject(kind="other")


COMMANDS = {
    "opencode": ({"command": "echo a && ls", "cwd": "/w"}, "echo a && ls", "/w"),
    "codex 1": ({"command": ["bash", "-lc", "rm x"], "cwd": "/w"}, "bash -lc 'rm x'", "/w"),
    "codex 2": ({"command": "/bin/bash -lc 'rm x'"}, "/bin/bash -lc 'rm x'", ""),
    "exec": ({"cmd": "ls", "workdir": "sub"}, "ls", "/w/sub"),
    "words": ({"command": "git", "args": ["commit", "-m", "a b"]}, "git commit -m 'a b'", ""),
    "a line and more": ({"command": "echo a;", "args": ["b"]}, "'echo a;' b", ""),
    "a text": ({"command": "git", "args": "push --force"}, "git push --force", ""),
    "nested": ({"tool": "x", "arguments": {"command": "ls"}}, "ls", ""),
}


@pytest.mark.parametrize(("given", "line", "cwd"), COMMANDS.values(), ids=COMMANDS.keys())
def test_a_command_is_found_however_it_is_written(given: Any, line: str, cwd: str) -> None:
    subject = seen("execute", given)
    assert (subject.commands, subject.cwd) == ((line,), cwd)


def test_several_commands_are_several() -> None:
    assert set(seen("execute", {"commands": ["ls", "rm x"]}).commands) == {"ls", "rm x"}


PATHS: dict[str, Any] = {
    "opencode": {"filePath": "/w/a", "content": "/etc/passwd"},
    "opencode asks": {"filepath": "/w/a", "diff": "--- /w/a"},
    "fast-agent": {"path": "/w/a", "content_length": 26},
    "qwen": {"file_path": "/w/a", "old_string": "x"},
    "absolute": {"abs_path": "/w/a"},
    "relative": {"target_file": "a"},
    "several": {"paths": ["/w/a"]},
    "nested": {"arguments": {"edits": [{"path": "a"}]}},
    "by name": {"changes": {"/w/a": {"type": "update"}}},
    "as a URI": {"uri": "file:///w/%61"},
}


@pytest.mark.parametrize("given", PATHS.values(), ids=PATHS.keys())
def test_a_path_is_found_however_it_is_called(given: Any) -> None:
    assert seen("edit", given).paths == ("/w/a",)


def test_what_a_diff_changes_counts_like_the_places_that_are_named() -> None:
    moved = v2.DiffMove(old_path="/w/old", path="/w/new")
    content = [make_diff("/w/b", "old", "new"), v2.Diff(changes=[moved])]
    subject = seen("edit", locations=at("/w/src/a.py"), content=content)
    assert subject == Subject(kind="edit", paths=("/w/src/a.py", "/w/b", "/w/new", "/w/old"))


def test_a_call_is_also_what_its_input_says() -> None:
    assert seen("read", {"command": "rm x"}).kinds == ("read", "execute")
    assert seen("read", content=[make_diff("/w/b", "a", "b")]).kinds == ("read", "edit")
    assert seen("other", {"changes": {"/w/a": {}}}).kinds == ("other", "edit")
    assert seen("delete", content=[make_diff("/w/b", "a", None)]).kinds == ("delete",)


def test_paths_are_compared_without_symlinks_and_dots(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    call = called("edit", locations=at(f"{tmp_path}/link/passwd", "a", "../b", "file:///c"))
    work = tmp_path / "w"
    subject = subject_of(asked(), call, str(work))
    assert subject.paths == ("/etc/passwd", f"{work}/a", f"{tmp_path}/b", "/c")
    assert f"{tmp_path}/link/passwd" in subject.mentioned


def test_home_and_what_is_no_path_are_taken_for_what_they_may_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert seen("read", {"path": "~/.ssh/id"}).paths == (f"{tmp_path}/.ssh/id",)
    for name in ("a\0b", "\ud800", "a/./" * 2000 + "b"):
        subject = seen("read", {"path": name})
        assert subject.paths == ("/",), "no rule for a directory allows it"
        assert subject.mentioned[0] == os.path.normpath(f"/w/{name}")


def test_every_text_may_be_a_path_also_where_one_is_named() -> None:
    for named in ({}, {"path": "/w/a"}):
        subject = seen("other", {**named, "resource": "secret/key", "note": "two\nlines"})
        assert subject.possible == ("/w/secret/key",)
        assert set(subject.texts) == {"secret/key", "two\nlines"}


def test_more_paths_than_anybody_reads_are_not_all_inside() -> None:
    many = [f"/w/{number}" for number in range(MAX_PATHS + 1)]
    subject = seen("edit", {"paths": many})
    assert len(subject.paths) == MAX_PATHS + 1
    assert subject.paths[-1] == "/"


def test_a_tool_has_the_name_that_the_agent_tells() -> None:
    assert seen("read", name="Read", meta={"toolName": "x"}).tool == "Read"
    assert seen("read", meta={"toolName": "read_file"}).tool == "read_file"
    assert seen("read", meta={"claudeCode": {"toolName": "Read"}}).tool == "Read"
    assert seen("read", meta={"toolName": 5}).tool == ""


def test_a_call_that_was_not_announced_is_what_the_question_says() -> None:
    update = v2.ToolCallUpdate(
        tool_call_id="t", kind="edit", raw_input={"path": "/w/a"}, name=None, content=None
    )
    about = v2.ToolCallPermissionSubject(tool_call=update)
    assert subject_of(asked(about), None, "/w") == Subject(kind="edit", paths=("/w/a",))
