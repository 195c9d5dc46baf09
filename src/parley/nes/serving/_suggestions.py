"""`Suggestions`: an agent that suggests the next edit, with an engine or with functions."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, cast

from parley.agent._agent import add_extension
from parley.errors import LocalProtocolError
from parley.nes._documents.store import MAX_BYTES, MAX_COUNT
from parley.nes._feed import DocumentFeed
from parley.nes.engine import (
    DocumentEvent,
    DocumentEventKind,
    Engine,
    Outcome,
    Predictor,
    Proposal,
    Question,
)
from parley.schema import v2
from parley.session._validation import check_handler

from ._capabilities import CONTEXT, EVENTS, TRACKING
from ._connection import NesConnection
from ._session import ServedSession

if TYPE_CHECKING:
    from parley.agent import Agent, AgentConnection
    from parley.agent._agent_state import AgentState


logger = logging.getLogger(__name__)

MAX_SESSIONS = 100
MAX_QUESTIONS = 32

SuggestFunction: TypeAlias = Callable[
    [ServedSession, Question], Awaitable[Sequence[Proposal] | None]
]
SessionFunction: TypeAlias = Callable[[ServedSession], Awaitable[None]]
AcceptedFunction: TypeAlias = Callable[[ServedSession, Proposal], Awaitable[None]]
RejectedFunction: TypeAlias = Callable[[ServedSession, Proposal, Outcome], Awaitable[None]]
DocumentFunction: TypeAlias = Callable[[ServedSession, DocumentEvent], Awaitable[None]]

G = TypeVar("G", bound=SuggestFunction)
S = TypeVar("S", bound=SessionFunction)
A = TypeVar("A", bound=AcceptedFunction)
R = TypeVar("R", bound=RejectedFunction)
D = TypeVar("D", bound=DocumentFunction)
F = TypeVar("F", bound=Callable[..., Awaitable[object]])


class Suggestions:
    """Has an agent suggest edits, in both versions of the protocol.

    What is suggested comes from an engine, or from a function of the program's: `@nes.suggest`.
    The other functions, such as `@nes.accepted`, are called beside an engine as well.
    """

    def __init__(
        self,
        agent: Agent,
        engine: Engine | None = None,
        *,
        context: Iterable[str] = (),
        options: Sequence[v2.SessionConfigOption] = (),
        events: Iterable[DocumentEventKind] = EVENTS,
        sync: Literal["full", "incremental"] = "incremental",
        files: bool = True,
    ) -> None:
        """Add suggestions to an agent.

        Args:
            agent: The agent; it need not have sessions.
            engine: What suggests; without one there has to be a function.
            context: What is wanted with each question besides what the engine wants, such as
                `editHistory`: see `CONTEXT`.
            options: Config options besides those of the engine; `session.option` has their values.
            events: What the client reports about its documents: `didOpen`, `didChange`,
                `didClose`, `didSave`, `didFocus`. All of them by default; none for an agent that
                gets everything with the question. Without `didOpen` and `didChange`, the client
                sends the document with each question: `recentFiles` is then always wanted.
            sync: Whether `didChange` carries what changed, or the whole text: `full`.
            files: Whether files of the workspace that are not open are read from the disk; if
                not, there are no folders in the session's workspace.

        Raises:
            ValueError: There is no such context, event or sync, or these events are not enough
                to keep the documents current.
            TypeError: This is not an engine.
        """
        if engine is not None and not hasattr(engine, "context"):
            raise TypeError(f"{engine!r} is no engine: see parley.nes.Engine")
        wanted = frozenset(context) | (frozenset[str]() if engine is None else engine.context)
        unknown = wanted - CONTEXT.keys()
        if unknown:
            known = ", ".join(CONTEXT)
            raise ValueError(
                f"there is no context {', '.join(sorted(unknown))}; choose from {known}"
            )
        self.events = _checked_events(events, sync)
        """The document events that the client reports."""
        self.sync: Literal["full", "incremental"] = sync
        """The content of `didChange`."""
        self.tracks_documents = self.events >= TRACKING
        """Whether the events give the agent the current text of every open document."""
        if not self.tracks_documents:
            # Else nobody would know the text that a question is about, nor which files the user
            # is editing, whose text on the disk must not be used.
            wanted |= {"recentFiles", "openFiles"} if files else {"recentFiles"}
        self.context = wanted
        """The context that is wanted with each question."""
        self.reads_files = files
        """Whether files that are not open are read from the disk."""
        self.max_sessions = MAX_SESSIONS
        """The sessions of suggestions that may be open on a connection."""
        self.max_questions = MAX_QUESTIONS
        """The questions that may be in progress in one of them; further ones are refused."""
        self.max_documents = MAX_COUNT
        """The documents that may be open in one of them; further ones are passed over."""
        self.max_document_bytes = MAX_BYTES
        """The bytes that these may have together; further documents are passed over."""
        self._engine = engine
        self._options = tuple(options)
        self._suggest: SuggestFunction | None = None
        self._started: SessionFunction | None = None
        self._closed: SessionFunction | None = None
        self._accepted: AcceptedFunction | None = None
        self._rejected: RejectedFunction | None = None
        self._document_event: DocumentFunction | None = None
        add_extension(agent, self)

    def suggest(self, function: G) -> G:
        """Register the function that suggests: `async def guess(session, question)` returns a list.

        It has proposals in it, the best first; None is the same as an empty one.
        """
        if self._engine is not None:
            raise LocalProtocolError("there is an engine that suggests already")
        self._suggest = self._only(self._suggest, function, "suggest", "session", "question")
        return function

    def started(self, function: S) -> S:
        """Register a function that is called for each session: `async def start(session)`.

        What it raises is the answer to the client, such as `AuthRequired`. The options can be set.
        """
        self._started = self._only(self._started, function, "started", "session")
        return function

    def closed(self, function: S) -> S:
        """Register a function that is called for each session that ends, whatever the reason."""
        self._closed = self._only(self._closed, function, "closed", "session")
        return function

    def accepted(self, function: A) -> A:
        """Register a function for accepted suggestions: `async def took(session, proposal)`."""
        self._accepted = self._only(self._accepted, function, "accepted", "session", "proposal")
        return function

    def rejected(self, function: R) -> R:
        """Register a function for suggestions that were not accepted, with the reason.

        `async def passed(session, proposal, reason)`; the reason is `rejected`, `ignored`,
        `replaced` or `cancelled`.
        """
        parameters = ("session", "proposal", "reason")
        self._rejected = self._only(self._rejected, function, "rejected", *parameters)
        return function

    def document_event(self, function: D) -> D:
        """Call this function for each document event: `async def heard(session, event)`.

        The next event of the session waits until it returns.
        """
        parameters = ("session", "event")
        self._document_event = self._only(
            self._document_event, function, "document_event", *parameters
        )
        return function

    def _only(self, known: object, function: F, name: str, *parameters: str) -> F:
        check_handler(function, f"@nes.{name}", *parameters, is_async=True)
        if known is not None:
            raise LocalProtocolError("there is such a function already")
        return function

    # What the connections ask

    def join(self, connection: AgentConnection, agent: AgentState) -> NesConnection:
        """Serve one connection of the agent.

        Raises:
            LocalProtocolError: Nothing suggests.
        """
        if self._engine is None and self._suggest is None:
            raise LocalProtocolError("suggestions need an engine or a function: @nes.suggest")
        return NesConnection(self, connection, agent)

    def options(self) -> Sequence[v2.SessionConfigOption]:
        """Return the config options of a session that begins."""
        own = () if self._engine is None else self._engine.options()
        return (*own, *self._options)

    async def begin(self, session: ServedSession) -> None:
        """Prepare a session that begins."""
        session.feed = DocumentFeed(session.documents, self._predictor(session))
        if self._started is None:
            return
        try:
            await self._started(session)
        except BaseException:  # it may be cancelled as well: then there is no session either
            session.release()
            raise

    def _predictor(self, session: ServedSession) -> Predictor:
        if self._engine is not None:
            return self._engine.begin(session.workspace)
        assert self._suggest is not None
        return _FunctionPredictor(session, self._suggest)

    async def ended(self, session: ServedSession) -> None:
        """Call the program's function for the end of a session."""
        if self._closed is None:
            return
        try:
            await self._closed(session)
        except Exception:  # of the program: the session has ended all the same
            logger.exception("what follows the end of a session failed")

    def heard(self, session: ServedSession, event: DocumentEvent) -> Awaitable[None] | None:
        """Report a document event to the program."""
        return None if self._document_event is None else self._document_event(session, event)

    async def on_outcome(
        self, session: ServedSession, proposal: Proposal, outcome: Outcome
    ) -> None:
        """Call the program's function for the outcome of a suggestion."""
        if outcome == "accepted":
            if self._accepted is not None:
                await self._accepted(session, proposal)
        elif self._rejected is not None:
            await self._rejected(session, proposal, outcome)


def _checked_events(events: Iterable[DocumentEventKind], sync: str) -> frozenset[DocumentEventKind]:
    """Return the events that an agent wants.

    Raises:
        ValueError: One does not exist, or they do not fit together.
    """
    wanted = frozenset(events)
    if unknown := wanted.difference(EVENTS):
        names = ", ".join(sorted(unknown))
        raise ValueError(f"there is no event {names}; choose from {', '.join(EVENTS)}")
    if sync not in ("full", "incremental"):
        raise ValueError(f"sync must be 'full' or 'incremental', not {sync!r}")
    if "didChange" in wanted and "didOpen" not in wanted and sync == "incremental":
        raise ValueError(
            "incremental didChange needs didOpen: without it there is no text to change"
        )
    if wanted >= {"didOpen", "didChange"} and "didClose" not in wanted:
        raise ValueError("didOpen and didChange need didClose: the documents are kept until then")
    return wanted


class _FunctionPredictor(Predictor):
    """One session in which a function of the program's suggests."""

    def __init__(self, session: ServedSession, function: SuggestFunction) -> None:
        self._session = session
        self._function = function

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        """Ask the function; the caller checks what it returns."""
        return cast(Sequence[Proposal], await self._function(self._session, question))
