"""Documents: positions in a text, and what an editor tells about its files.

Left the schema, and still spoken here. The agent gets only the events that it asked for, see
`nes_capabilities.py`, where the position encodings are as well.
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
    """In the units of the position encoding."""


class Range(Object):
    """A stretch of text."""

    start: Position
    end: Position
    """The first position that is no longer part of it."""


class TextDocumentContentChangeEvent(Object):
    """One change of a text."""

    text: str
    range: Strict[Range | None] = None
    """What the text replaces; everything, if absent."""


class _Event(Object):
    """What all events have."""

    session_id: SessionId
    """A session of next edit suggestions, not a conversation."""
    uri: str


class DidOpenDocumentNotification(_Event):
    """A file was opened."""

    language_id: str
    version: I64
    text: str
    """All of it."""


class DidChangeDocumentNotification(_Event):
    """A file was edited."""

    version: I64
    """The version after the changes."""
    content_changes: Lenient[list[TextDocumentContentChangeEvent]]
    """In order, each to what the one before it has left."""


class DidCloseDocumentNotification(_Event):
    """A file was closed."""


class DidSaveDocumentNotification(_Event):
    """A file was saved."""


class DidFocusDocumentNotification(_Event):
    """The user turned to a file, be it opened just now or before."""

    version: I64
    position: Position
    """Where the cursor is."""
    visible_range: Range
