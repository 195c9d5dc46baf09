"""Proposal: what an agent may ask about the client's editor.

Which of these a client answers is in `WorkspaceCapabilities`.

Spec: an open proposal, https://agentclientprotocol.com/rfds/about
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
    """A `file:///` URI with an absolute path."""
    language_id: str


class WorkspaceOpenDocumentsRequest(Object):
    """Ask which files are open."""

    session_id: SessionId


class WorkspaceOpenDocumentsResponse(Object):
    """The files that are open."""

    documents: list[WorkspaceDocument]


class WorkspaceRecentDocumentsRequest(Object):
    """Ask which files were open lately."""

    session_id: SessionId
    limit: Strict[U32 | None] = None
    """How many at most; None: as the client likes."""


class WorkspaceRecentDocumentsResponse(Object):
    """The files that were open lately, newest first."""

    documents: list[WorkspaceDocument]


class WorkspaceActiveDocumentRequest(Object):
    """Ask which file is in front."""

    session_id: SessionId


class WorkspaceActiveDocumentResponse(Object):
    """The file in front."""

    document: WorkspaceDocument | None
    """None where no file is; always written."""
