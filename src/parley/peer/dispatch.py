"""In which order things are handled, and how much may wait.

The contract:

- Per session, updates are handled in wire order, each to its end before the next.
- The answer to a request is delivered only after every update of that session that came before it
  has been handled.
- A handler may await calls to the peer, also for its own session, and never deadlocks: an answer
  awaited from inside an update handler passes the barrier.
- A request that the peer makes in a session starts after the updates that came before it were
  handled, and then runs beside what follows; a slow one blocks nothing.
- Sessions do not block each other, up to the bounds below.
- An update that arrives before its session is known (before the answer to `session/new`) is kept,
  bounded, and delivered first, before that answer.
- After an answer has been written, its handler may have something done (`after_answer`).
- Messages without a session keep their own wire order among themselves.
- `$/cancel_request` and `session/cancel` pass every barrier.
- A task that a handler starts does not inherit its right to pass the barrier; use
  `asyncio.timeout` rather than `asyncio.wait_for`, which starts one before Python 3.12.

The bounds: every session may have `session_bytes` read and not yet handled. Beyond that reading
stops, and a flood becomes backpressure in the pipe. While a handler waits for the peer (for an
answer, or for room to send) reading goes on, because what it waits for comes the same way, until
`connection_bytes` are reached in all sessions together: there the wait fails with `Overloaded`.
So nothing grows without end and nobody waits for ever.

Theory of operation. Each session with something to do has a *lane*: a queue and one task that works
it off. A lane begins with its first item and ends with its last, so that an idle session costs
nothing. Items are updates, answers to deliver and requests to start; since they stand in one queue,
the barrier needs no counting. What needs no barrier, because the lane is empty, is done at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from parley.errors import Overloaded
from parley.transport.base import Transport

__all__ = ["ITEM_BYTES", "Dispatcher", "Lane", "Limits", "Run"]

logger = logging.getLogger(__name__)

T = TypeVar("T")
Run: TypeAlias = Callable[[Any], Awaitable[None] | None]

ITEM_BYTES = 512
"""What an item costs beside its frame: the typed value, the queue's entry."""


class Limits(Struct, frozen=True, kw_only=True):
    """What a connection may hold; the length of a message is the transport's limit."""

    depth: int = 128
    """How deep a message may nest."""
    in_flight: int = 1024
    """How many requests may be under way, in each direction."""
    early_updates: int = 1024
    """How many updates may wait for the answer that names their session."""
    session_bytes: int = 1024 * 1024
    """How much of one session may be read and not yet handled before reading stops."""
    connection_bytes: int = 32 * 1024 * 1024
    """How much of all sessions together, even while a handler waits for the peer."""


class Lane:
    """What one session has to do."""

    __slots__ = ("bytes", "key", "queue", "task")

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.queue: deque[tuple[Run, Any, int]] = deque()
        self.bytes = 0
        self.task: asyncio.Task[None] | None = None


