"""Edits that go together: a definition here, its use there, twice; then the third use."""

from __future__ import annotations

from parley.nes.embedded._rules.pairs import pairs
from parley.nes.engine import EditProposal, Question

from .editing_session import EditingSession, Session, applied

TEXT = (
    "one = 1\n\ntwo = 2\n\nsix = 6\n\ndef show():\n    pass  # a\n\n    pass  # b\n\n    return\n"
)
TYPED = (
    ("one = 1", "one = read('one')"),
    ("pass  # a", "print(one, 'x')"),
    ("two = 2", "two = read('two')"),
    ("pass  # b", "print(two, 'x')"),
    ("six = 6", "six = read('six')"),
)


def desk_after(typed: tuple[tuple[str, str], ...]) -> EditingSession:
    editing = EditingSession(Session(name="pairs", text=TEXT, typed=typed))
    editing.play()
    return editing


def found(editing: EditingSession) -> list[list[str]]:
    question = Question(document=editing.document, spot=editing.spot)
    return [candidate.lines for candidate in pairs(editing.predictor.edit_context(question))]


async def test_the_partner_of_the_last_edit_is_proposed() -> None:
    editing = desk_after(TYPED)
    assert found(editing) == [["    print(six, 'x')"]]
    (top, *_) = await editing.ask()
    assert isinstance(top, EditProposal)
    assert top.rule == "pair"
    lines = applied(editing.document, top)
    assert lines[lines.index("    print(two, 'x')") + 1] == "    print(six, 'x')"


def test_one_pair_says_nothing() -> None:
    assert found(desk_after(TYPED[:3])) == []


def test_who_has_written_the_partner_is_not_told_it_again() -> None:
    editing = desk_after(TYPED)
    editing.type("return", "print(six, 'x')")
    assert found(editing) == []


def test_pairs_that_are_unlike_say_nothing() -> None:
    typed = (*TYPED[:3], ("pass  # b", "log(two)"), TYPED[4])
    assert found(desk_after(typed)) == []
