from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.change import Span, Spot
from parley.nes._documents.document import Document
from parley.nes._documents.edit_log import Edit, EditLog

URI = "file:///a.py"


class Desk:
    """A document that somebody edits, and the log of it; time passes as told."""

    def __init__(self, text: str) -> None:
        self.now = 0.0
        self.log = EditLog(lambda: self.now)
        self.document = Document(URI, "python", 1, text)
        self.log.opened(self.document)

    def edit(self, start: tuple[int, int], end: tuple[int, int], text: str) -> None:
        change = self.document.edit(Span(Spot(*start), Spot(*end)), text)
        self.log.changed(URI, [change])

    def type(self, at: tuple[int, int], text: str) -> None:
        for number, letter in enumerate(text):
            place = (at[0], at[1] + number)
            self.edit(place, place, letter)
            self.now += 0.1


def told(edits: list[Edit]) -> list[tuple[int, str, str]]:
    return [(each.line, each.old, each.new) for each in edits]


def test_keystrokes_make_one_edit() -> None:
    desk = Desk("one\ntwo\nthree\n")
    desk.type((1, 3), " = 2")
    assert [*desk.log] == []
    assert desk.log.pending is not None
    desk.log.settle()
    assert told([*desk.log]) == [(1, "two\n", "two = 2\n")]
    assert desk.log.pending is None


def test_a_moment_without_changes_settles_an_edit() -> None:
    desk = Desk("one\ntwo\n")
    desk.type((0, 3), "!")
    desk.log.tick()
    assert [*desk.log] == []
    desk.now += 2
    desk.log.tick()
    assert told([*desk.log]) == [(0, "one\n", "one!\n")]
    desk.type((0, 4), "?")
    desk.log.settle()
    assert told([*desk.log])[1] == (0, "one!\n", "one!?\n")


def test_changes_nearby_are_one_edit_and_those_far_away_are_another() -> None:
    desk = Desk("x\n" * 40)
    desk.edit((10, 0), (10, 1), "a")
    desk.edit((16, 0), (16, 1), "b")
    desk.edit((2, 0), (2, 1), "c")
    desk.edit((35, 0), (35, 1), "d")
    desk.log.settle()
    assert told([*desk.log]) == [
        (2, "x\n" * 15, "c\n" + "x\n" * 7 + "a\n" + "x\n" * 5 + "b\n"),
        (35, "x\n", "d\n"),
    ]


def test_what_is_taken_back_is_no_edit() -> None:
    desk = Desk("one\n")
    desk.type((0, 3), "!")
    desk.edit((0, 3), (0, 4), "")
    desk.log.settle()
    assert [*desk.log] == []


def test_an_edit_follows_what_is_changed_above_it() -> None:
    desk = Desk("x\n" * 40)
    desk.edit((30, 0), (30, 1), "a")
    desk.edit((0, 0), (0, 0), "new\nnew\n")
    desk.log.settle()
    assert [each.line for each in desk.log] == [32, 0]
    assert [each.new for each in desk.log] == ["a\n", "new\nnew\n"]


def test_edits_of_another_file_are_others() -> None:
    desk = Desk("one\n")
    other = Document("file:///b", "python", 1, "one\n")
    desk.log.opened(other)
    desk.edit((0, 0), (0, 3), "1")
    desk.log.changed(other.uri, [other.edit(Span(Spot(0, 0), Spot(0, 3)), "2")])
    desk.log.closed(other.uri)
    assert [(each.uri, each.new) for each in desk.log] == [(URI, "1\n"), (other.uri, "2\n")]
    desk.log.changed("file:///unknown", [])


def test_only_so_many_edits_are_kept() -> None:
    log = EditLog(lambda: 0.0, max_edits=2)
    document = Document(URI, "text", 1, "x\n" * 100)
    log.opened(document)
    for line in (0, 20, 40, 60):
        log.changed(URI, [document.edit(Span(Spot(line, 0), Spot(line, 0)), "y")])
    log.settle()
    assert [each.line for each in log] == [40, 60]


texts = st.text(st.sampled_from("ab\n\r"), max_size=8)
spots = st.builds(Spot, st.integers(0, 30), st.integers(0, 3))


@given(texts, st.lists(st.tuples(spots, spots, texts), max_size=8))
def test_an_edit_says_what_its_lines_were_and_are(
    text: str, edits: list[tuple[Spot, Spot, str]]
) -> None:
    desk = Desk(text)
    for start, end, new in edits:
        desk.edit(start, end, new)
    assert desk.log.pending is None or not [*desk.log]
    edit = desk.log.pending
    if edit is None:
        assert desk.document.text == text or [*desk.log]
        return
    lines = desk.document.lines
    assert "".join(lines[edit.line :]).startswith(edit.new)
    before = "".join(lines[: edit.line])
    after = "".join(lines[edit.line :])[len(edit.new) :]
    assert before + edit.old + after == text


def test_an_edit_moves_when_the_line_above_it_goes() -> None:
    desk = Desk("one\ntwo\nthree\n")
    desk.type((2, 5), "!")
    desk.log.settle()
    desk.now += 2
    desk.edit((1, 0), (2, 0), "")
    assert told([*desk.log]) == [(1, "three\n", "three!\n")]
    desk.log.settle()
    desk.edit((1, 0), (1, 0), "four\nfive\n")
    assert told([*desk.log])[0] == (3, "three\n", "three!\n")


PLACE = st.tuples(st.integers(0, 12), st.integers(0, 3))
EDITS = st.lists(st.tuples(PLACE, PLACE, st.sampled_from(["", "x", "\n", "y\n", "\r", "a\r\nb"])))


@given(EDITS, st.sampled_from(["\n", "\r\n", "\r"]))
def test_an_edit_is_where_its_lines_are(edits: list[tuple[Spot, Spot, str]], eol: str) -> None:
    desk = Desk(eol.join(f"l{number}" for number in range(12)))
    for number in range(0, 12, 3):
        desk.edit((number, 0), (number, 0), f"edit{number} ")
        desk.now += 2
    desk.log.settle()
    marked = {edit.new.split()[0]: edit for edit in desk.log}
    for start, end, text in edits:
        desk.edit(min(start, end), max(start, end), text)
        lines = [line.split(" ")[0] for line in desk.document.lines]
        for mark, edit in marked.items():
            if mark in lines:
                assert lines[edit.line] == mark