class Dispatcher:
    """Runs handlers in their order and reads no further than they can follow."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport = transport
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._lanes: dict[str | None, Lane] = {}
        self._full: set[Lane] = set()
        self._bytes = 0
        self._is_paused = False
        self._updating: set[asyncio.Task[Any]] = set()
        self._serving: set[asyncio.Task[Any]] = set()
        self._waits: set[asyncio.Future[Any]] = set()
        self._stalls = 0

    @property
    def serving(self) -> int:
        """How many handlers of requests run."""
        return len(self._serving)

    @property
    def queued_bytes(self) -> int:
        """How much is read and not yet handled."""
        return self._bytes

    def is_busy(self, key: str | None) -> bool:
        """Tell whether something of this session is being handled or waits for it."""
        return key in self._lanes

    def passes_barrier(self) -> bool:
        """Tell whether the caller is an update handler, whose lane waits for it."""
        return asyncio.current_task() in self._updating

    def put(self, key: str | None, frame_bytes: int, run: Run, argument: Any) -> None:
        """Do this when everything of the session that came before is done."""
        lane = self.lane(key)
        lane.queue.append((run, argument, frame_bytes + ITEM_BYTES))
        self.account(lane, frame_bytes + ITEM_BYTES)

    def lane(self, key: str | None) -> Lane:
        """Return the lane of a session, to append to its queue and then `account` for it."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key)
            lane.task = self._loop.create_task(self._work(lane))
            self._updating.add(lane.task)
        return lane

    def account(self, lane: Lane, size: int) -> None:
        """Count what was appended to a lane."""
        lane.bytes += size
        self._bytes += size
        if lane.bytes > self._limits.session_bytes:
            self._full.add(lane)
            self._regulate()
        elif self._bytes > self._limits.connection_bytes:
            self._regulate()

    def queued(self, key: str | None) -> list[Any]:
        """Return the arguments of what waits in a session."""
        lane = self._lanes.get(key)
        return [] if lane is None else [argument for _, argument, _ in lane.queue]

    def serve(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the handler of a request beside everything else."""
        task = self._loop.create_task(work)
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return task

    async def wait(self, future: asyncio.Future[T]) -> T:
        """Wait for something that comes from the peer; reading goes on meanwhile.

        Raises:
            Overloaded: A handler waits, and too much has been read before what it waits for.
        """
        task = asyncio.current_task()
        if task not in self._updating and task not in self._serving:
            return await future
        self._waits.add(future)
        self._regulate()
        try:
            return await future
        finally:
            self._waits.discard(future)
            self._regulate()

    def stall(self, room: asyncio.Future[None]) -> None:
        """Read nothing until there is room: the peer makes us answer, and takes no answers."""
        self._stalls += 1
        room.add_done_callback(self._unstall)
        self._regulate()

    def _unstall(self, room: asyncio.Future[None]) -> None:
        del room
        self._stalls -= 1
        self._regulate()

    def cancel_serving(self) -> None:
        """Cancel the handlers of requests: nobody can get their answers any more."""
        for task in self._serving:
            task.cancel()

    async def aclose(self, grace_after: float) -> None:
        """Let the lanes work off what they have, for a while, and end everything else."""
        me = asyncio.current_task()
        tasks = (self._serving | self._updating) - {me}
        if tasks:
            await asyncio.wait(tasks, timeout=grace_after)
        while tasks := {task for task in self._serving | self._updating if not task.done()} - {me}:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=grace_after)
            if all(not task.done() for task in tasks):
                logger.error("%d handlers do not end when they are cancelled", len(tasks))
                return

    async def _work(self, lane: Lane) -> None:
        queue = lane.queue
        try:
            while queue:
                run, argument, size = queue.popleft()
                try:
                    rest = run(argument)
                    if rest is not None:
                        await rest
                except asyncio.CancelledError:
                    task = asyncio.current_task()
                    if task is not None and task.cancelling():
                        raise
                    logger.exception("a handler of updates was cancelled by itself")
                except Exception:
                    logger.exception("a handler of updates failed")
                lane.bytes -= size
                self._bytes -= size
                if self._is_paused:
                    self._emptied(lane)
        finally:
            self._bytes -= sum(size for _, _, size in queue)
            del self._lanes[lane.key]
            self._full.discard(lane)
            if lane.task is not None:
                self._updating.discard(lane.task)
            if self._is_paused:
                self._regulate()

    def _emptied(self, lane: Lane) -> None:
        if lane.bytes <= self._limits.session_bytes // 2:
            self._full.discard(lane)
        self._regulate()

    def _regulate(self) -> None:
        """Decide whether to read on."""
        is_over = self._bytes > self._limits.connection_bytes or self._stalls > 0
        if is_over and self._waits:
            for future in self._waits:
                if not future.done():
                    future.set_exception(_overloaded(self._limits))
        must_pause = is_over or (bool(self._full) and not self._waits)
        if must_pause != self._is_paused:
            self._is_paused = must_pause
            if must_pause:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()


def _overloaded(limits: Limits) -> Overloaded:
    return Overloaded(
        f"A handler waits for the peer while {limits.connection_bytes} bytes are read and unhandled"
    )
