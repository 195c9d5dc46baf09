"""What an agent may ask about the client's editor, where the client offers it.

Spec: an open proposal, https://agentclientprotocol.com/rfds/about
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from parley.schema.v2 import unstable
from parley.schema.v2.former_methods import (
    WORKSPACE_ACTIVE_DOCUMENT,
    WORKSPACE_OPEN_DOCUMENTS,
    WORKSPACE_RECENT_DOCUMENTS,
)

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Editor"]


class Editor:
    """The client's editor, as `session.editor`; each question may be `Unsupported`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def open_documents(self) -> list[unstable.WorkspaceDocument]:
        """Return the files that are open."""
        params = unstable.WorkspaceOpenDocumentsRequest(session_id=self._session.id)
        answer = await self._session.connection.surface.request(WORKSPACE_OPEN_DOCUMENTS, params)
        return _files(answer.documents)

    async def recent_documents(self, limit: int | None = None) -> list[unstable.WorkspaceDocument]:
        """Return the files that were open lately, newest first, at most so many."""
        params = unstable.WorkspaceRecentDocumentsRequest(session_id=self._session.id, limit=limit)
        answer = await self._session.connection.surface.request(WORKSPACE_RECENT_DOCUMENTS, params)
        return _files(answer.documents)[:limit]

    async def active_document(self) -> unstable.WorkspaceDocument | None:
        """Return the file in front; None where no file is."""
        params = unstable.WorkspaceActiveDocumentRequest(session_id=self._session.id)
        answer = await self._session.connection.surface.request(WORKSPACE_ACTIVE_DOCUMENT, params)
        return next(iter(_files([answer.document] if answer.document else [])), None)


def _files(documents: Iterable[unstable.WorkspaceDocument]) -> list[unstable.WorkspaceDocument]:
    """Leave out what is no file; the proposal allows nothing else."""
    return [document for document in documents if document.uri.startswith("file:///")]
