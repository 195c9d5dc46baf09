"""Policy files: the user's and the project's."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest

from parley.errors import ConfigError
from parley.policy import Rule, Subject, load_policy, parse_flags
from parley.policy._file import MAX_BYTES, read_rules

READ = Subject(kind="read", paths=("/x",))


class Places:
    """The user's files and a project, all of them new."""

    def __init__(self, folder: Path) -> None:
        self.own = folder / "config" / "parley" / "policy.toml"
        self.state = folder / "state" / "parley" / "permissions.jsonl"
        self.project = folder / "project"
        self.theirs = self.project / ".parley" / "policy.toml"
        for path in (self.own, self.theirs):
            path.parent.mkdir(parents=True)
        (self.project / ".git").mkdir()


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Places(tmp_path)


def test_without_files_everything_is_asked(user: Places) -> None:
    verdict = load_policy(user.project).decide(READ)
    assert (verdict.decision, verdict.reason) == (
        "ask",
        "no rule fits: the default is to ask",
    )


def test_a_file_says_the_same_as_python(user: Places) -> None:
    user.own.write_text(
        'default = "deny"\n'
        '[[rules]]\ndecision = "allow"\nkind = ["read", "search"]\npath = "src/**"\n'
        '[[rules]]\ndecision = "ask"\ncommand = "git push"\n'
        'agent = "a"\ntool = "t"\nsession = "s"\n'
    )
    rules = read_rules(user.own, "policy.toml", "/w")
    assert (rules.default, rules.base) == ("deny", "/w")
    assert [str(each) for each in rules.rules] == [
        str(Rule(decision="allow", kind=["read", "search"], path="src/**")),
        str(Rule(decision="ask", command="git push", agent="a", tool="t", session="s")),
    ]
    source = Subject(kind="read", paths=(f"{user.project}/src/a",))
    verdict = load_policy(user.project).decide(source)
    assert verdict.reason == "policy.toml, rule 1: allow kind=read,search path=src/**"


def test_flags_count_before_the_file_and_deny_before_allow(user: Places) -> None:
    user.own.write_text('[[rules]]\ndecision = "deny"\nkind = "read"\n')
    assert load_policy(user.project).decide(READ).decision == "deny"
    allow, deny = parse_flags(["read"], "allow"), parse_flags(["read:/x"], "deny")
    assert load_policy(user.project, allow=allow).decide(READ).decision == "allow"
    verdict = load_policy(user.project, allow=allow, deny=deny).decide(READ)
    assert (verdict.decision, verdict.reason) == ("deny", "--deny read:/x")


BROKEN = {
    "no TOML": ("rules = [", "it cannot be read as a policy: "),
    "too deep": (b"a = " + b"[" * 100_000, "it cannot be read as a policy: "),
    "no UTF-8": (b"\xff", "it cannot be read as a policy: "),
    "an unknown key": ('defalt = "ask"', "there is no key 'defalt'; did you mean 'default'?"),
    "a default": ('default = "yes"', "default: use allow, ask or deny"),
    "a default of no sort": ("default = [1]", "default: use allow, ask or deny"),
    "rules that are none": ("rules = 5", "rules: write each under [[rules]]"),
    "rules that are texts": ('rules = ["allow"]', "rules: write each under [[rules]]"),
    "one table": ("[rules]\nkind = 5", "rules: write each under [[rules]]"),
    "too long": (b"#" * (MAX_BYTES + 1), "it cannot be read as a policy: it has more than "),
}


@pytest.mark.parametrize(("content", "problem"), BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("whose", ["own", "theirs"])
def test_a_file_that_cannot_be_used_is_an_error_and_not_empty(
    user: Places, whose: str, content: str | bytes, problem: str
) -> None:
    path: Path = getattr(user, whose)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ConfigError) as caught:
        load_policy(user.project)
    assert str(caught.value).startswith(f"{path}: {problem}")


BROKEN_RULES = {
    "a misspelt key": ('comand = "ls"', "there is no key 'comand'; did you mean 'command'?"),
    "a misspelt kind": ('kind = "exec"', "kind: there is no 'exec'; did you mean 'execute'?"),
    "a number": ("kind = 5", "kind: expected a string or strings"),
    "a number among texts": ('kind = ["read", 5]', "kind: expected a string or strings"),
    "nothing": ("path = []", "path: it is empty; leave it out"),
    "an empty text": ('path = ""', "path: it is empty; leave it out for anything"),
    "something impossible": ('kind = "execute"\npath = "src/"', "path: where a command works"),
    "its source": ('source = "--allow"', "there is no key 'source'"),
}


