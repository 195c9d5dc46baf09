"""The questions of a client: which are asked, and what is made of the answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from parley.errors import AcpError, ConnectionClosed, LocalProtocolError, Overloaded
from parley.nes.documents.document import Document
from parley.nes.documents.files import Files
from parley.nes.documents.paths import path_of
from parley.nes.engine import Trigger
from parley.nes.rebase import Step
from parley.schema import v2
from parley.schema.base import Unknown

from .buffer import Buffer
from .cache import Cache
from .clock import Clock
from .context import Context
from .display import Display, OutcomeReport, Show
from .flight import Asked, Flights
from .memory import Memory
from .pace import Pace, Timing
from .rebase import follow
from .session import NesSession
from .suggestion import (
    ActionSuggestion,
    EditSuggestion,
    JumpSuggestion,
    Suggestion,
    bare,
    read_suggestion,
)

__all__ = ["Asking"]

logger = logging.getLogger(__name__)

CACHE_SIZE = 50
MEMORY_SIZE = 20
MOST_LOOKED_AT = 20
"""How many suggestions of an answer are looked at, the best first; the others come to nothing."""

_Placed: TypeAlias = (
    v2.NesEditSuggestion
    | v2.NesJumpSuggestion
    | v2.NesRenameSuggestion
    | v2.NesSearchAndReplaceSuggestion
)
_Known: TypeAlias = _Placed | v2.NesActionSuggestion
_Work: TypeAlias = Callable[[Asked, Buffer, Trigger], Coroutine[Any, Any, None]]


class Asking:
    """What was asked, what was answered, and what is shown of it."""

    def __init__(
        self,
        context: Context,
        clock: Clock,
        timing: Timing,
        *,
        folders: Sequence[Path],
        show: Show | None,
    ) -> None:
        self._session: NesSession | None = None
        self._is_over = False
        self.buffers: dict[str, Buffer] = {}
        """The open documents."""
        self.front: Buffer | None = None
        """The one that the user works in."""
        self.pace = Pace(clock, timing)
        self._clock = clock
        self.timing = timing
        self._revision = 0
        """How often something was changed."""
        self.flights = Flights()
        self.cache = Cache(CACHE_SIZE)
        self.memory = Memory(MEMORY_SIZE)
        self.display = Display(show)
        self._context = context
        self._files = Files([str(each.absolute()) for each in folders])
        self._read_last = ("", "")
        """The file that was read last, and its text."""

    @property
    def session(self) -> NesSession:
        """The session on the wire."""
        if self._session is None:
            raise LocalProtocolError("the session of suggestions is not open")
        return self._session

    def begin(self, session: NesSession) -> None:
        """Use a session that was started."""
        self._session, self._is_over = session, False

    async def aclose(self) -> None:
        """End the session; what is shown is gone. An agent that does not answer is left alone."""
        self._is_over = True
        self.pace.cancel()
        session, seconds = self._session, self.timing.answer_timeout
        try:
            async with asyncio.timeout(seconds):
                await self.flights.aclose()
                if session is not None and self._session is session:
                    await self._end(session)
        except ConnectionClosed:
            pass
        except TimeoutError:
            logger.warning("nes/close was not answered within %g s", seconds)
        finally:
            self._session = None
            self.display.drop("ignored")

    async def _end(self, session: NesSession) -> None:
        self._session = None
        for each in self.display.drop("ignored"):
            await session.tell(each.id, each.outcome)
        await session.close()

    async def tell(self, outcomes: Sequence[OutcomeReport]) -> None:
        """Tell the agent what became of suggestions, each of them whatever comes of the others."""
        self._forget(outcomes)
        failure: Overloaded | None = None
        for each in outcomes:
            try:
                await self.session.tell(each.id, each.outcome)
            except Overloaded as error:
                failure = error
        if failure is not None:
            raise failure

    def _forget(self, outcomes: Sequence[OutcomeReport]) -> None:
        for each in outcomes:
            self.cache.drop(each.id)

    async def report(self, buffer: Buffer, outcomes: Sequence[OutcomeReport]) -> None:
        """Send what is not told of a document, and tell what became of suggestions in any case."""
        self._forget(outcomes)
        try:
            await self.send(buffer)
        finally:
            await self.tell(outcomes)

    def bring(self, buffer: Buffer, *, anew: bool = False) -> None:
        """Have a document in front; `send` tells it, also that it is there anew."""
        if self.front is not buffer or anew:
            buffer.focused_ms = self._context.now_ms()
            buffer.is_brought = True
        self.front = buffer

    async def send(self, buffer: Buffer) -> None:
        """Tell what was changed in a document, and that it is in front, unless that is told."""
        events, buffer.unsent = buffer.unsent, None
        try:
            if events is not None:
                await self.session.changed(buffer.document, events)
        except Overloaded:  # the agent may lack this; it gets the whole text with what comes next
            buffer.unsent = self.session.whole(buffer.document)
            raise
        if buffer.is_brought and buffer is self.front:
            buffer.is_brought = False
            try:
                await self.session.focused(buffer.document, buffer.cursor, buffer.seen)
            except Overloaded:
                buffer.is_brought = True
                raise

    def follow(self, steps: Sequence[Step]) -> tuple[bool, list[OutcomeReport]]:
        """Follow changes; returns whether they were a part of what is shown."""
        is_typed, outcomes = False, list[OutcomeReport]()
        for step in steps:
            self._revision += 1
            self.cache.forget_others(step.uri)
            self.flights.changed(step)
            self.memory.follow(step)
            was_part, ended = self.display.follow(step)
            is_typed, outcomes = is_typed or was_part, outcomes + ended
        return is_typed and self.display.shown is not None, outcomes

    def opened(self, document: Document) -> list[OutcomeReport]:
        """Drop what is shown for a file if the editor has another text of it than the disk."""
        shown = self.display.shown
        is_edit = isinstance(shown, EditSuggestion) and shown.uri == document.uri
        is_same = self._read_last == (document.uri, document.text)
        return self.display.drop("ignored") if is_edit and not is_same else []

    def closed(self, buffer: Buffer) -> list[OutcomeReport]:
        """Forget what belongs to a document."""
        uri = buffer.document.uri
        if self.front is buffer:
            self.front = None
            self.pace.cancel()
        self.flights.closed(uri)
        self.cache.forget(uri)
        is_gone = self.display.shown is not None and self.display.shown.uri == uri
        return self.display.drop("ignored") if is_gone else []

    # Asking

    def wonder(self, trigger: Trigger, *, at_once: bool = False) -> None:
        """Have something asked when it is time, unless the answer is known."""
        if trigger == "automatic" and not self.pace.is_quiet and self._is_known():
            self.pace.cancel()
            return
        self.pace.schedule(lambda: self._fire(trigger), at_once=at_once)

    def _is_known(self) -> bool:
        return self.front is not None and self.front.key in self.cache

    def _fire(self, trigger: Trigger) -> None:
        """Ask in a task of its own; a failure is nobody's matter."""
        if self.front is not None and not self._is_over:
            self._begin(self.front, trigger, self._wonder)

    async def ask(self) -> None:
        """Ask because the user wants it, and wait for the answer.

        Raises:
            AcpError: There was none.
            TimeoutError: There was none in time.
        """
        if self.front is None:
            return
        task = self._begin(self.front, "manual", self._question)
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.cancelled():  # else it gave way to a newer question
            task.result()

    def _begin(self, buffer: Buffer, trigger: Trigger, work: _Work) -> asyncio.Task[None]:
        self.pace.asked()
        asked = Asked(buffer.key)
        return self.flights.begin(asked, work(asked, buffer, trigger))

    async def _wonder(self, asked: Asked, buffer: Buffer, trigger: Trigger) -> None:
        """Ask where nobody waits for the answer."""
        name = self.session.connection.name
        try:
            await self._question(asked, buffer, trigger)
        except ConnectionClosed:
            pass  # who tells something next hears of it
        except (AcpError, TimeoutError) as error:
            logger.warning("%s: nes/suggest failed: %s", name, error)
        except Exception:  # of the program: of what finds related code, say
            logger.exception("a suggestion cannot be asked for")

    async def _question(self, asked: Asked, buffer: Buffer, trigger: Trigger) -> None:
        await self.send(buffer)
        if asked.is_void:
            return
        if trigger == "automatic" and buffer.key in self.flights:
            return
        asked.send(buffer.key, self._revision)
        answer = await self._suggestions(buffer, trigger)
        self.flights.answered(asked)
        is_manual = trigger == "manual"
        may_come = not answer and not is_manual and self.pace.rest(lambda: self._fire(trigger))
        await self._answered(asked, answer, insists=is_manual, is_last=not may_come)

    async def _suggestions(self, buffer: Buffer, trigger: Trigger) -> Sequence[v2.NesSuggestion]:
        """Return the answer, if it comes in time."""
        session, seconds = self.session, self.timing.answer_timeout
        came: list[v2.SuggestNesResponse] = []
        asking = session.suggest(
            buffer.document,
            buffer.cursor,
            selection=buffer.selection,
            trigger=trigger,
            context=self._context.of(buffer, self.buffers, session),
            on_answer=came.append,
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
            await self.tell(_cancelled(each for answer in came for each in answer.suggestions))
            if isinstance(error, asyncio.CancelledError):
                raise
            told = f"{session.connection.name} has not answered within {seconds:g} s"
            raise TimeoutError(told) from None

    # Answers

    async def _answered(
        self,
        asked: Asked,
        answer: Sequence[v2.NesSuggestion],
        *,
        insists: bool,
        is_last: bool,
    ) -> None:
        """Show the best suggestion that still fits; say of the others that they came to nothing."""
        known = [each for each in answer if not isinstance(each, Unknown)]
        looked_at = [self._named(each) for each in known[:MOST_LOOKED_AT]]
        texts: dict[str, str | None] = {}
        best: Suggestion | None = None
        place = 0
        while best is None and place < len(looked_at):
            best = await self._fitting(asked, looked_at[place], texts)
            place += 1
        # From here on nothing waits, so what is shown stays the same.
        outcomes: list[OutcomeReport] = []
        if not asked.is_void:
            rest = (self._read(asked, each, texts) for each in looked_at[place:])
            repeats = self._is_shown(best) or any(map(self._is_shown, rest))
            outcomes += self.display.answered(
                best, revision=asked.revision, repeats=repeats, insists=insists
            )
            self._remember(asked, best, is_last=is_last and not (answer and asked.steps))
        settled = {each.id for each in outcomes}
        if self.display.shown is not None:
            settled.add(self.display.shown.id)
        outcomes += [each for each in _cancelled(known) if each.id not in settled]
        await self.tell(outcomes)

    def _remember(self, asked: Asked, best: Suggestion | None, *, is_last: bool) -> None:
        """Keep what need not be asked again."""
        shown = self.display.shown
        if best is None and is_last:
            self.cache.put(asked.key, None)
        elif shown is not None and self._is_shown(best):
            self.cache.put(asked.key, shown.id)

    def _is_shown(self, suggestion: Suggestion | None) -> bool:
        """Return whether a suggestion says what is shown, under whatever id."""
        shown = self.display.shown
        return suggestion is not None and shown is not None and bare(suggestion) == bare(shown)

    def _named(self, suggestion: _Known) -> _Known:
        """Return a suggestion about an open document with the document's name, however spelt."""
        if isinstance(suggestion, v2.NesActionSuggestion):
            return suggestion
        uri = suggestion.uri
        if uri in self.buffers or (path := path_of(uri)) is None:
            return suggestion
        own = next((each for each in self.buffers if path_of(each) == path), uri)
        return suggestion if own == uri else replace(suggestion, uri=own)

    async def _fitting(
        self, asked: Asked, suggestion: _Known, texts: dict[str, str | None]
    ) -> Suggestion | None:
        """Return a suggestion as it is now; None if it cannot be carried out, or is not wanted.

        The texts are those of files that were read for this answer: each is read once.
        """
        if suggestion.__struct_config__.tag not in self.session.kinds:
            return None
        if not isinstance(suggestion, v2.NesActionSuggestion):
            uri = suggestion.uri
            if uri not in self.buffers and uri not in asked.before:
                if uri not in texts:
                    texts[uri] = await self._files.read(uri)
                self._read_last = (uri, texts[uri] or "")
        now = self._read(asked, suggestion, texts)
        return now if now is not None and self._is_wanted(now) else None

    def _read(
        self, asked: Asked, suggestion: _Known, texts: Mapping[str, str | None]
    ) -> Suggestion | None:
        """Return a suggestion as it is now; None if it cannot be carried out."""
        if asked.is_void:
            return None
        if isinstance(suggestion, v2.NesActionSuggestion):
            action = self._action(asked, suggestion)
            return None if action is None else _rebased(action, asked.steps)
        uri = suggestion.uri
        if uri in asked.closed:
            return None
        text, document = texts.get(uri), asked.before.get(uri)
        if document is None and uri in self.buffers:
            document = self.buffers[uri].document
        elif document is None and text is not None:
            document = Document(uri, "", 0, text)
        known = read_suggestion(suggestion, document, self.session.encoding)
        return None if known is None else _rebased(known, asked.steps)

    def _action(self, asked: Asked, suggestion: v2.NesActionSuggestion) -> ActionSuggestion | None:
        """Return an action, if it is one that the editor has offered to run."""
        uri = asked.key.uri
        if suggestion.action_id not in self.session.actions or uri in asked.closed:
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
        if isinstance(suggestion, JumpSuggestion) and self.front is not None:
            here = (self.front.document.uri, self.front.cursor.line)
            if (suggestion.uri, suggestion.spot.line) == here:
                return False
        return suggestion not in self.memory


def _cancelled(suggestions: Iterable[v2.NesSuggestion]) -> list[OutcomeReport]:
    """Return that suggestions came to nothing, each once."""
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
