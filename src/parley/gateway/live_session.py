"""The open sessions, and the history of each for clients that attach to it.

Without subscribers nothing is decoded: frames are kept, and processed when a client attaches, or
when there are many. The history of a session is limited (`HostLimits.history_bytes`), and so are
all histories together (`history_budget.py`). Beyond that the beginning of a session is dropped, and
clients that attach later get a notice.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from parley.errors import AcpError, ConnectionClosed, Overloaded
from parley.proxy import PendingRequest
from parley.proxy._switch.disconnect import disconnect_error
from parley.schema import v2
from parley.session._session_follower import SessionFollower

from .shared_question import SharedQuestion

if TYPE_CHECKING:
    from .agent_process import AgentProcess
    from .client_connection import ClientConnection
    from .shared_session_agent import Subscriber

__all__ = ["LiveSession", "QueuedPrompt", "SessionRegistry"]

_UNFOLDED_BYTES = 256 * 1024
_FRAME_BYTES = 100
"""The memory of a frame besides its bytes."""


class QueuedPrompt:
    """A prompt that waits for the running turn to end."""

    def __init__(self) -> None:
        self.done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        """Becomes true when its turn begins, false when it is withdrawn."""

    def start(self) -> bool:
        """Start its turn; return whether it was still waiting."""
        if self.done.done():
            return False
        self.done.set_result(True)
        return True

    def withdraw(self) -> None:
        """Withdraw the prompt, because it was cancelled."""
        if not self.done.done():
            self.done.set_result(False)

    def fail(self, error: AcpError) -> None:
        """Fail the prompt."""
        if not self.done.done():
            self.done.set_exception(error)


class LiveSession:
    """An open session of a hosted agent."""

    def __init__(self, id: str, process: AgentProcess, owner: ClientConnection) -> None:
        self.id = id
        self.process = process
        """The agent."""
        self.owner: ClientConnection | None = owner
        """The client that opened it, which has its files and terminals; None after it has left."""
        self.principal = owner.principal
        self.attached: list[Subscriber] = []
        self.questions: dict[PendingRequest, SharedQuestion] = {}
        """The open questions of the agent."""
        self.last_prompter: ClientConnection | None = None
        """The client that sent the last prompt."""
        self.attached_turns = 0
        """The number of running turns of attached clients, if there is one turn at a time."""
        self._waiting: deque[QueuedPrompt] = deque()
        self._held: dict[PendingRequest, QueuedPrompt] = {}
        self.is_truncated = False
        """Whether the beginning of its history was dropped."""
        self._limits = process.host.limits
        self._histories = process.host.histories
        self._handshake = process.handshake
        self._known: SessionFollower | None = None
        self._unfolded: list[tuple[bool, bytes]] = []
        self._unfolded_bytes = 0
        self._folded_bytes = 0

    @property
    def follower(self) -> SessionFollower:
        """The state and transcript of the session, up to date."""
        return self._fold()

    @property
    def history_bytes(self) -> int:
        """The size of its history."""
        return self._folded_bytes + self._unfolded_bytes

    def observe(self, *, from_agent: bool, frame: bytes) -> None:
        """Record a frame that passes between the agent and its clients."""
        try:
            self._observe(from_agent, frame)
        finally:
            self._histories.update(self)

    def _observe(self, from_agent: bool, frame: bytes) -> None:
        size = len(frame) + _FRAME_BYTES
        if self.attached or self._waiting:
            follower = self._fold()
            self._count(size)
            updates = follower.feed(from_agent=from_agent, frame=frame)
            for each in list(self.attached) if updates else ():
                each.send_updates(updates, size)
            if self._waiting and any(isinstance(each, v2.StateUpdated) for each in updates):
                self.start_next_turn()
            return
        self._unfolded.append((from_agent, frame))
        self._unfolded_bytes += size
        if self._unfolded_bytes > _UNFOLDED_BYTES:
            self._fold()

    def _fold(self) -> SessionFollower:
        """Process the kept frames; sessions without subscribers only keep them."""
        follower = self._known
        if follower is None:
            follower = self._known = SessionFollower(self.id)
            self._unfolded[:0] = self._handshake
        if self._unfolded:
            unfolded, self._unfolded = self._unfolded, []
            size, self._unfolded_bytes = self._unfolded_bytes, 0
            for from_agent, frame in unfolded:
                follower.feed(from_agent=from_agent, frame=frame)
            self._count(size)
        return follower

    def inherit(self, source: LiveSession) -> None:
        """Start with the history of the session that this one was forked from."""
        self.follower.inherit(source.follower)
        self.is_truncated = source.is_truncated
        self._count(source.history_bytes)
        self._histories.update(self)

    def _count(self, size: int) -> None:
        self._folded_bytes += size
        if self._folded_bytes > self._limits.history_bytes:
            self.truncate()

    def truncate(self) -> None:
        """Drop the history, and keep the state of the session."""
        self._fold().forget_history()
        self._folded_bytes = 0
        self.is_truncated = True

    def attach(self, attached: Subscriber, before: Subscriber | None = None) -> None:
        """Add a subscriber, which gets all updates from now on; may replace its earlier one.

        Raises:
            Overloaded: There are too many.
        """
        if before in self.attached:  # and nobody takes the session for left in between
            self.attached.remove(before)
        if len(self.attached) >= self._limits.attached:
            raise Overloaded(
                f"{self._limits.attached} further clients are attached to the session already"
            )
        self._fold()
        self._histories.update(self)
        self.attached.append(attached)
        if self.owner is not None:  # it must not hold up the others for ever
            self.owner.port.backpressure.limit(self._limits.patience)

    def detach(self, attached: Subscriber) -> None:
        """Remove a subscriber; a session without clients ends."""
        if attached in self.attached:
            self.attached.remove(attached)
            if not self.attached and self.owner is None:
                self.process.close_unused(self)

    # Turns, where there is only one at a time

    def queue_prompt(self) -> QueuedPrompt | None:
        """Queue a prompt; return None if its turn may begin now.

        Raises:
            Overloaded: Too many prompts are queued.
        """
        if self._is_idle and not self._waiting:
            return None
        if len(self._waiting) >= self._limits.waiting_prompts:
            raise Overloaded(f"{len(self._waiting)} prompts are queued already")
        waiting = QueuedPrompt()
        self._waiting.append(waiting)
        return waiting

    def dequeue(self, waiting: QueuedPrompt) -> None:
        """Remove a prompt from the queue."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)

    def start_next_turn(self) -> None:
        """Start the next turn, if none is running."""
        while self._waiting and self._is_idle:
            if self._waiting.popleft().start():
                return

    @property
    def _is_idle(self) -> bool:
        return self.follower.transcript.state not in ("running", "requires_action")

    def is_in_turn_of_another(self, connection: ClientConnection) -> bool:
        """Return whether a turn of another client is running."""
        owed = self.owner.port.pending_requests if self.owner is not None else []
        is_prompted = any(
            call.method == "session/prompt" and call.session_id == self.id for call in owed
        )
        if self._is_idle and not is_prompted and not self.questions:
            return False
        return (self.last_prompter or self.owner) is not connection

    def hold_owner_prompt(self, call: PendingRequest) -> bool:
        """Queue a prompt of the owner during the turn of another client; return whether it waits.

        Of that turn an owner of version 1 does not know, and its agent takes one at a time.
        """
        if not self.attached_turns:
            self.last_prompter = self.owner
            return False
        try:
            waiting = self.queue_prompt()
        except Overloaded as error:
            call.refuse(error)
            return True
        if waiting is None:
            self.last_prompter = self.owner
        else:
            self._held[call] = waiting
            call.on_cancel = lambda _: waiting.withdraw()
            waiting.done.add_done_callback(
                lambda done: self._release_owner_prompt(call, is_wanted=done.result())
            )
        return waiting is not None

    def _release_owner_prompt(self, call: PendingRequest, *, is_wanted: bool) -> None:
        self.dequeue(self._held.pop(call))
        call.on_cancel = None
        if not is_wanted:
            call.respond(b'{"stopReason":"cancelled"}')
        elif call.is_settled:  # its client has disconnected
            self.start_next_turn()
        else:
            self.last_prompter = self.owner
            call.follow(self.process.port)

    def owner_cancels(self) -> None:
        """Withdraw the queued prompts of the owner, who has cancelled the session's work."""
        for waiting in self._held.values():
            waiting.withdraw()
        self.turn_cancelled()

    def ask(self, call: PendingRequest) -> None:
        """Ask the user a question, through the owner and all controllers."""
        question = self.questions[call] = SharedQuestion(self, call)
        question.ask_all()

    def turn_cancelled(self) -> None:
        """Handle that a client has cancelled the session's work."""
        for question in list(self.questions.values()):
            question.turn_cancelled()

    def fail(self, reason: ConnectionClosed) -> None:
        """End the session because the agent has ended; a running turn fails."""
        error = disconnect_error(self.process.host.name, reason)
        follower = self.follower
        is_idle = follower.transcript.state == "idle" and self.process.host.has_attaching
        frame = None if is_idle else follower.failure_echo(error)
        if frame is not None and self.owner is not None:
            self.owner.port.send(frame, self.id)
        self.end(reason)

    def end(self, reason: ConnectionClosed) -> None:
        """Report the end of the session to all subscribers."""
        attached, self.attached = self.attached, []
        for each in attached:
            each.end(reason)
        for waiting in self._held.values():
            waiting.start()  # and learn from the agent that it is over
        for question in list(self.questions.values()):
            question.fail(reason)


