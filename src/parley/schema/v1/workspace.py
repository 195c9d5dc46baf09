"""Proposal: the `workspace/*` methods, which tell an agent about the files in the client's editor.

They were never in the schema and have no page of their own. Each needs its own capability, see
`WorkspaceCapabilities`.

Spec: https://agentclientprotocol.com/rfds
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
    """Ask for the open files."""

    session_id: SessionId


class WorkspaceOpenDocumentsResponse(Object):
    """The open files."""

    documents: list[WorkspaceDocument]


class WorkspaceRecentDocumentsRequest(Object):
    """Ask for recently used files."""

    session_id: SessionId
    limit: Strict[U32 | None] = None
    """The maximum number of files."""


class WorkspaceRecentDocumentsResponse(Object):
    """The recently used files."""

    documents: list[WorkspaceDocument]


class WorkspaceActiveDocumentRequest(Object):
    """Ask for the file that has the focus."""

    session_id: SessionId


class WorkspaceActiveDocumentResponse(Object):
    """The file that has the focus."""

    document: WorkspaceDocument | None
    """None if no text file has the focus; always present on the wire."""
