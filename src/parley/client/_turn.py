"""A prompt turn: one prompt, the updates that it causes, and its result.

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
  the lane wait when the loop falls behind.
- `UpdateIterator` is the loop's end. Only the `async for` statement holds a reference to it, so its
  deletion means that the loop was left; the remaining updates are then folded without the loop.
- `PromptQueue` assigns updates to turns in the session's lane, in wire order. The program's tasks
  call it only to start, cancel or leave a turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from parley.errors import (
    AcpError,
    InternalError,
    LocalProtocolError,
    RemoteProtocolError,
    request_error,
)
from parley.peer._dispatcher import ConsumerBarrier
from parley.schema import v2
from parley.schema.v2 import methods
from parley.session._adapter import MalformedResponse
from parley.session._transcript import Entry
from parley.session._transcript_entries import MessageEntry

if TYPE_CHECKING:
    from ._session import Session
    from ._session_state import SessionState


_EARLY_UPDATES = 1024
"""Maximum number of states and user messages remembered until a prompt is accepted."""


class TurnResult(Struct, frozen=True, kw_only=True, eq=False):
    """The result of a turn; you get it by awaiting a `PromptTurn`.

    `text` is what the agent said, `entries` is everything that the turn added to the transcript,
    and `stop_reason` is why the agent stopped.
    """

    stop_reason: v2.StopReason
    """Why the agent stopped: `end_turn`, `max_tokens`, `refusal`, `cancelled`, …"""
    message_id: v2.MessageId | None
    """The id of the user message."""
    entries: list[Entry]
    """The entries that the turn added, in order; a part of `session.transcript.entries`."""
    tokens: v2.Usage | None = None
    """Unstable: the tokens used, if the agent reports them."""
    meta: dict[str, Any] | None = None
    """The `_meta` of the update that ended the turn."""

    @property
    def text(self) -> str:
        """The agent's messages, without its thoughts, separated by empty lines."""
        said = (each for each in self.entries if isinstance(each, MessageEntry))
        texts = [each.text for each in said if each.role == "agent"]
        return "\n\n".join(text for text in texts if text)


class PromptTurn:
    """A prompt and the agent's work on it; `Session.prompt` returns one.

    Await it for its `TurnResult`, or loop over its updates with `async for`. You can also loop
    first and await it after the loop. The prompt is sent when you first do either.

        turn = session.prompt("Run the tests.")
        async for update in turn:
            print(update)
        result = await turn
        print(result.stop_reason)

    If the task that awaits the turn or loops over it is cancelled, the turn is cancelled too. If
    you leave the loop in any other way, the turn continues, and the remaining updates are folded
    into the transcript. Call `cancel` to stop the agent.
    """

    def __init__(self, state: TurnState) -> None:
        self._state = state
        self.session: Session = state.session.session
        """The session that the prompt belongs to."""

    @property
    def request(self) -> v2.PromptRequest:
        """The request to send."""
        return self._state.request

    @property
    def message_id(self) -> v2.MessageId | None:
        """The id of the user message; None until the agent has accepted the prompt."""
        return self._state.message_id

    @property
    def is_begun(self) -> bool:
        """Whether the turn was started by awaiting it or looping over it."""
        return self._state.is_begun

    @property
    def is_accepted(self) -> bool:
        """Whether the agent has accepted the prompt."""
        return self._state.is_accepted

    @property
    def is_cancelled(self) -> bool:
        """Whether cancellation was requested."""
        return self._state.is_cancelled

    @property
    def is_done(self) -> bool:
        """Whether the turn has ended, with a result or an error."""
        return self._state.is_done

    def __await__(self) -> Generator[Any, None, TurnResult]:
        """Send the prompt if necessary, wait for the end of the turn and return its result.

        Raises:
            LocalProtocolError: Waiting for it here would prevent its updates from being handled.
            AcpError: The turn ended with an error, or the session or connection has closed.
        """
        return self._state.wait().__await__()

    def __aiter__(self) -> AsyncIterator[v2.SessionUpdate]:
        """Return an iterator over the updates of the prompt, which its first step sends.

        Raises:
            LocalProtocolError: The turn was looped over or awaited before.
        """
        return self._state.iterate()

    async def cancel(self) -> None:
        """Cancel the turn; it ends when the agent confirms this.

        The protocol cancels sessions, not prompts. If the turn is the running one, the prompts that
        wait after it are cancelled with it. If other prompts of the session come first, the turn is
        cancelled after they have ended.
        """
        await self._state.cancel()

    def __repr__(self) -> str:
        state = "done" if self.is_done else "running" if self.is_begun else "not sent"
        return f"PromptTurn({self.message_id or 'no id yet'}, {state})"


