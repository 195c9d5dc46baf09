"""The order in which messages are handled: lanes, request handlers and the consumer barrier.

The ordering contract:

- Within a session, updates are handled in wire order. Each handler finishes before the next starts.
- The response to a request is delivered only after every update of its session that arrived before
  it has been handled.
- A handler may await requests to the peer, even in its own session, without a deadlock: a response
  that an update handler awaits passes the barrier.
- A request from the peer starts after the earlier updates of its session have been handled, and
  then runs concurrently with later messages; a slow one blocks nothing. An update whose handler is
  waiting for the peer counts as handled here, because the handler may be waiting for this very
  request. After one second, the updates queued after such a handler count as handled too, so a
  request never waits for a handler that waits for the peer.
- A handler that fails, or whose task is cancelled, does not affect the messages after it.
- Sessions do not block each other, within the limits of flow control.
- An update that arrives before its session is known (before the response to `session/new`) is
  kept, up to a limit, and handled before that response is delivered.
- A request handler can register hooks that run after its response has been written
  (`RequestContext.after_response`).
- Messages without a session keep wire order among themselves.
- Our own messages leave in the order in which they are written. `Peer.begin_request` and
  `Peer.notify_now` write before they return, `Peer.request` and `Peer.notify` in the first step of
  their coroutine; no task writes later what the program has sent already.
- `$/cancel_request` and `session/cancel` pass every barrier.
- If a loop consumes the updates of a session (see *consumer barrier*), an update counts as handled
  when the loop asks for the next one, and all of them do when the loop ends.
- A task that a handler starts does not inherit the right to pass the barrier. The right is taken
  when `Peer.request` is called, so `asyncio.wait_for(peer.request(…), …)` has it. Around anything
  else use `asyncio.timeout`: before Python 3.12, `asyncio.wait_for` starts a task.

How much may wait, and when reading pauses, is decided in `_flow_control.py`. When a response may be
built and sent is decided in `_response_budget.py`.

Theory of operation. Each session with pending work has a *lane*: a queue and one task that runs its
items in order. A lane is created with its first item and ends with its last, so an idle session
costs nothing. Items are updates, responses to deliver and requests to start. Because they share one
queue, the barrier needs no counting. A request or response whose session has no lane is handled at
once. Messages that pass every barrier have lanes of their own. Handlers run in the context in
which the dispatcher was created, so they do not inherit context variables from the code that
happened to send a message or resume reading.

The *consumer barrier* covers updates that the program handles in a loop, outside the lane. An
update handler that only passes updates on to an `async for` loop has not handled them. It marks
them in a `ConsumerBarrier`: until the loop comes back for more, the responses and requests of that
session wait as they would for the handler itself. While the loop's body runs, its requests to the
peer pass the barrier like those of a handler.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextvars import copy_context
from operator import length_hint
from typing import Any, TypeAlias, TypeVar

from parley._user_code import reraise_if_ending

from ._flow_control import ITEM_BYTES, LANE_BYTES, ReadFlowControl

logger = logging.getLogger(__name__)

T = TypeVar("T")
Handler: TypeAlias = Callable[[Any], Awaitable[None] | None]
Key: TypeAlias = str | tuple[str | None] | None
"""A session ID, or None for messages without a session; in a tuple, a lane that has no barrier."""

START_TIMEOUT = 1.0
"""Seconds until a request passes the updates queued after a handler with pending calls."""


class Dispatcher:
    """The scheduler of handlers: runs the handlers of each session in order."""

    def __init__(self, flow: ReadFlowControl) -> None:
        self.flow = flow
        """Counts what is queued here, and pauses reading."""
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._lanes: dict[Key, Lane] = {}
        self._lane_tasks: dict[asyncio.Task[Any], Lane] = {}
        self._serving: set[asyncio.Task[Any]] = set()
        self._serving_lane = Lane(None)
        self._excluded: set[asyncio.Task[Any] | None] = set()
        self.barriers: dict[Key, ConsumerBarrier] = {}
        """The consumer barriers of sessions whose updates a loop handles."""
        self.consumer_tasks: dict[asyncio.Task[Any], ConsumerBarrier] = {}
        """The tasks that run the body of such a loop."""
        self._is_closing = False

    @property
    def serving(self) -> int:
        """The number of running request handlers."""
        return len(self._serving)

    def is_busy(self, key: Key) -> bool:
        """Return whether a message of this session is being handled or waits to be handled."""
        barrier = self.barriers.get(key)
        return key in self._lanes or (barrier is not None and barrier.unfinished > 0)

    def current_lane(self) -> Lane | None:
        """Return the lane that is blocked while the current task runs.

        A request handler blocks no lane; for it, this is a placeholder without a task. None means
        that the caller is not a handler.
        """
        if not (self._lane_tasks or self._serving or self.consumer_tasks):
            return None
        task: Any = asyncio.current_task()  # None in an event loop callback
        if (lane := self._lane_tasks.get(task) or self.consumer_tasks.get(task)) is not None:
            return lane
        return self._serving_lane if task in self._serving else None

    def enqueue(self, key: Key, size_bytes: int, handler: Handler, *arguments: Any) -> None:
        """Queue calls of a handler, one per argument, after everything queued for the session.

        Args:
            key: The session.
            size_bytes: The size of the frames that contained the messages.
            handler: The handler.
            arguments: The handler is called once with each of them, in order.
        """
        self.enqueue_many(key, size_bytes, handler, arguments)

    def enqueue_many(
        self, key: Key, size_bytes: int, handler: Handler, arguments: Sequence[Any]
    ) -> None:
        """Do the same as `enqueue`, for a sequence of arguments."""
        flow = self.flow
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = Lane(key)
            flow.unhandled_bytes += LANE_BYTES
            self._start(lane)
        size_bytes += ITEM_BYTES * len(arguments)
        lane.queue.append((handler, arguments, size_bytes))
        lane.bytes += size_bytes
        flow.unhandled_bytes += size_bytes
        if lane.bytes > flow.max_session_bytes or flow.unhandled_bytes > flow.max_connection_bytes:
            flow.limit_reached(lane)

    def _start(self, lane: Lane) -> None:
        lane.task = self._loop.create_task(self._work(lane), context=self._context.copy())
        self._lane_tasks[lane.task] = lane

    def deliver_in_order(
        self, key: Key, size_bytes: int, deliver: Callable[[Any], None], argument: Any
    ) -> None:
        """Queue a call like `enqueue` that also waits for the consumer barrier of the session."""
        self.enqueue(key, size_bytes, self._deliver_now, (key, deliver, argument))

    def _deliver_now(self, item: tuple[Key, Callable[[Any], None], Any]) -> Awaitable[None] | None:
        key, deliver, argument = item
        barrier = self.barriers.get(key)
        if barrier is None or barrier.is_clear(is_request=False):
            deliver(argument)
            return None
        return _deliver_after(barrier, deliver, argument)

    def start_request(
        self, key: Key, size_bytes: int, start: Callable[[Any], None], argument: Any
    ) -> None:
        """Start a request in order, but without waiting for handlers that wait for the peer."""
        lane = self._lanes.get(key)
        if lane is None and self._is_clear(key):
            start(argument)
            return
        request = DeferredRequest(start, argument)
        self.enqueue(key, size_bytes, self._start_now, (key, request))
        if lane is not None:
            self._start_unblocked(lane)
        if not request.has_started:
            self._start_later(key, request)

    def _start_now(self, item: tuple[Key, DeferredRequest]) -> Awaitable[None] | None:
        key, request = item
        barrier = self.barriers.get(key)
        if barrier is None or request.has_started or barrier.is_clear(is_request=True):
            request.start()
            return None
        return _start_after(barrier, request)

    def _is_clear(self, key: Key) -> bool:
        """Return whether no consumer loop delays a request of this session."""
        barrier = self.barriers.get(key)
        return barrier is None or barrier.is_clear(is_request=True)

    def _start_later(self, key: Key, request: DeferredRequest) -> None:
        request.timer = self._loop.call_later(
            START_TIMEOUT, self._start_after_timeout, key, request
        )

    def _start_after_timeout(self, key: Key, request: DeferredRequest) -> None:
        """Start a request if an earlier handler has pending calls, else check again later."""
        lane, barrier = self._lanes.get(key), self.barriers.get(key)
        if lane is None:
            return  # cancelled: the connection is closed
        if lane.pending_calls or (barrier is not None and barrier.pending_calls):
            request.start()
        else:
            self._start_later(key, request)

    def consumer_barrier(self, session: str) -> ConsumerBarrier:
        """Return a new consumer barrier for a session; it replaces an earlier one."""
        barrier = self.barriers[session] = ConsumerBarrier(self, session)
        return barrier

    def serve(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a request handler in a task of its own."""
        task = self._loop.create_task(work, context=self._context.copy())
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return task

    async def wait(self, future: asyncio.Future[T], lane: Lane | None) -> T:
        """Wait for something that depends on the peer, while reading continues.

        Args:
            future: Resolved by a response, or when there is room to send.
            lane: The lane of the waiting handler; None for other callers.

        Raises:
            Overloaded: A handler waits, and too much has been read but not yet handled.
        """
        if lane is None:
            return await future
        blocks_lane = lane.task is asyncio.current_task()  # not in a task that the handler started
        lane.pending_calls += 1
        lane.blocking_calls += blocks_lane
        if blocks_lane:
            self._start_unblocked(lane)
        self.flow.wait_started(future)
        try:
            return await future
        finally:
            lane.pending_calls -= 1
            lane.blocking_calls -= blocks_lane
            self.flow.wait_ended(future)

    def _start_unblocked(self, lane: Lane) -> None:
        """Start the queued requests that only a handler waiting for the peer delays."""
        if isinstance(lane, ConsumerBarrier):
            lane.notify()
        elif lane.blocking_calls and not length_hint(lane.remaining) and self._is_clear(lane.key):
            for handler, arguments, _ in lane.queue:
                if handler == self._start_now:
                    arguments[0][1].start()
                elif handler != self._deliver_now:  # an update: later requests must wait for it
                    return

    def consumer_done(self, key: Key) -> None:
        """Start the requests that only a consumer loop delayed."""
        lane = self._lanes.get(key)
        if lane is not None:
            self._start_unblocked(lane)

    def exclude_current_task(self) -> None:
        """Exempt the current task, which closes the connection, from being cancelled or awaited."""
        self._excluded.add(asyncio.current_task())

    def cancel_serving(self) -> None:
        """Cancel the request handlers: their responses can no longer be sent."""
        for task in self._serving - self._excluded:
            task.cancel()

    async def aclose(self, grace_after: float) -> None:
        """Wait up to `grace_after` seconds for the handlers to finish, then cancel the rest."""
        if tasks := self._unfinished():
            await asyncio.wait(tasks, timeout=grace_after)
        while tasks := self.cancel():
            await asyncio.wait(tasks, timeout=grace_after)
            if all(not task.done() for task in tasks):
                logger.error("%d handlers are still running after they were cancelled", len(tasks))
                return

    def cancel(self) -> set[asyncio.Task[Any]]:
        """Cancel all handlers permanently and return the tasks that have not ended yet."""
        self._is_closing = True
        tasks = self._unfinished()
        for task in tasks:
            task.cancel()
        return tasks

    def _unfinished(self) -> set[asyncio.Task[Any]]:
        tasks = self._serving.union(self._lane_tasks) - self._excluded
        return {task for task in tasks if not task.done()}

    async def _work(self, lane: Lane) -> None:
        flow, queue, task = self.flow, lane.queue, asyncio.current_task()
        assert task is not None
        try:
            while queue:
                handler, arguments, size_bytes = queue.popleft()
                lane.remaining = iter(arguments)
                try:
                    while not await self._run_remaining(lane.remaining, handler, task):
                        pass
                except asyncio.CancelledError:
                    if not self._is_closing:  # only one handler was cancelled: restart the lane
                        logger.warning("the task of an update handler was cancelled")
                        queue.appendleft((handler, list(lane.remaining), size_bytes))
                        self._start(lane)
                    raise
                lane.bytes -= size_bytes
                flow.unhandled_bytes -= size_bytes
                if flow.is_paused:
                    flow.item_handled(lane)
        finally:
            del self._lane_tasks[task]
            if lane.task is task:  # else the lane was restarted with a new task
                del self._lanes[lane.key]
                flow.lane_ended(lane)

    async def _run_remaining(
        self, remaining: Iterator[Any], handler: Handler, task: asyncio.Task[Any]
    ) -> bool:
        """Run the handler for the remaining arguments until one fails; return whether all ran."""
        try:
            for argument in remaining:
                waiting = handler(argument)
                if waiting is not None:
                    await waiting
        except asyncio.CancelledError:
            if task.cancelling():
                raise
            logger.exception("an update handler raised CancelledError, but was not cancelled")
        except BaseException as error:  # user code: later updates are still handled
            reraise_if_ending(error)
            logger.exception("an update handler failed")
        else:
            return True
        return False