@pytest.mark.parametrize(("line", "problem"), BROKEN_RULES.values(), ids=BROKEN_RULES.keys())
def test_a_mistake_names_file_and_rule(user: Places, line: str, problem: str) -> None:
    rules = f'[[rules]]\ndecision = "ask"\n[[rules]]\ndecision = "allow"\n{line}\n'
    user.own.write_text(rules)
    with pytest.raises(ConfigError) as caught:
        load_policy(user.project)
    assert str(caught.value).startswith(f"{user.own}, rule 2: {problem}")


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        ("", "it has no decision; use allow, ask or deny"),
        ('decision = ["allow", "deny"]', "decision: expected one"),
        ('decision = "maybe"', "decision: there is no 'maybe'; use allow, ask or deny"),
    ],
)
def test_a_rule_decides_one_thing(user: Places, decision: str, problem: str) -> None:
    user.own.write_text(f"[[rules]]\n{decision}\n")
    with pytest.raises(ConfigError) as caught:
        load_policy(user.project)
    assert str(caught.value) == f"{user.own}, rule 1: {problem}"


def test_what_is_no_file_is_an_error_at_once(user: Places) -> None:
    os.mkfifo(user.theirs)
    with pytest.raises(ConfigError, match="it is not a file"):
        load_policy(user.project)
    user.theirs.unlink()
    user.theirs.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_policy(user.project)
    user.theirs.rmdir()
    user.theirs.symlink_to("nowhere")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_policy(user.project)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error(user: Places) -> None:
    user.theirs.write_text("")
    user.theirs.parent.chmod(0)
    try:
        with pytest.raises(ConfigError, match="Permission denied"):
            load_policy(user.project)
    finally:
        user.theirs.parent.chmod(0o700)


def test_files_from_the_root_of_the_repository_down_all_count(user: Places) -> None:
    inner = user.project / "app"
    (inner / ".parley").mkdir(parents=True)
    user.theirs.write_text('[[rules]]\ndecision = "deny"\npath = "app/secret"\n')
    (inner / ".parley" / "policy.toml").write_text(
        '[[rules]]\ndecision = "ask"\npath = "mine/**"\n'
    )
    policy = load_policy(inner, allow=parse_flags(["edit"], "allow"))

    def decided(path: str) -> str:
        return policy.decide(Subject(kind="edit", paths=(f"{inner}/{path}",))).decision

    assert [decided(each) for each in ("secret", "mine/a", "other")] == ["deny", "ask", "allow"]
    outside = user.project.parent / ".parley"
    outside.mkdir()
    (outside / "policy.toml").write_text("no TOML")
    assert len(load_policy(inner).project) == 2, "it stops at the root"


@pytest.mark.parametrize(
    ("content", "idle"),
    [
        ('default = "allow"', ["the default"]),
        ('[[rules]]\ndecision = "allow"', ["rule 1"]),
        ('[[rules]]\ndecision = "deny"\nkind = "edit"\n[[rules]]\ndecision = "allow"', ["rule 2"]),
        ('[[rules]]\ndecision = "allow"\nkind = "read"\n[[rules]]\ndecision = "deny"', []),
        ('default = "deny"\n[[rules]]\ndecision = "allow"\nkind = "read"', []),
    ],
)
def test_what_allows_in_a_project_is_reported_to_have_no_effect(
    user: Places, content: str, idle: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    user.theirs.write_text(content)
    with caplog.at_level(logging.WARNING):
        policy = load_policy(user.project)
    told = [f"{user.theirs}: {each} has no effect" for each in idle]
    assert [each.getMessage().partition(": a file")[0] for each in caplog.records] == told
    assert policy.decide(READ).decision in ("ask", "deny")


def test_the_sample_in_the_documents_is_a_policy(user: Places) -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "permissions.md"
    (sample,) = re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
    user.own.write_text(sample)
    policy = load_policy(user.project)

    def decided(**fields: Any) -> str:
        return policy.decide(Subject(agent="opencode", **fields)).decision

    inside = str(user.project)
    assert decided(kind="read", paths=(f"{inside}/a",)) == "allow"
    assert decided(kind="read", paths=(f"{inside}/app/.env",)) == "deny"
    assert decided(kind="edit", paths=(f"{inside}/src/a.py",)) == "allow"
    assert decided(kind="edit", paths=(f"{inside}/setup.py",)) == "ask"
    assert decided(kind="execute", commands=("git status -s",)) == "allow"
    assert decided(kind="execute", commands=("cat app/.env",)) == "deny"
    assert decided(kind="execute", commands=("git push",)) == "ask"


def test_a_change_of_a_policy_that_a_link_leads_to_is_asked_for(user: Places) -> None:
    project = user.project
    (project / "rules.toml").write_text('default = "ask"\n')
    user.theirs.symlink_to("../rules.toml")
    policy = load_policy(project, allow=parse_flags(["*"], "allow"))
    path = str((project / "rules.toml").resolve())
    steps = policy.explain(Subject(kind="edit", paths=(path,)))
    assert next(each.says for each in steps if each.part == "own files").startswith("ask")
