"""Proposal: what an agent may ask about the client's editor.

Which of these a client answers is in `WorkspaceCapabilities`.

Spec: proposed for https://agentclientprotocol.com/rfds
"""

from __future__ import annotations

from parley.schema.base import U32, Object, Strict

from .ids import SessionId

__all__ = [
    "ActiveDocumentRequest",
    "ActiveDocumentResponse",
    "OpenDocumentsRequest",
    "OpenDocumentsResponse",
    "RecentDocumentsRequest",
    "RecentDocumentsResponse",
    "WorkspaceDocument",
]


class WorkspaceDocument(Object):
    """A file in the editor."""

    uri: str
    """A `file:///` URI with an absolute path."""
    language_id: str


class OpenDocumentsRequest(Object):
    """Ask which files are open."""

    session_id: SessionId


class OpenDocumentsResponse(Object):
    """The files that are open."""

    documents: list[WorkspaceDocument]


class RecentDocumentsRequest(Object):
    """Ask which files were open lately."""

    session_id: SessionId
    limit: Strict[U32 | None] = None
    """How many at most; None: as the client likes."""


class RecentDocumentsResponse(Object):
    """The files that were open lately, newest first."""

    documents: list[WorkspaceDocument]


class ActiveDocumentRequest(Object):
    """Ask which file is in front."""

    session_id: SessionId


class ActiveDocumentResponse(Object):
    """The file in front."""

    document: Strict[WorkspaceDocument | None] = None
    """None: no file is."""
