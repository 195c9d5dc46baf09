from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.work_counting import counting_lines

from parley.nes._documents.change import Change, Span, Spot
from parley.nes._documents.document import Document, content
from parley.nes._documents.past import Past

LONG = "".join(f"line {number}\n" for number in range(1000))


def followed(text: str) -> tuple[Document, Past]:
    document = Document("file:///a", "", 1, text)
    return document, Past(document)


def typed(document: Document, line: int, column: int, text: str) -> Change:
    return document.edit(Span(Spot(line, column), Spot(line, column)), text)


def test_a_text_that_was_there_before_is_undo_or_redo() -> None:
    document, past = followed("a\nb\n")
    past.change([typed(document, 1, 0, "x")])
    past.change([typed(document, 1, 1, "y")])
    assert not past.is_undoing
    past.change([document.edit(Span(Spot(1, 1), Spot(1, 2)), "")])
    assert past.is_undoing
    past.change([typed(document, 1, 1, "y")])
    assert past.is_undoing
    past.change([typed(document, 1, 2, "z")])
    assert not past.is_undoing


def test_several_changes_are_one_step() -> None:
    document, past = followed("a\nb\n")
    past.change([typed(document, 0, 0, "x"), document.edit(Span(Spot(0, 0), Spot(0, 1)), "y")])
    assert not past.is_undoing
    back = [typed(document, 0, 0, "z"), document.edit(Span(Spot(0, 0), Spot(0, 2)), "")]
    past.change(back)
    assert past.is_undoing


def test_no_change_is_no_undo() -> None:
    document, past = followed("a\n")
    past.change([])
    past.change([document.edit(Span(Spot(0, 0), Spot(0, 1)), "a")])
    assert not past.is_undoing


def test_a_block_that_was_moved_makes_another_text() -> None:
    # Each line has the same neighbours as before.
    document, past = followed("\none\n\ntwo\n\nend\n")
    past.change([document.edit(Span(Spot(1, 0), Spot(3, 0)), "")])
    past.change([typed(document, 3, 0, "one\n\n")])
    assert document.text == "\ntwo\n\none\n\nend\n"
    assert not past.is_undoing


def test_what_a_text_would_be_is_known_again() -> None:
    document, past = followed(LONG)
    past.change([typed(document, 700, 0, "new\n")])
    past.change([document.edit(Span(Spot(300, 0), Spot(300, 4)), "row")])
    assert past.was(300, 301, ["line 300"])
    assert not past.was(700, 701, [])
    past.change([document.edit(Span(Spot(300, 0), Spot(300, 3)), "line")])
    assert past.is_undoing
    assert past.was(700, 701, [])
    assert not past.was(700, 701, ["line 700"])


def test_only_the_latest_states_are_remembered() -> None:
    document, past = followed("")
    for _ in range(300):
        past.change([typed(document, 0, 0, "x")])
    assert past.was(0, 1, ["x" * 150])
    assert not past.was(0, 1, ["x" * 50])


EDITS = st.tuples(
    st.integers(0, 700), st.integers(0, 3), st.integers(0, 700), st.text("a\r\n", max_size=4)
)


@given(st.lists(EDITS, max_size=8))
def test_the_state_is_that_of_the_lines_however_they_came_about(
    edits: list[tuple[int, int, int, str]],
) -> None:
    document, past = followed("\r".join("abc" for _ in range(600)))
    for line, column, last, text in edits:
        span = Span(Spot(line, column), Spot(min(last, line + 5), 2))
        past.change([document.edit(span, text)])
        assert past.lines == [content(each) for each in document.lines]
        assert past.state == Past(document).state


STEP = st.lists(
    st.tuples(st.integers(0, 700), st.sampled_from(["x", "\n", "a\nb", ""])), max_size=5
)


@given(st.lists(STEP, max_size=5))
def test_steps_of_many_changes_that_move_lines_end_in_the_right_state(
    steps: list[list[tuple[int, str]]],
) -> None:
    document, past = followed(LONG)
    for step in steps:
        past.change(
            [
                document.edit(Span(Spot(line, 0), Spot(line + (not new), 0)), new)
                for line, new in step
            ]
        )
        assert past.lines == [content(line) for line in document.lines]
        assert past.state == Past(document).state
        assert past.had(document)


def test_many_changes_of_a_long_text_are_one_sum() -> None:
    document, past = followed("x\n" * 100_000)
    changes = [typed(document, line, 0, "y\n") for line in range(0, 4_000, 2)]
    with counting_lines() as count:
        past.change(changes)
    assert count[0] < 10 * 100_000, "one pass over the lines, not one for each change"
