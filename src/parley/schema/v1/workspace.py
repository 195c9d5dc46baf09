"""What the client tells about its editor: open, recent and focused files.

A proposal that was never in the schema and has no page of its own. Each method needs its own part
of `clientCapabilities.workspace`. Where proposals stand: https://agentclientprotocol.com/rfds
"""

from __future__ import annotations

from parley.schema.base import U32, Object, Strict

from .ids import SessionId

__all__ = [
    "WorkspaceActiveDocumentRequest",
    "WorkspaceActiveDocumentResponse",
    "WorkspaceDocument",
    "WorkspaceOpenDocumentsRequest",
    "WorkspaceOpenDocumentsResponse",
    "WorkspaceRecentDocumentsRequest",
    "WorkspaceRecentDocumentsResponse",
]


class WorkspaceDocument(Object):
    """A file in the editor."""

    uri: str
    """`file:///` and an absolute path."""
    language_id: str


class WorkspaceOpenDocumentsRequest(Object):
    """Which files are open?"""

    session_id: SessionId


class WorkspaceOpenDocumentsResponse(Object):
    """The files that are open."""

    documents: list[WorkspaceDocument]


class WorkspaceRecentDocumentsRequest(Object):
    """Which files were used lately?"""

    session_id: SessionId
    limit: Strict[U32 | None] = None
    """How many to tell at most."""


class WorkspaceRecentDocumentsResponse(Object):
    """The files that were used lately."""

    documents: list[WorkspaceDocument]


class WorkspaceActiveDocumentRequest(Object):
    """Which file has the focus?"""

    session_id: SessionId


class WorkspaceActiveDocumentResponse(Object):
    """The file that has the focus."""

    document: WorkspaceDocument | None
    """None when the focus is on something else than a text from a file; always written."""