async def _deliver_after(
    barrier: ConsumerBarrier, deliver: Callable[[Any], None], argument: Any
) -> None:
    await barrier.wait_clear(is_request=False)
    deliver(argument)


async def _start_after(barrier: ConsumerBarrier, request: DeferredRequest) -> None:
    await barrier.wait_clear(is_request=True)
    request.start()


class Lane:
    """The queue of one session, and the task that runs its items in order."""

    __slots__ = ("blocking_calls", "bytes", "key", "pending_calls", "queue", "remaining", "task")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.queue: deque[tuple[Handler, Sequence[Any], int]] = deque()
        """Entries of handler, arguments (one call each) and size in bytes."""
        self.remaining: Iterator[Any] = iter(())
        """The remaining arguments of the current entry."""
        self.bytes = 0
        """The size of the queued and current entries."""
        self.pending_calls = 0
        """The number of pending calls to the peer made by its handlers, including their tasks."""
        self.blocking_calls = 0
        """The number of those that the lane's own task waits for."""
        self.task: asyncio.Task[Any] | None = None
        """The task that runs the items; None for the placeholder of request handlers."""


class DeferredRequest:
    """A request from the peer that waits to be started."""

    __slots__ = ("_argument", "_start", "has_started", "timer")

    def __init__(self, start: Callable[[Any], None], argument: Any) -> None:
        self._start = start
        self._argument = argument
        self.has_started = False
        self.timer: asyncio.TimerHandle | None = None
        """Starts the request if a handler ahead of it is waiting for the peer."""

    def start(self) -> None:
        """Start the request, unless it has started."""
        if not self.has_started:
            self.has_started = True
            if self.timer is not None:
                self.timer.cancel()
            self._start(self._argument)


