"""`NesClient`: next edit suggestions for an editor that is written in Python.

The editor reports what happens: documents that are opened, changed and closed, and a cursor that
moves. The client keeps its own copy of the texts, decides when to ask the agent, and reports what
is to be shown. Places are lines and columns counted from 0, in code points.

`parley.nes._rebase` decides how long a suggestion stays, `_display` when it gives way to another
one, `_scheduler` when the agent is asked, and `_in_flight` which requests continue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, Unpack, cast

from msgspec.structs import replace

from parley.client import Connection, ConnectOptions, connect
from parley.errors import AcpError, ConnectionClosed, LocalProtocolError, Overloaded
from parley.nes._documents.change import Span, Spot
from parley.nes._documents.document import Document
from parley.nes._documents.files import Files
from parley.nes._documents.paths import path_of
from parley.nes._rebase import Step
from parley.nes.engine import Diagnostic, TextEdit, Trigger
from parley.schema import v2
from parley.schema.base import Unknown
from parley.transport._target import Target

from ._buffer import Buffer
from ._context import Context
from ._display import Display, OutcomeReport
from ._in_flight import InFlight, SuggestRequest
from ._options import NesConnectOptions, NesOptions, check_nes_options
from ._scheduler import Clock, RequestScheduler, Timing
from ._session import ACTION, ENCODINGS, NesSession, kinds_of, shown_kinds
from ._suggestion import (
    ActionSuggestion,
    EditSuggestion,
    JumpSuggestion,
    Suggestion,
    bare,
    follow,
    read_suggestion,
)
from ._suggestion_memory import RejectionMemory, SuggestionCache

NEAR_LINES = 2
"""The most lines between the cursor and a diagnostic that is near it."""

logger = logging.getLogger(__name__)

MAX_CACHED = 50
MAX_REJECTIONS = 20
MOST_LOOKED_AT = 20
"""The suggestions of an answer that are looked at, best first; the others are cancelled."""

_Placed: TypeAlias = (
    v2.NesEditSuggestion
    | v2.NesJumpSuggestion
    | v2.NesRenameSuggestion
    | v2.NesSearchAndReplaceSuggestion
)
_Known: TypeAlias = _Placed | v2.NesActionSuggestion
_Work: TypeAlias = Callable[[SuggestRequest, Buffer, Trigger], Coroutine[Any, Any, None]]


class NesClient:
    """An editor's end of next edit suggestions; use it as `async with NesClient(…) as nes`.

    Methods that report what the user does send it at once, in the order in which they are called.
    """

    def __init__(self, connection: Connection, **options: Unpack[NesOptions]) -> None:
        """Prepare a session on a connection that is there.

        Args:
            connection: The agent. It learns which kinds are shown when the connection is made:
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
        timing = options.get("timing", Timing())
        self._session: NesSession | None = None
        self._is_over = False
        self._buffers: dict[str, Buffer] = {}
        """The open documents."""
        self._front: Buffer | None = None
        """The one that the user works in."""
        self._scheduler = RequestScheduler(clock, timing)
        self._clock = clock
        self._timing = timing
        self._revision = 0
        """The number of changes."""
        self._in_flight = InFlight()
        self._cache = SuggestionCache(MAX_CACHED)
        self._rejections = RejectionMemory(MAX_REJECTIONS)
        self._display = Display(options.get("on_show"))
        self._disk_files = Files([str(each.absolute()) for each in self._folders])
        self._read_last = ("", "")
        """The file that was read last, and its text."""

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
            self.connection, self._folders, response_timeout=self._timing.start_timeout
        )
        session.kinds = self._kinds
        self._session, self._is_over = session, False
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the session; what is shown is gone. An agent that does not answer is left alone."""
        self._is_over = True
        self._scheduler.cancel()
        session, seconds = self._session, self._timing.response_timeout
        try:
            async with asyncio.timeout(seconds):
                await self._in_flight.aclose()
                if session is not None and self._session is session:
                    await self._end_session(session)
        except ConnectionClosed:
            pass
        except TimeoutError:
            logger.warning("nes/close was not answered within %g s", seconds)
        finally:
            self._session = None
            self._display.drop("ignored")

    @property
    def session(self) -> NesSession:
        """The session on the wire."""
        if self._session is None:
            raise LocalProtocolError("the session of suggestions is not open")
        return self._session

    @property
    def shown(self) -> Suggestion | None:
        """The suggestion to be shown now."""
        return self._display.shown

    # What the user does

    async def open(self, uri: str, language_id: str, text: str) -> Document:
        """Report that a document was opened; returns the client's copy, which is read-only."""
        if uri in self._buffers:
            raise LocalProtocolError(f"{uri} is open already")
        document = Document(uri, language_id, 1, text)
        self._buffers[uri] = buffer = Buffer(document)
        self._front = self._front or buffer
        self._context.edits.opened(document)
        outcomes = self._drop_outdated(document)
        await self.session.opened(document)
        await self._report_outcomes(outcomes)
        return document

    async def change(self, uri: str, *edits: TextEdit, cursor: Spot | None = None) -> None:
        """Report that the user changed a document.

        Args:
            uri: Which one.
            edits: What was changed, each in the text that the one before has made.
            cursor: Where the cursor is now; by default after the last edit.
        """
        buffer = self._buffer(uri)
        self._focus(buffer)
        steps = self._apply(buffer, edits, cursor)
        is_typed, outcomes = self._follow(steps)
        if is_typed and self.shown is not None:
            self._cache.put(buffer.key, self.shown.id)
        self._context.typed([each.change for each in steps], self.session, buffer)
        is_back = buffer.is_back
        if is_back and not is_typed:
            self._scheduler.undone()
            self._in_flight.cancel()
            outcomes += self._display.drop("ignored")
        await self._send_and_report(buffer, outcomes)
        if steps and not is_back:
            self._scheduler.edited()
            if not is_typed:
                self._schedule_request("automatic")

    async def set_text(self, uri: str, text: str, cursor: Spot | None = None) -> None:
        """Report the whole text of a document; what differs is the change."""
        change = self._buffer(uri).document.copy().replace(text)
        await self.change(uri, TextEdit(change.span, change.new), cursor=cursor)

    async def move(self, uri: str, spot: Spot, selection: Span | None = None) -> None:
        """Report where the cursor is now, and what is selected."""
        buffer = self._buffer(uri)
        self._focus(buffer)
        buffer.cursor = buffer.document.clamp(spot)
        buffer.selection = None if selection is None else Span(*sorted(selection))
        self._context.acted("cursorMovement", self.session, buffer)
        await self._send_and_report(buffer, self._display.arrived(uri, spot))
        if self.shown is None and self._scheduler.is_fresh:
            self._schedule_request("automatic")

    async def focus(self, uri: str, spot: Spot | None = None, visible: Span | None = None) -> None:
        """Report that a document came to the front, its cursor and its visible part."""
        buffer = self._buffer(uri)
        self._focus(buffer, is_repeated=True)
        buffer.cursor = buffer.cursor if spot is None else buffer.document.clamp(spot)
        buffer.visible = visible or buffer.visible
        await self._send_and_report(buffer, self._display.arrived(uri, buffer.cursor))
        self._schedule_request("automatic")

    async def save(self, uri: str) -> None:
        """Report that a document was saved."""
        await self.session.saved(self._buffer(uri).document.uri)

    async def close(self, uri: str) -> None:
        """Report that a document was closed; what was suggested for it is gone."""
        buffer = self._buffer(uri)
        del self._buffers[uri]
        buffer.unsent = None
        self._context.edits.closed(uri)
        self._context.diagnostics.pop(uri, None)
        outcomes = self._forget_document(buffer)
        await self.session.closed(uri)
        await self._report_outcomes(outcomes)

    async def diagnose(self, uri: str, diagnostics: Sequence[Diagnostic]) -> None:
        """Report all diagnostics of a document; a new one near the cursor asks the agent."""
        buffer = self._buffer(uri)
        before = {(each.severity, each.message) for each in self._context.diagnostics.get(uri, ())}
        self._context.diagnostics[uri] = tuple(diagnostics)
        if before != {(each.severity, each.message) for each in diagnostics}:
            self._cache.forget(uri)
        is_near = any(
            abs(each.span.start.line - buffer.cursor.line) <= NEAR_LINES
            for each in diagnostics
            if (each.severity, each.message) not in before
        )
        if is_near and buffer is self._front:
            self._schedule_request("diagnostic")

    # What the user wants

    async def ask(self) -> Suggestion | None:
        """Ask the agent for the user; returns what is to be shown then.

        Raises:
            RequestError: The agent refused.
            TimeoutError: It does not answer.
            ConnectionClosed: It has gone.
        """
        await self._request_and_wait()
        return self.shown

    async def accept(self, suggestion: Suggestion | None = None) -> Suggestion | None:
        """Accept what is shown; returns it, for the editor to carry out.

        None if nothing is shown, or another suggestion than the given one: the user pressed the key
        a moment too late, and nothing happens.

        The edits of an open document are made in the client's copy at once and sent to the agent.
        The editor makes them in its own text, and does not report them by `change`. If the user can
        type while this waits, it makes those of `shown` right before the call. The next question
        is asked without waiting.
        """
        shown = self._meant(suggestion)
        if shown is None:
            return None
        outcomes = self._display.drop("accepted")
        self._scheduler.accepted()
        buffer = self._buffers.get(shown.uri)
        if buffer is None or not isinstance(shown, EditSuggestion | JumpSuggestion):
            await self._report_outcomes(outcomes)
            return shown
        if isinstance(shown, EditSuggestion):
            shown = self._make(buffer, shown)
        else:
            buffer.cursor = buffer.document.clamp(shown.spot)
        self._focus(buffer)
        try:
            await self._report_outcomes(outcomes)
        finally:
            await self._send_changes(buffer)
        self._schedule_request("automatic", at_once=True)
        return shown

    async def reject(self, suggestion: Suggestion | None = None) -> bool:
        """Reject what is shown; it is not shown again.

        Returns whether it was still shown; if not, nothing happens.
        """
        shown = self._meant(suggestion)
        if shown is None:
            return False
        self._rejections.add(shown)
        self._cache.forget(shown.uri)
        self._scheduler.rejected()
        self._in_flight.cancel()
        await self._report_outcomes(self._display.drop("rejected"))
        return True

    # Documents, and what is sent to the agent

    def _buffer(self, uri: str) -> Buffer:
        if uri not in self._buffers:
            raise LocalProtocolError(f"{uri} is not open")
        return self._buffers[uri]

    def _meant(self, suggestion: Suggestion | None) -> Suggestion | None:
        """Return what is shown now, unless another suggestion is meant."""
        shown = self.shown
        is_other = suggestion is not None and shown is not None and suggestion.id != shown.id
        return None if is_other else shown

    def _apply(self, buffer: Buffer, edits: Sequence[TextEdit], cursor: Spot | None) -> list[Step]:
        """Change the client's copy; returns what the user did."""
        self._in_flight.leaving(buffer.document)
        changes, events = self.session.apply(buffer.document, edits)
        buffer.unsent = [*(buffer.unsent or []), *events]
        self._context.edits.changed(buffer.document.uri, changes)
        return buffer.steps(changes, cursor)

    def _make(self, buffer: Buffer, shown: EditSuggestion) -> EditSuggestion:
        """Make the edits of a suggestion; returns it with the place of the cursor."""
        cursor = shown.cursor_after
        steps = self._apply(buffer, shown.edits[::-1], cursor)
        self._follow(steps)
        self._context.acted("acceptSuggestion", self.session, buffer)
        return replace(shown, cursor=cursor)

    async def _end_session(self, session: NesSession) -> None:
        self._session = None
        for each in self._display.drop("ignored"):
            await session.report_outcome(each.id, each.outcome)
        await session.close()

    async def _report_outcomes(self, outcomes: Sequence[OutcomeReport]) -> None:
        """Send the outcomes of suggestions, each of them even if another one fails."""
        self._forget_outcomes(outcomes)
        failure: Overloaded | None = None
        for each in outcomes:
            try:
                await self.session.report_outcome(each.id, each.outcome)
            except Overloaded as error:
                failure = error
        if failure is not None:
            raise failure

    def _forget_outcomes(self, outcomes: Sequence[OutcomeReport]) -> None:
        for each in outcomes:
            self._cache.drop(each.id)

    async def _send_and_report(self, buffer: Buffer, outcomes: Sequence[OutcomeReport]) -> None:
        """Send the pending changes of a document, and then outcomes in any case."""
        self._forget_outcomes(outcomes)
        try:
            await self._send_changes(buffer)
        finally:
            await self._report_outcomes(outcomes)

    def _focus(self, buffer: Buffer, *, is_repeated: bool = False) -> None:
        """Put a document in front; `_send_changes` reports it, also if it was there already."""
        if self._front is not buffer or is_repeated:
            buffer.focused_ms = self._context.now_ms()
            buffer.is_brought = True
        self._front = buffer

    async def _send_changes(self, buffer: Buffer) -> None:
        """Send the pending changes of a document, and that it is in front, if that is new."""
        events, buffer.unsent = buffer.unsent, None
        try:
            if events is not None:
                await self.session.changed(buffer.document, events)
        except Overloaded:  # the agent may lack this; it gets the whole text with what comes next
            buffer.unsent = self.session.whole(buffer.document)
            raise
        if buffer.is_brought and buffer is self._front:
            buffer.is_brought = False
            try:
                await self.session.focused(buffer.document, buffer.cursor, buffer.seen)
            except Overloaded:
                buffer.is_brought = True
                raise

    def _follow(self, steps: Sequence[Step]) -> tuple[bool, list[OutcomeReport]]:
        """Follow changes; returns whether they were a part of what is shown."""
        is_typed, outcomes = False, list[OutcomeReport]()
        for step in steps:
            self._revision += 1
            self._cache.forget_others(step.uri)
            self._in_flight.changed(step)
            self._rejections.follow(step)
            was_part, ended = self._display.follow(step)
            is_typed, outcomes = is_typed or was_part, outcomes + ended
        return is_typed and self._display.shown is not None, outcomes

    def _drop_outdated(self, document: Document) -> list[OutcomeReport]:
        """Drop what is shown for a file if the editor has another text of it than the disk."""
        shown = self._display.shown
        is_edit = isinstance(shown, EditSuggestion) and shown.uri == document.uri
        is_same = self._read_last == (document.uri, document.text)
        return self._display.drop("ignored") if is_edit and not is_same else []

    def _forget_document(self, buffer: Buffer) -> list[OutcomeReport]:
        """Forget what belongs to a document."""
        uri = buffer.document.uri
        if self._front is buffer:
            self._front = None
            self._scheduler.cancel()
        self._in_flight.closed(uri)
        self._cache.forget(uri)
        is_gone = self._display.shown is not None and self._display.shown.uri == uri
        return self._display.drop("ignored") if is_gone else []

    # Requests

    def _schedule_request(self, trigger: Trigger, *, at_once: bool = False) -> None:
        """Schedule a request, unless its answer is known."""
        if trigger == "automatic" and not self._scheduler.is_quiet and self._is_known():
            self._scheduler.cancel()
            return
        self._scheduler.schedule(lambda: self._start_request(trigger), at_once=at_once)

    def _is_known(self) -> bool:
        return self._front is not None and self._front.key in self._cache

    def _start_request(self, trigger: Trigger) -> None:
        """Ask in a task of its own, whose failure is only logged."""
        if self._front is not None and not self._is_over:
            self._begin_request(self._front, trigger, self._request_unattended)

    async def _request_and_wait(self) -> None:
        """Ask at once, and wait for the answer.

        Raises:
            AcpError: There was none.
            TimeoutError: There was none in time.
        """
        if self._front is None:
            return
        task = self._begin_request(self._front, "manual", self._request)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.cancelled():  # else it gave way to a newer question
            task.result()

    def _begin_request(self, buffer: Buffer, trigger: Trigger, work: _Work) -> asyncio.Task[None]:
        self._scheduler.request_sent()
        request = SuggestRequest(buffer.key)
        return self._in_flight.begin(request, work(request, buffer, trigger))

    async def _request_unattended(
        self, request: SuggestRequest, buffer: Buffer, trigger: Trigger
    ) -> None:
        """Ask, and log a failure."""
        name = self.session.connection.name
        try:
            await self._request(request, buffer, trigger)
        except ConnectionClosed:
            pass  # the next call that sends something raises it
        except (AcpError, TimeoutError) as error:
            logger.warning("%s: nes/suggest failed: %s", name, error)
        except Exception:  # of the program: of what finds related code, say
            logger.exception("a suggestion cannot be asked for")

    async def _request(self, request: SuggestRequest, buffer: Buffer, trigger: Trigger) -> None:
        await self._send_changes(buffer)
        if request.is_void:
            return
        if trigger == "automatic" and buffer.key in self._in_flight:
            return
        request.send(buffer.key, self._revision)
        response = await self._suggestions(buffer, trigger)
        self._in_flight.response_arrived(request)
        is_manual = trigger == "manual"
        may_come = (
            not response
            and not is_manual
            and self._scheduler.rest(lambda: self._start_request(trigger))
        )
        await self._handle_response(request, response, insists=is_manual, is_last=not may_come)

    async def _suggestions(self, buffer: Buffer, trigger: Trigger) -> Sequence[v2.NesSuggestion]:
        """Return the answer, if it comes in time."""
        session, seconds = self.session, self._timing.response_timeout
        came: list[v2.SuggestNesResponse] = []
        asking = session.suggest(
            buffer.document,
            buffer.cursor,
            selection=buffer.selection,
            trigger=trigger,
            context=self._context.of(buffer, self._buffers, session),
            on_response=came.append,
        )
        try:
            async with asyncio.timeout(None) as bound:
                late = self._clock.call_later(seconds, lambda: bound.reschedule(0))
                try:
                    return (await asking).suggestions
                finally:
                    late.cancel()
        except (TimeoutError, asyncio.CancelledError) as error:
            # The answer came, and at the same moment nobody wanted it any more.
            await self._report_outcomes(
                _cancelled(each for response in came for each in response.suggestions)
            )
            if isinstance(error, asyncio.CancelledError):
                raise
            reason = f"{session.connection.name} has not answered within {seconds:g} s"
            raise TimeoutError(reason) from None

    # Answers

    async def _handle_response(
        self,
        request: SuggestRequest,
        response: Sequence[v2.NesSuggestion],
        *,
        insists: bool,
        is_last: bool,
    ) -> None:
        """Show the best suggestion that still fits, and report the others as cancelled."""
        known = [each for each in response if not isinstance(each, Unknown)]
        looked_at = [self._named(each) for each in known[:MOST_LOOKED_AT]]
        texts: dict[str, str | None] = {}
        best: Suggestion | None = None
        place = 0
        while best is None and place < len(looked_at):
            best = await self._fitting(request, looked_at[place], texts)
            place += 1
        # From here on nothing waits, so what is shown stays the same.
        outcomes: list[OutcomeReport] = []
        if not request.is_void:
            rest = (self._read_suggestion(request, each, texts) for each in looked_at[place:])
            repeats = self._is_shown(best) or any(map(self._is_shown, rest))
            outcomes += self._display.take_response(
                best, revision=request.revision, repeats=repeats, insists=insists
            )
            self._remember_response(
                request, best, is_last=is_last and not (response and request.steps)
            )
        settled = {each.id for each in outcomes}
        if self._display.shown is not None:
            settled.add(self._display.shown.id)
        outcomes += [each for each in _cancelled(known) if each.id not in settled]
        await self._report_outcomes(outcomes)

    def _remember_response(
        self, request: SuggestRequest, best: Suggestion | None, *, is_last: bool
    ) -> None:
        """Keep what need not be asked again."""
        shown = self._display.shown
        if best is None and is_last:
            self._cache.put(request.key, None)
        elif shown is not None and self._is_shown(best):
            self._cache.put(request.key, shown.id)

    def _is_shown(self, suggestion: Suggestion | None) -> bool:
        """Return whether a suggestion says what is shown, under whatever id."""
        shown = self._display.shown
        return suggestion is not None and shown is not None and bare(suggestion) == bare(shown)

    def _named(self, suggestion: _Known) -> _Known:
        """Return a suggestion about an open document with the document's name, however spelt."""
        if isinstance(suggestion, v2.NesActionSuggestion):
            return suggestion
        uri = suggestion.uri
        if uri in self._buffers or (path := path_of(uri)) is None:
            return suggestion
        own = next((each for each in self._buffers if path_of(each) == path), uri)
        return suggestion if own == uri else replace(suggestion, uri=own)

    async def _fitting(
        self, request: SuggestRequest, suggestion: _Known, texts: dict[str, str | None]
    ) -> Suggestion | None:
        """Return a suggestion as it is now; None if it cannot be carried out, or is not wanted.

        The texts are those of files that were read for this answer: each is read once.
        """
        if suggestion.__struct_config__.tag not in self.session.kinds:
            return None
        if not isinstance(suggestion, v2.NesActionSuggestion):
            uri = suggestion.uri
            if uri not in self._buffers and uri not in request.before:
                if uri not in texts:
                    texts[uri] = await self._disk_files.read(uri)
                self._read_last = (uri, texts[uri] or "")
        now = self._read_suggestion(request, suggestion, texts)
        return now if now is not None and self._is_wanted(now) else None

    def _read_suggestion(
        self, request: SuggestRequest, suggestion: _Known, texts: Mapping[str, str | None]
    ) -> Suggestion | None:
        """Return a suggestion as it is now; None if it cannot be carried out."""
        if request.is_void:
            return None
        if isinstance(suggestion, v2.NesActionSuggestion):
            action = self._action(request, suggestion)
            return None if action is None else _rebased(action, request.steps)
        uri = suggestion.uri
        if uri in request.closed:
            return None
        text, document = texts.get(uri), request.before.get(uri)
        if document is None and uri in self._buffers:
            document = self._buffers[uri].document
        elif document is None and text is not None:
            document = Document(uri, "", 0, text)
        known = read_suggestion(suggestion, document, self.session.encoding)
        return None if known is None else _rebased(known, request.steps)

    def _action(
        self, request: SuggestRequest, suggestion: v2.NesActionSuggestion
    ) -> ActionSuggestion | None:
        """Return an action, if it is one that the editor has offered to run."""
        uri = request.key.uri
        if suggestion.action_id not in self.session.actions or uri in request.closed:
            return None
        return ActionSuggestion(
            id=suggestion.suggestion_id,
            uri=uri,
            action_id=suggestion.action_id,
            arguments=suggestion.arguments or {},
            meta=suggestion.meta,
        )

    def _is_wanted(self, suggestion: Suggestion) -> bool:
        """Return whether the user has not rejected it, and is not there already."""
        if isinstance(suggestion, JumpSuggestion) and self._front is not None:
            here = (self._front.document.uri, self._front.cursor.line)
            if (suggestion.uri, suggestion.spot.line) == here:
                return False
        return suggestion not in self._rejections


