"""The agent that an attached client sees: an open session of another client.

A `SharedSessionAgent` belongs to one client connection and speaks the version of that client, so a
version 1 client can follow a version 2 session and vice versa. Opening the session replays its
history and continues with the updates, without a gap: from the moment at which the history is read,
later updates are queued after it (`Subscriber`). A controller's messages go to the agent through
the session. An observer only receives updates.

A prompt is forwarded at once, unless the client or the agent speaks version 1, which has one turn
at a time: then it waits until the running turn has ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from parley import __version__
from parley.errors import (
    AcpError,
    ConnectionClosed,
    InvalidParams,
    InvalidRequest,
    MalformedValue,
    RemoteProtocolError,
    RequestError,
    ResourceNotFound,
    Unsupported,
)
from parley.peer import Peer, RequestContext, RequestHandler
from parley.peer._initialize import version_of
from parley.proxy import PendingRequest, Port, RawMessage
from parley.proxy._switch.disconnect import disconnect_error
from parley.rpc._codec import decode as decode_frame
from parley.rpc._codec import encode_notification, to_exception
from parley.rpc._message import Failure, Success
from parley.schema import v2
from parley.schema._codec import decode, encode
from parley.schema._session_methods import REOPENS
from parley.schema.base import JsonObject, Method
from parley.schema.v2 import methods
from parley.session._adapter import (
    AgentAdapter,
    AgentDescription,
    HandlerTable,
    open_agent_adapter,
)
from parley.session._capabilities import AgentFeatures, ClientFeatures
from parley.session._session_follower import failed_turn, prompt_response_ends_turn
from parley.transport import memory_pair
from parley.transport._frame_head import peek_meta

from .live_session import LiveSession, QueuedPrompt
from .shared_question import SharedQuestion

if TYPE_CHECKING:
    from .client_connection import ClientConnection

__all__ = ["SESSION_METHODS", "SharedSessionAgent", "Subscriber", "is_observer"]

logger = logging.getLogger(__name__)

SESSION_METHODS = REOPENS | {
    "session/close",
    "session/prompt",
    "session/cancel",
    "session/set_config_option",
    "session/set_mode",
    "tool_call/cancel",
    "terminal/cancel",
}
"""The methods that go to the shared session; all others go to the client's own agent."""


class _Parley(Struct, frozen=True):
    role: str = "controller"


class _Meta(Struct, frozen=True):
    parley: _Parley = _Parley()


