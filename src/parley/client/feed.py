"""The way of a turn's updates to the loop that handles them.

The `Feed` is the session's end: it takes updates in the session's lane and makes the lane wait when
the loop falls behind. The `Loop` is what `async for` holds, and nobody else: when it is let go, the
loop was left, and what is still there is folded without it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from parley.peer.stage import Stage
from parley.schema import v2

if TYPE_CHECKING:
    from .turn import Turn

__all__ = ["Feed", "Loop"]

WAITING_UPDATES = 256
"""How many updates may wait for a loop before its session waits as well."""
_LOW = WAITING_UPDATES // 2


class Feed:
    """Updates of one turn that wait for its loop."""

    __slots__ = (
        "_drained",
        "_room",
        "apply",
        "inside",
        "is_closed",
        "news",
        "queue",
        "stage",
        "turn",
    )

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.apply = turn.session.apply
        self.queue: deque[v2.SessionUpdate] = deque()
        self.stage: Stage | None = None
        self.inside: Stage | None = None
        """The stage, while the body of the loop has an update."""
        self.is_closed = False
        """Whether nothing more comes."""
        self.news: asyncio.Future[None] | None = None
        """What the loop waits for."""
        self._room: asyncio.Future[None] | None = None
        self._drained: list[asyncio.Future[None]] = []

    @property
    def is_drained(self) -> bool:
        """Whether the loop has handled all that it was given."""
        return not self.queue and self.inside is None

    def is_in_body(self) -> bool:
        """Tell whether the caller is the body of the loop."""
        return self.inside is not None and self.inside.task is asyncio.current_task()

    def put(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Take one; returns what to wait for when the loop has fallen behind."""
        stage = self.stage
        if stage is None:
            session = self.turn.session
            stage = self.stage = session.connection.peer.stage(session.id)
        stage.taken += 1  # `take`, without a call
        queue = self.queue
        queue.append(update)
        if self.news is not None:
            self._wake_loop()
        return None if len(queue) < WAITING_UPDATES else self._wait_for_room()

    def close(self) -> None:
        """Say that nothing more comes."""
        self.is_closed = True
        self._wake_loop()
        if self.is_drained:
            self._finish()

    def left(self) -> None:
        """Learn that the loop has handled one."""
        if self.inside is not None:
            self.inside.leave()
            self.inside = None
        if not self.queue:
            self._finish()

    def get(self) -> v2.SessionUpdate:
        """Give the loop one; there must be one."""
        update = self.queue.popleft()
        if self._room is not None and len(self.queue) <= _LOW:
            self._give_room()
        self.inside = self.stage
        assert self.inside is not None
        self.inside.enter()
        return update

    async def wait(self) -> None:
        """Wait until there is something for the loop, or nothing more comes."""
        self.news = asyncio.get_running_loop().create_future()
        await self.news

    async def drained(self) -> None:
        """Wait until the loop has handled all that it was given."""
        while not self.is_drained:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._drained.append(future)
            await future

    def abandon(self) -> None:
        """Fold what is left without the loop, which was left."""
        self.inside = None
        session = self.turn.session
        while self.queue:
            rest = session.apply(self.queue.popleft())
            if rest is not None:
                session.connection.spawn(self._abandon_after(rest))
                return
        self.turn.feed = None
        self._give_room()
        self._finish()
        session.turns.fed(self)

    async def _abandon_after(self, rest: Awaitable[None]) -> None:
        await rest
        self.abandon()

    def _finish(self) -> None:
        """Let those go on who wait for the loop; at the end for good."""
        waiting, self._drained = self._drained, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
        if self.stage is not None and (self.is_closed or self.turn.feed is None):
            self.stage.close()
            self.stage = None
        if self.is_closed:
            self.turn.session.turns.fed(self)

    def _wake_loop(self) -> None:
        news, self.news = self.news, None
        if news is not None and not news.done():
            news.set_result(None)

    async def _wait_for_room(self) -> None:
        self._room = asyncio.get_running_loop().create_future()
        await self._room

    def _give_room(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)


class Loop:
    """What `async for` asks for one update after the other."""

    __slots__ = ("_feed",)

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def __aiter__(self) -> Loop:
        return self

    async def __anext__(self) -> v2.SessionUpdate:
        feed = self._feed
        queue = feed.queue
        inside = feed.inside
        if (
            inside is not None
            and queue
            and len(queue) != _LOW + 1  # nobody waits for room
            and inside.task is not None
            and not inside.task.done()  # it was a task for one step, as `wait_for` makes them
        ):
            inside.taken -= 1  # `leave` and `enter`, without calls
            update = queue.popleft()
        else:
            if inside is not None:
                feed.left()
            while not queue:
                await self._wait()
            update = feed.get()
        rest = feed.apply(update)
        if rest is not None:
            await self._unless_cancelled(rest)
        return update

    async def _wait(self) -> None:
        """Wait for the next one; at the end raise what ends the loop."""
        feed = self._feed
        done = feed.turn.begin()
        if not feed.is_closed and feed.turn.feed is feed:
            await self._unless_cancelled(feed.wait())
            return
        await self._unless_cancelled(asyncio.shield(done))
        raise StopAsyncIteration

    async def _unless_cancelled(self, work: Awaitable[object]) -> None:
        """Wait; who is cancelled here leaves the loop, though the traceback may keep it alive."""
        try:
            await work
        except asyncio.CancelledError:
            self._feed.turn.give_up()
            self._leave()
            raise

    def _leave(self) -> None:
        feed = self._feed
        if feed.turn.feed is feed and feed.turn.is_begun:
            feed.abandon()

    def __del__(self) -> None:
        if self._is_being_cancelled():
            self._feed.turn.give_up()
        self._leave()

    def _is_being_cancelled(self) -> bool:
        """Tell whether the running task is the loop's and on its way out, cancelled.

        It may be another one, in which garbage is collected.
        """
        try:
            task = asyncio.current_task()
        except RuntimeError:
            return False
        inside = self._feed.inside
        looping = None if inside is None else inside.task
        is_ours = looping is None or looping is task or looping.done()
        return is_ours and task is not None and task.cancelling() > 0
