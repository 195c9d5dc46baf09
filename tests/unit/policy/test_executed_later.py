"""A change of a file that is executed later is a question, even where edits are allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.policy import Policy, Rule, Subject, Verdict, parse_flags
from parley.policy._executed_later import is_executed_later

LATER = [
    *(".git/config", ".git/hooks/pre-commit", ".git", "sub/.git/info/x", ".husky/pre-push"),
    *(".envrc", "a/b/.envrc", ".vscode/tasks.json", ".vscode/settings.json", ".idea/x.xml"),
    *(".github/workflows/ci.yml", ".gitlab-ci.yml", ".circleci/config.yml", "Jenkinsfile"),
    *(".bashrc", ".profile", ".zshrc", ".config/fish/config.fish", ".ssh/authorized_keys"),
    *(".pre-commit-config.yaml", "sitecustomize.py", "lib/x.pth", ".npmrc", "x.code-workspace"),
    *(".config/systemd/user/x.service", ".config/autostart/x.desktop", ".claude/settings.json"),
    *(".GIT/config", ".Git/hooks/x", ".ENVRC", ".git./config", ".g\u200cit/config", "GIT~1/config"),
    *(".git::$INDEX_ALLOCATION/config", ".mcp.json", ".devcontainer/devcontainer.json"),
]
NOT_LATER = [
    *("src/a.py", "Makefile", "package.json", "conftest.py", "setup.py", ".gitignore", "README.md"),
    *(
        ".github/ISSUE_TEMPLATE/x.md",
        "git/config",
        "docs/.gitkeep",
        "envrc",
        "a.pthx",
        ".editorconfig",
    ),
]


@pytest.mark.requirement("SAFE-REACH-12")
@pytest.mark.parametrize("name", LATER)
def test_a_file_that_is_executed_later_needs_a_question(name: str) -> None:
    policy = Policy([Rule(decision="allow", kind=["edit", "delete", "move"])], cwd="/w")
    for kind in ("edit", "delete", "move"):
        verdict = policy.decide(Subject(kind=kind, paths=(f"/w/{name}",)))
        assert verdict == Verdict("ask", f"/w/{name} is executed later, and no rule names it")
    assert policy.explain(Subject(kind="edit", paths=(f"/w/{name}",)))[1].part == "executed later"


@pytest.mark.requirement("SAFE-REACH-12")
@pytest.mark.parametrize("name", NOT_LATER)
def test_other_files_need_none(name: str) -> None:
    assert not is_executed_later(f"/w/{name}")
    policy = Policy(parse_flags(["edit"], "allow"), cwd="/w")
    assert policy.decide(Subject(kind="edit", paths=(f"/w/{name}",))).decision == "allow"


@pytest.mark.requirement("SAFE-REACH-12")
def test_reading_it_needs_none() -> None:
    policy = Policy([Rule(decision="allow")], cwd="/w")
    assert policy.decide(Subject(kind="read", paths=("/w/.git/config",))).decision == "allow"


@pytest.mark.requirement("SAFE-REACH-12")
@pytest.mark.parametrize(
    ("pattern", "decision"),
    [
        *(("**", "ask"), (".", "ask"), ("/**", "ask"), (".github/**", "ask"), ("**/*.yml", "ask")),
        *((".github/workflows/**", "allow"), (".github/workflows/ci.yml", "allow")),
        *(("**/.github/workflows/*", "allow"), (".git/**", "ask")),
    ],
)
def test_a_rule_that_names_it_allows_it(pattern: str, decision: str) -> None:
    policy = Policy([Rule(decision="allow", kind="edit", path=[pattern, "src/**"])], cwd="/w")
    edit = Subject(kind="edit", paths=("/w/.github/workflows/ci.yml",))
    assert policy.decide(edit).decision == decision


@pytest.mark.requirement("SAFE-REACH-12")
def test_a_rule_must_name_each_of_them() -> None:
    rules = [Rule(decision="allow", kind="edit", path=[".envrc", "**"])]
    both = Subject(kind="edit", paths=("/w/.envrc", "/w/.git/config"))
    assert Policy(rules, cwd="/w").decide(both).decision == "ask"
    assert Policy(rules, cwd="/w").decide(Subject(kind="edit", paths=("/w/.envrc",))).decision == (
        "allow"
    )


@pytest.mark.requirement("SAFE-REACH-12")
def test_a_deny_stays_a_deny_and_an_answer_counts() -> None:
    edit = Subject(kind="edit", paths=("/w/.envrc",), agent_id="a1", opening="o1")
    assert Policy([Rule(decision="deny", kind="edit")], cwd="/w").decide(edit).decision == "deny"
    policy = Policy([Rule(decision="allow")], cwd="/w")
    policy.remember(edit, "allow", "session")
    assert policy.decide(edit).decision == "allow"
    yes = Policy([Rule(decision="allow")], cwd="/w", unasked=Verdict("allow", "--yes"))
    assert yes.decide(edit).decision == "allow", "--yes answers questions"


@pytest.mark.requirement("SAFE-REACH-12")
def test_a_symlink_or_another_spelling_does_not_hide_it(tmp_path: Path) -> None:
    policy = Policy([Rule(decision="allow", kind="edit")], cwd=tmp_path)
    link = Subject(kind="edit", paths=("/elsewhere/x",), mentioned=("/w/.envrc",))
    assert policy.decide(link).decision == "ask"
    real = Subject(kind="edit", paths=("/w/.git/config",), mentioned=("/w/harmless",))
    assert policy.decide(real).decision == "ask"


@pytest.mark.requirement("SAFE-REACH-12")
@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("tee .git/hooks/pre-commit", "ask"),
        ("echo x >> ~/.bashrc", "ask"),
        ("cp x .vscode/tasks.json", "ask"),
        ("cd .git && tee config", "ask"),
        ("cat .github/workflows/ci.yml", "allow"),
        ("ls -la .git/hooks", "allow"),
        ("git add .github/workflows/ci.yml", "allow"),
        ("git diff --output=.git/hooks/x", "ask"),
        ("cat x > .envrc", "ask"),
        ("make", "allow"),
    ],
)
def test_a_command_that_names_it_needs_a_question_unless_it_only_reads(
    command: str, decision: str
) -> None:
    policy = Policy([Rule(decision="allow", kind="execute")], cwd="/w")
    assert policy.decide(Subject(kind="execute", commands=(command,))).decision == decision
