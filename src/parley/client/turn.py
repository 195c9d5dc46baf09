"""One prompt and what the agent makes of it, to be awaited or to be looped over.

Theory of operation. A session has its turns in a queue, and updates belong to the first of them:
the protocol names no prompt in an update, so order is all there is. What moves a turn on is seen in
the session's lane, in wire order: that the agent accepted the prompt, that work began, that it is
idle again. An idle ends the first turn if its prompt was accepted before. It also ends every other
whose user message was reported before, be it that the answer comes late or that the agent works on
several prompts at once; a prompt that is accepted and not reported still waits.

A loop gets its updates through a short queue. An update is folded into the transcript when the loop
gets it, so that the transcript is never ahead of the loop, and counts as handled when the loop asks
for the next one. Where nobody loops, updates are folded as they come. Whatever belongs to the next
turn, or to none, waits until the loop has handled its own.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Generator
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from parley.errors import AcpError, InternalError, LocalProtocolError, request_error
from parley.schema import v2
from parley.schema.v2 import unstable
from parley.session.entries import Message
from parley.session.transcript import Entry

from .feed import Feed, Loop

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Turn", "TurnResult"]

_EARLY_UPDATES = 1024
"""How many states and user messages are remembered while a prompt is not accepted."""


class TurnResult(Struct, frozen=True, kw_only=True, eq=False):
    """How a turn ended."""

    stop_reason: v2.StopReason
    """Why the agent stopped: `end_turn`, `max_tokens`, `refusal`, `cancelled`, …"""
    message_id: v2.MessageId | None
    """The id of the user's message."""
    entries: list[Entry]
    """What the turn added to the conversation, in order; part of `session.transcript.entries`."""
    tokens: unstable.Usage | None = None
    """Unstable: the tokens that it took, where the agent says so."""
    meta: dict[str, Any] | None = None
    """The `_meta` of the update that ended it."""

    @property
    def text(self) -> str:
        """What the agent said, thoughts left out; messages are parted by an empty line."""
        said = (each for each in self.entries if isinstance(each, Message))
        texts = [each.text for each in said if each.role == "agent"]
        return "\n\n".join(text for text in texts if text)