class SharedSessionAgent:
    """The agent for the sessions that a client is attached to."""

    def __init__(
        self, connection: ClientConnection, initialize: PendingRequest, result: bytes
    ) -> None:
        """Start with the client's `initialize` and the result of its own agent."""
        self.connection = connection
        self.subscriptions: dict[str, Subscriber] = {}
        self.surface: AgentAdapter
        near, far = memory_pair()
        self._port = connection.host.switch.add(near, "the session")
        self._peer = Peer(far, "agent", name="an attached client")
        self._waiting: list[RawMessage] | None = []
        open_agent_adapter(self._peer, self._describe, self._begin, (version_of(Raw(result)),))
        self._peer.start()
        connection.host.switch.start(self._port, self._route)
        self._port.request("initialize", bytes(initialize.params), "", self._initialized)

    @property
    def has_one_turn_at_a_time(self) -> bool:
        """Whether the response to a prompt ends its turn for the client."""
        return prompt_response_ends_turn(self.surface)

    def _route(self, port: Port, message: RawMessage) -> Port:
        return self.connection.port

    def _initialized(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        waiting, self._waiting = self._waiting or [], None
        for message in waiting:
            self.take(message)
        return True

    def take(self, message: RawMessage) -> None:
        """Handle a message of the client to a session."""
        if self._waiting is not None:
            self._waiting.append(message)
        elif isinstance(message, PendingRequest):
            message.follow(self._port)
        else:
            self._port.send(message.frame, message.session_id)

    async def aclose(self) -> None:
        """Leave all sessions."""
        for subscriber in list(self.subscriptions.values()):
            self.detach(subscriber)
        await self._peer.aclose()

    def detach(self, subscriber: Subscriber) -> None:
        """Leave a session."""
        if self.subscriptions.get(subscriber.session.id) is subscriber:
            del self.subscriptions[subscriber.session.id]
        subscriber.stop()
        subscriber.session.detach(subscriber)

    # What the client sees as its agent

    async def _describe(
        self, client: ClientFeatures, info: v2.Implementation | None
    ) -> AgentDescription:
        return AgentDescription(
            info=v2.Implementation(name="parley", version=__version__),
            features=AgentFeatures(sessions=True, load=True, resume=True, close=True),
        )

    def _begin(self, surface: AgentAdapter) -> HandlerTable:
        self.surface = surface
        requests: dict[str, RequestHandler] = {
            methods.RESUME_SESSION.name: self._resume,
            methods.CLOSE_SESSION.name: self._close,
            methods.PROMPT.name: self._prompt,
            methods.SET_SESSION_CONFIG_OPTION.name: self._set_option,
            methods.CANCEL_TOOL_CALL.name: self._cancel_tool_call,
            methods.CANCEL_TERMINAL.name: self._cancel_terminal,
        }
        return HandlerTable(
            requests=requests, notifications={methods.CANCEL_SESSION.name: self._cancel}
        )

    async def _resume(
        self, params: v2.ResumeSessionRequest, request: RequestContext
    ) -> v2.ResumeSessionResponse:
        session = self._live(params.session_id)
        role = _role(params.meta)
        before = self.subscriptions.get(session.id)
        subscriber = Subscriber(self, session, is_controller=role == "controller")
        session.attach(subscriber, before)
        self.subscriptions[session.id] = subscriber
        if before is not None:
            before.stop()
            before.session.detach(before)
        follower = session.follower
        history = follower.history(replays=params.replay_from is not None)
        response = v2.ResumeSessionResponse(
            config_options=follower.transcript.config_options,
            available_commands=follower.transcript.commands,
        )
        if session.is_truncated and params.replay_from is not None:
            history.insert(
                0,
                v2.Notice(
                    severity="info", title="The beginning of the conversation is not available"
                ),
            )
        try:
            for update in history:
                await self.surface.update(session.id, update)
        except BaseException:  # also when cancelled: it is not attached
            self.detach(subscriber)
            raise
        request.after_response(subscriber.start)
        return response

    def _live(self, session_id: str) -> LiveSession:
        """Return an open session of the client's principal."""
        session = self.connection.host.sessions.get(session_id)
        if session is None or session.principal != self.connection.principal:
            raise ResourceNotFound("There is no such session", {"sessionId": session_id})
        return session

    def _controlled(self, session_id: str) -> Subscriber:
        subscriber = self.subscriptions.get(session_id)
        if subscriber is None:
            raise ResourceNotFound(
                "The session is not open on this connection", {"sessionId": session_id}
            )
        if not subscriber.is_controller:
            raise InvalidRequest("An observer may not do this; resume the session as a controller")
        return subscriber

    async def _close(
        self, params: v2.CloseSessionRequest, request: RequestContext
    ) -> v2.CloseSessionResponse:
        """Leave a session; it continues for its other clients."""
        subscriber = self.subscriptions.get(params.session_id)
        if subscriber is not None:
            self.detach(subscriber)
        return v2.CloseSessionResponse()

    async def _prompt(self, params: v2.PromptRequest, request: RequestContext) -> v2.PromptResponse:
        return await self._controlled(params.session_id).prompt(params, request)

    def _cancel(self, params: v2.CancelSessionNotification) -> None:
        try:
            self._controlled(params.session_id).cancel()
        except RequestError as error:
            logger.info("an attached client cannot cancel: %s", error)

    async def _set_option(
        self, params: v2.SetSessionConfigOptionRequest, request: RequestContext
    ) -> v2.SetSessionConfigOptionResponse:
        subscriber = self._controlled(request.session_id or "")
        return await subscriber.set_option(params)

    async def _cancel_tool_call(
        self, params: v2.CancelToolCallRequest, request: RequestContext
    ) -> v2.CancelToolCallResponse:
        await self._controlled(params.session_id).forward(methods.CANCEL_TOOL_CALL, params)
        return v2.CancelToolCallResponse()

    async def _cancel_terminal(
        self, params: v2.CancelTerminalRequest, request: RequestContext
    ) -> v2.CancelTerminalResponse:
        await self._controlled(params.session_id).forward(methods.CANCEL_TERMINAL, params)
        return v2.CancelTerminalResponse()


def is_observer(params: Raw) -> bool:
    """Return whether a client wants to join a session as an observer."""
    return peek_meta(params, "parley", "role") == "observer"


def _role(meta: JsonObject | None) -> str:
    """Return the role that a client requests in `_meta.parley.role`."""
    try:
        role = msgspec.convert(meta or {}, _Meta).parley.role
    except msgspec.ValidationError:
        role = ""
    if role not in ("observer", "controller"):
        raise InvalidParams("The role in _meta is neither observer nor controller")
    return role


_CANCELLED = v2.StateUpdated(state="idle", stop_reason="cancelled")


class _Completed(Struct):
    """A queue item: the user has finished on a web page."""

    note: v2.CompleteElicitationNotification


class _Ended(Struct):
    """A queue item: the session has ended."""

    reason: ConnectionClosed


_Item: TypeAlias = list[v2.SessionUpdate] | SharedQuestion | _Completed | _Ended


class Subscriber:
    """A client that is attached to a session of another client, with a queue of updates."""

    def __init__(
        self, agent: SharedSessionAgent, session: LiveSession, *, is_controller: bool
    ) -> None:
        self.agent = agent
        self.session = session
        self.is_controller = is_controller
        self._queue: deque[tuple[_Item, int]] = deque()
        self._queued_bytes = 0
        self._has_more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._waiting: list[QueuedPrompt] = []
        self._holds = 0
        self._own: set[str] = set()
        self._is_beginning = False
        self._is_own_turn = False

    # To the client

    def start(self) -> None:
        """Start delivering, after the client got the history and the response."""
        queued = [item for item, _ in self._queue]
        for question in self.session.questions.values():
            if self.is_controller and question not in queued:
                question.expect(self)
                self.send_question(question)
        self._task = asyncio.get_running_loop().create_task(self._deliver())
        self._task.add_done_callback(_logged)

    def stop(self) -> None:
        """Stop delivering."""
        self._queue.clear()
        for question in list(self.session.questions.values()):
            question.subscriber_left(self)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        for waiting in self._waiting:
            waiting.fail(InvalidRequest("The session has ended, or the client has left it"))

    def send_updates(self, updates: list[v2.SessionUpdate], size: int) -> None:
        """Queue updates; a client that falls too far behind is disconnected."""
        if self.agent.has_one_turn_at_a_time:
            updates = [self._with_own_end(each) for each in updates]
        self._put(updates, size)
        if self._queued_bytes > self.agent.connection.host.limits.behind_bytes:
            self.agent.connection.close("an attached client takes nothing")

    def _with_own_end(self, update: v2.SessionUpdate) -> v2.SessionUpdate:
        """Remove the stop reason of a turn that another client asked for.

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

    def send_question(self, question: SharedQuestion) -> None:
        """Queue a question, so that it follows the earlier updates."""
        self._put(question, 0)

    def send_completion(self, note: v2.CompleteElicitationNotification) -> None:
        """Queue the report that the user has finished on a web page."""
        if self.is_controller:
            self._put(_Completed(note), 0)

    def end(self, reason: ConnectionClosed) -> None:
        """Queue the end of the session."""
        self._put(_Ended(reason), 0)

    def _put(self, item: _Item, size: int) -> None:
        self._queue.append((item, size))
        self._queued_bytes += size
        self._has_more.set()

    async def _deliver(self) -> None:
        surface, session_id = self.agent.surface, self.session.id
        while True:
            while not self._queue or self._holds:
                self._has_more.clear()
                await self._has_more.wait()
            item, size = self._queue.popleft()
            if isinstance(item, SharedQuestion):
                item.ask(self, surface.request)
            elif isinstance(item, _Completed):
                with suppress(Unsupported):  # a client without elicitations
                    await surface.notify(methods.COMPLETE_ELICITATION, item.note)
            elif isinstance(item, _Ended):
                await self._deliver_end(item.reason)
                return
            else:
                for update in item:
                    await surface.update(session_id, update)
            self._queued_bytes -= size

    async def _deliver_end(self, reason: ConnectionClosed) -> None:
        """Report the end of the session; a running turn fails."""
        if self.session.follower.transcript.state != "idle":
            error = disconnect_error(self.session.process.host.name, reason)
            await self.agent.surface.update(self.session.id, failed_turn(error))
        self.agent.detach(self)

    # From the client

    async def prompt(self, params: v2.PromptRequest, request: RequestContext) -> v2.PromptResponse:
        """Forward a prompt, after the running turn if there may be only one."""
        follower = self.session.follower
        method, body = follower.prompt(params)
        response_ends_turn = follower.prompt_response_ends_turn
        is_one_at_a_time = response_ends_turn or self.agent.has_one_turn_at_a_time
        if is_one_at_a_time and not await self._turn():
            return self._withdrawn_response(request)
        self.session.last_prompter = self.agent.connection
        self._pause()
        try:
            if response_ends_turn:
                response = v2.PromptResponse(message_id=self._begin_turn(method, body, params))
            else:
                result = await self._request(method, body, self._accepted)
                response = decode(v2.PromptResponse, result, "result")
        except BaseException:  # also when cancelled
            self._release()
            self.session.start_next_turn()
            raise
        request.after_response(self._release)
        return response

    def _pause(self) -> None:
        """Pause delivery, so that the response to a prompt precedes the updates of its turn."""
        self._holds += 1

    def _release(self) -> None:
        self._holds -= 1
        self._has_more.set()

    def _begin_turn(self, method: str, body: bytes, params: v2.PromptRequest) -> str:
        """Send a prompt whose response ends its turn; return the id of its message."""
        session = self.session
        self._is_beginning = True
        session.attached_turns += 1
        try:
            call = session.process.port.request(method, body, session.id, self._turn_ended)
        finally:
            self._is_beginning = False
        message_id = session.follower.message_of(call.destination_id)
        if message_id is None:
            raise InvalidRequest("The session has ended")
        if session.owner is not None:
            for frame in session.follower.prompt_echo(params):
                session.owner.port.send(frame, session.id)
        return message_id

    def _turn_ended(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        """Ignore the response that ends a turn; the subscribers get it as an update."""
        self.session.attached_turns -= 1
        return True

    async def _turn(self) -> bool:
        """Wait until no turn runs; return False if the prompt was withdrawn."""
        waiting = self.session.queue_prompt()
        if waiting is None:
            return True
        self._waiting.append(waiting)
        try:
            return await waiting.done
        finally:
            self._waiting.remove(waiting)
            self.session.dequeue(waiting)

    def _withdrawn_response(self, request: RequestContext) -> v2.PromptResponse:
        """Return the response to a withdrawn prompt, whose turn begins and ends at once."""
        state: Any = self.session.follower.transcript.state
        request.after_response(lambda: self._put([_CANCELLED, v2.StateUpdated(state=state)], 0))
        return v2.PromptResponse(message_id=f"message_{uuid4().hex}")

    def cancel(self) -> None:
        """Cancel the session's work, and withdraw the client's queued prompts."""
        for waiting in self._waiting:
            waiting.withdraw()
        self.session.turn_cancelled()
        body = encode(v2.CancelSessionNotification(session_id=self.session.id))
        frame = encode_notification(methods.CANCEL_SESSION.name, body)
        self.session.process.port.send(frame, self.session.id)

    async def set_option(
        self, params: v2.SetSessionConfigOptionRequest
    ) -> v2.SetSessionConfigOptionResponse:
        """Set an option, and report it to the owner."""
        follower = self.session.follower
        method, body = follower.set_option(params)
        result = await self._request(method, body)
        if (owner := self.session.owner) is not None:
            owner.port.send(follower.option_echo(method, body, bytes(result)), self.session.id)
        return v2.SetSessionConfigOptionResponse(config_options=follower.transcript.config_options)

    async def forward(self, method: Method[Any, Any], params: Any) -> None:
        """Forward a version 2 request that has an empty result."""
        await self._request(*self.session.follower.v2_request(method, params))

    def _accepted(self, frame: bytes) -> None:
        """Record the message id of an accepted prompt."""
        response = decode_frame(frame)
        if isinstance(response, Success):
            with suppress(MalformedValue):
                self._own.add(decode(v2.PromptResponse, response.result).message_id)

    async def _request(
        self, method: str, body: bytes, on_response: Callable[[bytes], None] | None = None
    ) -> Raw:
        """Send a request to the agent of the session.

        Raises:
            RequestError: It refused.
        """
        response_frame: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        port = self.session.process.port
        call = port.request(
            method, body, self.session.id, partial(_resolve_response, response_frame, on_response)
        )
        try:
            message = decode_frame(await response_frame)
        finally:
            call.withdraw()
        match message:
            case Success(result=result):
                return result
            case Failure(error=error):
                raise to_exception(error)
            case _:
                raise RemoteProtocolError("the agent answered with something else")


def _resolve_response(
    future: asyncio.Future[bytes],
    on_response: Callable[[bytes], None] | None,
    call: PendingRequest,
    frame: bytes,
    is_result: bool,
) -> bool:
    if on_response is not None:
        on_response(frame)
    if not future.done():
        future.set_result(frame)
    return True


def _logged(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, AcpError):
        logger.error("updates could not be delivered to an attached client", exc_info=error)
