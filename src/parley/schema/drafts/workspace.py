"""Proposal: the `workspace/*` methods, which tell an agent about the files in the client's editor.

They were never in the schema and have no page of their own. Each needs its own capability, see
`WorkspaceCapabilities`.

Spec: https://agentclientprotocol.com/rfds
"""

from __future__ import annotations

from parley.schema.base import U32, Object, Strict
from parley.schema.ids import SessionId

__all__ = [
    "WorkspaceActiveDocumentCapabilities",
    "WorkspaceActiveDocumentRequest",
    "WorkspaceActiveDocumentResponse",
    "WorkspaceCapabilities",
    "WorkspaceDocument",
    "WorkspaceOpenDocumentsCapabilities",
    "WorkspaceOpenDocumentsRequest",
    "WorkspaceOpenDocumentsResponse",
    "WorkspaceRecentDocumentsCapabilities",
    "WorkspaceRecentDocumentsRequest",
    "WorkspaceRecentDocumentsResponse",
]


class WorkspaceOpenDocumentsCapabilities(Object):
    """Proposal: the client reports the open documents."""


class WorkspaceRecentDocumentsCapabilities(Object):
    """Proposal: the client reports recently used documents."""


class WorkspaceActiveDocumentCapabilities(Object):
    """Proposal: the client reports the document that has the focus."""


class WorkspaceCapabilities(Object):
    """Proposal: the `workspace/*` methods that the client serves."""

    open_documents: WorkspaceOpenDocumentsCapabilities | None = None
    recent_documents: WorkspaceRecentDocumentsCapabilities | None = None
    active_document: WorkspaceActiveDocumentCapabilities | None = None


class WorkspaceDocument(Object):
    """Proposal: a file in the editor."""

    uri: str
    """A `file:///` URI with an absolute path."""
    language_id: str


class WorkspaceOpenDocumentsRequest(Object):
    """Proposal: ask for the open files."""

    session_id: SessionId


class WorkspaceOpenDocumentsResponse(Object):
    """Proposal: the open files."""

    documents: list[WorkspaceDocument]


class WorkspaceRecentDocumentsRequest(Object):
    """Proposal: ask for recently used files."""

    session_id: SessionId
    limit: Strict[U32 | None] = None
    """The maximum number of files; None lets the client decide."""


class WorkspaceRecentDocumentsResponse(Object):
    """Proposal: the recently used files, newest first."""

    documents: list[WorkspaceDocument]


class WorkspaceActiveDocumentRequest(Object):
    """Proposal: ask for the file that has the focus."""

    session_id: SessionId


class WorkspaceActiveDocumentResponse(Object):
    """Proposal: the file that has the focus."""

    document: WorkspaceDocument | None
    """None if no file has the focus; always present on the wire."""