class SessionRegistry:
    """The open sessions of a hosted agent, by id."""

    def __init__(self) -> None:
        self._sessions: dict[str, LiveSession] = {}
        self._reopening: dict[str, tuple[ClientConnection, list[Callable[[], None]]]] = {}

    def __iter__(self) -> Iterator[LiveSession]:
        return iter(list(self._sessions.values()))

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, id: str) -> LiveSession | None:
        """Return an open session."""
        return self._sessions.get(id)

    def add(self, session: LiveSession) -> None:
        """Register a session."""
        self._sessions[session.id] = session

    def remove(self, session: LiveSession) -> None:
        """Forget a session."""
        if self._sessions.get(session.id) is session:
            del self._sessions[session.id]

    # Opening what the agent keeps: one client does it, others who want it then attach to it

    def begin_reopening(
        self, id: str, connection: ClientConnection, again: Callable[[], None]
    ) -> bool:
        """Let a client reopen a session; False if another does, and then `again` is called."""
        first, waiting = self._reopening.setdefault(id, (connection, []))
        if first is not connection:
            waiting.append(again)
        return first is connection

    def reopening_client(self, id: str) -> ClientConnection | None:
        """Return the client that is reopening a session."""
        found = self._reopening.get(id)
        return None if found is None else found[0]

    def end_reopening(self, id: str, connection: ClientConnection) -> None:
        """Handle that a client has reopened a session, or failed to."""
        found = self._reopening.get(id)
        if found is not None and found[0] is connection:
            del self._reopening[id]
            for again in found[1]:
                asyncio.get_running_loop().call_soon(again)

    def client_left(self, connection: ClientConnection) -> None:
        """Handle that a client has left while it may have been reopening sessions."""
        for id in [id for id, (first, _) in self._reopening.items() if first is connection]:
            self.end_reopening(id, connection)
