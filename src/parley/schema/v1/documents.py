"""Documents: positions in a text, and the `document/*` notifications of an editor.

They were removed from the schema; Parley still supports them, for next edit suggestions. An agent
gets only the events that it asked for in its capabilities, see `nes_capabilities.py`. Position
encodings are defined there as well.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from parley.schema.base import I64, U32, Lenient, Object, Strict

from .ids import SessionId

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
    """A place between two characters; both numbers count from 0."""

    line: U32
    character: U32
    """The character offset, in the units of the position encoding."""


class Range(Object):
    """A range of text."""

    start: Position
    end: Position
    """The end, exclusive."""


class TextDocumentContentChangeEvent(Object):
    """One change of a text."""

    text: str
    range: Strict[Range | None] = None
    """The range that the text replaces; the whole document if absent."""


class _Event(Object):
    """The fields that all events have."""

    session_id: SessionId
    """A session of next edit suggestions, not a conversation."""
    uri: str


class DidOpenDocumentNotification(_Event):
    """A file was opened."""

    language_id: str
    version: I64
    text: str
    """The whole text."""


class DidChangeDocumentNotification(_Event):
    """A file was edited."""

    version: I64
    """The version after the changes."""
    content_changes: Lenient[list[TextDocumentContentChangeEvent]]
    """The changes, each of which applies to the result of the previous one."""


class DidCloseDocumentNotification(_Event):
    """A file was closed."""


class DidSaveDocumentNotification(_Event):
    """A file was saved."""


class DidFocusDocumentNotification(_Event):
    """A file received the focus."""

    version: I64
    position: Position
    """The position of the cursor."""
    visible_range: Range
