"""What an engine is told of documents, by whoever speaks to an editor."""

from __future__ import annotations

from tests.unit.nes.lsp.scripted_engine import URI, Rules

from parley.nes._documents.store import Documents
from parley.nes._feed import DocumentFeed
from parley.schema.v2 import TextDocumentContentChangeEvent


def whole(text: str) -> TextDocumentContentChangeEvent:
    return TextDocumentContentChangeEvent(text=text)


def test_a_document_that_becomes_too_large_is_closed_to_the_engine() -> None:
    rules = Rules()
    feed = DocumentFeed(Documents(max_bytes=4), rules)
    feed.opened(URI, "python", 1, "1234")
    assert feed.changed(URI, 2, [whole("12345")]) == ()
    assert feed.changed(URI, 3, [whole("1")]) == ()
    feed.saved(URI)
    feed.closed(URI)
    assert rules.heard == [("opened", URI, "1234"), ("closed", URI)]
    assert len(feed.documents) == 0


def test_a_copy_that_is_out_of_date_is_not_told_of_until_a_whole_text_comes() -> None:
    rules = Rules()
    feed = DocumentFeed(Documents(), rules)
    feed.opened(URI, "python", 1, "a")
    assert feed.changed(URI, 2, [None]) == ()
    feed.saved(URI)
    assert rules.heard == [("opened", URI, "a")]
    (made,) = feed.changed(URI, 3, [whole("b")])
    assert (made.old, made.new) == ("a", "b")
    feed.saved(URI)
    assert rules.heard[1:] == [("changed", "b"), ("saved", URI)]
