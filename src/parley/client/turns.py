"""The turns of a session in their order, and which of them an update belongs to.

Everything here runs in the session's lane, in wire order, except where a loop says that it has
handled what it was given. `turn.py` tells how a turn begins and ends.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from parley.errors import AcpError, LocalProtocolError
from parley.schema import v2
from parley.schema.v2 import methods

from .feed import Feed
from .turn import Turn

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Turns"]

T = TypeVar("T")

_MILESTONES = frozenset({v2.StateUpdated, v2.UserMessage, v2.UserMessageChunk})


class Turns:
    """The turns of one session that have not ended."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._queue: deque[Turn] = deque()
        self._feed: Feed | None = None
        """Whose loop handles the updates; it may still do so when its turn is over."""
        self._leader: Turn | None = None

    @property
    def first(self) -> Turn | None:
        """The turn that updates belong to."""
        return self._queue[0] if self._queue else None

    @property
    def is_cancelling(self) -> bool:
        """Whether the first turn was cancelled and has not ended yet."""
        return bool(self._queue) and self._queue[0].is_cancelled

    @property
    def is_sending(self) -> bool:
        """Whether a prompt was begun and is not yet on its way."""
        return not all(turn.is_sent for turn in self._queue)

    def cancel(self) -> None:
        """Note that all turns are to be cancelled."""
        for turn in self._queue:
            turn.is_cancelled = True

    def check_waiting(self) -> None:
        """Refuse to wait for a turn where that keeps its updates from being handled.

        Raises:
            LocalProtocolError: The caller is the body of a loop whose updates come before,
                `on_update` of this session, or a tool that a turn of it waits for.
        """
        telling = self._session.telling
        if telling is not None and telling is asyncio.current_task():
            raise LocalProtocolError(
                "a prompt cannot be awaited inside on_update of its session, which has to return "
                "before the next update comes: start a task for it"
            )
        session = self._session
        is_working = bool(self._queue) or session.transcript.state == "running"
        if is_working and session.connection.toolbox.is_at_work(session):
            raise LocalProtocolError(
                "a tool cannot wait for a prompt of its own session, whose turn waits for the "
                "tool: prompt another session, or prompt when the turn is over"
            )
        if self._feed is not None and self._feed.is_in_body():
            raise LocalProtocolError(
                "a prompt cannot be awaited inside the loop over one of its session, "
                "whose updates come first: leave the loop before"
            )

    def begin(self, turn: Turn) -> None:
        """Send a prompt."""
        if not self._queue and self._session.transcript.state in ("running", "requires_action"):
            turn.wait_for_others()
        self._queue.append(turn)
        self._session.connection.spawn(self._send(turn))
        if len(self._queue) == 1:
            self._lead()

    async def _send(self, turn: Turn) -> None:
        session = self._session

        def accepted(answer: v2.PromptResponse) -> None:
            session.connection.peer.post(session.id, self._accepted, (turn, answer.message_id))
            if session.connection.recorder is not None:  # what was accepted is kept
                session.connection.spawn(session.connection.commit())

        try:
            turn.is_sent = True
            request = session.connection.surface.request
            await request(methods.PROMPT, turn.request, on_result=accepted)
        except AcpError as error:
            await session.connection.commit()
            self.drop(turn, error)

    def _accepted(self, item: tuple[Turn, v2.MessageId]) -> Awaitable[None] | None:
        """Learn that a prompt was accepted; it goes before those that are not."""
        turn, message_id = item
        if turn.is_done:
            return None
        place = sum(each.is_accepted for each in self._queue)
        if self._queue[place] is not turn:
            if place == 0 and self._feed is not None and not self._feed.is_drained:
                return self._after(self._feed, self._accepted, item)
            self._queue.remove(turn)
            self._queue.insert(place, turn)
            self._lead()
        turn.accept(message_id)
        return None if turn.end is None else self._retire([turn])

    def take(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Hand an update to the loop that waits for it, or fold it."""
        feed = self._feed
        if feed is None:
            rest = self._session.apply(update)
        elif feed.is_closed:
            return self._after(feed, self.take, update)
        else:
            rest = feed.put(update)
        if self._queue and type(update) in _MILESTONES:
            for turn in self._queue:
                turn.see(update, is_first=turn is self._queue[0])
            ended = [turn for turn in self._queue if turn.end is not None]
            if ended:
                return self._retire(ended) if rest is None else self._retire_after(rest, ended)
        return rest

    async def _after(
        self, feed: Feed, take: Callable[[T], Awaitable[None] | None], argument: T
    ) -> None:
        """Do something when a loop has handled what came before."""
        await feed.drained()
        rest = take(argument)
        if rest is not None:
            await rest

    async def _retire_after(self, rest: Awaitable[None], ended: Sequence[Turn]) -> None:
        await rest
        if (more := self._retire(ended)) is not None:
            await more

    def _retire(self, ended: Sequence[Turn]) -> Awaitable[None] | None:
        """Take turns out that have ended; a loop may still have something to handle."""
        for number, turn in enumerate(ended):
            if self._feed is not None and self._feed.is_closed:
                return self._after(self._feed, self._retire, ended[number:])
            if turn not in self._queue:
                continue
            self._queue.remove(turn)
            if turn.feed is not None:
                turn.feed.close()
            else:
                turn.finish()
            self._lead()
        return None

    def drop(self, turn: Turn, error: AcpError) -> None:
        """Take a turn out that has failed."""
        if turn in self._queue:
            self._queue.remove(turn)
        turn.fail(error)
        self._lead()

    def drop_all(self, error: AcpError) -> None:
        """Fail whatever has not ended: nothing more will come."""
        for turn in list(self._queue):
            self.drop(turn, error)

    def leave_loop(self) -> None:
        """Let no loop hold up the end of the connection."""
        if self._feed is not None:
            self._feed.abandon()

    def fed(self, feed: Feed) -> None:
        """Learn that a loop handles no more updates."""
        feed.turn.finish()
        if self._feed is feed:
            self._feed = None
            self._lead()

    def _lead(self) -> None:
        """Let updates go to the first turn, unless a loop has not handled those before."""
        if self._feed is not None and self._feed.is_closed and not self._feed.is_drained:
            return
        turn = self.first
        self._feed = None if turn is None else turn.feed
        if turn is not self._leader and turn is not None:
            turn.lead()
        self._leader = turn
