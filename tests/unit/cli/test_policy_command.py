"""`parley policy`: rules that are shown, tested and explained."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from parley.policy import Subject, load_policy

from .command_line import TRAP, CommandLine

RULES = """
[[rules]]
decision = "allow"
kind = ["read", "search"]

[[rules]]
decision = "deny"
command = "git push"
"""


@pytest.fixture
def project(places: Path, tmp_path: Path) -> Path:
    """A project without rules, of a user who has some."""
    own = places / "config" / "parley"
    own.mkdir(parents=True)
    (own / "policy.toml").write_text(RULES)
    return tmp_path


def tighten(project: Path, rules: str) -> None:
    (project / ".parley").mkdir()
    (project / ".parley" / "policy.toml").write_text(rules)


@pytest.mark.parametrize(
    ("words", "decision", "code"),
    [
        (["--kind", "read"], "allow", 0),
        (["--kind", "edit", "--path", "a"], "ask", 10),
        (["--command", "cd x && git push"], "deny", 11),
        (["--command", "git push", "--allow", "execute:git"], "allow", 0),
        (["--kind", "read", "--deny", "read"], "deny", 11),
        (["--kind", "edit", "--tool", "Write", "--agent", "a", "--session", "s"], "ask", 10),
    ],
)
def test_the_exit_code_tells_the_decision_if_asked_to(
    parley: CommandLine, project: Path, words: list[str], decision: str, code: int
) -> None:
    done = parley("policy", "test", *words, "--cwd", str(project), "--json", "--exit-code")
    assert (json.loads(done.stdout)["decision"], done.returncode) == (decision, code)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "describe the tool call with --kind, --command or --path"),
        (["--kind", "exec"], "--kind: there is no 'exec'"),
        (["--kind", "read", "--allow", "reed"], "--allow reed: there is no kind 'reed'; did you"),
        (["-"], "stdin is not a tool call: "),
        (["-", "--kind", "read"], "- reads the whole tool call from stdin"),
        (["--kind", "read", "--cwd", "/no/such"], "--cwd: there is no directory /no/such"),
    ],
)
def test_what_cannot_be_tested_is_said_in_a_sentence(
    parley: CommandLine, words: list[str], problem: str
) -> None:
    done = parley("policy", "test", *words)
    assert done.stderr.startswith(f"parley: {problem}")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("action", ["show", "test"])
def test_a_policy_that_cannot_be_read_is_an_error(
    parley: CommandLine, project: Path, action: str
) -> None:
    tighten(project, '[[rules]]\ndecision = "deny"\ncomand = "rm"\n')
    words = ["--kind", "read"] if action == "test" else []
    done = parley("policy", action, *words, "--cwd", str(project))
    assert done.stderr == (
        f"parley: {project}/.parley/policy.toml, rule 1: there is no key 'comand'; "
        "did you mean 'command'?\n"
    )
    assert (done.returncode, done.stdout) == (1, "")


def test_what_holds_is_shown_with_where_it_comes_from(
    parley: CommandLine, project: Path, places: Path
) -> None:
    tighten(project, 'default = "ask"\n[[rules]]\ndecision = "deny"\nkind = "fetch"\n')
    policy = load_policy(project)
    make = Subject(kind="execute", commands=("make",), agent="opencode", agent_id="a1")
    policy.remember(make, "allow", "project")
    once = Subject(kind="edit", paths=("/a",), agent="a", agent_id="a1", opening="o1")
    policy.remember(once, "deny", "session")
    old = {"kind": "read", "paths": ["/a"], "agent": "a", "session": "s"}
    answer = {"decision": "allow", "scope": "session", "subject": old, "at": time.time()}
    with (places / "state" / "parley" / "permissions.jsonl").open("a") as file:
        file.write(json.dumps({**answer, "project": str(project)}) + "\n")
    lines = parley("policy", "show", "--cwd", str(project)).stdout.splitlines()
    assert lines[:7] == [
        f"your rules, from {places}/config/parley/policy.toml",
        "  1. allow kind=read,search",
        "  2. deny command=git push",
        "  default: ask",
        ".parley/policy.toml, which can only make it stricter",
        "  1. deny kind=fetch",
        "  default: ask",
    ]
    assert lines[7] == f"remembered for {project}"
    assert [line.split(maxsplit=1)[1] for line in lines[8:]] == [
        "allow execute make (opencode)",
        "allow read /a (not used: it was kept by an earlier version, which did not say for which "
        "agent)",
    ]
    told = json.loads(parley("policy", "show", "--cwd", str(project), "--json").stdout)
    assert [len(each["rules"]) for each in told["rules"]] == [2, 1]
    assert len(told["remembered"]) == 2


def test_answers_are_forgotten_for_this_project_or_for_all(
    parley: CommandLine, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    make = Subject(kind="execute", commands=("make",), agent_id="a1")
    for folder in (project, other):
        load_policy(folder).remember(make, "allow", "project")
    forget = ("policy", "forget", "--cwd")
    assert parley(*forget, str(other)).stdout == "1 answer is forgotten\n"
    assert load_policy(project).decide(make).decision == "allow"
    assert load_policy(other).decide(make).decision == "ask"
    assert parley(*forget, str(other), "--all").stdout == "1 answer is forgotten\n"
    assert load_policy(project).decide(make).decision == "ask"


REASONS: dict[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "computed": (
        {"kind": "execute", "rawInput": {"command": "git $X"}},
        ["--allow", "execute", "--deny", "execute:git push"],
        ["ask: --deny execute:git push may fit: a shell computes some of its words"],
    ),
    "executed later": (
        {"kind": "edit", "rawInput": {"path": "/w/.envrc"}},
        ["--allow", "edit"],
        ["executed later  ask: /w/.envrc is executed later, and no rule names it"],
    ),
    "unknown key": (
        {"kind": "execute", "rawInput": {"command": "ls", "pre_hook": "a b", "env": {"A": "b"}}},
        ["--allow", "execute:ls"],
        ["command      A=b ls", "text         a b", "unknown key  pre_hook"],
    ),
    "other path": (
        {"kind": "edit", "rawInput": {"path": "/w/a", "output_path": "/etc/x"}},
        ["--allow", "edit:/w/**"],
        ["path           /w/a", "may be a path  /etc/x"],
    ),
    "not understood": (
        {"kind": "execute", "rawInput": {"command": ["ls", {"a": "b"}]}},
        ["--allow", "execute"],
        ["not understood  'command' in its input is not a list of words"],
    ),
}


@pytest.mark.parametrize(("call", "words", "lines"), REASONS.values(), ids=REASONS.keys())
def test_what_is_asked_is_explained(
    parley: CommandLine, project: Path, call: dict[str, Any], words: list[str], lines: list[str]
) -> None:
    done = parley("policy", "test", "-", *words, "--cwd", str(project), given=json.dumps(call))
    assert done.stdout.startswith("ask: ")
    for line in lines:
        assert line in done.stdout


def test_a_project_cannot_control_the_terminal(parley: CommandLine, project: Path) -> None:
    escaped = json.dumps(TRAP)
    tighten(project, f'[[rules]]\ndecision = "deny"\npath = {escaped}\n')
    for words in (["show"], ["test", "--kind", "edit", "--path", TRAP]):
        done = parley("policy", *words, "--cwd", str(project))
        assert done.returncode == 0, done.stderr
        assert not set(done.stdout) & {"\x1b", "\x07", "\x9b", "\u202e"}
