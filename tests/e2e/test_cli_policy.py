"""`parley policy`: what would happen to a tool call, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .command import parley

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


def test_a_call_is_explained_step_by_step(project: Path) -> None:
    tighten(project, '[[rules]]\ndecision = "deny"\npath = ".env"\n')
    done = parley("policy", "test", "--kind", "read", "--path", ".env", "--cwd", str(project))
    assert done.stdout.splitlines() == [
        "deny: .parley/policy.toml, rule 1: deny path=.env",
        "  kind                 read",
        f"  path                 {project}/.env",
        "  your rules           allow: policy.toml, rule 1: allow kind=read,search",
        "  .parley/policy.toml  deny: .parley/policy.toml, rule 1: deny path=.env",
        "  own files            nothing",
        "  remembered           nothing",
    ]
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("version", [1, 2])
def test_a_question_is_read_from_stdin_as_agents_send_it(project: Path, version: int) -> None:
    call: dict[str, Any] = {"toolCallId": "t", "title": "Harmless", "kind": "execute"}
    call["rawInput"] = {"command": ["bash", "-lc", "git push"]}
    option = {"optionId": "o", "name": "O", "kind": "allow_once"}
    question: dict[str, Any] = {"sessionId": "s", "title": "T", "options": [option]}
    if version == 1:
        question["toolCall"] = call
    else:
        question["subject"] = {"type": "tool_call", "toolCall": call}
    done = parley(
        "policy", "test", "-", "--cwd", str(project), "--json", given=json.dumps(question)
    )
    told = json.loads(done.stdout)
    assert (told["decision"], told["reason"]) == (
        "deny",
        "policy.toml, rule 2: deny command=git push",
    )
    assert told["subject"]["commands"] == ["bash -lc 'git push'"]
    assert [each["part"] for each in told["steps"]] == ["your rules", "own files", "remembered"]
