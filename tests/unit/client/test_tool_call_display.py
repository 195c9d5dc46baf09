"""What people see of a tool call: each command once, and nothing that stands there already."""

from __future__ import annotations

from typing import Any

import pytest

from parley.client._tool_call_display import (
    clean_title,
    describe_action,
    distinct_commands,
    names_action,
    raw_output_text,
    repeats_shown,
    shorten_json,
    without_fence,
)
from parley.policy import Subject
from parley.session._diffs import make_diff


@pytest.mark.parametrize(
    ("commands", "shown"),
    [
        (["ls"], ["ls"]),
        (["/bin/bash -lc 'make test'", "make test"], ["/bin/bash -lc 'make test'"]),
        (["make test", "bash -lc 'make test'"], ["bash -lc 'make test'"]),
        (["echo 'a b'", 'echo "a b"'], ['echo "a b"']),
        (['echo "a b"', "echo 'a b'"], ['echo "a b"']),
        (["cd x && ls | wc -l", "cd x", "ls", "wc -l"], ["cd x && ls | wc -l"]),
        (["ls", "rm -rf ~"], ["ls", "rm -rf ~"]),
        (["echo 'a; rm -rf ~; b'", "rm -rf ~"], ["echo 'a; rm -rf ~; b'", "rm -rf ~"]),
        (["ls # ; rm -rf ~", "rm -rf ~"], ["ls # ; rm -rf ~", "rm -rf ~"]),
        (["rm -rf ~/x", "rm -rf ~"], ["rm -rf ~/x", "rm -rf ~"]),
        (["cat <<E\nrm -rf ~\nE", "rm -rf ~"], ["cat <<E\nrm -rf ~\nE", "rm -rf ~"]),
        (["./bash -lc ls", "ls"], ["./bash -lc ls", "ls"]),
    ],
)
def test_a_command_that_another_one_contains_is_left_out(
    commands: list[str], shown: list[str]
) -> None:
    assert distinct_commands(commands) == shown


def test_of_many_commands_none_is_left_out() -> None:
    many = ["make test", *(f"make {number}" for number in range(30)), "sh -c 'make test'"]
    assert distinct_commands(many) == many


COMMANDS = ["git push", "sh -c 'git push'", "VAR=1 make"]
DIFFS = [make_diff("/w/a", "hello file\n", "HELLO file\n")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("command", "git push"),
        ("commands", ["git push"]),
        ("argv", ["git", "push"]),
        ("args", ["push"]),
        ("program", "git"),
        ("parsed_cmd", [{"type": "unknown", "cmd": "git push"}]),
        ("action", {"command": ["git", "push"], "note": None}),
        ("cwd", "/w"),
        ("old_string", "hello"),
        ("", "git push"),
        ("", ["git", "push"]),
    ],
)
def test_a_field_that_only_has_what_is_shown_is_left_out(name: str, value: Any) -> None:
    assert repeats_shown(name, value, COMMANDS, {"/w"}, DIFFS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("command", "git pull"),
        ("commands", ["git push", "rm -rf ~"]),
        ("parsed_cmd", [{"type": "unknown", "cmd": "git push", "then": "rm -rf ~"}]),
        ("parsed_cmd", [{"type": "rm -rf ~;", "cmd": "git push"}]),
        ("parsed_cmd", [{"cmd": "git push", "background": True}]),
        ("action", {"command": "git push", "timeout": 3}),
        ("note", ["push"]),
        ("mode", "hello"),
        ("new_string", "rm -rf ~"),
        ("args", []),
        ("deep", [[["git push"]] * 600, [["x"]] * 600]),
    ],
)
def test_a_field_that_has_anything_else_is_shown(name: str, value: Any) -> None:
    assert not repeats_shown(name, value, COMMANDS, {"/w"}, DIFFS)


def test_the_action_is_named_by_what_the_call_is() -> None:
    assert describe_action(Subject(kind="other", commands=("ls",), also=("execute",))) == (
        "run a command"
    )
    assert describe_action(Subject(kind="other", also=("edit",))) == "edit a file"
    assert describe_action(Subject(kind="delete")) == "delete a file"
    assert describe_action(Subject(kind="_new")) == ""
    running = Subject(kind="execute", commands=("npm run build",))
    assert names_action("Run this command?", running)
    assert not names_action("npm run build", running)
    assert not names_action("May I?", running)


def test_code_marks_are_taken_from_titles_and_texts() -> None:
    assert clean_title("Run ```bash\nls\n``` now") == "Run ls now"
    assert clean_title("```ls -la```") == "ls -la"
    assert clean_title("`ls`") == "ls"
    assert clean_title("`a` and `b`") == "`a` and `b`"
    assert clean_title("```") == "```"
    assert clean_title("`" * 6_000) == "`" * 6_000
    assert without_fence("```py\nx = 1\n```\n") == ("x = 1", "py")
    assert without_fence("a\n```\nb\n```") == ("a\n```\nb\n```", "")


def test_json_is_shortened_and_marked_as_such() -> None:
    assert shorten_json("x" * 1_000) == "x" * 1_000
    assert shorten_json("x" * 2_234) == "x" * 1_000 + "\n… 1,234 more characters"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hi\n", "hi\n"),
        ({"output": "hi\n", "metadata": {"output": "hi", "exit": 0}}, "hi"),
        ({"stdout": "out\n", "stderr": "err\n", "exit_code": 1}, "out\nerr\nexit code 1"),
        ({"stdout": "", "stderr": "err"}, "err"),
        ({"output": "out err", "stderr": "err"}, "out err"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"fileName": "x", "exitCode": True}, ""),
        ({"output": {"output": {"output": {"output": {"output": "deep"}}}}}, ""),
        (None, ""),
        (5, ""),
    ],
)
def test_the_text_of_a_raw_output_is_found_where_agents_put_it(value: Any, text: str) -> None:
    assert raw_output_text(value) == text
