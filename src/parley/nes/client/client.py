"""`NesClient`: next edit suggestions for an editor that is written in Python.

The editor says what happens: documents that are opened, changed, closed, a cursor that moves. The
client keeps its own copy of the texts, decides when to ask the agent, and says what is to be shown.
Places are lines and columns counted from 0, in code points.

How long a suggestion stays is said in `parley.nes.rebase`, when one gives way to another in
`display.py`, when questions are asked in `pace.py`, which of them go on in `flight.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack, cast

from msgspec.structs import replace

from parley.client import Connection, ConnectOptions, connect
from parley.errors import LocalProtocolError
from parley.nes.documents.change import Span, Spot
from parley.nes.documents.document import Document
from parley.nes.engine import Diagnostic, TextEdit
from parley.nes.rebase import Step
from parley.transport._target import Target

from .asking import Asking
from .buffer import Buffer
from .clock import Clock
from .context import Context
from .options import NesConnectOptions, NesOptions, check_nes_options
from .pace import Timing
from .session import ACTION, ENCODINGS, NesSession, kinds_of, shown_kinds
from .suggestion import EditSuggestion, JumpSuggestion, Suggestion

__all__ = ["NesClient"]

NEAR_LINES = 2
"""A diagnostic so many lines from the cursor is near it."""


class NesClient:
    """An editor's end of next edit suggestions; use it as `async with NesClient(…) as nes`.

    Methods that tell what the user does send it at once, in the order in which they are called.
    """

    def __init__(self, connection: Connection, **options: Unpack[NesOptions]) -> None:
        """Prepare a session on a connection that is there.

        Args:
            connection: The agent. It is told which kinds are shown when the connection is made:
                see `shown_kinds`.
            options: See `NesOptions`.

        Raises:
            TypeError: There is no such option, or it is something else than it should be.
            ValueError: There is no such kind of suggestions, or the connection does not offer it.
        """
        check_nes_options(options)
        self.connection = connection
        self._kinds = _kinds(connection, options)
        self._folders = [Path(each) for each in options.get("folders", [connection.cwd])]
        clock: Clock = options.get("clock") or asyncio.get_running_loop()
        self._context = Context(clock, options.get("related"))
        self._asking = Asking(
            self._context,
            clock,
            options.get("timing", Timing()),
            folders=self._folders,
            show=options.get("on_show"),
        )
        self._buffers = self._asking.buffers

    @classmethod
    def connect(
        cls, target: Target, cwd: str | Path = ".", **options: Unpack[NesConnectOptions]
    ) -> AbstractAsyncContextManager[NesClient]:
        """Reach an agent, as `parley.connect` does, and begin a session of suggestions.

        Args:
            target: The agent.
            cwd: The folder that the user works in.
            options: How the client behaves: see `NesOptions`; `on_show` is called with what is to
                be shown. How to reach the agent: see `ConnectOptions`.

        Raises:
            TypeError: There is no such option, or it is something else than it should be.
            ValueError: There is no such kind of suggestions.
            Unsupported: The agent makes no suggestions.
        """
        check_nes_options(options, NesConnectOptions)
        given: Any = options
        own: Any = {name: given[name] for name in NesOptions.__annotations__ if name in given}
        rest: ConnectOptions = cast(
            "ConnectOptions", {name: given[name] for name in given if name not in own}
        )
        if "kinds" in own:
            own["kinds"] = tuple(own["kinds"])
        shown = shown_kinds(own.get("kinds", ()), own.pop("actions", ()))
        offers: ConnectOptions = {"nes": shown, "position_encodings": ENCODINGS}
        connecting: ConnectOptions = {**offers, **rest}
        return cls._connected(target, cwd, connecting, own)

    @classmethod
    @asynccontextmanager
    async def _connected(
        cls, target: Target, cwd: str | Path, connecting: ConnectOptions, own: NesOptions
    ) -> AsyncGenerator[NesClient]:
        async with connect(target, cwd, **connecting) as connection, cls(connection, **own) as nes:
            yield nes

    async def __aenter__(self) -> NesClient:
        session = await NesSession.start(
            self.connection, self._folders, answer_timeout=self._asking.timing.start_timeout
        )
        session.kinds = self._kinds
        self._asking.begin(session)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the session; what is shown is gone."""
        await self._asking.aclose()

    @property
    def session(self) -> NesSession:
        """The session on the wire."""
        return self._asking.session

    @property
    def shown(self) -> Suggestion | None:
        """What is to be shown now."""
        return self._asking.display.shown

    # What the user does

    async def open(self, uri: str, language_id: str, text: str) -> Document:
        """Tell that a document was opened; returns our copy, to be looked at only."""
        if uri in self._buffers:
            raise LocalProtocolError(f"{uri} is open already")
        document = Document(uri, language_id, 1, text)
        self._buffers[uri] = buffer = Buffer(document)
        self._asking.front = self._asking.front or buffer
        self._context.edits.opened(document)
        outcomes = self._asking.opened(document)
        await self.session.opened(document)
        await self._asking.tell(outcomes)
        return document

    async def change(self, uri: str, *edits: TextEdit, cursor: Spot | None = None) -> None:
        """Tell that the user changed a document.

        Args:
            uri: Which one.
            edits: What was changed, each in the text that the one before has made.
            cursor: Where the cursor is now; behind the last edit unless told otherwise.
        """
        buffer, asking = self._buffer(uri), self._asking
        asking.bring(buffer)
        steps = self._apply(buffer, edits, cursor)
        is_typed, outcomes = asking.follow(steps)
        if is_typed and self.shown is not None:
            asking.cache.put(buffer.key, self.shown.id)
        self._context.typed([each.change for each in steps], self.session, buffer)
        is_back = buffer.is_back
        if is_back and not is_typed:
            asking.pace.undone()
            asking.flights.cancel()
            outcomes += asking.display.drop("ignored")
        await asking.report(buffer, outcomes)
        if steps and not is_back:
            asking.pace.edited()
            if not is_typed:
                asking.wonder("automatic")

    async def set_text(self, uri: str, text: str, cursor: Spot | None = None) -> None:
        """Tell the whole text of a document; what differs is the change."""
        change = self._buffer(uri).document.copy().replace(text)
        await self.change(uri, TextEdit(change.span, change.new), cursor=cursor)

    async def move(self, uri: str, spot: Spot, selection: Span | None = None) -> None:
        """Tell where the cursor is now, and what is selected."""
        buffer = self._buffer(uri)
        self._asking.bring(buffer)
        buffer.cursor = buffer.document.clamp(spot)
        buffer.selection = None if selection is None else Span(*sorted(selection))
        self._context.acted("cursorMovement", self.session, buffer)
        await self._asking.report(buffer, self._asking.display.arrived(uri, spot))
        if self.shown is None and self._asking.pace.is_fresh:
            self._asking.wonder("automatic")

    async def focus(self, uri: str, spot: Spot | None = None, visible: Span | None = None) -> None:
        """Tell that a document came to the front, where its cursor is and what is seen of it."""
        buffer = self._buffer(uri)
        self._asking.bring(buffer, anew=True)
        buffer.cursor = buffer.cursor if spot is None else buffer.document.clamp(spot)
        buffer.visible = visible or buffer.visible
        await self._asking.report(buffer, self._asking.display.arrived(uri, buffer.cursor))
        self._asking.wonder("automatic")

    async def save(self, uri: str) -> None:
        """Tell that a document was saved."""
        await self.session.saved(self._buffer(uri).document.uri)

    async def close(self, uri: str) -> None:
        """Tell that a document was closed; what was suggested for it is gone."""
        buffer = self._buffer(uri)
        del self._buffers[uri]
        buffer.unsent = None
        self._context.edits.closed(uri)
        self._context.diagnostics.pop(uri, None)
        outcomes = self._asking.closed(buffer)
        await self.session.closed(uri)
        await self._asking.tell(outcomes)

    async def diagnose(self, uri: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Tell all errors and warnings of a document; a new one near the cursor is a reason."""
        buffer = self._buffer(uri)
        before = {(each.severity, each.message) for each in self._context.diagnostics.get(uri, ())}
        self._context.diagnostics[uri] = tuple(diagnostics)
        if before != {(each.severity, each.message) for each in diagnostics}:
            self._asking.cache.forget(uri)
        is_near = any(
            abs(each.span.start.line - buffer.cursor.line) <= NEAR_LINES
            for each in diagnostics
            if (each.severity, each.message) not in before
        )
        if is_near and buffer is self._asking.front:
            self._asking.wonder("diagnostic")

    # What the user wants

    async def ask(self) -> Suggestion | None:
        """Ask because the user wants it; returns what is to be shown then.

        Raises:
            RequestError: The agent refused.
            TimeoutError: It does not answer.
            ConnectionClosed: It has gone.
        """
        await self._asking.ask()
        return self.shown

    async def accept(self, suggestion: Suggestion | None = None) -> Suggestion | None:
        """Tell that the user takes what is shown; returns it, for the editor to carry out.

        None if nothing is shown, or something else than the given one: the user pressed the key a
        moment too late, and nothing has happened.

        The edits of a document that is open are made in our copy at once and told to the agent:
        the editor makes them in its own text, and does not tell them by `change`. Where somebody
        may type while this waits, it makes those of `shown` right before it calls this. What comes
        next is asked for without waiting.
        """
        shown, asking = self._meant(suggestion), self._asking
        if shown is None:
            return None
        outcomes = asking.display.drop("accepted")
        asking.pace.accepted()
        buffer = self._buffers.get(shown.uri)
        if buffer is None or not isinstance(shown, EditSuggestion | JumpSuggestion):
            await asking.tell(outcomes)
            return shown
        if isinstance(shown, EditSuggestion):
            shown = self._make(buffer, shown)
        else:
            buffer.cursor = buffer.document.clamp(shown.spot)
        asking.bring(buffer)
        try:
            await asking.tell(outcomes)
        finally:
            await asking.send(buffer)
        asking.wonder("automatic", at_once=True)
        return shown

    async def reject(self, suggestion: Suggestion | None = None) -> bool:
        """Tell that the user does not want what is shown; it is not shown again.

        Returns whether it was shown still; if not, nothing has happened.
        """
        shown, asking = self._meant(suggestion), self._asking
        if shown is None:
            return False
        asking.memory.add(shown)
        asking.cache.forget(shown.uri)
        asking.pace.rejected()
        asking.flights.cancel()
        await asking.tell(asking.display.drop("rejected"))
        return True

    # Below

    def _buffer(self, uri: str) -> Buffer:
        if uri not in self._buffers:
            raise LocalProtocolError(f"{uri} is not open")
        return self._buffers[uri]

    def _meant(self, suggestion: Suggestion | None) -> Suggestion | None:
        """Return what is shown, as it is now, if that is what is meant."""
        shown = self.shown
        is_other = suggestion is not None and shown is not None and suggestion.id != shown.id
        return None if is_other else shown

    def _apply(self, buffer: Buffer, edits: Sequence[TextEdit], cursor: Spot | None) -> list[Step]:
        """Change our copy; returns what the user did."""
        self._asking.flights.leaving(buffer.document)
        changes, events = self.session.apply(buffer.document, edits)
        buffer.unsent = [*(buffer.unsent or []), *events]
        self._context.edits.changed(buffer.document.uri, changes)
        return buffer.steps(changes, cursor)

    def _make(self, buffer: Buffer, shown: EditSuggestion) -> EditSuggestion:
        """Make the edits of a suggestion; returns it with the place of the cursor."""
        cursor = shown.cursor_after
        steps = self._apply(buffer, shown.edits[::-1], cursor)
        self._asking.follow(steps)
        self._context.acted("acceptSuggestion", self.session, buffer)
        return replace(shown, cursor=cursor)


def _kinds(connection: Connection, options: NesOptions) -> frozenset[str]:
    """Return what the editor shows, which the connection has to offer."""
    offered = kinds_of(connection.offered.nes)
    if "actions" in options:
        _check_actions(connection, options["actions"])
    if "kinds" not in options:
        return offered
    wanted = kinds_of(shown_kinds(options["kinds"])) | (offered & {ACTION})
    if missing := sorted(wanted - offered):
        told = f"the connection does not offer the kind {missing[0]!r}"
        raise ValueError(f"{told}: make it with nes=shown_kinds([{missing[0]!r}])")
    return wanted


def _check_actions(connection: Connection, actions: Iterable[str]) -> None:
    """Refuse actions that the connection was not made with: the agent does not know them.

    Raises:
        ValueError: There is such an action.
    """
    offered = connection.offered.nes
    known = (None if offered is None else offered.ide_actions) or ()
    if missing := sorted(set(actions).difference(known)):
        told = f"the connection does not offer the action {missing[0]!r}"
        raise ValueError(f"{told}: make it with nes=shown_kinds([…], [{missing[0]!r}])")
