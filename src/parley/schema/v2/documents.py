"""Positions in documents, and telling the agent what happens to documents.

They left the schema in autumn 2026 and are kept for next edit suggestions. Every event names the
suggestion session of `nes/start` that it belongs to.

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
    """A place between two characters."""

    line: U32
    """Counted from 0."""
    character: U32
    """Counted from 0, in units of the agreed encoding."""


class Range(Object):
    """A piece of a document."""

    start: Position
    end: Position
    """Where it ends; not part of it."""


class DidOpenDocumentNotification(Object):
    """A document was opened."""

    session_id: SessionId
    uri: str
    language_id: str
    version: I64
    text: str


class TextDocumentContentChangeEvent(Object):
    """One change of a document."""

    range: Strict[Range | None] = None
    """What is replaced; None: everything."""
    text: str


class DidChangeDocumentNotification(Object):
    """A document was changed."""

    session_id: SessionId
    uri: str
    version: I64
    """The version after the changes."""
    content_changes: Lenient[list[TextDocumentContentChangeEvent]]
    """The changes, to be applied one after the other."""


class DidCloseDocumentNotification(Object):
    """A document was closed."""

    session_id: SessionId
    uri: str


class DidSaveDocumentNotification(Object):
    """A document was saved."""

    session_id: SessionId
    uri: str


class DidFocusDocumentNotification(Object):
    """A document came to the front."""

    session_id: SessionId
    uri: str
    version: I64
    position: Position
    """Where the cursor is."""
    visible_range: Range
