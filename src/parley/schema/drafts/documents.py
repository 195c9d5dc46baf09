"""Former: positions in a text, and the `document/*` notifications of an editor.

They were removed from the schema; Parley still supports them, for next edit suggestions. An agent
gets only the events that it asked for in its capabilities, see `nes.py`. Position encodings are
defined there as well.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from parley.schema.base import I64, U32, Lenient, Object, Strict
from parley.schema.ids import SessionId

__all__ = [
    "DidChangeDocumentNotification",
    "DidCloseDocumentNotification",
    "DidFocusDocumentNotification",
    "DidOpenDocumentNotification",
    "DidSaveDocumentNotification",
    "Position",
    "Range",
    "TextDocumentContentChangeEvent",
]


class Position(Object):
    """Former: a place between two characters."""

    line: U32
    """The line, starting at 0."""
    character: U32
    """The character offset, starting at 0, in the units of the position encoding."""


class Range(Object):
    """Former: a range of text in a document."""

    start: Position
    end: Position
    """The end, exclusive."""


class DidOpenDocumentNotification(Object):
    """Former: a document was opened."""

    session_id: SessionId
    uri: str
    language_id: str
    version: I64
    text: str


class TextDocumentContentChangeEvent(Object):
    """Former: one change of a document."""

    range: Strict[Range | None] = None
    """The range that the text replaces; None for the whole document."""
    text: str


class DidChangeDocumentNotification(Object):
    """Former: a document was changed."""

    session_id: SessionId
    uri: str
    version: I64
    """The version after the changes."""
    content_changes: Lenient[list[TextDocumentContentChangeEvent]]
    """The changes, each of which applies to the result of the previous one."""


class DidCloseDocumentNotification(Object):
    """Former: a document was closed."""

    session_id: SessionId
    uri: str


class DidSaveDocumentNotification(Object):
    """Former: a document was saved."""

    session_id: SessionId
    uri: str


class DidFocusDocumentNotification(Object):
    """Former: a document received the focus."""

    session_id: SessionId
    uri: str
    version: I64
    position: Position
    """The position of the cursor."""
    visible_range: Range
