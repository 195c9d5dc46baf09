"""A further client on one session: what it is told, what it is asked, what it says."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

from msgspec import Raw, Struct
from msgspec.structs import replace

from parley.errors import (
    AcpError,
    ConnectionClosed,
    InvalidRequest,
    MalformedValue,
    RemoteProtocolError,
    Unsupported,
)
from parley.peer import RequestContext
from parley.proxy import PendingRequest
from parley.proxy._switch.disconnect import disconnect_error
from parley.rpc._codec import decode as decode_frame
from parley.rpc._codec import encode_notification, to_exception
from parley.rpc._message import Failure, Success
from parley.schema import v2
from parley.schema._codec import decode, encode
from parley.schema.base import Method
from parley.schema.v2 import methods
from parley.session._session_follower import failed_turn

from .live_session import LiveSession, QueuedPrompt
from .shared_question import SharedQuestion

if TYPE_CHECKING:
    from .shared_session_agent import SharedSessionAgent

__all__ = ["Subscriber"]

logger = logging.getLogger(__name__)

_CANCELLED = v2.StateUpdated(state="idle", stop_reason="cancelled")


class _Completed(Struct):
    """The end of what the user did on a page, as an item of the queue."""

    note: v2.CompleteElicitationNotification


class _Ended(Struct):
    """The end of a session, as an item of the queue."""

    reason: ConnectionClosed


_Item: TypeAlias = list[v2.SessionUpdate] | SharedQuestion | _Completed | _Ended


class Subscriber:
    """One client on one session of somebody else's."""

    def __init__(
        self, agent: SharedSessionAgent, session: LiveSession, *, is_controller: bool
    ) -> None:
        self.agent = agent
        self.session = session
        self.is_controller = is_controller
        self._queue: deque[tuple[_Item, int]] = deque()
        self._behind_bytes = 0
        self._has_more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._waiting: list[QueuedPrompt] = []
        self._holds = 0
        self._own: set[str] = set()
        self._is_beginning = False
        self._is_own_turn = False

    # What it is told and asked

    def start(self) -> None:
        """Begin to tell: the client has the history, and the answer."""
        asked = [item for item, _ in self._queue]
        for question in self.session.questions.values():
            if self.is_controller and question not in asked:
                question.announce(self)
                self.ask(question)
        self._task = asyncio.get_running_loop().create_task(self._tell_all())
        self._task.add_done_callback(_logged)

    def stop(self) -> None:
        """Tell nothing more."""
        self._queue.clear()
        for question in list(self.session.questions.values()):
            question.gone(self)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        for waiting in self._waiting:
            waiting.give_up(InvalidRequest("The session is over, or was left"))

    def tell(self, updates: list[v2.SessionUpdate], size: int) -> None:
        """Take what has happened; a client that is too far behind is left behind."""
        if self.agent.has_one_turn_at_a_time:
            updates = [self._with_own_end(each) for each in updates]
        self._put(updates, size)
        if self._behind_bytes > self.agent.connection.host.limits.behind_bytes:
            self.agent.connection.close("an attached client takes nothing")

    def _with_own_end(self, update: v2.SessionUpdate) -> v2.SessionUpdate:
        """Let a turn's reason to end be told only if the client has asked for the turn.

        In version 1 that ends a prompt of its own, which may still wait.
        """
        if isinstance(update, v2.UserMessage | v2.UserMessageChunk):
            if self._is_beginning or update.message_id in self._own:
                self._own.discard(update.message_id)
                self._is_own_turn = True
        elif isinstance(update, v2.StateUpdated) and update.stop_reason is not None:
            if not self._is_own_turn:
                return replace(update, stop_reason=None, error=None)
            self._is_own_turn = False
        return update

    def ask(self, question: SharedQuestion) -> None:
        """Ask the user, when what happened before has been told."""
        self._put(question, 0)

    def complete(self, note: v2.CompleteElicitationNotification) -> None:
        """Tell that the user has done what a page was opened for."""
        if self.is_controller:
            self._put(_Completed(note), 0)

    def end(self, reason: ConnectionClosed) -> None:
        """Record that the session is over."""
        self._put(_Ended(reason), 0)

    def _put(self, item: _Item, size: int) -> None:
        self._queue.append((item, size))
        self._behind_bytes += size
        self._has_more.set()

    async def _tell_all(self) -> None:
        surface, session_id = self.agent.surface, self.session.id
        while True:
            while not self._queue or self._holds:
                self._has_more.clear()
                await self._has_more.wait()
            item, size = self._queue.popleft()
            if isinstance(item, SharedQuestion):
                item.put(self, surface.request)
            elif isinstance(item, _Completed):
                with suppress(Unsupported):  # then it was not asked
                    await surface.notify(methods.COMPLETE_ELICITATION, item.note)
            elif isinstance(item, _Ended):
                await self._tell_end(item.reason)
                return
            else:
                for update in item:
                    await surface.update(session_id, update)
            self._behind_bytes -= size

    async def _tell_end(self, reason: ConnectionClosed) -> None:
        """Say that nothing more will come; a turn that ran has failed."""
        if self.session.follower.transcript.state != "idle":
            error = disconnect_error(self.session.process.host.name, reason)
            await self.agent.surface.update(self.session.id, failed_turn(error))
        self.agent.detach(self)

    # What it says

    async def prompt(self, params: v2.PromptRequest, request: RequestContext) -> v2.PromptResponse:
        """Forward a prompt, perhaps when the turn that runs has ended."""
        follower = self.session.follower
        method, body = follower.prompt(params)
        is_answered_at_the_end = follower.prompt_response_ends_turn
        is_one_at_a_time = is_answered_at_the_end or self.agent.has_one_turn_at_a_time
        if is_one_at_a_time and not await self._turn():
            return self._taken_back(request)
        self.session.prompter = self.agent.connection
        self._hold()
        try:
            if is_answered_at_the_end:
                answer = v2.PromptResponse(message_id=self._begin_turn(method, body, params))
            else:
                result = await self._request(method, body, self._accepted)
                answer = decode(v2.PromptResponse, result, "result")
        except BaseException:  # also when cancelled
            self._go_on()
            self.session.next_turn()
            raise
        request.after_response(self._go_on)
        return answer

    def _hold(self) -> None:
        """Tell nothing, so that the answer to a prompt comes before what it leads to."""
        self._holds += 1

    def _go_on(self) -> None:
        self._holds -= 1
        self._has_more.set()

    def _begin_turn(self, method: str, body: bytes, params: v2.PromptRequest) -> str:
        """Send a prompt whose answer will be the end of its turn; returns its message's id."""
        session = self.session
        self._is_beginning = True
        session.attached_turns += 1
        try:
            call = session.process.port.request(method, body, session.id, self._turn_ended)
        finally:
            self._is_beginning = False
        message_id = session.follower.message_of(call.destination_id)
        if message_id is None:
            raise InvalidRequest("The session is over")
        if session.owner is not None:
            for frame in session.follower.prompt_echo(params):
                session.owner.port.send(frame, session.id)
        return message_id

    def _turn_ended(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        """Let the end of a turn of version 1 be: those who follow the session hear of it."""
        self.session.attached_turns -= 1
        return True

    async def _turn(self) -> bool:
        """Wait until no turn runs; returns False when the client does not want it any more."""
        waiting = self.session.wait_for_turn()
        if waiting is None:
            return True
        self._waiting.append(waiting)
        try:
            return await waiting.done
        finally:
            self._waiting.remove(waiting)
            self.session.leave_queue(waiting)

    def _taken_back(self, request: RequestContext) -> v2.PromptResponse:
        """Answer a prompt that was cancelled while it waited: it begins and ends at once."""
        state: Any = self.session.follower.transcript.state
        request.after_response(lambda: self._put([_CANCELLED, v2.StateUpdated(state=state)], 0))
        return v2.PromptResponse(message_id=f"message_{uuid4().hex}")

    def cancel(self) -> None:
        """Cancel what the session does, and what waits for it here."""
        for waiting in self._waiting:
            waiting.take_back()
        self.session.cancelling()
        body = encode(v2.CancelSessionNotification(session_id=self.session.id))
        frame = encode_notification(methods.CANCEL_SESSION.name, body)
        self.session.process.port.send(frame, self.session.id)

    async def set_option(
        self, params: v2.SetSessionConfigOptionRequest
    ) -> v2.SetSessionConfigOptionResponse:
        """Set an option; everybody learns it."""
        follower = self.session.follower
        method, body = follower.set_option(params)
        result = await self._request(method, body)
        if (owner := self.session.owner) is not None:
            owner.port.send(follower.option_echo(method, body, bytes(result)), self.session.id)
        return v2.SetSessionConfigOptionResponse(config_options=follower.transcript.config_options)

    async def forward(self, method: Method[Any, Any], params: Any) -> None:
        """Forward a request of version 2 whose answer says nothing."""
        await self._request(*self.session.follower.v2_request(method, params))

    def _accepted(self, frame: bytes) -> None:
        """Learn at once which message a prompt has become."""
        answer = decode_frame(frame)
        if isinstance(answer, Success):
            with suppress(MalformedValue):
                self._own.add(decode(v2.PromptResponse, answer.result).message_id)

    async def _request(
        self, method: str, body: bytes, on_response: Callable[[bytes], None] | None = None
    ) -> Raw:
        """Ask the agent of the session.

        Raises:
            RequestError: It refused.
        """
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        port = self.session.process.port
        call = port.request(
            method, body, self.session.id, partial(_answered, answered, on_response)
        )
        try:
            message = decode_frame(await answered)
        finally:
            call.withdraw()
        match message:
            case Success(result=result):
                return result
            case Failure(error=error):
                raise to_exception(error)
            case _:
                raise RemoteProtocolError("the agent answered with something else")


def _answered(
    future: asyncio.Future[bytes],
    told: Callable[[bytes], None] | None,
    call: PendingRequest,
    frame: bytes,
    is_result: bool,
) -> bool:
    if told is not None:
        told(frame)
    if not future.done():
        future.set_result(frame)
    return True


def _logged(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, AcpError):
        logger.error("an attached client could not be told", exc_info=error)
