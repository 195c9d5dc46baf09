"""Whatever a model answers: nothing breaks, and nothing outside the window is touched."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.document import Document
from parley.nes.engine import EditProposal, Proposal, Question, Spot, Workspace
from parley.nes.model import FORMATS, ModelEngine
from parley.nes.model._api import Completion, Prompt
from parley.nes.model._predictor import ModelPredictor

TEXT = "".join(f"name_{number} = {number}\n" for number in range(60))
LINE = 30
PIECES = sorted(
    {
        *(token for each in FORMATS.values() for token in each.reserved),
        *(f"<|marker_{number}|>" for number in range(5)),
        *("```\n", "```python\n", "NO_EDIT", "<think>", "</think>", "\n", "\r\n", "\n\n"),
        *(f"name_{number} = {number}\n" for number in range(LINE - 11, LINE + 12)),
        *("    ", "x", "name_30 = 31\n", "\u00e9\U0001f600", "\ud800", "\x00", ")"),
    }
)
WINDOW = TEXT.splitlines(keepends=True)[LINE - 10 : LINE + 11]


def nearly(changes: dict[int, str], head: str, tail: str) -> str:
    """Return the window with some lines changed, as a model answers that understood."""
    lines = [changes.get(number, line) for number, line in enumerate(WINDOW)]
    return "".join((head, *lines, tail))


PIECE = st.sampled_from(PIECES)
BABBLE = st.lists(PIECE, max_size=30).map("".join)
SENSE = st.builds(
    nearly, st.dictionaries(st.integers(0, 20), PIECE, max_size=4), PIECE, PIECE | st.just("")
)


class Parrot:
    """A server that says one thing."""

    def __init__(self, answer: Completion) -> None:
        self.answer = answer

    async def complete(self, prompt: Prompt) -> Completion:
        return self.answer

    def close(self) -> None:
        pass


@pytest.mark.parametrize("name", sorted(FORMATS))
@given(answer=BABBLE | SENSE, is_cut=st.booleans())
def test_any_answer_leaves_the_rest_of_the_file_alone(name: str, answer: str, is_cut: bool) -> None:
    engine = ModelEngine("http://localhost", "m", format=name)
    engine._source.server = Parrot(Completion(answer, is_cut))
    predictor = engine.begin(Workspace())
    document = Document("file:///a.py", "python", 1, TEXT)
    predictor.opened(document)
    question = Question(document=document, spot=Spot(LINE, 4))
    for proposal in asyncio.run(_ask(predictor, question)):
        assert isinstance(proposal, EditProposal)
        assert proposal.edits
        copy = document.copy()
        for edit in sorted(proposal.edits, key=lambda each: each.span, reverse=True):
            assert edit.text != document.between(edit.span)
            copy.edit(edit.span, edit.text)
        assert copy.text.startswith("".join(document.lines[: LINE - 10]))
        assert copy.text.endswith("".join(document.lines[LINE + 11 :]))
        assert not any(token in copy.text for token in FORMATS[name].reserved)
    predictor.close()


async def _ask(predictor: ModelPredictor, question: Question) -> list[Proposal]:
    return [*await predictor.suggest(question)]
