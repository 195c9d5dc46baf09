"""Drives an agent over the protocol, as an editor would: document events, questions, outcomes.

It waits for nothing and keeps nothing back: what an editor does to be pleasant, such as a debounce,
is not measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

from msgspec import Struct

from parley._languages import language_id_of
from parley.client import Connection, ConnectOptions, Process, connect
from parley.errors import AcpError, ConnectFailed, ConnectionClosed, OptionRefused, RequestError
from parley.nes._documents.document import Document
from parley.nes.client._session import ENCODINGS, NesSession, shown_kinds
from parley.nes.engine import Outcome, Proposal, Span, Spot, TextEdit
from parley.transport._target import Target

from .context import Context
from .driver import Answer, Fault, uri_of
from .process import peak_bytes
from .scoring import kind_of
from .suggestions import Unreadable, model_state, proposal_of


class Agent(Struct, frozen=True, kw_only=True):
    """The measured agent, and how to reach it."""

    target: Target
    connect_options: ConnectOptions = {}
    kinds: frozenset[str] = frozenset({"edit", "jump"})
    """The kinds that the client claims to show."""
    options: dict[str, str] = {}
    """The options that are set in each session, by id."""
    response_timeout: float = 10.0
    """The seconds that it has for each answer."""
    settle_after: float = 0.3
    """The seconds that it has in each session to read the project before the first request."""


@asynccontextmanager
async def connected(agent: Agent, cwd: Path) -> AsyncGenerator[WireDriver]:
    """Reach an agent, started again if it is a command, and end it after the block.

    Raises:
        AcpError: It cannot be reached, or does not make suggestions.
    """
    options: ConnectOptions = {
        "process": Process(on_stderr=lambda _: None),
        **agent.connect_options,
        "nes": shown_kinds(agent.kinds),
        "position_encodings": ENCODINGS,
    }
    async with connect(agent.target, cwd, **options) as connection:
        if connection.features.nes is None:
            raise ConnectFailed(f"{connection.name} makes no suggestions: it does not offer `nes`")
        yield WireDriver(connection, agent)


class WireDriver:
    """One agent, and one session of it at a time."""

    def __init__(self, connection: Connection, agent: Agent) -> None:
        self._connection = connection
        self._agent = agent
        self._session: NesSession | None = None
        self._context = Context()
        self._root = Path("/")
        self._documents: dict[str, Document] = {}
        self._ids: list[tuple[Proposal, str]] = []
        self.is_lost = False
        """Whether the connection is lost, so that another agent has to be started."""
        self.peak_bytes = 0
        """The most memory that the agent was seen to have; 0 if that cannot be seen here."""

    @property
    def _live(self) -> NesSession:
        assert self._session is not None, "start first"
        return self._session

    async def start(self, root: Path) -> None:
        """Begin a session in a folder.

        Raises:
            OptionRefused: The options cannot be set.
        """
        self._root, self._documents, self._ids = root, {}, []
        self._context = Context()
        async with self._faults():
            self._session = await NesSession.start(self._connection, [root])
            for name, value in self._agent.options.items():
                await self._set(self._session, name, value)

    async def _set(self, session: NesSession, name: str, value: str) -> None:
        try:
            await session.set_config_option(name, value)
        except RequestError as error:
            raise OptionRefused(
                f"the agent does not take {name}={value}: {error.message}"
            ) from error

    async def open(self, path: str, text: str) -> None:
        """Report that a file is open, and in front."""
        document = Document(uri_of(self._root, path), language_id_of(path), 1, text)
        self._documents[path] = document
        async with self._faults():
            await self._live.opened(document)
            await self._live.focused(document, Spot(0, 0), Span(Spot(0, 0), document.end))

    async def change(self, path: str, span: Span, text: str) -> None:
        """Change a file and report the change."""
        document = self._documents[path]
        made, events = self._live.apply(document, [TextEdit(span, text)])
        self._context.changed(document.uri, made)
        async with self._faults():
            await self._live.changed(document, events)

    async def settle(self) -> None:
        """Give the agent time to read the project."""
        await asyncio.sleep(self._agent.settle_after)

    async def ask(self, path: str, spot: Spot) -> Answer:
        """Ask what comes next."""
        session, document = self._live, self._documents[path]
        context = self._context.request_context(session.context, self._documents.values(), document)
        async with self._faults():
            begun = perf_counter()
            response = await session.suggest(document, spot, context=context)
            took = (perf_counter() - begun) * 1000
        try:
            self._ids = [
                proposal_of(each, self._root, self._documents, session.encoding)
                for each in response.suggestions
            ]
        except Unreadable as error:
            raise Fault(str(error)) from error
        proposals = [proposal for proposal, _ in self._ids]
        if other := [kind for each in proposals if (kind := kind_of(each)) not in session.kinds]:
            raise Fault(f"it suggests a {other[0]}, which we do not offer to show")
        return Answer(proposals, took, model_state(response.meta))

    async def report_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        """Report the outcome of a suggestion."""
        id = next(id for each, id in self._ids if each is proposal)
        async with self._faults():
            await self._live.report_outcome(id, outcome)

    async def close(self) -> None:
        """End the session; an agent that does not answer is started again."""
        if self._connection.pid is not None:
            self.peak_bytes = max(self.peak_bytes, peak_bytes(self._connection.pid))
        session, self._session = self._session, None
        if session is None or self.is_lost:
            return
        try:
            async with self._faults():
                await session.close()
        except Fault:
            self.is_lost = True

    @asynccontextmanager
    async def _faults(self) -> AsyncGenerator[None]:
        """Make a fault of whatever goes wrong with the agent, and of waiting too long."""
        seconds = self._agent.response_timeout
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError as error:
            raise Fault(f"it has not answered within {seconds:g} s") from error
        except OptionRefused:
            raise
        except AcpError as error:
            self.is_lost = self.is_lost or isinstance(error, ConnectionClosed)
            raise Fault(str(error)) from error
