"""The sessions of suggestions on one connection: start, questions, events, end.

They have nothing to do with conversations: an id of the one kind is unknown where the other is
meant. Events about what is unknown do no harm.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from parley.errors import InvalidParams, MalformedValue, Overloaded, ResourceNotFound
from parley.nes._documents.encoding import Encoding, choose_encoding
from parley.nes._documents.files import Files, folders_of
from parley.nes._documents.store import Documents
from parley.nes.engine import (
    META,
    DocumentEventKind,
    Outcome,
    Predictor,
    Workspace,
    WorkspaceFolder,
)
from parley.peer import NotificationHandler, RequestContext, RequestHandler, TypedHandler
from parley.schema import v2
from parley.schema._codec import decode
from parley.schema.base import I64, Object, Unknown
from parley.schema.v2 import methods
from parley.schema.v2.methods import SET_SESSION_CONFIG_OPTION
from parley.session._capabilities import AgentFeatures, ClientFeatures

from ._answering import checked, make_suggestions
from ._asking import find_document, make_question
from ._capabilities import actions_of, capabilities, kinds_of
from ._session import ServedSession

if TYPE_CHECKING:
    from parley.agent import AgentConnection
    from parley.agent._agent_state import AgentState

    from ._suggestions import Suggestions


_REASONS: dict[str | None, Outcome] = {
    "rejected": "rejected",
    "ignored": "ignored",
    "replaced": "replaced",
    "cancelled": "cancelled",
}
_NO_CONTEXT = v2.NesSuggestContext()
MAX_FOLDERS = 32
"""The folders of a workspace; each is held open, and further ones are passed over."""


class _DidChange(Object):
    """`document/didChange` with its changes as they came: one that is broken must be noticed."""

    session_id: str
    uri: str
    version: I64
    content_changes: Raw = Raw()


_read_changes = msgspec.json.Decoder(list[v2.TextDocumentContentChangeEvent]).decode
_split_changes = msgspec.json.Decoder(list[Raw]).decode


class NesConnection:
    """One connection of `Suggestions`."""

    def __init__(
        self, suggestions: Suggestions, connection: AgentConnection, agent: AgentState
    ) -> None:
        self._suggestions = suggestions
        self._connection = connection
        self._agent_state = agent
        self._sessions: dict[str, ServedSession] = {}
        self._starting = 0
        self._ending: set[asyncio.Task[None]] = set()
        self._encoding: Encoding = "utf-16"
        self._kinds = frozenset({"edit"})
        self._ide_actions: Mapping[str, dict[str, Any]] = {}

    # What the agent asks of an addition

    @property
    def requests(self) -> Mapping[str, RequestHandler]:
        """The requests that it answers."""
        found: dict[str, RequestHandler] = {
            methods.START_NES.name: self._start,
            methods.SUGGEST_NES.name: self._suggest,
            methods.CLOSE_NES.name: self._close,
        }
        if self._suggestions.options():
            found[SET_SESSION_CONFIG_OPTION.name] = self._set_option
        return found

    @property
    def notifications(self) -> Mapping[str, NotificationHandler | TypedHandler]:
        """The notifications that it takes."""
        found: dict[str, NotificationHandler | TypedHandler] = {
            methods.ACCEPT_NES.name: self._accept,
            methods.REJECT_NES.name: self._reject,
        }
        events: dict[DocumentEventKind, NotificationHandler | TypedHandler] = {
            "didOpen": self._did_open,
            "didChange": TypedHandler(self._did_change, _DidChange),
            "didClose": self._did_close,
            "didSave": self._did_save,
            "didFocus": self._did_focus,
        }
        wanted = self._suggestions.events
        return found | {
            f"document/{kind}": handler for kind, handler in events.items() if kind in wanted
        }

    def features(self, offered: AgentFeatures, client: ClientFeatures) -> AgentFeatures:
        """Offer suggestions, and choose what the client's positions count."""
        self._encoding = choose_encoding(client.position_encodings)
        self._kinds = kinds_of(client)
        self._ide_actions = {} if client.nes is None else actions_of(client.nes)
        suggestions = self._suggestions
        return msgspec.structs.replace(
            offered,
            nes=capabilities(suggestions.context, suggestions.events, suggestions.sync),
            position_encoding=self._encoding,
        )

    def owns_session(self, session_id: str | None) -> bool:
        """Return whether a session is one of suggestions."""
        return session_id in self._sessions

    async def aclose(self) -> None:
        """Close all sessions."""
        while self._sessions:
            await self._end(next(iter(self._sessions)))
        if self._ending:
            await asyncio.wait(self._ending)

    # Sessions

    async def _start(
        self, params: v2.StartNesRequest, request: RequestContext
    ) -> v2.StartNesResponse:
        suggestions = self._suggestions
        self._agent_state.check_accepting()
        if len(self._sessions) + self._starting >= suggestions.max_sessions:
            raise Overloaded(f"{suggestions.max_sessions} sessions of suggestions are open already")
        self._starting += 1
        try:
            session = await self._begin(params)
        finally:
            self._starting -= 1
        self._sessions[session.id] = session
        return v2.StartNesResponse(session_id=session.id, config_options=session.config_options)

    async def _begin(self, params: v2.StartNesRequest) -> ServedSession:
        suggestions = self._suggestions
        workspace = await asyncio.to_thread(_workspace, params, suggestions.reads_files)
        session = ServedSession(
            self._connection,
            workspace,
            Documents(
                self._encoding,
                max_count=suggestions.max_documents,
                max_bytes=suggestions.max_document_bytes,
            ),
            await asyncio.to_thread(Files, workspace.folders),
            encoding=self._encoding,
            tracks_documents=suggestions.tracks_documents,
        )
        session.config_options = [*suggestions.options()]
        await suggestions.begin(session)
        return session

    def _find(self, session_id: str) -> ServedSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise ResourceNotFound(
                "There is no such session of suggestions", {"sessionId": session_id}
            )
        return session

    async def _close(
        self, params: v2.CloseNesRequest, request: RequestContext
    ) -> v2.CloseNesResponse:
        self._find(params.session_id)
        await self._end(params.session_id)
        return v2.CloseNesResponse()

    async def _end(self, session_id: str) -> None:
        """End a session; its questions are answered before this returns.

        It ends completely, even if the caller does not wait.
        """
        ending = asyncio.create_task(self._ended(self._sessions.pop(session_id)))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)
        await asyncio.shield(ending)

    async def _ended(self, session: ServedSession) -> None:
        await session.stop(self._agent_state.settings.cancel_timeout)
        await self._suggestions.ended(session)

    async def _set_option(
        self, params: v2.SetSessionConfigOptionRequest, request: RequestContext
    ) -> v2.SetSessionConfigOptionResponse:
        if isinstance(params, Unknown):
            raise InvalidParams("This kind of value is not known")
        session = self._find(params.session_id)
        session.set_option(params.config_id, params.value)
        return v2.SetSessionConfigOptionResponse(config_options=session.config_options)

    # Questions

    async def _suggest(
        self, params: v2.SuggestNesRequest, request: RequestContext
    ) -> v2.SuggestNesResponse:
        session = self._find(params.session_id)
        most = self._suggestions.max_questions
        if len(session.questions) >= most:
            raise Overloaded(f"{most} questions are under way already; the newest ones count")
        task = asyncio.current_task()
        assert task is not None
        session.questions.add(task)
        # Until the response is written: the response to `nes/close` comes after it.
        task.add_done_callback(session.questions.discard)
        return await self._suggestions_for(session, params)

    async def _suggestions_for(
        self, session: ServedSession, params: v2.SuggestNesRequest
    ) -> v2.SuggestNesResponse:
        context = params.context or _NO_CONTEXT
        document = await find_document(session, params, context)
        if document is None:
            return v2.SuggestNesResponse(suggestions=[])
        is_open = session.documents.get(params.uri) is document
        snapshot = document.copy() if is_open else document
        question = make_question(session, params, snapshot, context, self._kinds)
        question = msgspec.structs.replace(question, ide_actions=self._ide_actions)
        known = {each.uri: (each, each.version) for each in session.documents}
        proposals = checked(await session.predictor.suggest(question))
        meta = _about_model(session.predictor)
        found = await make_suggestions(session, question, proposals, context, known)
        if is_open and session.documents.get(params.uri) is not document:  # closed meanwhile
            _cancel(session, found)
            found = []
        return v2.SuggestNesResponse(suggestions=found, meta=meta)

    def _accept(self, note: v2.AcceptNesNotification) -> Awaitable[None] | None:
        return self._settle(note.session_id, note.suggestion_id, "accepted")

    def _reject(self, note: v2.RejectNesNotification) -> Awaitable[None] | None:
        outcome = _REASONS.get(note.reason, "rejected")
        return self._settle(note.session_id, note.suggestion_id, outcome)

    def _settle(self, session_id: str, id: str, outcome: Outcome) -> Awaitable[None] | None:
        session = self._sessions.get(session_id)
        proposal = None if session is None else session.settle(id, outcome)
        if session is None or proposal is None:
            return None
        return self._suggestions.on_outcome(session, proposal, outcome)

    # Documents

    def _did_open(self, note: v2.DidOpenDocumentNotification) -> Awaitable[None] | None:
        session = self._sessions.get(note.session_id)
        return None if session is None else self._suggestions.heard(session, session.open(note))

    def _did_change(self, note: _DidChange) -> Awaitable[None] | None:
        session = self._sessions.get(note.session_id)
        if session is None:
            return None
        event = session.change(note.uri, note.version, _changes(note.content_changes))
        return self._suggestions.heard(session, event)

    def _did_close(self, note: v2.DidCloseDocumentNotification) -> Awaitable[None] | None:
        session = self._sessions.get(note.session_id)
        if session is None:
            return None
        return self._suggestions.heard(session, session.close_document(note.uri))

    def _did_save(self, note: v2.DidSaveDocumentNotification) -> Awaitable[None] | None:
        session = self._sessions.get(note.session_id)
        return None if session is None else self._suggestions.heard(session, session.save(note.uri))

    def _did_focus(self, note: v2.DidFocusDocumentNotification) -> Awaitable[None] | None:
        session = self._sessions.get(note.session_id)
        return None if session is None else self._suggestions.heard(session, session.focus(note))

    def __repr__(self) -> str:
        return f"{len(self._sessions)} sessions of suggestions"


