"""In which order things are handled, and how much may wait.

The contract:

- Per session, updates are handled in wire order, each to its end before the next.
- The answer to a request is delivered only after every update of that session that came before it
  has been handled.
- A handler may await calls to the peer, also for its own session, and never deadlocks: an answer
  awaited from inside an update handler passes the barrier.
- A request that the peer makes in a session starts after the updates that came before it were
  handled, and then runs beside what follows; a slow one blocks nothing. An update whose handler
  waits for the peer counts as handled here, because what it waits for may need this request. So do
  the updates behind it when the request has waited for a second: nobody waits for ever.
- A handler that fails, or whose task is cancelled, takes nothing with it that stands behind it.
- Sessions do not block each other, up to the bounds below.
- An update that arrives before its session is known (before the answer to `session/new`) is kept,
  bounded, and delivered first, before that answer.
- After an answer has been written, its handler may have something done (`after_answer`).
- Messages without a session keep their own wire order among themselves.
- `$/cancel_request` and `session/cancel` pass every barrier.
- Where a loop handles the updates of a session (`stage.py`), one counts as handled when the loop
  asks for the next, and all of them when it is left.
- A task that a handler starts does not inherit its right to pass the barrier. The right is taken
  when `Peer.request` is called, so `asyncio.wait_for(peer.request(…), …)` has it; around anything
  else use `asyncio.timeout`, since before Python 3.12 `asyncio.wait_for` starts a task.

The bounds: every session may have `session_bytes` read and not yet handled. Beyond that reading
stops, and a flood becomes backpressure in the pipe. It stops as well while the peer makes us refuse
its messages and does not take the refusals. While a handler waits for the peer (for an answer, or
for room to send) reading goes on, because what it waits for comes the same way, until all this
together reaches `connection_bytes`: there the wait fails with `Overloaded`, and so does every other
that begins before there is less. So nothing grows without end and nobody waits for ever.

Theory of operation. Each session with something to do has a *lane*: a queue and one task that works
it off. A lane begins with its first item and ends with its last, so that an idle session costs
nothing. Items are updates, answers to deliver and requests to start; since they stand in one queue,
the barrier needs no counting. What needs no barrier, because the lane is empty, is done at once.
What passes every barrier has lanes of its own. Handlers run in the context in which the dispatcher
was made: who happened to send, or to make reading go on, leaves no trace in them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextvars import copy_context
from operator import length_hint
from typing import Any, TypeVar

from parley.errors import Overloaded
from parley.transport.base import Transport

from .lane import ITEM_BYTES, LANE_BYTES, Held, Key, Lane, Run
from .limits import Limits
from .stage import Stage

__all__ = ["Dispatcher"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE = 1.0
"""After so many seconds a request passes updates that wait behind a handler which asks the peer."""


class Dispatcher:
    """Runs handlers in their order and reads no further than they can follow."""

    def __init__(self, transport: Transport, limits: Limits) -> None:
        self._transport = transport
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._lanes: dict[Key, Lane] = {}
        self._full: set[Lane] = set()
        self._bytes = 0
        self._is_paused = False
        self._updating: dict[asyncio.Task[Any], Lane] = {}
        self._serving: set[asyncio.Task[Any]] = set()
        self._beside = Lane(None)
        self._spared: set[asyncio.Task[Any] | None] = set()
        self.stages: dict[Key, Stage] = {}
        """The sessions whose updates a loop handles."""
        self.looping: dict[asyncio.Task[Any], Stage] = {}
        """The tasks in which the body of such a loop runs."""
        self._waits: set[asyncio.Future[Any]] = set()
        self._stalled_bytes = 0
        self._is_closing = False
        self.is_over = False
        """Whether so much is read and not yet handled that no handler may wait for the peer."""

    @property
    def serving(self) -> int:
        """How many handlers of requests run."""
        return len(self._serving)

    def is_busy(self, key: Key) -> bool:
        """Tell whether something of this session is being handled or waits for it."""
        stage = self.stages.get(key)
        return key in self._lanes or (stage is not None and stage.taken > 0)

    def current_lane(self) -> Lane | None:
        """Return the lane that waits for the caller; one without a task for a request's handler.

        None is for those who are no handlers.
        """
        if not (self._updating or self._serving or self.looping):
            return None
        task: Any = asyncio.current_task()  # None in a callback of the loop's
        if (lane := self._updating.get(task) or self.looping.get(task)) is not None:
            return lane
        return self._beside if task in self._serving else None

    def put(self, key: Key, size: int, run: Run, *arguments: Any) -> None:
        """Call this, with one argument after the other, when what came before is done.

        Args:
            key: The session.
            size: How many bytes these were on the wire.
            run: The handler.
            arguments: What it is called with, one by one.
        """
        self.put_all(key, size, run, arguments)

    def put_all(self, key: Key, size: int, run: Run, arguments: Sequence[Any]) -> None:
        """Do what `put` does for a sequence."""
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key)
            self._bytes += LANE_BYTES
            self._start(lane)
        size += ITEM_BYTES * len(arguments)
        lane.queue.append((run, arguments, size))
        lane.bytes += size
        self._bytes += size
        if lane.bytes > self._limits.session_bytes:
            self._full.add(lane)
            self._regulate()
        elif self._bytes > self._limits.connection_bytes:
            self._regulate()

    def _start(self, lane: Lane) -> None:
        lane.task = self._loop.create_task(self._work(lane), context=self._context.copy())
        self._updating[lane.task] = lane

    def deliver(self, key: Key, size: int, run: Callable[[Any], None], argument: Any) -> None:
        """Do this like `put`, and also after what a loop has to handle."""
        self.put(key, size, self._deliver, (key, run, argument))

    def _deliver(self, item: tuple[Key, Callable[[Any], None], Any]) -> Awaitable[None] | None:
        key, run, argument = item
        stage = self.stages.get(key)
        if stage is None or stage.is_clear(is_request=False):
            run(argument)
            return None
        return _deliver_behind(stage, run, argument)

    def begin(self, key: Key, size: int, run: Callable[[Any], None], argument: Any) -> None:
        """Do this like `deliver`, but do not wait for a handler that waits for the peer."""
        lane = self._lanes.get(key)
        if lane is None and self._is_clear(key):
            run(argument)
            return
        held = Held(run, argument)
        self.put(key, size, self._begin, (key, held))
        if lane is not None:
            self._begin_first(lane)
        if not held.has_begun:
            held.timer = self._loop.call_later(PATIENCE, self._lose_patience, key, held)

    def _begin(self, item: tuple[Key, Held]) -> Awaitable[None] | None:
        key, held = item
        stage = self.stages.get(key)
        if stage is None or held.has_begun or stage.is_clear(is_request=True):
            held.begin()
            return None
        return _begin_behind(stage, held)

    def _is_clear(self, key: Key) -> bool:
        """Tell whether no loop holds up a request of this session."""
        stage = self.stages.get(key)
        return stage is None or stage.is_clear(is_request=True)

    def _lose_patience(self, key: Key, held: Held) -> None:
        """Begin a request that has waited behind a handler which may wait for just this."""
        lane, stage = self._lanes.get(key), self.stages.get(key)
        if lane is None:
            return  # it was cancelled, because the connection is closed
        if lane.asks or (stage is not None and stage.asks):
            held.begin()
        else:
            held.timer = self._loop.call_later(PATIENCE, self._lose_patience, key, held)

    def stage(self, session: str) -> Stage:
        """Have a loop handle the updates of a session from now on; there is one at a time."""
        stage = self.stages[session] = Stage(self, session)
        return stage

    def serve(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the handler of a request beside everything else."""
        task = self._loop.create_task(work, context=self._context.copy())
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return task

    async def wait(self, future: asyncio.Future[T], lane: Lane | None) -> T:
        """Wait for something that comes from the peer; reading goes on meanwhile.

        Args:
            future: What to wait for.
            lane: The lane of the handler that waits; None for other callers.

        Raises:
            Overloaded: A handler waits, and too much has been read before what it waits for.
        """
        if lane is None:
            return await future
        is_held_up = lane.task is asyncio.current_task()  # not so in a task of the handler's
        lane.asks += 1
        lane.waits += is_held_up
        self._waits.add(future)
        if is_held_up:
            self._begin_first(lane)
        self._regulate()
        try:
            return await future
        finally:
            lane.asks -= 1
            lane.waits -= is_held_up
            self._waits.discard(future)
            self._regulate()

    def _begin_first(self, lane: Lane) -> None:
        """Begin the requests before which no update is, but those of handlers that wait."""
        if isinstance(lane, Stage):
            lane.settle()
        elif lane.waits and not length_hint(lane.rest) and self._is_clear(lane.key):
            for run, arguments, _ in lane.queue:
                if run == self._begin:
                    arguments[0][1].begin()
                elif run != self._deliver:
                    return

    def cleared(self, key: Key) -> None:
        """Begin the requests that were held up by nothing but a loop."""
        lane = self._lanes.get(key)
        if lane is not None:
            self._begin_first(lane)

    def stall(self, room: Callable[[], asyncio.Future[None] | None], frame_bytes: int) -> None:
        """Count a refusal that the peer made us send, until it takes it, if it does not now."""
        if not self._stalled_bytes:  # what is waited for once is not asked for again
            waiting = room()
            if waiting is None:
                return
            waiting.add_done_callback(self._unstall)
        self._stalled_bytes += frame_bytes + ITEM_BYTES
        self._bytes += frame_bytes + ITEM_BYTES
        self._regulate()

    def _unstall(self, _: asyncio.Future[None]) -> None:
        self._bytes -= self._stalled_bytes
        self._stalled_bytes = 0
        self._regulate()

    def spare_caller(self) -> None:
        """Neither cancel the task that calls nor wait for it: it closes the connection."""
        self._spared.add(asyncio.current_task())

    def cancel_serving(self) -> None:
        """Cancel the handlers of requests: nobody can get their answers any more."""
        for task in self._serving - self._spared:
            task.cancel()

    async def aclose(self, grace_after: float) -> None:
        """Let the lanes work off what they have, for a while, and end everything else."""
        if tasks := self._unfinished():
            await asyncio.wait(tasks, timeout=grace_after)
        while tasks := self.cancel():
            await asyncio.wait(tasks, timeout=grace_after)
            if all(not task.done() for task in tasks):
                logger.error("%d handlers do not end when they are cancelled", len(tasks))
                return

    def cancel(self) -> set[asyncio.Task[Any]]:
        """Cancel every handler, for good, and return those that have not ended yet."""
        self._is_closing = True
        tasks = self._unfinished()
        for task in tasks:
            task.cancel()
        return tasks

    def _unfinished(self) -> set[asyncio.Task[Any]]:
        tasks = self._serving.union(self._updating) - self._spared
        return {task for task in tasks if not task.done()}

    async def _work(self, lane: Lane) -> None:
        queue, task = lane.queue, asyncio.current_task()
        assert task is not None
        try:
            while queue:
                run, arguments, size = queue.popleft()
                lane.rest = iter(arguments)
                try:
                    while not await self._run_rest(lane.rest, run, task):
                        pass
                except asyncio.CancelledError:
                    if not self._is_closing:  # one handler was cancelled, not those behind it
                        logger.warning("the task of a handler of updates was cancelled")
                        queue.appendleft((run, list(lane.rest), size))
                        self._start(lane)
                    raise
                lane.bytes -= size
                self._bytes -= size
                if self._is_paused:
                    self._emptied(lane)
        finally:
            del self._updating[task]
            if lane.task is task:
                self._end(lane)

    def _end(self, lane: Lane) -> None:
        self._bytes -= lane.bytes + LANE_BYTES
        del self._lanes[lane.key]
        self._full.discard(lane)
        if self._is_paused:
            self._regulate()

    async def _run_rest(self, rest: Iterator[Any], run: Run, task: asyncio.Task[Any]) -> bool:
        """Call the handler for what is left, up to one that fails; returns whether it was all."""
        try:
            for argument in rest:
                waiting = run(argument)
                if waiting is not None:
                    await waiting
        except asyncio.CancelledError:
            if task.cancelling():
                raise
            logger.exception("a handler of updates was cancelled by itself")
        except Exception:  # of the program: the updates behind it are still handled
            logger.exception("a handler of updates failed")
        else:
            return True
        return False

    def _emptied(self, lane: Lane) -> None:
        if lane.bytes <= self._limits.session_bytes // 2:
            self._full.discard(lane)
        self._regulate()

    def _regulate(self) -> None:
        """Decide whether to read on."""
        self.is_over = self._bytes > self._limits.connection_bytes
        if self.is_over:
            for future in self._waits:
                if not future.done():
                    future.set_exception(self.overloaded())
        must_pause = self.is_over or (
            not self._waits and (self._stalled_bytes > 0 or self._has_full())
        )
        if must_pause != self._is_paused:
            self._is_paused = must_pause
            if must_pause:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _has_full(self) -> bool:
        """Tell whether a session has more than it may; it may have got on while reading went on."""
        if self._full and not self._is_paused:
            low = self._limits.session_bytes // 2
            self._full = {lane for lane in self._full if lane.bytes > low}
        return bool(self._full)

    def overloaded(self) -> Overloaded:
        """Return what fails a handler that would wait for the peer."""
        return Overloaded(
            f"A handler waits for the peer while more than {self._limits.connection_bytes} bytes "
            "are read and not yet handled"
        )


async def _deliver_behind(stage: Stage, run: Callable[[Any], None], argument: Any) -> None:
    await stage.cleared(is_request=False)
    run(argument)


async def _begin_behind(stage: Stage, held: Held) -> None:
    await stage.cleared(is_request=True)
    held.begin()
