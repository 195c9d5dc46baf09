"""The part of a turn that Parley drives: sending, updates, loops and the end.

Programs get a `PromptTurn`, which is a view of it.

Theory of operation. A session keeps its unfinished turns in a `PromptQueue`, and an update belongs
to the first of them: the protocol does not name the prompt in an update, so order is all there is.
The events that move a turn forward are seen in the session's lane, in wire order: the agent accepts
the prompt, starts to work, becomes idle again. The state `idle` ends the first turn if its prompt
was accepted earlier. It also ends every other turn whose user message was reported earlier, because
the response may come late or the agent may work on several prompts at once. A prompt that is
accepted but not reported keeps waiting.

A loop (`async for`) gets its updates through a short queue. An update is folded into the transcript
when the loop gets it, so that the transcript is never ahead of the loop, and counts as handled when
the loop requests the next one. Without a loop, updates are folded as they arrive. Updates that
belong to the next turn, or to no turn, wait until the loop has handled its own.

- `UpdateQueue` is the session's end of that queue: it takes updates in the session's lane and makes
  the lane wait when the loop is too slow.
- `UpdateIterator` is the loop's end. In a block (`async with`), the end of the block leaves the
  loop. Without one, Python does not report that a loop was left. Only the `async for` statement
  holds a reference to the iterator, so its deletion means that; the remaining updates are then
  folded without the loop.
- `PromptTurnState.kept` holds the updates between the start of a block and that of a loop inside
  it. They are folded as they arrive, and the loop gets them again.
- `PromptQueue` assigns updates to turns in the session's lane, in wire order. The program's tasks
  call it only to start, cancel or leave a turn.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Sequence,
)
from functools import partial
from itertools import takewhile
from textwrap import shorten
from typing import TYPE_CHECKING, TypeVar

from parley.errors import (
    AcpError,
    InternalError,
    LocalProtocolError,
    RemoteProtocolError,
    request_error,
)
from parley.peer._dispatcher import ConsumerBarrier
from parley.schema import v2
from parley.session._adapter import MalformedResponse
from parley.session._transcript import Entry
from parley.session._transcript_entries import MessageEntry
from parley.transport._notifier import Notifier

from ._turn import TurnResult

if TYPE_CHECKING:
    from ._session_state import SessionState


logger = logging.getLogger(__name__)

_EARLY_UPDATES = 1024
"""Maximum number of states and user messages remembered until a prompt is accepted."""
KEPT_UPDATES = 1024
"""Maximum number of updates kept in a block until a loop starts."""
LEAVE_TIMEOUT = 5.0
"""Seconds that the end of a block waits for the agent to end a cancelled turn."""


class PromptTurnState:
    """The state of a turn, as the session drives it; `PromptTurn` is the program's view of it."""

    def __init__(self, session: SessionState, request: v2.PromptRequest) -> None:
        self.session = session
        self.request = request
        self.message_id: v2.MessageId | None = None
        self.is_cancelled = False
        self.is_accepted = False
        self.updates: UpdateQueue | None = None
        """The queue of the loop over this turn; None without a loop."""
        self.kept: deque[v2.SessionUpdate] | None = None
        """The updates since the start of the block; None outside a block, or after a loop."""
        self.is_retrieved = False
        """Whether the program has seen the result or the error."""
        self.end: v2.StateUpdated | None = None
        """The update with which the agent ended the turn."""
        self._done: asyncio.Future[TurnResult] | None = None
        self._is_attempted = False
        self._is_looped = False
        self._has_run = False
        self._early: deque[v2.SessionUpdate] = deque(maxlen=_EARLY_UPDATES)
        self._is_reported = False
        self._first_entry: int | None = None
        self._waits_for_other_work = False

    @property
    def is_begun(self) -> bool:
        """Whether the turn was started by awaiting it or looping over it."""
        return self._done is not None

    @property
    def is_done(self) -> bool:
        """Whether the turn has ended, with a result or an error."""
        return self._done is not None and self._done.done()

    def iterate(self) -> AsyncIterator[v2.SessionUpdate]:
        """Return the iterator over the updates; the first step sends the prompt.

        Raises:
            LocalProtocolError: The turn was looped over or awaited before, or too many updates
                arrived in a block before its loop.
        """
        kept, self.kept = self.kept, None
        if self.updates is not None or (self.is_begun and kept is None):
            raise LocalProtocolError("a prompt can be looped over once, before it is awaited")
        if kept is not None and len(kept) > KEPT_UPDATES:
            raise LocalProtocolError(
                f"more than {KEPT_UPDATES} updates arrived before the loop; start the loop as soon "
                "as the block is entered"
            )
        self._is_looped = True
        if kept is not None and self.is_done:
            return self._iterate_kept(kept)
        # If another prompt was accepted first, the updates so far were those of that prompt.
        is_first = self.session.turns.first is self
        self.updates = UpdateQueue(self, kept if kept and is_first else ())
        if self.is_begun:
            self.session.turns.loop_started()
        return UpdateIterator(self.updates)

    async def _iterate_kept(
        self, kept: Sequence[v2.SessionUpdate]
    ) -> AsyncGenerator[v2.SessionUpdate, None]:
        """Iterate over the updates of a turn that ended before its loop."""
        for update in kept:
            yield update
        await self.wait()

    def enter(self) -> None:
        """Send the prompt at the start of a block, and keep its updates for a loop.

        Raises:
            LocalProtocolError: The turn was awaited, looped over or entered before.
            AcpError: The prompt could not be sent.
        """
        if self.updates is not None or self.is_begun:
            raise LocalProtocolError("a prompt can be entered once, before it is awaited")
        self.kept = deque(maxlen=KEPT_UPDATES + 1)
        done = self.begin()
        if done.done():
            done.result()

    async def leave(self, *, is_early: bool) -> None:
        """End a block: wait for the turn, after cancelling it if the block or loop was left early.

        Raises:
            AcpError: The turn ended with an error that the block has not seen.
        """
        self.kept = None
        if self.updates is not None:
            self.updates.abandon()
        if not is_early and not self._is_looped:
            if not self.is_retrieved:
                await self.wait()
            return
        self.cancel_soon()
        assert self._done is not None
        await asyncio.wait({self._done}, timeout=LEAVE_TIMEOUT)
        if not self.is_done:
            logger.warning(
                "%s: the agent did not end a cancelled turn within %s s; it continues",
                self.session.connection.name,
                LEAVE_TIMEOUT,
            )

    async def wait(self) -> TurnResult:
        """Send the prompt if necessary and wait for the result; if cancelled, cancel the turn."""
        done = self.begin()
        self.kept = None
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            self.cancel_soon()
            raise
        finally:
            self.is_retrieved = done.done()

    def __del__(self) -> None:
        if self._done is None and not self._is_attempted:
            blocks = self.request.prompt
            text = blocks[0].text if isinstance(blocks[0], v2.TextContent) else "…"
            text = shorten(text, 40, placeholder="…")
            warnings.warn(
                f'prompt "{text}" was never sent; await it',
                RuntimeWarning,
                stacklevel=2,
                source=self,
            )

    def begin(self) -> asyncio.Future[TurnResult]:
        """Send the prompt unless it was sent already, and return a future for its result.

        Raises:
            LocalProtocolError: Waiting for it here would prevent its updates from being handled.
        """
        self._is_attempted = True
        if not self.is_done:
            self.session.turns.check_waiting()
        if self._done is None:
            self._done = asyncio.get_running_loop().create_future()
            self.session.turns.begin(self)
        return self._done

    async def cancel(self) -> None:
        """Cancel the turn now if it is the first of its session, otherwise when it becomes that."""
        self.is_cancelled = True
        if self.is_begun and self.session.turns.first is self:
            await self.session.cancel()

    def cancel_soon(self) -> None:
        """Cancel the turn without waiting, because nothing waits for it any more."""
        if self.is_begun and not self.is_done and not self.is_cancelled:
            self.is_cancelled = True
            if self.session.turns.first is self:
                self.session.cancel_now()

    def become_first(self) -> None:
        """Handle becoming the first turn of the session."""
        if not self._is_reported and not self._waits_for_other_work:
            self._first_entry = len(self.session.transcript.entries)
        if self.is_cancelled and self.end is None:
            self.session.cancel_now()

    def mark_waiting_for_other_work(self) -> None:
        """Record that the session is busy with work that this client did not request."""
        self._waits_for_other_work = True

    def process(self, update: v2.SessionUpdate, *, is_first: bool) -> None:
        """Process a user message or a state, in the session's lane."""
        if not self.is_accepted:
            self._early.append(update)
        elif isinstance(update, v2.StateUpdated):
            is_next = is_first and not self._waits_for_other_work
            self._change_state(update, is_next or self._is_reported)
        elif isinstance(update, v2.UserMessage | v2.UserMessageChunk):
            self._is_reported = self._is_reported or update.message_id == self.message_id

    def accept(self, message_id: v2.MessageId) -> None:
        """Record that the agent has accepted the prompt, in the session's lane.

        Replays the updates that arrived before the response.
        """
        self.message_id = message_id
        self.is_accepted = True
        early, self._early = self._early, deque()
        for update in early:
            self.process(update, is_first=False)

    def _change_state(self, update: v2.StateUpdated, is_ours: bool) -> None:
        """Process a state; an idle that repeats an earlier one does not end the turn."""
        if update.state != "idle":
            self._has_run = self._has_run or update.state != "unknown"
        elif not is_ours:
            self._has_run = self._waits_for_other_work = False  # the idle ended other work
        elif self.end is None and (self._has_run or update.stop_reason is not None):
            self.end = update

    def finish(self) -> None:
        """Resolve the turn if the agent has ended it; called after that update was folded."""
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
        """Return the turn's entries.

        They start where the turn became the first, or after its user message if that was reported
        earlier.
        """
        entries = self.session.transcript.entries
        if self._first_entry is not None:
            return entries[self._first_entry :]
        since = takewhile(lambda each: not self._is_own(each), reversed(entries))
        return list(since)[::-1]

    def _is_own(self, entry: Entry) -> bool:
        return isinstance(entry, MessageEntry) and (entry.role, entry.id) == (
            "user",
            self.message_id,
        )

    def fail(self, error: BaseException) -> None:
        """End the turn with an error."""
        if self._done is not None and not self._done.done():
            self._done.set_exception(error)
            self._done.exception()  # mark it as retrieved: nobody has to await the turn
        if self.updates is not None:
            self.updates.close()