def _cancel(session: ServedSession, suggestions: Iterable[v2.NesSuggestion]) -> None:
    """Settle suggestions that no client will hear of."""
    for each in suggestions:
        if not isinstance(each, Unknown):
            session.settle(each.suggestion_id, "cancelled")


def _about_model(predictor: Predictor) -> dict[str, Any] | None:
    """Return the state of the model for the client: whether it has answered."""
    state: str | None = getattr(predictor, "model_state", None)
    if state is None:
        return None
    return {META: {"model": {"answered": not state, **({"why": state} if state else {})}}}


def _workspace(params: v2.StartNesRequest, has_folders: bool) -> Workspace:
    uris = [each.uri for each in params.workspace_folders or ()]
    if params.workspace_uri is not None:
        uris.insert(0, params.workspace_uri)
    repository = params.repository
    named = (params.workspace_folders or ())[:MAX_FOLDERS]
    return Workspace(
        folders=folders_of(uris)[:MAX_FOLDERS] if has_folders else (),
        repository=None if repository is None else f"{repository.owner}/{repository.name}",
        remote_url=None if repository is None else repository.remote_url,
        uri=params.workspace_uri,
        named_folders=tuple(WorkspaceFolder(each.uri, each.name) for each in named),
    )


def _changes(raw: Raw) -> list[v2.TextDocumentContentChangeEvent | None]:
    """Read changes; None stands for one that cannot be read, or for all of them."""
    try:
        return [*_read_changes(raw)]
    except msgspec.DecodeError:
        pass
    try:
        return [_change(each) for each in _split_changes(raw)]
    except msgspec.DecodeError:
        return [None]


def _change(raw: Raw) -> v2.TextDocumentContentChangeEvent | None:
    try:
        return decode(v2.TextDocumentContentChangeEvent, raw)
    except MalformedValue:
        return None
