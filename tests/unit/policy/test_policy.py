"""Who decides what, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.policy import Policy, Rule, RuleSet, Subject, Verdict, parse_flags
from parley.policy._policy import project_root

READ = Subject(kind="read", paths=("/w/a",), agent="a", session="s")
RUN = Subject(kind="execute", commands=("ls",), agent="a", session="s", agent_id="a1", opening="o1")


def only(decision: str, **fields: str) -> Rule:
    return Rule(decision=decision, **fields)  # type: ignore[arg-type]  # a word of the test


def test_the_first_rule_that_fits_decides_else_the_default() -> None:
    rules = [only("allow", kind="read"), only("deny")]
    assert Policy(rules).decide(READ).decision == "allow"
    assert Policy(rules).decide(RUN).decision == "deny"
    assert Policy(rules[::-1]).decide(READ).decision == "deny"
    assert Policy().decide(READ).decision == "ask"
    assert Policy(default="deny").decide(READ).decision == "deny"


def test_a_verdict_tells_which_rule_it_comes_from() -> None:
    policy = Policy([only("allow", kind="read", path="a")], cwd="/w")
    assert policy.decide(READ).reason == "rule 1: allow kind=read path=a"
    assert policy.decide(RUN).reason == "no rule fits: the default is to ask"
    flags = Policy(parse_flags(["execute:rm *"], "deny"))
    doubt = flags.decide(Subject(kind="execute")).reason
    assert doubt == "--deny execute:rm * (the call does not name its command)"


@pytest.mark.requirement("SAFE-REACH-13")
@pytest.mark.parametrize(
    ("own", "projects", "after"),
    [
        ("allow", "allow", "allow"),
        ("allow", "ask", "ask"),
        ("allow", "deny", "deny"),
        ("ask", "allow", "ask"),
        ("ask", "deny", "deny"),
        ("deny", "allow", "deny"),
        ("deny", "ask", "deny"),
    ],
)
def test_a_project_can_only_make_it_stricter(own: str, projects: str, after: str) -> None:
    project = RuleSet(name=".parley/policy.toml", base="/w", rules=(only(projects),))
    verdict = Policy([only(own)], project=[project]).decide(READ)
    assert verdict.decision == after
    assert verdict.reason.startswith("rule 1: " if own == after else ".parley/policy.toml")


def test_a_project_without_a_default_does_not_object() -> None:
    project = RuleSet(name="p", base="/w", rules=(only("deny", kind="execute"),))
    assert Policy([only("allow")], project=[project]).decide(READ).decision == "allow"
    strict = RuleSet(name="p", base="/w", rules=(only("allow", kind="read"),), default="deny")
    policy = Policy([only("allow")], project=[strict])
    assert policy.decide(READ).decision == "allow"
    assert policy.decide(RUN).decision == "deny"


def test_an_answer_is_remembered_for_what_was_asked_and_not_over_a_deny() -> None:
    policy = Policy([only("deny", command="rm")])
    assert policy.remember(RUN, "allow", "session")
    assert policy.decide(RUN).decision == "allow"
    assert policy.decide(RUN).reason.startswith("remembered for this session on 20")
    assert policy.remember(RUN, "deny", "session")
    assert policy.decide(RUN).decision == "deny", "the newest counts"
    gone = Subject(kind="execute", commands=("rm x",))
    policy.remember(gone, "allow", "session")
    assert policy.decide(gone).decision == "deny"


def test_all_parts_are_explained_in_their_order() -> None:
    project = RuleSet(name="p", base="/w", rules=(only("ask", kind="execute"),))
    policy = Policy([only("allow")], project=[project], protected=["/w/.config"])
    policy.remember(RUN, "deny", "project")
    assert [(each.part, each.says.partition(":")[0]) for each in policy.explain(RUN)] == [
        ("your rules", "allow"),
        ("p", "ask"),
        ("own files", "nothing"),
        ("remembered", "deny"),
    ]


def test_changing_what_the_policy_comes_from_is_asked_for() -> None:
    policy = Policy([only("allow")], protected=["/h/.config/parley"])

    def decided(kind: str, path: str) -> str:
        return policy.decide(Subject(kind=kind, paths=(path,))).decision

    assert decided("edit", "/h/.config/parley/policy.toml") == "ask"
    assert decided("edit", "/w/.parley/policy.toml") == "ask"
    assert decided("delete", "/h/.config") == "ask"
    assert decided("edit", "/h/.config/other") == "allow"
    assert decided("read", "/h/.config/parley/policy.toml") == "allow"
    assert decided("delete", "/w/.parley") == "ask"
    for command in ("tee /h/.config/parley/policy.toml", "rm -r .parley", "sh -c 'echo>.parley'"):
        run = Subject(kind="execute", commands=(command,), cwd="/w")
        assert policy.decide(run).decision == "ask"


def test_a_project_is_its_repository_but_never_all_of_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    inner = tmp_path / "work" / "app" / "src"
    inner.mkdir(parents=True)
    assert project_root(str(inner)) == str(inner)
    (tmp_path / ".git").mkdir()
    assert project_root(str(inner)) == str(inner), "home is a repository of dot files"
    assert project_root(str(tmp_path)) == str(tmp_path)
    (tmp_path / "work" / "app" / ".git").write_text("gitdir: elsewhere")
    assert project_root(str(inner)) == str(tmp_path / "work" / "app")


def test_what_would_be_asked_may_be_decided_for_all_and_a_deny_stays() -> None:
    deny = Rule(decision="deny", kind="execute")
    ask = Rule(decision="ask", kind="edit")
    policy = Policy([deny, ask], unasked=Verdict("allow", "--yes"))
    assert policy.decide(Subject(kind="edit", paths=("/a",))) == Verdict("allow", "--yes")
    assert policy.decide(Subject(kind="other")) == Verdict("allow", "--yes")
    assert policy.decide(Subject(kind="execute", commands=("ls",))).decision == "deny"
    assert policy.explain(Subject(kind="other"))[-1].part == "not asked"