def _error(error: v2.Error | None) -> AcpError:
    """Return the exception for a turn that ended with an error."""
    if error is None:
        return InternalError("The agent stopped with an error and gave no details")
    if isinstance(error, MalformedResponse):
        return RemoteProtocolError(error.message)
    if error.data is None:
        return request_error(error.code, error.message)
    return request_error(error.code, error.message, error.data)


WAITING_UPDATES = 256
"""Maximum number of updates that wait for a loop before its session's lane waits as well."""
_LOW_WATER = WAITING_UPDATES // 2


class UpdateQueue:
    """The updates of one turn that wait for its loop."""

    __slots__ = (
        "_drained",
        "_folded",
        "_space",
        "active_barrier",
        "apply",
        "barrier",
        "is_closed",
        "queue",
        "turn",
        "wakeup",
    )

    def __init__(self, turn: PromptTurnState, folded: Collection[v2.SessionUpdate] = ()) -> None:
        """Create a queue that starts with updates that are in the transcript already."""
        self.turn = turn
        self.apply = turn.session.apply
        self.queue: deque[v2.SessionUpdate] = deque(folded)
        self.barrier: ConsumerBarrier | None = None
        self._folded = len(folded)
        if folded:
            self.apply = self._skip_folded
            session = turn.session
            self.barrier = session.connection.peer.consumer_barrier(session.id)
            self.barrier.unfinished = len(folded)
        self.active_barrier: ConsumerBarrier | None = None
        """The barrier, while the body of the loop handles an update."""
        self.is_closed = False
        """Whether no more updates will arrive."""
        self.wakeup: asyncio.Future[None] | None = None
        """The future that wakes the loop while it waits."""
        self._space: asyncio.Future[None] | None = None
        self._drained = Notifier()

    @property
    def is_drained(self) -> bool:
        """Whether the loop has handled every update."""
        return not self.queue and self.active_barrier is None

    def is_in_body(self) -> bool:
        """Return whether the caller is the body of the loop."""
        barrier = self.active_barrier
        return barrier is not None and barrier.task is asyncio.current_task()

    def _skip_folded(self, update: v2.SessionUpdate) -> None:
        """Do not fold an update again; called instead of `apply` for the first updates."""
        del update
        self._folded -= 1
        if not self._folded:
            self.apply = self.turn.session.apply

    def put(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Queue an update; if the queue is full, return an awaitable for free space."""
        barrier = self.barrier
        if barrier is None:
            session = self.turn.session
            barrier = self.barrier = session.connection.peer.consumer_barrier(session.id)
        barrier.unfinished += 1  # directly: there is one for each update
        queue = self.queue
        queue.append(update)
        if self.wakeup is not None:
            self._wake_loop()
        return None if len(queue) < WAITING_UPDATES else self._wait_for_space()

    def close(self) -> None:
        """Record that no more updates will arrive."""
        self.is_closed = True
        self._wake_loop()
        if self.is_drained:
            self._finish()

    def item_done(self) -> None:
        """Record that the loop has handled its update."""
        if self.active_barrier is not None:
            self.active_barrier.done()
            self.active_barrier = None
        if not self.queue:
            self._finish()

    def get(self) -> v2.SessionUpdate:
        """Remove and return the next update for the loop; the queue must not be empty."""
        update = self.queue.popleft()
        if self._space is not None and len(self.queue) <= _LOW_WATER:
            self._release_space()
        self.active_barrier = self.barrier
        assert self.active_barrier is not None
        self.active_barrier.begin()
        return update

    async def wait(self) -> None:
        """Wait until an update arrives or the queue is closed."""
        self.wakeup = asyncio.get_running_loop().create_future()
        await self.wakeup

    async def drained(self) -> None:
        """Wait until the loop has handled every update."""
        while not self.is_drained:
            await self._drained.wait()

    def abandon(self) -> None:
        """Fold the remaining updates without the loop, because the program has left it."""
        self.active_barrier = None
        session = self.turn.session
        while self.queue:
            rest = self.apply(self.queue.popleft())
            if rest is not None:
                session.connection.spawn(self._abandon_after(rest))
                return
        self.turn.updates = None
        self._release_space()
        self._finish()
        session.turns.loop_finished(self)

    async def _abandon_after(self, rest: Awaitable[None]) -> None:
        await rest
        self.abandon()

    def _finish(self) -> None:
        """Wake the tasks waiting for the loop; after the last update, release the session too."""
        self._drained.notify_all()
        if self.barrier is not None and (self.is_closed or self.turn.updates is None):
            self.barrier.close()
            self.barrier = None
        if self.is_closed:
            self.turn.session.turns.loop_finished(self)

    def _wake_loop(self) -> None:
        wakeup, self.wakeup = self.wakeup, None
        if wakeup is not None and not wakeup.done():
            wakeup.set_result(None)

    async def _wait_for_space(self) -> None:
        self._space = asyncio.get_running_loop().create_future()
        await self._space

    def _release_space(self) -> None:
        space, self._space = self._space, None
        if space is not None and not space.done():
            space.set_result(None)


class UpdateIterator:
    """The asynchronous iterator over the updates of one turn."""

    __slots__ = ("_updates",)

    def __init__(self, updates: UpdateQueue) -> None:
        self._updates = updates

    def __aiter__(self) -> UpdateIterator:
        return self

    async def __anext__(self) -> v2.SessionUpdate:
        updates = self._updates
        queue = updates.queue
        barrier = updates.active_barrier
        # Fast path: the body is done with an update, and the next one is already queued.
        if (
            barrier is not None
            and queue
            and len(queue) != _LOW_WATER + 1  # `get` wakes the lane at `_LOW_WATER`
            and barrier.task is not None
            and not barrier.task.done()  # otherwise each step runs in a task of its own
        ):
            barrier.unfinished -= 1  # `done` and `begin`, inlined
            update = queue.popleft()
        else:
            if barrier is not None:
                updates.item_done()
            while not queue:
                await self._wait()
            update = updates.get()
        rest = updates.apply(update)
        if rest is not None:
            await self._unless_cancelled(rest)
        return update

    async def _wait(self) -> None:
        """Wait for the next update; raise `StopAsyncIteration` or the turn's error at the end."""
        updates = self._updates
        done = updates.turn.begin()
        if not updates.is_closed and updates.turn.updates is updates:
            await self._unless_cancelled(updates.wait())
            return
        try:
            await self._unless_cancelled(asyncio.shield(done))
        finally:
            updates.turn.is_retrieved = done.done()
        raise StopAsyncIteration

    async def _unless_cancelled(self, work: Awaitable[object]) -> None:
        """Wait; if cancelled, cancel the turn and leave the loop.

        `__del__` is not enough here: the traceback may keep the iterator alive.
        """
        try:
            await work
        except asyncio.CancelledError:
            self._updates.turn.cancel_soon()
            self._leave()
            raise

    def _leave(self) -> None:
        updates = self._updates
        if updates.turn.updates is updates and updates.turn.is_begun:
            updates.abandon()

    def __del__(self) -> None:
        if self._is_being_cancelled():
            self._updates.turn.cancel_soon()
        self._leave()

    def _is_being_cancelled(self) -> bool:
        """Return whether the current task runs the loop and is being cancelled.

        It may be a different task, in which the garbage collector happens to run.
        """
        try:
            task = asyncio.current_task()
        except RuntimeError:
            return False
        barrier = self._updates.active_barrier
        looping = None if barrier is None else barrier.task
        is_ours = looping is None or looping is task or looping.done()
        return is_ours and task is not None and task.cancelling() > 0


T = TypeVar("T")
_MILESTONES = frozenset({v2.StateUpdated, v2.UserMessage, v2.UserMessageChunk})


class PromptQueue:
    """The unfinished turns of one session, in the order in which updates belong to them."""

    def __init__(self, session: SessionState) -> None:
        self._session = session
        self._queue: deque[PromptTurnState] = deque()
        self._updates: UpdateQueue | None = None
        """The queue of the loop that handles updates now, perhaps after its turn has ended."""
        self._previous_first: PromptTurnState | None = None

    @property
    def first(self) -> PromptTurnState | None:
        """The turn that updates belong to; None if no turn is running."""
        return self._queue[0] if self._queue else None

    @property
    def is_cancelling(self) -> bool:
        """Whether the first turn was cancelled and has not ended yet."""
        return bool(self._queue) and self._queue[0].is_cancelled

    def cancel(self) -> None:
        """Mark all turns as cancelled."""
        for turn in self._queue:
            turn.is_cancelled = True

    def check_waiting(self) -> None:
        """Raise if waiting for a turn here would prevent its updates from being handled.

        Raises:
            LocalProtocolError: The caller is the body of a loop whose updates come first,
                `on_update` of this session, or a tool that a turn of the session waits for.
        """
        update_task = self._session.update_task
        if update_task is not None and update_task is asyncio.current_task():
            raise LocalProtocolError(
                "a prompt cannot be awaited inside on_update of its own session, which must return "
                "before the next update can arrive; start a task for it instead"
            )
        session = self._session
        is_working = bool(self._queue) or session.transcript.state == "running"
        if is_working and session.connection.toolbox.is_at_work(session):
            raise LocalProtocolError(
                "a tool cannot wait for a prompt of its own session, whose current turn waits for "
                "the tool; prompt another session, or wait until the turn has ended"
            )
        if self._updates is not None and self._updates.is_in_body():
            raise LocalProtocolError(
                "a prompt cannot be awaited inside the loop over another prompt of its session, "
                "whose updates come first; leave the loop before you await it"
            )

    def begin(self, turn: PromptTurnState) -> None:
        """Add a turn to the queue and send its prompt before returning.

        An error that prevents sending ends the turn; those who wait for the turn see it.
        """
        if not self._queue and self._session.transcript.state in ("running", "requires_action"):
            turn.mark_waiting_for_other_work()
        self._queue.append(turn)
        try:
            self._session.connection.adapter.begin_prompt(
                turn.request,
                on_accepted=partial(self._accepted, turn),
                on_failed=partial(self._rejected, turn),
            )
        except Exception as error:  # noqa: BLE001 - not swallowed: the turn raises it
            self.fail(turn, error)
            return
        if len(self._queue) == 1:
            self._choose_first()

    def _accepted(self, turn: PromptTurnState, response: v2.PromptResponse) -> None:
        """Queue the acceptance of a prompt in the session's lane; the turn's end comes later."""
        connection = self._session.connection
        connection.peer.enqueue(
            self._session.id, self._handle_accepted, (turn, response.message_id)
        )
        if connection.recorder is not None:  # an accepted prompt is stored
            connection.spawn(connection.commit())

    def _rejected(self, turn: PromptTurnState, error: BaseException) -> None:
        """Fail the turn of a prompt that was not accepted, after the journal has stored this."""
        if self._session.connection.recorder is None:
            self.fail(turn, error)
        else:
            self._session.connection.spawn(self._fail_after_commit(turn, error))

    async def _fail_after_commit(self, turn: PromptTurnState, error: BaseException) -> None:
        await self._session.connection.commit()
        self.fail(turn, error)

    def _handle_accepted(
        self, item: tuple[PromptTurnState, v2.MessageId]
    ) -> Awaitable[None] | None:
        """Record that a prompt was accepted, and move it ahead of those that are not."""
        turn, message_id = item
        if turn.is_done:
            return None
        position = sum(each.is_accepted for each in self._queue)
        if self._queue[position] is not turn:
            # To become the first, it waits until the current loop has handled its updates.
            if position == 0 and self._updates is not None and not self._updates.is_drained:
                return self._after(self._updates, self._handle_accepted, item)
            self._queue.remove(turn)
            self._queue.insert(position, turn)
            self._choose_first()
        turn.accept(message_id)
        return None if turn.end is None else self._retire([turn])

    def handle_update(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Pass an update to the loop that waits for it, or fold it into the transcript."""
        updates = self._updates
        if updates is None:
            rest = self._session.apply(update)
            if self._queue and (kept := self._queue[0].kept) is not None:
                kept.append(update)
        elif updates.is_closed:
            return self._after(updates, self.handle_update, update)
        else:
            rest = updates.put(update)
        if self._queue and type(update) in _MILESTONES:
            for turn in self._queue:
                turn.process(update, is_first=turn is self._queue[0])
            ended = [turn for turn in self._queue if turn.end is not None]
            if ended:
                return self._retire(ended) if rest is None else self._retire_after(rest, ended)
        return rest

    async def _after(
        self, updates: UpdateQueue, handler: Callable[[T], Awaitable[None] | None], argument: T
    ) -> None:
        """Call `handler` after a loop has handled its earlier updates."""
        await updates.drained()
        rest = handler(argument)
        if rest is not None:
            await rest

    async def _retire_after(self, rest: Awaitable[None], ended: Sequence[PromptTurnState]) -> None:
        await rest
        if (more := self._retire(ended)) is not None:
            await more

    def _retire(self, ended: Sequence[PromptTurnState]) -> Awaitable[None] | None:
        """Remove turns that have ended; a loop may still have updates to handle."""
        for number, turn in enumerate(ended):
            # The loop of an ended turn still has updates: the later turns wait for it.
            if self._updates is not None and self._updates.is_closed:
                return self._after(self._updates, self._retire, ended[number:])
            if turn not in self._queue:
                continue
            self._queue.remove(turn)
            if turn.updates is not None:
                turn.updates.close()
            else:
                turn.finish()
            self._choose_first()
        return None

    def fail(self, turn: PromptTurnState, error: BaseException) -> None:
        """Remove a turn that has failed."""
        if turn in self._queue:
            self._queue.remove(turn)
        turn.fail(error)
        self._choose_first()

    def fail_all(self, error: BaseException) -> None:
        """Fail all unfinished turns, because no more updates will arrive."""
        for turn in list(self._queue):
            self.fail(turn, error)

    def loop_started(self) -> None:
        """Route updates to a loop that was started after its prompt was sent."""
        self._choose_first()

    def leave_loop(self) -> None:
        """Abandon the current loop, so that it cannot delay the end of the connection."""
        if self._updates is not None:
            self._updates.abandon()

    def loop_finished(self, updates: UpdateQueue) -> None:
        """Record that a loop has finished, and resolve its turn."""
        updates.turn.finish()
        if self._updates is updates:
            self._updates = None
            self._choose_first()

    def _choose_first(self) -> None:
        """Route updates to the first turn, unless a loop has not handled its earlier ones yet."""
        if self._updates is not None and self._updates.is_closed and not self._updates.is_drained:
            return
        turn = self.first
        self._updates = None if turn is None else turn.updates
        if turn is not self._previous_first and turn is not None:
            turn.become_first()
        self._previous_first = turn
