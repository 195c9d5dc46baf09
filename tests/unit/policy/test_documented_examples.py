"""The table of examples in docs/how-to/permissions.md is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from parley.policy import Policy, Subject, parse_flags

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "permissions.md"
ROWS = re.findall(r"^\| `(--deny .*?)` \| `(.*?)` \| (\w+) \|$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("flag", "command", "decision"), ROWS, ids=map(str, range(len(ROWS))))
def test_an_example_is_decided_as_documented(
    flag: str, command: str, decision: str, tmp_path: Path
) -> None:
    for name in ("secret", "public"):
        (tmp_path / name).mkdir()
    rules = [*parse_flags(shlex.split(flag)[1:], "deny"), *parse_flags(["execute"], "allow")]
    subject = Subject(kind="execute", commands=(command,))
    assert Policy(rules, cwd=tmp_path).decide(subject).decision == decision


def test_there_are_examples() -> None:
    assert len(ROWS) > 15
