"""Where a suggestion leaves the cursor."""

from __future__ import annotations

import pytest

from parley.nes._documents.document import Document
from parley.nes.embedded import EmbeddedEngine
from parley.nes.engine import EditProposal, Question, Span, Spot, Workspace

TEXT = "{0}.{1} = 1\nprint(2)\n{0}.{1} = 2\nprint(3)\n{0}.{1} = 3\n"


@pytest.mark.parametrize(("old", "new"), [("items", "goods"), ("debug", "info"), ("a", "ab")])
async def test_the_cursor_goes_behind_the_word_that_was_replaced(old: str, new: str) -> None:
    predictor = EmbeddedEngine().begin(Workspace())
    document = Document("file:///w/a.py", "python", 1, TEXT.format("self", old))
    predictor.opened(document)
    change = document.edit(Span(Spot(0, 5), Spot(0, 5 + len(old))), new)
    predictor.changed(document, [change])
    question = Question(document=document, spot=Spot(0, 5 + len(new)), trigger="manual")
    top = (await predictor.suggest(question))[0]
    predictor.close()
    assert isinstance(top, EditProposal)
    assert top.cursor is not None
    assert top.cursor.column == len(f"self.{new}")
