"""Deciding is bounded: the work is linear in the question up to a limit, and constant beyond it.

What is beyond the limit is asked about: nothing is allowed because it was too much to be examined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.work_counting import count_calls

from parley.policy import Policy, Rule, Subject, Verdict
from parley.policy import _evidence as evidence
from parley.policy import _tool_input as tool_input
from parley.policy import _words as words
from parley.policy._evidence import MAX_COMMANDS, MAX_LOOKUPS, MAX_PATHS, Evidence
from parley.policy._tool_input import MAX_VALUES, ToolInput
from parley.policy._words import MAX_CHARS, MAX_TEXTS, WordIndex

from .test_whole_input import called

RULES = [
    Rule(decision="deny", command=["rm", "git push", "* --force"]),
    Rule(decision="deny", path=["**/.env", "~/.ssh/**", "secret"]),
    Rule(decision="allow", command=["ls", "git status"]),
    Rule(decision="allow", path=["src/**"]),
    Rule(decision="allow"),
]


NO_COMMANDS = ("paths", "keys", "texts")


SHAPES: dict[str, Callable[[int], Any]] = {
    "one word": lambda size: {"command": "a" * size},
    "words": lambda size: {"command": "sudo " + "a " * (size // 2)},
    "other words": lambda size: {"command": " ".join(f"a{n}/b" for n in range(size // 8))},
    "options": lambda size: {"command": "git " + "-a " * (size // 3)},
    "rules again": lambda size: {"command": "git -C x " * (size // 9)},
    "quotes": lambda size: {"command": "'\"" * (size // 2)},
    "computed": lambda size: {"command": "$(" * (size // 2)},
    "braces": lambda size: {"command": "{a,b}" * (size // 5)},
    "wildcards": lambda size: {"command": "git *a* " * (size // 8)},
    "commands": lambda size: {"commands": [f"echo {n}" for n in range(size // 12)]},
    "paths": lambda size: {"paths": [f"src/{n}" for n in range(size // 12)]},
    "keys": lambda size: {f"k{n}": "x" for n in range(size // 12)},
    "texts": lambda size: {"x": [f"text {n}" for n in range(size // 12)]},
    "shells": lambda size: {"command": "bash -c '" + "bash -c " * (size // 8) + "'"},
}


def work(shape: str, size: int) -> int:
    """Return the work of deciding about a question of a size."""
    question = SHAPES[shape](size)
    policy = Policy(RULES, cwd="/")
    return count_calls(lambda: policy.decide(called(question, "execute", "/")))


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits: what is counted is slow."""
    monkeypatch.setattr(words, "MAX_CHARS", 6_000)
    monkeypatch.setattr(words, "MAX_TEXTS", 100)
    monkeypatch.setattr(evidence, "MAX_LOOKUPS", 200)
    monkeypatch.setattr(tool_input, "MAX_VALUES", 500)


@pytest.mark.requirement("SAFE-REACH-11")
@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_is_linear_below_the_limit(shape: str) -> None:
    work(shape, 100)  # what is cached is cached now
    small, large = work(shape, 500), work(shape, 2_000)
    assert large <= 6 * small + 5_000, "four times the size"


@pytest.mark.requirement("SAFE-REACH-11")
@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_does_not_grow_beyond_the_limit(shape: str) -> None:
    work(shape, 100)
    limit, beyond = work(shape, 8_000), work(shape, 64_000)
    assert beyond <= 1.5 * limit + 5_000


@pytest.mark.requirement("SAFE-REACH-11")
@pytest.mark.parametrize("shape", [each for each in SHAPES if each not in NO_COMMANDS])
def test_a_question_of_300_kilobytes_is_asked_about(shape: str) -> None:
    rules = [Rule(decision="deny", command="rm"), Rule(decision="allow")]
    policy = Policy(rules, cwd="/w", unasked=Verdict("allow", "--yes"))
    verdict = policy.decide(called(SHAPES[shape](300_000), "execute"))
    assert (verdict.decision, verdict.needs_user) == ("ask", True)


@pytest.mark.requirement("SAFE-REACH-11")
@pytest.mark.parametrize("shape", NO_COMMANDS)
def test_many_values_are_asked_about_and_yes_counts_where_nothing_is_denied(shape: str) -> None:
    question = called(SHAPES[shape](300_000), "edit")
    rules = [Rule(decision="allow")]
    assert Policy(rules, cwd="/w").decide(question).decision == "ask"
    yes = Verdict("allow", "--yes")
    assert Policy(rules, unasked=yes).decide(question).decision == "allow"
    rules = [Rule(decision="deny", command="rm"), *rules]
    assert Policy(rules, unasked=yes).decide(question).decision == "ask"


@pytest.mark.requirement("SAFE-REACH-11")
def test_so_much_is_examined_and_no_more() -> None:
    index = WordIndex(["a" * MAX_CHARS, "b"])
    assert (index.examined_chars, index.is_complete) == (MAX_CHARS, False)
    assert WordIndex(["a" * MAX_CHARS]).is_complete
    assert not WordIndex(["a"] * (MAX_TEXTS + 1)).is_complete
    many = Subject(kind="execute", commands=(" ".join(f"a{n}" for n in range(MAX_LOOKUPS + 1)),))
    paths = Evidence(many).paths("/w")
    assert (paths.is_complete, paths.lookups) == (False, MAX_LOOKUPS + 1)
    read = ToolInput({"x": list(range(2 * MAX_VALUES))}, "other")
    assert read.unclear == f"its input has more than {MAX_VALUES:,} values"


@pytest.mark.requirement("SAFE-REACH-11")
def test_the_user_is_told_why() -> None:
    policy = Policy([Rule(decision="deny", command="rm"), Rule(decision="allow")])

    def reason(**fields: Any) -> str:
        return policy.decide(Subject(kind="execute", **fields)).reason

    rule = "rule 1: deny command=rm may fit: "
    assert (
        reason(commands=("a" * 2 * MAX_CHARS,)) == f"{rule}it is too long to be examined to its end"
    )
    paths = called({"paths": [f"{n}" for n in range(MAX_PATHS + 1)]}, "edit")
    assert paths.unclear == f"it names more than {MAX_PATHS:,} paths"
    commands = tuple(f"ls {n}" for n in range(MAX_COMMANDS + 1))
    allowing = Policy([Rule(decision="allow", command="ls")])
    assert allowing.decide(Subject(kind="execute", commands=commands)).decision == "ask"


@pytest.mark.requirement("SAFE-REACH-11")
def test_contents_of_files_may_be_long() -> None:
    policy = Policy([Rule(decision="deny", command="rm"), Rule(decision="allow", path="src/**")])
    question = {"path": "/w/src/a.py", "content": "rm -rf x\n" * 100_000}
    work = count_calls(lambda: called(question, "edit"))
    assert policy.decide(called(question, "edit")).decision == "ask", "it is another directory"
    inside = Policy([Rule(decision="deny", command="rm"), Rule(decision="allow", path="/w/src/**")])
    assert inside.decide(called(question, "edit")).decision == "allow"
    assert work < 1_000