class ConsumerBarrier(Lane):
    """A barrier for the updates of a session that were passed to a loop but not finished."""

    __slots__ = ("_dispatcher", "_waiter", "unfinished")

    def __init__(self, dispatcher: Dispatcher, session: str) -> None:
        super().__init__(session)
        self._dispatcher = dispatcher
        self._waiter: asyncio.Future[None] | None = None
        self.unfinished = 0
        """The number of updates passed to the loop but not finished; its queue increments it."""

    def begin(self) -> None:
        """Mark the current task as the one that runs the loop's body."""
        task = asyncio.current_task()
        if task is not self.task:
            self._forget_task()
            assert task is not None
            self.task = task
            self._dispatcher.consumer_tasks[task] = self

    def done(self) -> None:
        """Count an update as finished, and open the barrier after the last one."""
        self.unfinished -= 1
        if not self.unfinished:
            self._forget_task()
            self.notify()

    def close(self) -> None:
        """Remove the barrier; the remaining updates count as handled."""
        self.unfinished = 0
        self._forget_task()
        if self._dispatcher.barriers.get(self.key) is self:
            del self._dispatcher.barriers[self.key]
        self.notify()

    def is_clear(self, is_request: bool) -> bool:
        """Return whether no update is unfinished.

        For a request, the last update does not count while the loop's body waits for the peer.
        """
        return not self.unfinished or (
            is_request and self.unfinished == 1 and self.blocking_calls > 0
        )

    async def wait_clear(self, is_request: bool) -> None:
        """Wait until the barrier is open; only the session's lane waits here."""
        while not self.is_clear(is_request):
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter

    def notify(self) -> None:
        """Wake the lane, and start the requests that only the loop delayed."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._dispatcher.consumer_done(self.key)

    def _forget_task(self) -> None:
        if self.task is not None:
            self._dispatcher.consumer_tasks.pop(self.task, None)
            self.task = None