def _kinds(connection: Connection, options: NesOptions) -> frozenset[str]:
    """Return what the editor shows, which the connection has to offer."""
    offered = kinds_of(connection.offered.nes)
    if "actions" in options:
        _check_actions(connection, options["actions"])
    if "kinds" not in options:
        return offered
    wanted = kinds_of(shown_kinds(options["kinds"])) | (offered & {ACTION})
    if missing := sorted(wanted - offered):
        reason = f"the connection does not offer the kind {missing[0]!r}"
        raise ValueError(f"{reason}: make it with nes=shown_kinds([{missing[0]!r}])")
    return wanted


def _check_actions(connection: Connection, actions: Iterable[str]) -> None:
    """Refuse actions that the connection was not made with: the agent does not know them.

    Raises:
        ValueError: There is such an action.
    """
    offered = connection.offered.nes
    known = (None if offered is None else offered.ide_actions) or ()
    if missing := sorted(set(actions).difference(known)):
        reason = f"the connection does not offer the action {missing[0]!r}"
        raise ValueError(f"{reason}: make it with nes=shown_kinds([…], [{missing[0]!r}])")


def _cancelled(suggestions: Iterable[v2.NesSuggestion]) -> list[OutcomeReport]:
    """Return suggestions as cancelled, each once."""
    known = (each.suggestion_id for each in suggestions if not isinstance(each, Unknown))
    return [OutcomeReport(each, "cancelled") for each in dict.fromkeys(known)]


def _rebased(suggestion: Suggestion, steps: Sequence[Step]) -> Suggestion | None:
    """Return a suggestion as it is after what the user has changed; None if it is over."""
    for step in steps:
        followed = follow(suggestion, step)
        if followed is None:
            return None
        suggestion = followed.suggestion
    return suggestion
