"""What else is offered than an edit: renames, replacements and places to go to; and the order."""

from __future__ import annotations

import re

import pytest

from parley.nes.embedded import _engine as predictor
from parley.nes.embedded._context import Candidate
from parley.nes.embedded._source import SourceFile
from parley.nes.engine import (
    EditProposal,
    JumpProposal,
    Proposal,
    RenameProposal,
    ReplaceProposal,
    Span,
    Trigger,
)

from .editing_session import EditingSession, Session, applied

STRANGE = "def f(old):\n    x = 1\n    s = 'ééééé\U0001f600ééé' + old\n    x = 2\n    return old\n"


async def asked(
    text: str, *typed: tuple[str, str], trigger: Trigger = "automatic"
) -> tuple[EditingSession, list[Proposal]]:
    editing = EditingSession(
        Session(name="", text=text, typed=typed, mood="eager", trigger=trigger)
    )
    editing.play()
    return editing, await editing.ask()


async def test_a_rename_is_where_the_name_stands_whatever_is_before_it() -> None:
    editing, found = await asked(STRANGE, ("f(old", "f(new"))
    (rename,) = [x for x in found if isinstance(x, RenameProposal)]
    assert editing.document.lines[2][rename.spot.column :] == "old\n"
    assert rename.spot.line == 2


async def test_a_jump_leads_to_the_call_whatever_is_before_it() -> None:
    text = "def f(a):\n    return a\n\n\nx = 'ééééé\U0001f600' + f(1)\n"
    editing, found = await asked(text, ("f(a)", "f(a, b)"), trigger="manual")
    (jump,) = [x for x in found if isinstance(x, JumpProposal)]
    assert editing.document.lines[4][jump.spot.column :] == "(1)\n"


def replaced(editing: EditingSession, proposal: ReplaceProposal) -> str:
    return re.sub(proposal.search, proposal.replace, editing.document.text)


async def test_a_name_is_replaced_where_it_stands_if_all_of_these_are_its_places() -> None:
    text = "def f(old):\n    a(old)\n    x = 1\n    b(old)\n    x = 2\n    c(old)\n"
    editing, found = await asked(text, ("f(old", "f(new"))
    (proposal,) = [x for x in found if isinstance(x, ReplaceProposal)]
    assert replaced(editing, proposal) == text.replace("old", "new")


@pytest.mark.parametrize(
    "more",
    ["\n\ndef g(old):\n    return old\n", "\n\n# as old as the hills\n", "\n\nx.old = 'old'\n"],
)
async def test_a_name_is_not_replaced_where_others_have_the_same(more: str) -> None:
    text = "def f(old):\n    a(old)\n    x = 1\n    b(old)\n    x = 2\n    c(old)\n"
    _, found = await asked(text + more, ("f(old", "f(new"))
    assert isinstance(found[0], EditProposal)
    assert any(isinstance(x, RenameProposal) for x in found)
    assert not any(isinstance(x, ReplaceProposal) for x in found)


async def test_a_name_is_not_renamed_everywhere_if_that_breaks_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_long(candidate: Candidate, file: SourceFile) -> bool:
        return candidate.end - candidate.start > 1

    monkeypatch.setattr(predictor, "breaks", is_long)
    _, found = await asked(STRANGE, ("f(old", "f(new"))
    assert [type(x) for x in found] == [EditProposal]


CALLS = (
    "def buy(basket):\n"
    "    log.debug('buying for %s', basket.owner)\n"
    "    return basket\n"
    "\n"
    "\n"
    "def sell(basket, customer):\n"
    "    log.debug('selling to %s', customer.name)\n"
    "    for item in basket:\n"
    "        log.debug('taking %s', item.name)\n"
    "        item.stock -= 1\n"
    "    log.debug('sold %d items', len(basket))\n"
    "    return sum(item.price for item in basket)\n"
    "\n"
    "\n"
    "def restock(item, count):\n"
    "    log.debug('restocking %s', item.name)\n"
    "    item.stock += count\n"
)


FEWER = CALLS.partition("\n\n\n")[2] + (
    "\n\ndef refund(basket, customer):\n    log.debug('refunding %s', customer.name)\n"
)


async def walk(text: str, rejected: int | None = None) -> list[tuple[int, int]]:
    """Go from suggestion to suggestion; return their lines, and how many more were announced."""
    editing = EditingSession(Session(name="", text=text))
    editing.type("debug('selling", "info('selling")
    out: list[tuple[int, int]] = []
    while found := await editing.ask():
        (top, *_) = found
        assert isinstance(top, EditProposal)
        line = top.edits[0].span.start.line
        out.append((line, top.meta["remaining"]))
        editing.now += 5
        if line == rejected:
            editing.predictor.on_outcome(top, "rejected")
            continue
        editing.predictor.on_outcome(top, "accepted")
        assert applied(editing.document, top)[line].strip().startswith("log.info(")
        for edit in top.edits:
            editing.replace(Span(*edit.span), edit.text)
        assert top.cursor is not None
        editing.spot = top.cursor
    return out


async def test_the_next_place_is_the_nearest_below_and_then_above() -> None:
    assert await walk(CALLS) == [(8, 3), (10, 2), (15, 1), (1, 0)]


async def test_what_was_rejected_does_not_count_as_left() -> None:
    assert await walk(FEWER, rejected=3) == [(3, 3), (5, 2), (10, 1), (15, 0)]