class Turn:
    """A prompt; `await` it for its result, or loop over its updates.

    It is sent when it is first awaited or looped over. Who is cancelled while waiting for it, or in
    the loop, cancels the turn. Who leaves the loop otherwise lets it go on: the rest is folded into
    the transcript.
    """

    def __init__(self, session: Session, request: v2.PromptRequest) -> None:
        self.session = session
        """The session it belongs to."""
        self.request = request
        """What is sent."""
        self.message_id: v2.MessageId | None = None
        """The id of the user's message, once the agent has accepted it."""
        self.is_cancelled = False
        """Whether we want it to be cancelled."""
        self.is_sent = False
        """Whether it is on its way."""
        self.feed: Feed | None = None
        self.end: v2.StateUpdated | None = None
        self._done: asyncio.Future[TurnResult] | None = None
        self.is_accepted = False
        """Whether the agent has accepted it."""
        self._has_run = False
        self._early: deque[v2.SessionUpdate] = deque(maxlen=_EARLY_UPDATES)
        self._is_reported = False
        self._mark: int | None = None
        self._is_behind_others = False

    @property
    def is_begun(self) -> bool:
        """Whether it was sent."""
        return self._done is not None

    @property
    def is_done(self) -> bool:
        """Whether it has ended, one way or another."""
        return self._done is not None and self._done.done()

    def __await__(self) -> Generator[Any, None, TurnResult]:
        return self._wait().__await__()

    def __aiter__(self) -> AsyncIterator[v2.SessionUpdate]:
        if self.feed is not None or self.is_begun:
            raise LocalProtocolError("a prompt can be looped over once, before it is awaited")
        self.feed = Feed(self)
        return Loop(self.feed)

    async def cancel(self) -> None:
        """Cancel it; its end still has to come from the agent.

        If prompts are before it in its session, it is cancelled when they have ended, because the
        protocol cannot cancel one that waits.
        """
        self.is_cancelled = True
        if self.is_begun and self.session.turns.first is self:
            await self.session.cancel()

    async def _wait(self) -> TurnResult:
        done = self.begin()
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            self.give_up()
            raise

    def begin(self) -> asyncio.Future[TurnResult]:
        """Send it, if it was not; returns what waits for its end.

        Raises:
            LocalProtocolError: To wait for it here would keep its updates from being handled.
        """
        if not self.is_done:
            self.session.turns.check_waiting()
        if self._done is None:
            self.session.turns.begin(self)
            self._done = asyncio.get_running_loop().create_future()
        return self._done

    def give_up(self) -> None:
        """Cancel it because nobody waits for it any more."""
        if self.is_begun and not self.is_done and not self.is_cancelled:
            self.session.connection.spawn(self.cancel())

    def lead(self) -> None:
        """Become the first of the session."""
        if not self._is_reported and not self._is_behind_others:
            self._mark = len(self.session.transcript.entries)
        if self.is_cancelled and self.end is None:
            self.session.connection.spawn(self.cancel())

    def wait_for_others(self) -> None:
        """Learn that the session works on something that was not asked for here."""
        self._is_behind_others = True

    def see(self, update: v2.SessionUpdate, *, is_first: bool) -> None:
        """Look at a user message or a state, in the session's lane."""
        if not self.is_accepted:
            self._early.append(update)
        elif isinstance(update, v2.StateUpdated):
            is_next = is_first and not self._is_behind_others
            self._enter(update, is_next or self._is_reported)
        elif isinstance(update, v2.UserMessage | v2.UserMessageChunk):
            self._is_reported = self._is_reported or update.message_id == self.message_id

    def accept(self, message_id: v2.MessageId) -> None:
        """Learn that the agent has accepted it, in the session's lane."""
        self.message_id = message_id
        self.is_accepted = True
        early, self._early = self._early, deque()
        for update in early:
            self.see(update, is_first=False)

    def _enter(self, update: v2.StateUpdated, is_ours: bool) -> None:
        """Move on; an idle that repeats an earlier one ends nothing."""
        if update.state != "idle":
            self._has_run = self._has_run or update.state != "unknown"
        elif not is_ours:
            self._has_run = self._is_behind_others = False  # that was other work
        elif self.end is None and (self._has_run or update.stop_reason is not None):
            self.end = update

    def finish(self) -> None:
        """End, if the agent has said so and that has been folded."""
        update = self.end
        if update is None or self._done is None or self._done.done():
            return
        if update.stop_reason == "error":
            self.fail(_error(update.error))
            return
        result = TurnResult(
            stop_reason=update.stop_reason or "end_turn",
            message_id=self.message_id,
            entries=self._entries(),
            tokens=update.usage,
            meta=update.meta,
        )
        self._done.set_result(result)

    def _entries(self) -> list[Entry]:
        """Return what came since it was the first, or since its message if that came before."""
        entries = self.session.transcript.entries
        if self._mark is not None:
            return entries[self._mark :]
        since = takewhile(lambda each: not self._is_own(each), reversed(entries))
        return list(since)[::-1]

    def _is_own(self, entry: Entry) -> bool:
        return isinstance(entry, Message) and (entry.role, entry.id) == ("user", self.message_id)

    def fail(self, error: AcpError) -> None:
        """End without a result."""
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)
            self._done.exception()  # it need not be looked at
        if self.feed is not None:
            self.feed.close()

    def __repr__(self) -> str:
        state = "done" if self.is_done else "under way" if self.is_begun else "not sent"
        return f"Turn({self.message_id or 'no id yet'}, {state})"


def _error(error: v2.Error | None) -> AcpError:
    """Return what a turn raises that ended with an error."""
    if error is None:
        return InternalError("The agent stopped with an error and does not say which")
    if error.data is None:
        return request_error(error.code, error.message)
    return request_error(error.code, error.message, error.data)