class TurnState:
    """The state of a turn, as the session drives it; `PromptTurn` is the program's view of it."""

    def __init__(self, session: SessionState, request: v2.PromptRequest) -> None:
        self.session = session
        self.request = request
        self.message_id: v2.MessageId | None = None
        self.is_cancelled = False
        self.is_sent = False
        """Whether the request was handed to the connection."""
        self.is_accepted = False
        self.updates: UpdateQueue | None = None
        """The queue of the loop over this turn; None without a loop."""
        self.end: v2.StateUpdated | None = None
        """The update with which the agent ended the turn."""
        self._done: asyncio.Future[TurnResult] | None = None
        self._has_run = False
        self._early: deque[v2.SessionUpdate] = deque(maxlen=_EARLY_UPDATES)
        self._is_reported = False
        self._first_entry: int | None = None
        self._is_behind_others = False

    @property
    def is_begun(self) -> bool:
        """Whether the turn was started by awaiting it or looping over it."""
        return self._done is not None

    @property
    def is_done(self) -> bool:
        """Whether the turn has ended, with a result or an error."""
        return self._done is not None and self._done.done()

    def iterate(self) -> UpdateIterator:
        """Return the iterator over the updates; the first step sends the prompt.

        Raises:
            LocalProtocolError: The turn was looped over or awaited before.
        """
        if self.updates is not None or self.is_begun:
            raise LocalProtocolError("a prompt can be looped over once, before it is awaited")
        self.updates = UpdateQueue(self)
        return UpdateIterator(self.updates)

    async def wait(self) -> TurnResult:
        """Send the prompt if necessary and wait for the result; if cancelled, cancel the turn."""
        done = self.begin()
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            self.cancel_soon()
            raise

    def begin(self) -> asyncio.Future[TurnResult]:
        """Send the prompt unless it was sent already, and return a future for its result.

        Raises:
            LocalProtocolError: Waiting for it here would prevent its updates from being handled.
        """
        if not self.is_done:
            self.session.turns.check_waiting()
        if self._done is None:
            self.session.turns.begin(self)
            self._done = asyncio.get_running_loop().create_future()
        return self._done

    async def cancel(self) -> None:
        """Cancel the turn now if it is the first of its session, otherwise when it becomes that."""
        self.is_cancelled = True
        if self.is_begun and self.session.turns.first is self:
            await self.session.cancel()

    def cancel_soon(self) -> None:
        """Cancel the turn in the background, because nothing waits for it any more."""
        if self.is_begun and not self.is_done and not self.is_cancelled:
            self.session.connection.spawn(self.cancel())

    def become_first(self) -> None:
        """Handle becoming the first turn of the session."""
        if not self._is_reported and not self._is_behind_others:
            self._first_entry = len(self.session.transcript.entries)
        if self.is_cancelled and self.end is None:
            self.session.connection.spawn(self.cancel())

    def mark_behind_others(self) -> None:
        """Record that the session is busy with work that this client did not request."""
        self._is_behind_others = True

    def process(self, update: v2.SessionUpdate, *, is_first: bool) -> None:
        """Process a user message or a state, in the session's lane."""
        if not self.is_accepted:
            self._early.append(update)
        elif isinstance(update, v2.StateUpdated):
            is_next = is_first and not self._is_behind_others
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
            self._has_run = self._is_behind_others = False  # the idle ended other work
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

    def fail(self, error: AcpError) -> None:
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
        "_space",
        "active_barrier",
        "apply",
        "barrier",
        "is_closed",
        "queue",
        "turn",
        "wakeup",
    )

    def __init__(self, turn: TurnState) -> None:
        self.turn = turn
        self.apply = turn.session.apply
        self.queue: deque[v2.SessionUpdate] = deque()
        self.barrier: ConsumerBarrier | None = None
        self.active_barrier: ConsumerBarrier | None = None
        """The barrier, while the body of the loop handles an update."""
        self.is_closed = False
        """Whether no more updates will arrive."""
        self.wakeup: asyncio.Future[None] | None = None
        """The future that wakes the loop while it waits."""
        self._space: asyncio.Future[None] | None = None
        self._drained: list[asyncio.Future[None]] = []

    @property
    def is_drained(self) -> bool:
        """Whether the loop has handled every update."""
        return not self.queue and self.active_barrier is None

    def is_in_body(self) -> bool:
        """Return whether the caller is the body of the loop."""
        barrier = self.active_barrier
        return barrier is not None and barrier.task is asyncio.current_task()

    def put(self, update: v2.SessionUpdate) -> Awaitable[None] | None:
        """Queue an update; if the loop has fallen behind, return an awaitable for free space."""
        barrier = self.barrier
        if barrier is None:
            session = self.turn.session
            barrier = self.barrier = session.connection.peer.consumer_barrier(session.id)
        barrier.unfinished += 1  # `handed_over`, inlined
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
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._drained.append(future)
            await future

    def abandon(self) -> None:
        """Fold the remaining updates without the loop, because the program has left it."""
        self.active_barrier = None
        session = self.turn.session
        while self.queue:
            rest = session.apply(self.queue.popleft())
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
        waiting, self._drained = self._drained, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
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
        await self._unless_cancelled(asyncio.shield(done))
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
        self._queue: deque[TurnState] = deque()
        self._updates: UpdateQueue | None = None
        """The queue of the loop that handles updates now, perhaps after its turn has ended."""
        self._previous_first: TurnState | None = None

    @property
    def first(self) -> TurnState | None:
        """The turn that updates belong to; None if no turn is running."""
        return self._queue[0] if self._queue else None

    @property
    def is_cancelling(self) -> bool:
        """Whether the first turn was cancelled and has not ended yet."""
        return bool(self._queue) and self._queue[0].is_cancelled

    @property
    def is_sending(self) -> bool:
        """Whether a prompt was started but its request is not yet on the connection."""
        return not all(turn.is_sent for turn in self._queue)

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

    def begin(self, turn: TurnState) -> None:
        """Add a turn to the queue and send its prompt."""
        if not self._queue and self._session.transcript.state in ("running", "requires_action"):
            turn.mark_behind_others()
        self._queue.append(turn)
        self._session.connection.spawn(self._send(turn))
        if len(self._queue) == 1:
            self._choose_first()

    async def _send(self, turn: TurnState) -> None:
        """Send a prompt; the turn's end comes later, as an update."""
        session = self._session

        def accepted(response: v2.PromptResponse) -> None:
            session.connection.peer.enqueue(
                session.id, self._handle_accepted, (turn, response.message_id)
            )
            if session.connection.recorder is not None:  # an accepted prompt is stored
                session.connection.spawn(session.connection.commit())

        try:
            turn.is_sent = True
            request = session.connection.adapter.request
            await request(methods.PROMPT, turn.request, on_result=accepted)
        except AcpError as error:
            await session.connection.commit()
            self.fail(turn, error)

    def _handle_accepted(self, item: tuple[TurnState, v2.MessageId]) -> Awaitable[None] | None:
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

    async def _retire_after(self, rest: Awaitable[None], ended: Sequence[TurnState]) -> None:
        await rest
        if (more := self._retire(ended)) is not None:
            await more

    def _retire(self, ended: Sequence[TurnState]) -> Awaitable[None] | None:
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

    def fail(self, turn: TurnState, error: AcpError) -> None:
        """Remove a turn that has failed."""
        if turn in self._queue:
            self._queue.remove(turn)
        turn.fail(error)
        self._choose_first()

    def fail_all(self, error: AcpError) -> None:
        """Fail all unfinished turns, because no more updates will arrive."""
        for turn in list(self._queue):
            self.fail(turn, error)

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
