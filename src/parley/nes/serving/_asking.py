"""A client's request as a question for an engine: one document, one place, and the context."""

from __future__ import annotations

from collections.abc import Iterable

from parley.errors import InvalidParams
from parley.nes._documents.change import Span, Spot
from parley.nes._documents.document import Document
from parley.nes._documents.encoding import span_of, spot_of
from parley.nes.engine import Diagnostic, HistoryEntry, Question, Snippet, Trigger, UserAction
from parley.schema import v2

from ._capabilities import MAX_RECENT
from ._session import ServedSession

_TRIGGERS: dict[str, Trigger] = {
    "automatic": "automatic",
    "diagnostic": "diagnostic",
    "manual": "manual",
}


async def find_document(
    session: ServedSession, params: v2.SuggestNesRequest, context: v2.NesSuggestContext
) -> Document | None:
    """Return the document that a question is about; None if there is nothing to say about it.

    One that is tracked has to have the question's version. The text of another one comes with the
    question, among the recent files. It is never read from the disk: the user is editing it, and
    edits of any other text would damage theirs.

    Raises:
        InvalidParams: The client has not sent its text.
    """
    if session.documents.get(params.uri) is not None:
        return await session.arrived(params.uri, params.version)
    for each in context.recent_files or ():
        if each.uri == params.uri:
            return Document(each.uri, each.language_id, params.version, each.text)
    if session.tracks_documents and session.documents.is_open(params.uri):
        return None  # it is too large, which the log says
    raise InvalidParams(_unknown_text(session, params.uri))


def _unknown_text(session: ServedSession, uri: str) -> str:
    """Return why a question cannot be answered, and what the client can do about it."""
    if session.tracks_documents:
        return f"The text of {uri} is not known. Send document/didOpen before nes/suggest."
    return (
        f"The text of {uri} is not known. This agent does not track documents: "
        "send the document in context.recentFiles of nes/suggest."
    )


def make_question(
    session: ServedSession,
    params: v2.SuggestNesRequest,
    document: Document,
    context: v2.NesSuggestContext,
    kinds: frozenset[str],
) -> Question:
    """Return the question for the engine."""
    # An agent that tracks nothing gets the document itself among the recent files.
    others = [each for each in context.recent_files or () if each.uri != document.uri]
    recent = tuple(_recent(session, each) for each in others[:MAX_RECENT])
    known = _Known(session, (document, *recent))
    selection = params.selection
    return Question(
        document=document,
        spot=known.spot(document.uri, params.position),
        selection=None if selection is None else known.span(document.uri, selection),
        trigger=_TRIGGERS.get(params.trigger_kind, "automatic"),
        kinds=kinds,
        recent=recent,
        snippets=tuple(
            Snippet(each.uri, excerpt.start_line, excerpt.text)
            for each in context.related_snippets or ()
            for excerpt in each.excerpts
        ),
        history=tuple(HistoryEntry(each.uri, each.diff) for each in context.edit_history or ()),
        actions=tuple(
            UserAction(
                each.action, each.uri, known.spot(each.uri, each.position), each.timestamp_ms
            )
            for each in context.user_actions or ()
        ),
        open_uris=_open_uris(session, context),
        diagnostics=tuple(
            Diagnostic(each.uri, known.span(each.uri, each.range), each.severity, each.message)
            for each in context.diagnostics or ()
        ),
    )


def _recent(session: ServedSession, file: v2.NesRecentFile) -> Document:
    """Return a recent file; one that is open is known already, and need not be read again."""
    known = session.documents.current(file.uri)
    if known is not None:
        return known.copy()
    return Document(file.uri, file.language_id, 0, file.text)


def _open_uris(session: ServedSession, context: v2.NesSuggestContext) -> tuple[str, ...]:
    if context.open_files is not None:
        return tuple(each.uri for each in context.open_files)
    return tuple(each.uri for each in session.documents)


class _Known:
    """The texts in which places are looked up; where there is none they stay as they are."""

    def __init__(self, session: ServedSession, documents: Iterable[Document]) -> None:
        self._session = session
        self._documents = {each.uri: each for each in documents}

    def spot(self, uri: str, position: v2.Position) -> Spot:
        document = self._documents.get(uri) or self._session.documents.get(uri)
        if document is None:
            return Spot(position.line, position.character)
        return spot_of(document, position, self._session.encoding)

    def span(self, uri: str, range: v2.Range) -> Span:
        document = self._documents.get(uri) or self._session.documents.get(uri)
        if document is None:
            return Span(self.spot(uri, range.start), self.spot(uri, range.end))
        return span_of(document, range, self._session.encoding)
