"""The state of the editor, for agents that want to know which files the user looks at.

A proposal, off unless the program offers an object with one of these methods:

- `open_documents()`: the files that are open;
- `recent_documents(limit)`: the files that were open lately, newest first; the limit may be None;
- `active_document()`: the file in front, or None.

Each returns `WorkspaceDocument`s. Only files with a `file:///` URI are told to the agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from parley.peer import RequestContext, RequestHandler
from parley.schema.v2 import unstable

from .calling import called

__all__ = ["editor_handlers"]

Documents: TypeAlias = Iterable[unstable.WorkspaceDocument]


def editor_handlers(editor: object) -> Mapping[str, RequestHandler]:
    """Return the handlers for what an editor offers, by method name."""

    async def open_documents(request: Any, context: RequestContext) -> Any:
        del request, context
        documents: Documents = await called(editor.open_documents)  # type: ignore[attr-defined]
        return unstable.WorkspaceOpenDocumentsResponse(documents=_files(documents))

    async def recent_documents(
        request: unstable.WorkspaceRecentDocumentsRequest, context: RequestContext
    ) -> Any:
        del context
        documents = _files(await called(editor.recent_documents, request.limit))  # type: ignore[attr-defined]
        return unstable.WorkspaceRecentDocumentsResponse(documents=documents[: request.limit])

    async def active_document(request: Any, context: RequestContext) -> Any:
        del request, context
        document: unstable.WorkspaceDocument | None
        document = await called(editor.active_document)  # type: ignore[attr-defined]
        files = _files([] if document is None else [document])
        return unstable.WorkspaceActiveDocumentResponse(document=files[0] if files else None)

    known = {each.__name__: each for each in (open_documents, recent_documents, active_document)}
    return {
        f"workspace/{name}": handler for name, handler in known.items() if hasattr(editor, name)
    }


def _files(documents: Documents) -> list[unstable.WorkspaceDocument]:
    return [each for each in documents if each.uri.startswith("file:///")]
