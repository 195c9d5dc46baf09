"""The state of the editor, for agents that need to know which files the user is looking at.

This is a proposed extension, off unless the program passes an object with at least one of these
methods, plain or `async`:

- `open_documents(session)`: the open files;
- `recent_documents(limit, session)`: recently opened files, newest first; the limit may be None;
- `active_document(session)`: the focused file, or None.

Each returns `WorkspaceDocument`s. The session is the one that sent the request, so an editor with
several projects can respond for one of them. Requests are refused for sessions that were neither
opened here nor reported as a subagent's. Only documents with a `file:///` URI are sent to the
agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from parley.errors import InvalidParams
from parley.peer import RequestContext, RequestHandler
from parley.schema import v2

from ._calling import call_maybe_async

if TYPE_CHECKING:
    from ._connection_state import ConnectionState
    from ._session import Session


EDITOR_METHODS: dict[str, tuple[str, ...]] = {
    "open_documents": ("session",),
    "recent_documents": ("limit", "session"),
    "active_document": ("session",),
}
"""The methods that an editor object may have, and the arguments of each."""

Documents: TypeAlias = Iterable[v2.WorkspaceDocument]
_Handler: TypeAlias = Callable[[Any, "Session"], Awaitable[Any]]


def editor_handlers(connection: ConnectionState, editor: object) -> Mapping[str, RequestHandler]:
    """Return the request handlers for the methods that an editor has, by protocol method name."""

    async def open_documents(request: Any, session: Session) -> Any:
        del request
        documents: Documents = await call_maybe_async(editor.open_documents, session)  # type: ignore[attr-defined]
        return v2.WorkspaceOpenDocumentsResponse(documents=_files(documents))

    async def recent_documents(
        request: v2.WorkspaceRecentDocumentsRequest, session: Session
    ) -> Any:
        found: Documents = await call_maybe_async(editor.recent_documents, request.limit, session)  # type: ignore[attr-defined]
        documents = _files(found)[: request.limit]
        return v2.WorkspaceRecentDocumentsResponse(documents=documents)

    async def active_document(request: Any, session: Session) -> Any:
        del request
        document: v2.WorkspaceDocument | None
        document = await call_maybe_async(editor.active_document, session)  # type: ignore[attr-defined]
        files = _files([] if document is None else [document])
        return v2.WorkspaceActiveDocumentResponse(document=files[0] if files else None)

    known = {each.__name__: each for each in (open_documents, recent_documents, active_document)}
    return {
        f"workspace/{name}": _in_session(connection, known[name])
        for name in EDITOR_METHODS
        if hasattr(editor, name)
    }


def _in_session(connection: ConnectionState, handler: _Handler) -> RequestHandler:
    """Wrap a handler that takes a session, which is looked up by the id in the request."""

    async def handle(request: Any, context: RequestContext) -> Any:
        del context
        state = connection.find_session(request.session_id)
        if state is None:
            raise InvalidParams(data={"problem": "params.sessionId: there are too many sessions"})
        # An update alone makes a session known to the connection; that does not give it access.
        if state.session.cwd is None and not connection.is_subagent(state.id):
            raise InvalidParams(
                data={"problem": "params.sessionId: the session was not opened here"}
            )
        return await handler(request, state.session)

    return handle


def _files(documents: Documents) -> list[v2.WorkspaceDocument]:
    return [each for each in documents if each.uri.startswith("file:///")]
