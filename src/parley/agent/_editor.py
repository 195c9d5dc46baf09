"""`Editor`: queries about the client's editor, where the client offers them.

Spec: an open proposal, https://agentclientprotocol.com/rfds/about
"""

from __future__ import annotations

from collections.abc import Iterable

from parley.schema import v2
from parley.schema.base import JsonObject
from parley.schema.v2.methods import (
    WORKSPACE_ACTIVE_DOCUMENT,
    WORKSPACE_OPEN_DOCUMENTS,
    WORKSPACE_RECENT_DOCUMENTS,
)

from ._session_state import AgentSessionState


class Editor:
    """The client's editor, available as `session.editor`.

    Each method raises `Unsupported` if the client does not offer it.
    """

    def __init__(self, session: AgentSessionState) -> None:
        self._session = session

    async def open_documents(self, *, meta: JsonObject | None = None) -> list[v2.WorkspaceDocument]:
        """Return the open files."""
        params = v2.WorkspaceOpenDocumentsRequest(session_id=self._session.id, meta=meta)
        response = await self._session.adapter.request(WORKSPACE_OPEN_DOCUMENTS, params)
        return _files(response.documents)

    async def recent_documents(
        self, limit: int | None = None, *, meta: JsonObject | None = None
    ) -> list[v2.WorkspaceDocument]:
        """Return the recently open files, newest first, at most `limit`."""
        params = v2.WorkspaceRecentDocumentsRequest(
            session_id=self._session.id, limit=limit, meta=meta
        )
        response = await self._session.adapter.request(WORKSPACE_RECENT_DOCUMENTS, params)
        return _files(response.documents)[:limit]

    async def active_document(
        self, *, meta: JsonObject | None = None
    ) -> v2.WorkspaceDocument | None:
        """Return the file in the active editor, or None if there is none."""
        params = v2.WorkspaceActiveDocumentRequest(session_id=self._session.id, meta=meta)
        response = await self._session.adapter.request(WORKSPACE_ACTIVE_DOCUMENT, params)
        return next(iter(_files([response.document] if response.document else [])), None)


def _files(documents: Iterable[v2.WorkspaceDocument]) -> list[v2.WorkspaceDocument]:
    """Return only the documents with a `file:` URI; the proposal allows no others."""
    return [document for document in documents if document.uri.startswith("file:///")]
