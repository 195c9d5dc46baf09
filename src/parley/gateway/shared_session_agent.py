"""The agent that a further client of a session sees: the session itself, as somebody else runs it.

A mirror belongs to one client connection and speaks the version that this client has agreed on, so
a client of version 1 can follow a session of version 2 and the other way round. Opening the session
tells its history and then what follows, without a gap: from the moment at which the history is
taken, what happens is queued behind it. What a controller says goes to the agent through the
session; an observer is told and asked nothing.

A prompt is forwarded at once, unless the client or the agent speaks version 1, where a turn is all
there can be at a time: then it waits until the one that runs has ended.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, Struct

from parley import __version__
from parley.errors import InvalidParams, InvalidRequest, RequestError, ResourceNotFound
from parley.peer import Peer, RequestContext, RequestHandler
from parley.peer._initialize import version_of
from parley.proxy import PendingRequest, Port, RawMessage
from parley.schema import v2
from parley.schema._session_methods import REOPENS
from parley.schema.base import JsonObject
from parley.schema.v2 import methods
from parley.session._adapter import (
    AgentAdapter,
    AgentDescription,
    HandlerTable,
    open_agent_adapter,
)
from parley.session._capabilities import AgentFeatures, ClientFeatures
from parley.session._session_follower import prompt_response_ends_turn
from parley.transport import memory_pair
from parley.transport._frame_head import peek_meta

from .live_session import LiveSession
from .subscriber import Subscriber

if TYPE_CHECKING:
    from .client_connection import ClientConnection

__all__ = ["SESSION_METHODS", "SharedSessionAgent", "is_observer"]

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
"""What a client says to a session; the rest is a matter of its own agent."""


class _Parley(Struct, frozen=True):
    role: str = "controller"


class _Meta(Struct, frozen=True):
    parley: _Parley = _Parley()


class SharedSessionAgent:
    """The sessions of others that one client is attached to."""

    def __init__(
        self, connection: ClientConnection, initialize: PendingRequest, result: bytes
    ) -> None:
        """Begin, with the client's own initialize and what its own agent has answered."""
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
        """Whether the answer to a prompt is the end of its turn for the client."""
        return prompt_response_ends_turn(self.surface)

    def _route(self, port: Port, message: RawMessage) -> Port:
        return self.connection.port

    def _initialized(self, call: PendingRequest, frame: bytes, is_result: bool) -> bool:
        waiting, self._waiting = self._waiting or [], None
        for message in waiting:
            self.take(message)
        return True

    def take(self, message: RawMessage) -> None:
        """Take what the client says to a session."""
        if self._waiting is not None:
            self._waiting.append(message)
        elif isinstance(message, PendingRequest):
            message.follow(self._port)
        else:
            self._port.send(message.frame, message.session_id)

    async def aclose(self) -> None:
        """Leave every session."""
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
        answer = v2.ResumeSessionResponse(
            config_options=follower.transcript.config_options,
            available_commands=follower.transcript.commands,
        )
        if session.is_cut and params.replay_from is not None:
            history.insert(0, v2.Notice(severity="info", title="The beginning is not kept here"))
        try:
            for update in history:
                await self.surface.update(session.id, update)
        except BaseException:  # also when cancelled: it is not attached
            self.detach(subscriber)
            raise
        request.after_response(subscriber.start)
        return answer

    def _live(self, session_id: str) -> LiveSession:
        """Return a session of the client's principal; it may have ended a moment ago."""
        session = self.connection.host.live.get(session_id)
        if session is None or session.principal != self.connection.principal:
            raise ResourceNotFound("There is no such session", {"sessionId": session_id})
        return session

    def _controlled(self, session_id: str) -> Subscriber:
        subscriber = self.subscriptions.get(session_id)
        if subscriber is None:
            raise ResourceNotFound("There is no such session open here", {"sessionId": session_id})
        if not subscriber.is_controller:
            raise InvalidRequest("An observer may not do this; resume the session as a controller")
        return subscriber

    async def _close(
        self, params: v2.CloseSessionRequest, request: RequestContext
    ) -> v2.CloseSessionResponse:
        """Leave a session; for those who are still there it goes on."""
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
    """Return whether a client that opens a session only wants to look on."""
    return peek_meta(params, "parley", "role") == "observer"


def _role(meta: JsonObject | None) -> str:
    """Return what a client wants to be, which it says in `_meta.parley.role`."""
    try:
        role = msgspec.convert(meta or {}, _Meta).parley.role
    except msgspec.ValidationError:
        role = ""
    if role not in ("observer", "controller"):
        raise InvalidParams("The role in _meta is neither observer nor controller")
    return role
