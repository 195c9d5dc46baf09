from __future__ import annotations

from pathlib import Path

from parley.nes._eval.driver import Answer, EngineDriver, Fault, path_of, uri_of
from parley.nes._eval.instances import View, plan
from parley.nes._eval.replay import InstanceOutcome, replay
from parley.nes.engine import EditProposal, Outcome, Proposal, Question, Span, Spot, TextEdit

from .made_repository import commit_of
from .scripted_engine import ScriptedEngine

COMMIT = commit_of(
    a=("a1\n\n\na2\n", "x1\n\n\nx2\n"),
    b=("b1\n\n\nb2\n", "y1\n\n\ny2\n"),
)
EDIT = frozenset({"edit"})


async def _replayed(
    root: Path, engine: ScriptedEngine, view: View = "project", **options: str
) -> list[InstanceOutcome]:
    driver = EngineDriver(engine, EDIT, options)
    return await replay(plan(COMMIT, "canonical", view, 0), root, driver)


async def test_a_commit_is_one_session_and_a_file_is_opened_when_it_is_changed(
    tmp_path: Path,
) -> None:
    engine = ScriptedEngine()
    await _replayed(tmp_path, engine, level="quiet")
    assert engine.heard == [
        ("begin",),
        ("set", "level", "quiet"),
        ("opened", "a.py", "a1\n\n\na2\n"),
        ("changed", "a.py", "a1\n", "x1\n"),
        ("settled",),
        ("asked", "a.py", 0, 2),
        ("changed", "a.py", "a2\n", "x2\n"),
        ("asked", "a.py", 3, 2),
        ("opened", "b.py", "b1\n\n\nb2\n"),
        ("changed", "b.py", "b1\n", "y1\n"),
        ("asked", "b.py", 0, 2),
        ("changed", "b.py", "b2\n", "y2\n"),
        ("asked", "b.py", 3, 2),
        ("close",),
    ]


async def test_in_the_file_view_a_session_knows_one_file(tmp_path: Path) -> None:
    engine = ScriptedEngine()
    outcomes = await _replayed(tmp_path, engine, "file")
    assert [(each.path, each.made, each.left) for each in outcomes] == [
        ("a.py", 1, 1),
        ("b.py", 3, 1),
        ("b.py", 4, 0),
    ]
    sessions = "".join("|" if each[0] == "begin" else each[0][0] for each in engine.heard)
    assert sessions == "|ocsac|ocsacac"


def _other_file(question: Question) -> list[Proposal]:
    """Return the last change of the other file."""
    uri = question.document.uri.replace("a.py", "b.py")
    edit = TextEdit(Span(Spot(3, 0), Spot(3, 2)), "y2")
    return [EditProposal(uri=uri, edits=(edit,), score=0.5, rule="other", meta={"x": 1})]


async def test_what_is_suggested_is_judged_against_all_that_is_left(tmp_path: Path) -> None:
    engine = ScriptedEngine(_other_file)
    outcomes = await _replayed(tmp_path, engine)
    assert [(each.made, each.left) for each in outcomes] == [(1, 3), (2, 2), (3, 1), (4, 0)]
    tops = [each.top for each in outcomes]
    assert [top is not None and top.verdict.exact for top in tops] == [True, True, True, False]
    assert [top is not None and top.verdict.next for top in tops] == [False, False, True, False]
    assert tops[0] is not None
    assert (tops[0].kind, tops[0].rule, tops[0].score) == ("edit", "other", 0.5)
    assert engine.heard.count(("replaced", "other")) == 4


async def test_in_the_file_view_other_files_do_not_count(tmp_path: Path) -> None:
    outcomes = await _replayed(tmp_path, ScriptedEngine(_other_file), "file")
    assert outcomes[0].top is not None
    assert not outcomes[0].top.verdict.location


async def test_a_fault_is_kept_and_the_rest_is_asked(tmp_path: Path) -> None:
    class Faulty(EngineDriver):
        count = 0

        async def ask(self, path: str, spot: Spot) -> Answer:
            self.count += 1
            if self.count == 2:
                raise Fault("no idea")
            return await super().ask(path, spot)

    driver = Faulty(ScriptedEngine(), EDIT)
    outcomes = await replay(plan(COMMIT, "canonical", "project", 0), tmp_path, driver)
    assert [each.fault for each in outcomes] == [None, "no idea", None, None]


async def test_a_session_that_cannot_begin_has_nothing_but_faults(tmp_path: Path) -> None:
    class Broken(EngineDriver):
        async def start(self, root: Path) -> None:
            raise Fault("no session")

    driver = Broken(ScriptedEngine(), EDIT)
    outcomes = await replay(plan(COMMIT, "canonical", "project", 0), tmp_path, driver)
    assert [each.fault for each in outcomes] == ["no session"] * 4


async def test_what_was_answered_before_a_session_breaks_is_kept(tmp_path: Path) -> None:
    class Breaking(EngineDriver):
        count = 0

        async def change(self, path: str, span: Span, text: str) -> None:
            self.count += 1
            if self.count == 3:
                raise Fault("it is gone")
            await super().change(path, span, text)

    driver = Breaking(ScriptedEngine(_other_file), EDIT)
    outcomes = await replay(plan(COMMIT, "canonical", "project", 0), tmp_path, driver)
    assert [(each.made, each.fault) for each in outcomes] == [
        (1, None),
        (2, None),
        (3, "it is gone"),
        (4, "it is gone"),
    ]
    assert [each.top is not None for each in outcomes] == [True, True, False, False]


async def test_a_response_is_kept_even_if_reporting_its_outcome_fails(tmp_path: Path) -> None:
    class FailingDriver(EngineDriver):
        async def report_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
            raise Fault("it is gone")

    driver = FailingDriver(ScriptedEngine(_other_file), EDIT)
    outcomes = await replay(plan(COMMIT, "canonical", "project", 0), tmp_path, driver)
    assert [each.fault for each in outcomes] == [None, *["it is gone"] * 3]


def test_an_address_is_a_path_only_inside_the_project(tmp_path: Path) -> None:
    assert path_of(tmp_path, uri_of(tmp_path, "a b/ü.py")) == "a b/ü.py"
    assert path_of(tmp_path, "file:///elsewhere/a.py") is None
    assert path_of(tmp_path, f"untitled:{tmp_path}/a.py") is None
    assert path_of(tmp_path, f"{tmp_path.as_uri()}/../a.py") is None
    assert path_of(tmp_path, "http://[") is None
