from __future__ import annotations

from pathlib import Path

from parley.nes._eval.chain import Chained, chain
from parley.nes._eval.corpus import Commit
from parley.nes._eval.driver import EngineDriver
from parley.nes._eval.instances import plan
from parley.nes._eval.tokens import keystrokes
from parley.nes.engine import EditProposal, JumpProposal, Proposal, Question, Span, Spot, TextEdit

from .made_repository import commit_of
from .scripted_engine import ScriptedEngine

COMMIT = commit_of(a=("old(1)\n\nold(2)\n\nold(3)\n", "new(1)\n\nnew(2)\n\nnew(3)\n"))
KEYS = keystrokes(["old(2)\n"], ["new(2)\n"])


async def _chained(root: Path, engine: ScriptedEngine, commit: Commit = COMMIT) -> Chained:
    driver = EngineDriver(engine, frozenset({"edit", "jump"}))
    return await chain(plan(commit, "canonical", "project", 0), root, driver)


def _edit(question: Question, line: int, old: str, new: str) -> EditProposal:
    edit = TextEdit(Span(Spot(line, 0), Spot(line, len(old))), new)
    return EditProposal(uri=question.document.uri, edits=(edit,), score=1, rule="test")


async def test_silence_saves_nothing_and_costs_nothing(tmp_path: Path) -> None:
    engine = ScriptedEngine()
    done = await _chained(tmp_path, engine)
    assert (done.keys, done.saved, done.accepted, done.rejected) == (2 * KEYS, 0, 0, 0)
    assert [each[0] for each in engine.heard].count("asked") == 3


async def test_what_is_right_is_taken_and_leads_to_the_next_question(tmp_path: Path) -> None:
    def say(question: Question) -> list[Proposal]:
        lines = question.document.lines
        at = [number for number, line in enumerate(lines) if line.startswith("old")]
        return [_edit(question, at[-1], "old", "new")] if at else []

    engine = ScriptedEngine(say)
    done = await _chained(tmp_path, engine)
    assert (done.saved, done.accepted, done.rejected) == (2 * KEYS - 2, 2, 0)
    assert engine.heard[3:] == [
        ("settled",),
        ("asked", "a.py", 0, 6),
        ("accepted", "test"),
        ("changed", "a.py", "old(3)\n", "new(3)\n"),
        ("asked", "a.py", 4, 6),
        ("accepted", "test"),
        ("changed", "a.py", "old(2)\n", "new(2)\n"),
        ("asked", "a.py", 2, 6),
        ("close",),
    ]


async def test_what_is_wrong_costs_a_key_at_the_end_too(tmp_path: Path) -> None:
    engine = ScriptedEngine(lambda question: [_edit(question, 1, "", "lost")])
    done = await _chained(tmp_path, engine)
    assert (done.saved, done.accepted, done.rejected) == (-3, 0, 3)
    assert engine.heard.count(("rejected", "test")) == 3


async def test_a_part_is_taken_and_the_rest_is_typed(tmp_path: Path) -> None:
    commit = commit_of(a=("x\n\nold(1)\nend\n", "y\n\nnew(1)\nmore()\nend\n"))

    def say(question: Question) -> list[Proposal]:
        is_old = question.document.lines[2].startswith("old")
        return [_edit(question, 2, "old", "new")] if is_old else []

    engine = ScriptedEngine(say)
    done = await _chained(tmp_path, engine, commit)
    assert (done.accepted, done.rejected) == (1, 0)
    assert done.saved == KEYS - 1
    changes = [each[2:] for each in engine.heard if each[0] == "changed"]
    assert changes == [
        ("x\n", "y\n"),
        ("old(1)\n", "new(1)\n"),
        ("new(1)\n", "new(1)\nmore()\n"),
    ]


async def test_a_right_jump_decides_what_is_typed_next(tmp_path: Path) -> None:
    def say(question: Question) -> list[Proposal]:
        if not question.document.lines[4].startswith("old"):
            return []
        return [JumpProposal(uri=question.document.uri, spot=Spot(4, 0), score=1, rule="jump")]

    engine = ScriptedEngine(say)
    done = await _chained(tmp_path, engine)
    assert (done.saved, done.accepted, done.rejected) == (0, 1, 0)
    changes = [each[2] for each in engine.heard if each[0] == "changed"]
    assert changes == ["old(1)\n", "old(3)\n", "old(2)\n"]
