from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.nes._documents.encoding import Encoding
from parley.nes._documents.store import Documents
from parley.schema.v2 import Position, Range, TextDocumentContentChangeEvent

URI = "file:///a.py"


def whole(text: str) -> TextDocumentContentChangeEvent:
    return TextDocumentContentChangeEvent(text=text)


def piece(
    start: tuple[int, int], end: tuple[int, int], text: str
) -> TextDocumentContentChangeEvent:
    places = (Position(line=line, character=character) for line, character in (start, end))
    first, last = places
    return TextDocumentContentChangeEvent(range=Range(start=first, end=last), text=text)


def insert(text: str) -> TextDocumentContentChangeEvent:
    return piece((0, 0), (0, 0), text)


def opened(text: str = "one\ntwo\n", **limits: int) -> Documents:
    documents = Documents(**limits)  # type: ignore[arg-type]
    documents.open(URI, "python", 1, text)
    return documents


def text_of(documents: Documents) -> str:
    document = documents.get(URI)
    assert document is not None
    return document.text


@pytest.mark.requirement("V1-DOC-09")
def test_changes_apply_one_after_the_other() -> None:
    documents = opened()
    made = documents.change(URI, 2, [piece((0, 0), (0, 3), ""), piece((0, 0), (1, 0), "x")])
    assert made is not None
    assert [(each.old, each.new) for each in made] == [("one", ""), ("\n", "x")]
    assert text_of(documents) == "xtwo\n"
    assert documents.is_current(URI)


@pytest.mark.requirement("V1-DOC-08")
def test_a_change_without_a_range_replaces_everything() -> None:
    documents = opened()
    documents.change(URI, 2, [insert("lost "), whole("all"), insert("after ")])
    assert text_of(documents) == "after all"


def test_a_change_that_was_made_already_is_passed_over() -> None:
    documents = opened()
    documents.change(URI, 2, [insert("a")])
    assert documents.change(URI, 2, [insert("a")]) is None
    assert text_of(documents) == "aone\ntwo\n"
    assert documents.is_current(URI)


def test_a_change_behind_a_later_one_makes_the_copy_out_of_date() -> None:
    documents = opened()
    documents.change(URI, 3, [insert("c")])
    assert documents.change(URI, 2, [insert("b")]) is None
    assert not documents.is_current(URI)
    assert documents.change(URI, 4, [insert("d")]) is None
    assert documents.change(URI, 5, [whole("fresh")]) is not None
    assert documents.is_current(URI)
    assert text_of(documents) == "fresh"


def test_a_change_before_the_last_whole_text_does_not_matter() -> None:
    documents = opened()
    documents.change(URI, 3, [whole("three")])
    assert documents.change(URI, 2, [insert("b")]) is None
    assert documents.is_current(URI)


@pytest.mark.requirement("V1-DOC-14")
def test_a_change_that_cannot_be_read_makes_the_copy_out_of_date() -> None:
    documents = opened()
    assert documents.change(URI, 2, [insert("a"), None]) is None
    assert not documents.is_current(URI)
    assert documents.change(URI, 3, [None, whole("new")]) is not None
    assert documents.is_current(URI)
    assert documents.change(URI, 4, [whole("x"), None]) is None
    assert not documents.is_current(URI)


@pytest.mark.requirement("V1-DOC-13")
def test_what_is_not_open_is_not_changed_and_not_closed() -> None:
    documents = Documents()
    assert documents.change(URI, 2, [whole("x")]) is None
    assert documents.close(URI) is None
    assert documents.get(URI) is None
    assert not documents.is_current(URI)


def test_a_document_that_is_opened_again_is_another_one() -> None:
    documents = opened()
    again = documents.open(URI, "python", 1, "new")
    assert [*documents] == [again]
    assert documents.bytes == 3


def test_there_is_room_for_so_much_and_no_more() -> None:
    documents = opened("é", max_bytes=4, max_count=2)
    assert documents.bytes == 2
    assert documents.open("file:///b", "text", 1, "abc") is None
    assert documents.open("file:///c", "text", 1, "ab") is not None
    assert documents.open("file:///d", "text", 1, "") is None
    assert documents.change("file:///c", 2, [whole("abc")]) is None
    assert len(documents) == 1
    assert documents.bytes == 2
    documents.close(URI)
    assert documents.bytes == 0


texts = st.text(st.sampled_from("a😀é\n\r"), max_size=12)
numbers = st.integers(0, 6)


@given(
    texts,
    st.sampled_from(["utf-16", "utf-32", "utf-8"]),
    st.lists(st.tuples(numbers, numbers, texts), max_size=5),
)
def test_a_copy_has_the_client_s_text_whatever_it_counts(
    text: str, encoding: Encoding, edits: list[tuple[int, int, str]]
) -> None:
    documents = Documents(encoding)
    documents.open(URI, "text", 0, text)
    for version, (one, other, new) in enumerate(edits, 1):
        start, end = sorted((min(one, len(text)), min(other, len(text))))
        if _splits_line_end(text, start) or _splits_line_end(text, end):
            continue
        places = (_place(text, start, encoding), _place(text, end, encoding))
        documents.change(URI, version, [piece(*places, new)])
        text = text[:start] + new + text[end:]
        assert text_of(documents) == text
        assert documents.bytes == len(text.encode())


def _splits_line_end(text: str, at: int) -> bool:
    return text[at - 1 : at + 1] == "\r\n"


def _place(text: str, at: int, encoding: Encoding) -> tuple[int, int]:
    """Where an offset is, counted as an editor does."""
    before = text[:at].replace("\r\n", "\n").replace("\r", "\n")
    last = before.rpartition("\n")[2]
    widths = {"utf-8": len(last.encode()), "utf-32": len(last)}
    return before.count("\n"), widths.get(encoding, len(last.encode("utf-16-le")) // 2)
