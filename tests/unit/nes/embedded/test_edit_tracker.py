from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.document import Document, content
from parley.nes.embedded._edits import EditTracker
from parley.nes.engine import Question, Span, Spot

from .editing_session import EditingSession, Session


def follow(text: str) -> tuple[Document, EditTracker]:
    document = Document("file:///a.py", "python", 1, text)
    return document, EditTracker(document)


def test_touching_changes_are_one_hunk() -> None:
    document, sweep = follow("a\nb\nc\n")
    sweep.change([document.edit(Span(Spot(0, 0), Spot(0, 1)), "A")], 1)
    sweep.change([document.edit(Span(Spot(1, 0), Spot(1, 1)), "B")], 2)
    (hunk,) = sweep.hunks
    assert (hunk.start, hunk.old, hunk.new, hunk.turn) == (0, ["a", "b"], ["A", "B"], 2)


def test_a_hunk_moves_with_lines_that_come_above_it() -> None:
    document, sweep = follow("a\nb\nc\nd\n")
    sweep.change([document.edit(Span(Spot(3, 0), Spot(3, 1)), "D")], 1)
    sweep.change([document.edit(Span(Spot(0, 0), Spot(0, 0)), "x\ny\n")], 2)
    assert [(hunk.start, hunk.old, hunk.new) for hunk in sweep.hunks] == [
        (0, [], ["x", "y"]),
        (5, ["d"], ["D"]),
    ]


def test_what_is_taken_back_is_gone() -> None:
    document, sweep = follow("a\nb\n")
    sweep.change([document.edit(Span(Spot(0, 0), Spot(0, 1)), "A")], 1)
    sweep.change([document.edit(Span(Spot(0, 0), Spot(0, 1)), "a")], 2)
    assert sweep.hunks == []
    assert sweep.is_undoing


def test_typing_on_is_not_undoing() -> None:
    document, sweep = follow("a\n")
    sweep.change([document.edit(Span(Spot(0, 1), Spot(0, 1)), "b")], 1)
    sweep.change([document.edit(Span(Spot(0, 2), Spot(0, 2)), "c")], 2)
    assert not sweep.is_undoing


@given(st.integers(), st.text("ab\n\r", max_size=30))
def test_hunks_always_lead_back_to_the_old_text(seed: int, text: str) -> None:
    chance = random.Random(seed)
    document, sweep = follow(text)
    before = [content(line) for line in document.lines]
    for turn in range(6):
        spots = sorted(
            Spot(line, chance.randint(0, len(content(document.lines[line]))))
            for line in (chance.randrange(len(document.lines)) for _ in range(2))
        )
        new = "".join(chance.choice("abc\n") for _ in range(chance.randint(0, 4)))
        sweep.change([document.edit(Span(*spots), new)], turn)
    lines = [content(line) for line in document.lines]
    for hunk in reversed(sweep.hunks):
        assert lines[hunk.start : hunk.end] == hunk.new
        lines[hunk.start : hunk.end] = hunk.old
    assert lines == before


def test_what_was_edited_long_ago_is_still_edited() -> None:
    editing = EditingSession(
        Session(name="", text="".join(f"x{n} = get({n})\n\n" for n in range(120)))
    )
    for n in range(100):
        editing.replace(Span(Spot(2 * n, 0), Spot(2 * n, 1)), "y")
    context = editing.predictor.edit_context(Question(document=editing.document, spot=Spot(0, 0)))
    uri = editing.document.uri
    found = [line for line in range(240) if context.is_edited(uri, line, line + 1)]
    assert found == list(range(0, 200, 2))
    assert context.is_edited(uri, 1, 1)
    assert not context.is_edited(uri, 201, 201)
    assert len(context.hunks) < 100


SPOTS = st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from(["", "a", "b\n", "a\nb"]))


@given(st.lists(SPOTS, max_size=8))
def test_every_text_that_was_is_known_and_no_other(edits: list[tuple[int, int, str]]) -> None:
    document, sweep = follow("a\nb\na\nb\n")
    texts = [[*sweep.lines]]
    for turn, (start, end, new) in enumerate(edits, 1):
        last = len(document.lines) - 1
        span = Span(Spot(min(start, end, last), 0), Spot(min(max(start, end), last), 0))
        sweep.change([document.edit(span, new)], turn)
        texts.append([*sweep.lines])
    for text in texts:
        assert sweep.was(0, len(sweep.lines), text)
        # The same lines in another order.
        assert sweep.was(0, len(sweep.lines), text[::-1]) == (text[::-1] in texts)
        assert not sweep.was(0, len(sweep.lines), [*text, "c"])
