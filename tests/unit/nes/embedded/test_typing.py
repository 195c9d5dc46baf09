"""What is said while somebody types: nothing where a word is missing."""

from __future__ import annotations

import pytest

from parley.nes.engine import Span, Spot, Trigger

from .editing_session import EditingSession, Session

CALLS = "log.warning(1)\nlog.warning(2)\nlog.warning(3)\nlog.warning(4)\n"
NAMED = "total = 1\nprint(total)\nshow(total)\n"


def desk_of(text: str, trigger: Trigger = "automatic") -> EditingSession:
    return EditingSession(Session(name="typing", text=text, trigger=trigger, mood="eager"))


def delete(editing: EditingSession, line: int, first: int, last: int, *, is_by_key: bool) -> None:
    """Delete a word of a line, and let some time pass."""
    ends = range(last, first, -1) if is_by_key else (last,)
    for end in ends:
        start = end - 1 if is_by_key else first
        editing.replace(Span(Spot(line, start), Spot(line, end)), "")
    editing.now += 5


@pytest.mark.parametrize("is_by_key", [True, False])
@pytest.mark.parametrize(
    ("text", "line", "first", "last"), [(CALLS, 0, 4, 11), (CALLS, 0, 0, 3), (NAMED, 0, 0, 5)]
)
async def test_a_word_that_is_taken_away_is_not_taken_away_elsewhere(
    text: str, line: int, first: int, last: int, is_by_key: bool
) -> None:
    editing = desk_of(text)
    delete(editing, line, first, last, is_by_key=is_by_key)
    assert await editing.ask() == []


async def test_who_goes_elsewhere_has_taken_it_away_for_good() -> None:
    editing = desk_of(NAMED)
    delete(editing, 0, 0, 5, is_by_key=True)
    editing.spot = Spot(1, 0)
    assert await editing.ask()


async def test_who_asks_by_hand_gets_an_answer() -> None:
    editing = desk_of(NAMED, "manual")
    delete(editing, 0, 0, 5, is_by_key=True)
    assert await editing.ask()


async def test_what_is_taken_away_with_more_than_a_word_is_gone() -> None:
    editing = desk_of("f(a, b)\nf(a, b)\nf(a, b)\n")
    for line in range(2):
        editing.replace(Span(Spot(line, 3), Spot(line, 6)), "")
    assert await editing.ask()


async def test_the_next_word_makes_it_speak_again() -> None:
    editing = desk_of(CALLS)
    delete(editing, 0, 4, 11, is_by_key=True)
    for key in "info":
        editing.replace(Span(editing.spot, editing.spot), key)
    editing.now += 5
    assert await editing.ask()
