"""Nothing that a project brings along can allow anything: only the user can."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.errors import ConfigError
from parley.policy import Decision, Policy, Rule, RuleSet, Subject, load_policy, parse_flags
from parley.policy._remembered import Answer, Remembered
from parley.policy._subject import KINDS

STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}

kinds = st.sampled_from(KINDS)
paths = st.sampled_from(["/w/a", "/w/src/b", "/etc/passwd", "/w/.env", "/w"])
commands = st.sampled_from(["ls", "git status", "rm -rf .", "bash -lc 'rm x'", "a; b", "rm x &&"])
names = st.sampled_from(["a", "b", ""])


def several(values: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(values, max_size=2, unique=True).map(tuple)


subjects = st.builds(
    Subject,
    kind=kinds,
    also=several(st.sampled_from(["edit", "execute"])),
    tool=names,
    commands=several(commands),
    paths=several(paths),
    agent=names,
    session=names,
    agent_id=names,
    opening=names,
)
decisions: st.SearchStrategy[Decision] = st.sampled_from(get_args(Decision))


def made(fields: Mapping[str, Any]) -> Rule | None:
    try:
        return Rule(**fields)
    except ConfigError:
        return None


patterns = st.sampled_from(["**", "*", "src/**", ".env", "/etc/*", "a", "."])
lines = st.sampled_from(["ls", "git", "rm", "rm *", "*", "bash", "a; b"])
rules: st.SearchStrategy[Rule | None] = st.fixed_dictionaries(
    {"decision": decisions},
    optional={
        "kind": several(kinds),
        "tool": several(st.sampled_from(["a", "*"])),
        "path": several(patterns),
        "command": several(lines),
        "agent": several(st.sampled_from(["a", "*"])),
        "session": several(st.sampled_from(["a", "*"])),
    },
).map(made)
rule_lists = st.lists(rules, max_size=4).map(lambda found: [each for each in found if each])
projects = st.lists(
    st.builds(
        RuleSet,
        name=st.just("p"),
        base=st.just("/w"),
        rules=rule_lists.map(tuple),
        default=st.none() | decisions,
    ),
    max_size=2,
)
Answered = Literal["allow", "deny"]
answered: st.SearchStrategy[Answered] = st.sampled_from(get_args(Answered))
answers = st.builds(
    Answer,
    decision=answered,
    scope=st.sampled_from(["session", "project"]),
    project=st.just(str(Path("/w").resolve())),
    subject=subjects,
    at=st.just(1.0),
)


def knowing(answers: Iterable[Answer]) -> Remembered:
    remembered = Remembered()
    for each in answers:
        remembered.add(each)
    return remembered


@given(subjects, rule_lists, projects, st.lists(answers, max_size=5), answered)
@pytest.mark.requirement("SAFE-REACH-04")
def test_what_the_user_denies_stays_denied(
    subject: Subject,
    own: list[Rule],
    project: list[RuleSet],
    known: list[Answer],
    same: Answered,
) -> None:
    remembered = knowing(known)
    alone = Policy(own, cwd="/w").decide(subject).decision
    whole = Policy(own, cwd="/w", project=project, remembered=remembered)
    whole.remember(subject, same, "project")
    if alone == "deny":
        assert whole.decide(subject).decision == "deny"


@pytest.mark.requirement("SAFE-REACH-13")
@given(subjects, rule_lists, projects, decisions)
def test_a_project_never_makes_it_milder(
    subject: Subject, own: list[Rule], project: list[RuleSet], default: Decision
) -> None:
    alone = Policy(own, default=default, cwd="/w").decide(subject).decision
    whole = Policy(own, default=default, cwd="/w", project=project).decide(subject).decision
    assert STRICTNESS[whole] >= STRICTNESS[alone]
    for each in project:
        said = each.decide(subject)
        assert said is None or STRICTNESS[whole] >= STRICTNESS[said.decision]


@given(subjects, rules)
def test_a_rule_fits_as_deny_wherever_it_fits_as_allow(subject: Subject, rule: Rule | None) -> None:
    if rule is not None and rule.decision == "allow" and rule.fits(subject, "/w"):
        strict = msgspec.structs.replace(rule, decision="deny")
        assert strict.fits(subject, "/w")


@given(subjects, subjects, answered)
def test_an_answer_fits_nothing_that_differs(
    one: Subject, other: Subject, decision: Answered
) -> None:
    policy = Policy(cwd="/w")
    policy.remember(one, decision, "session")
    if policy.decide(other).decision != "ask":
        assert (one.kind, one.tool, one.opening, one.agent_id) == (
            other.kind,
            other.tool,
            other.opening,
            other.agent_id,
        )
        assert set(one.paths) == set(other.paths)
        assert len(one.commands) == len(other.commands)


@pytest.mark.requirement("SAFE-REACH-13")
def test_a_hostile_repository_cannot_approve_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    repository = tmp_path / "repository"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", ".parley")  # relative: it counts as absent
    monkeypatch.setenv("XDG_STATE_HOME", ".parley")
    call = Subject(
        kind="execute", tool="sh", commands=("make",), cwd=str(repository), agent_id="a1"
    )
    allows_all = 'default = "allow"\n[[rules]]\ndecision = "allow"\n'
    planted = Answer(
        decision="allow", scope="project", project=str(repository), subject=call, at=1.0
    )
    for folder in (".parley", ".parley/parley", ".config/parley", ".local/state/parley"):
        place = repository / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / "policy.toml").write_text(allows_all)
        (place / "permissions.jsonl").write_bytes(msgspec.json.encode(planted) + b"\n")
    monkeypatch.chdir(repository)
    policy = load_policy(".")
    assert policy.decide(call).decision == "ask"
    assert "has no effect" in caplog.text
    state = tmp_path / "home" / ".local" / "state" / "parley"
    state.mkdir(parents=True)
    (state / "permissions.jsonl").symlink_to(repository / ".parley" / "permissions.jsonl")
    assert load_policy(".").decide(call).decision == "ask"


def test_an_agent_that_may_edit_everything_is_asked_before_it_edits_its_permissions(
    places: Path, tmp_path: Path
) -> None:
    policy = load_policy(tmp_path, allow=parse_flags(["*"], "allow"))
    link = tmp_path / "innocent"
    (places / "config" / "parley").mkdir(parents=True)
    link.symlink_to(places / "config")

    def decided(path: Path) -> str:
        subject = Subject(kind="edit", paths=(os.path.realpath(path),))
        return policy.decide(subject).decision

    assert decided(tmp_path / "a") == "allow"
    assert decided(link / "parley" / "policy.toml") == "ask"
    assert decided(places / "state" / "parley" / "permissions.jsonl") == "ask"
    assert decided(tmp_path / ".parley" / "policy.toml") == "ask"
