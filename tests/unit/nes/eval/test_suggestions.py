from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parley.nes._documents.document import Document
from parley.nes._documents.encoding import Encoding
from parley.nes._eval.context import Context
from parley.nes._eval.driver import uri_of
from parley.nes._eval.suggestions import Unreadable, model_state, proposal_of
from parley.nes.engine import (
    EditProposal,
    JumpProposal,
    Proposal,
    RenameProposal,
    ReplaceProposal,
    Spot,
)
from parley.schema import v2
from parley.schema.base import Unknown

WIDE = "\N{MATHEMATICAL SCRIPT CAPITAL X}"
ROOT = Path("/project")
OPEN = Document(uri_of(ROOT, "a.py"), "python", 1, f"x = '{WIDE}' + old\n")


def _read(
    suggestion: v2.NesSuggestion, root: Path = ROOT, encoding: Encoding = "utf-16"
) -> Proposal:
    proposal, id = proposal_of(suggestion, root, {"a.py": OPEN}, encoding)
    assert id == "1"
    return proposal


def _at(line: int, character: int) -> v2.Position:
    return v2.Position(line=line, character=character)


def _edit(uri: str, start: int, end: int, **more: Any) -> v2.NesEditSuggestion:
    range = v2.Range(start=_at(0, start), end=_at(0, end))
    edit = v2.NesTextEdit(range=range, new_text="new")
    return v2.NesEditSuggestion(suggestion_id="1", uri=uri, edits=[edit], **more)


@pytest.mark.parametrize(("encoding", "wide"), [("utf-16", 2), ("utf-32", 1), ("utf-8", 4)])
def test_places_are_counted_in_code_points(encoding: Encoding, wide: int) -> None:
    start = len("x = '' + ") + wide
    proposal = _read(_edit(OPEN.uri, start, start + 3), encoding=encoding)
    assert isinstance(proposal, EditProposal)
    assert OPEN.between(proposal.edits[0].span) == "old"


def test_a_file_that_is_not_open_is_read(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(f"{WIDE} = old\n", encoding="utf-8")
    proposal = _read(_edit(uri_of(tmp_path, "b.py"), 5, 8), tmp_path)
    assert isinstance(proposal, EditProposal)
    assert proposal.edits[0].span.start == Spot(0, 4)
    missing = _read(_edit(uri_of(tmp_path, "c.py"), 5, 8), tmp_path)
    assert isinstance(missing, EditProposal)
    assert missing.edits[0].span.start == Spot(0, 0)


def test_every_kind_is_read() -> None:
    jump = v2.NesJumpSuggestion(suggestion_id="1", uri=OPEN.uri, position=_at(0, 7))
    assert _read(jump) == JumpProposal(uri=OPEN.uri, spot=Spot(0, 6), score=1.0, rule="")
    rename = v2.NesRenameSuggestion(
        suggestion_id="1", uri=OPEN.uri, position=_at(0, 0), new_name="y"
    )
    assert isinstance(_read(rename), RenameProposal)
    replace = v2.NesSearchAndReplaceSuggestion(
        suggestion_id="1", uri=OPEN.uri, search="a", replace="b", is_regex=True
    )
    found = _read(replace)
    assert isinstance(found, ReplaceProposal)
    assert found.is_regex


@pytest.mark.parametrize(
    ("meta", "score", "rule"),
    [
        ({"parley": {"score": 0.5, "rule": "repeat"}}, 0.5, "repeat"),
        ({"score": 0.25}, 0.25, ""),
        ({"p": 1, "rule": "rename"}, 1.0, "rename"),
        ({"score": "high"}, 1.0, ""),
        (None, 1.0, ""),
    ],
)
def test_scores_are_read_where_agents_put_them(
    meta: dict[str, Any] | None, score: float, rule: str
) -> None:
    proposal = _read(_edit(OPEN.uri, 0, 1, meta=meta))
    assert (proposal.score, proposal.rule) == (score, rule)


def test_a_kind_that_is_not_known_cannot_be_judged() -> None:
    with pytest.raises(Unreadable, match="of an unknown kind: song"):
        _read(Unknown("song", b"{}"))


def test_context_is_what_is_wanted_and_known() -> None:
    context, wanted = Context(), v2.NesContextCapabilities
    only_diagnostics = wanted(diagnostics=v2.NesDiagnosticsCapabilities())
    assert context.request_context(only_diagnostics, [OPEN], OPEN) is None
    document = Document("file:///project/b.py", "python", 1, "a\nb\n")
    for text in ("x", "y"):
        context.changed(document.uri, [document.replace(f"{text}\nb\n")])
    told = context.request_context(
        wanted(
            recent_files=v2.NesRecentFilesCapabilities(max_count=1),
            edit_history=v2.NesEditHistoryCapabilities(max_count=1),
            open_files=v2.NesOpenFilesCapabilities(),
        ),
        [document, OPEN],
        document,
    )
    assert told is not None
    assert [each.text for each in told.recent_files or []] == ["y\nb\n"]
    assert [each.uri for each in told.open_files or []] == [document.uri, OPEN.uri]
    (edit,) = told.edit_history or []
    assert edit.diff.splitlines()[2:4] == ["@@ -1,1 +1,1 @@", "-x"]


@pytest.mark.parametrize(
    ("meta", "state"),
    [
        (None, None),
        ({"parley": 7}, None),
        ({"parley": {"model": {}}}, None),
        ({"parley": {"model": {"answered": True}}}, ""),
        ({"parley": {"model": {"answered": False, "why": "busy"}}}, "busy"),
        ({"parley": {"model": {"answered": False, "why": None}}}, "it gave no reason"),
    ],
)
def test_an_answer_says_whether_a_model_has_answered(
    meta: dict[str, Any] | None, state: str | None
) -> None:
    assert model_state(meta) == state
