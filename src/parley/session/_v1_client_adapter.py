"""The adapter for clients whose agent speaks version 1.

In version 1 the response to a prompt ends its turn; in version 2 it only says that the prompt was
accepted. So the program gets its response as soon as the prompt is sent, with a generated message
id. The updates that version 2 sends in between are put into the session's lane: the user's message
and `running` when the prompt is sent, and `idle` with the stop reason when the agent's response
arrives, after every update that arrived before it. `begin_prompt` writes the prompt before it
returns, so a `session/cancel` that the program sends later cannot overtake it.

Version 1 has only a few types of content. The schema's leniency rules drop items of other types,
and messages whose content has another type. `unknown_content` finds these in the frame, for
programs that want to show them anyway.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from parley.errors import AcpError, ConnectionClosed, Unsupported
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler
from parley.peer._initialize import Negotiated
from parley.rpc._framing import Frame
from parley.schema import v1, v2
from parley.schema.base import Method, MethodTable, Unknown
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2

from ._adapter import (
    AgentDescription,
    HandlerTable,
    ResumeAttempt,
    extended_table,
)
from ._v1_adapter import (
    HandlerWrapper,
    OnResult,
    RequestOverride,
    V1Adapter,
    untyped_listener,
)
from ._v1_capabilities import agent_from_v1
from ._v1_method_translations import (
    V1_TRANSLATIONS,
    MethodTranslation,
    translation_of,
    upgrade_auth_method,
    upgrade_info,
)
from ._v1_session_upgrader import SessionUpgrader

P = TypeVar("P")
R = TypeVar("R")


MAX_SESSIONS = 10_000
"""The number of sessions whose state is kept; updates of further unknown ones have no state."""


_EMPTY_NOTIFICATION = v2.UpdateSessionNotification(
    session_id="", update=v2.StateUpdated(state="idle")
)


_NO_SESSION = SessionUpgrader(prefix="")
"""The state for requests that do not name a session."""

_PROMPT = V1_TRANSLATIONS["request", methods1.PROMPT.name]


_UNKNOWN_AGENT = v2.Implementation(name="unknown", version="unknown")


class V1ClientAdapter(V1Adapter):
    """A client's connection to an agent that speaks version 1."""

    def __init__(self, peer: Peer, negotiated: Negotiated, table: MethodTable) -> None:
        response: v1.InitializeResponse = negotiated.result
        super().__init__(peer, table, response.agent_capabilities)
        self.agent = AgentDescription(
            info=_UNKNOWN_AGENT
            if response.agent_info is None
            else upgrade_info(response.agent_info),
            features=agent_from_v1(response.agent_capabilities, response.position_encoding),
            auth_methods=[upgrade_auth_method(method) for method in response.auth_methods],
            meta=response.meta,
        )
        self._sessions: dict[str, SessionUpgrader] = {}
        self._on_update: NotificationHandler = _ignore

    def register(self, program: HandlerTable) -> None:
        """Register the program's handlers."""
        self._table = extended_table(self._table, program)
        requests, notifications = (
            self._request_handlers(program),
            self._notification_handlers(program),
        )
        listener = program.notifications.get(methods2.UPDATE_SESSION.name)
        if listener is not None:
            self._on_update = untyped_listener(listener)
        notifications[methods1.UPDATE_SESSION.name] = self._handle_update
        self.peer.set_handlers(self._table, requests=requests, notifications=notifications)

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
    ) -> R:
        """Send a request and return its result, both as version 2 types."""
        result = await super().request(method, params, on_result=on_result)
        if method.closes_session:
            closed: Any = params
            self._sessions.pop(closed.session_id, None)
        return result

    def unknown_content(self, frame: Frame) -> Sequence[Unknown]:
        """Return the content of an update whose type version 1 does not have."""
        return unknown_content(frame)

    # Updates and requests from the agent

    def _upgrader(self, session_id: str) -> SessionUpgrader:
        upgrader = self._sessions.get(session_id)
        if upgrader is None:
            upgrader = SessionUpgrader()
            if len(self._sessions) < MAX_SESSIONS:  # an agent may make up ids
                self._sessions[session_id] = upgrader
        return upgrader

    def _handle_update(self, note: v1.SessionNotification) -> Awaitable[None] | None:
        session_id = note.session_id
        upgrader = self._sessions.get(session_id) or self._upgrader(session_id)
        update = upgrader.upgrade_next_text(note.update)
        if update is None:
            updates = upgrader.upgrade(note.update)
            if len(updates) != 1:
                return self._deliver(session_id, updates) if updates else None
            update = updates[0]
        return self._on_update(
            replace(_EMPTY_NOTIFICATION, session_id=session_id, update=update, meta=note.meta)
        )

    async def _deliver(self, session_id: str, updates: Sequence[v2.SessionUpdate]) -> None:
        for update in updates:
            awaitable = self._on_update(
                v2.UpdateSessionNotification(session_id=session_id, update=update)
            )
            if awaitable is not None:
                await awaitable

    def _translation_state(self, session_id: str | None) -> SessionUpgrader:
        return _NO_SESSION if session_id is None else self._upgrader(session_id)

    def _user_decision_handler(
        self, translation: MethodTranslation, handler: RequestHandler
    ) -> RequestHandler:
        """Return a handler that reports `requires_action` while the given one asks the user."""
        handle = self._translating_handler(translation, handler)

        async def wait(params: Any, request: RequestContext) -> Any:
            if request.session_id is None:
                return await handle(params, request)
            upgrader = self._upgrader(request.session_id)
            self._enqueue_updates(request.session_id, upgrader.begin_decision)
            try:
                return await handle(params, request)
            finally:
                self._enqueue_updates(request.session_id, upgrader.end_decision)

        return wait

    def _enqueue_updates(
        self, session_id: str, updates: Callable[[], Sequence[v2.SessionUpdate]]
    ) -> None:
        """Put updates into the session's lane; `updates` is called when it is their turn.

        It must not be called earlier: the updates depend on the state at that point of the lane.
        """

        def deliver(_: None) -> Awaitable[None]:
            return self._deliver(session_id, updates())

        self.peer.enqueue(session_id, deliver, None)

    # Opening and closing sessions

    async def _open(
        self,
        method: Method[Any, Any],
        params: v2.NewSessionRequest | v2.ForkSessionRequest,
        on_result: OnResult,
    ) -> Any:
        translation = translation_of("request", method.name, params, _NO_SESSION)
        request = self._downgrade(translation, params)

        def opened(result: v1.NewSessionResponse | v1.ForkSessionResponse) -> Any:
            upgrader = self._sessions[result.session_id] = SessionUpgrader()
            return translation.upgrade_result(result, upgrader, request)

        return await self._send(translation.v1, request, opened, on_result)

    async def _resume(
        self, method: Method[Any, Any], params: v2.ResumeSessionRequest, on_result: OnResult
    ) -> Any:
        translation = translation_of("request", method.name, params, _NO_SESSION)
        if params.replay_from is not None:
            return await self._load(translation, params, on_result)
        return await self._request_in_session(translation, params, on_result)

    def resume_fallback(self, request: v2.ResumeSessionRequest) -> ResumeAttempt | None:
        """Return `session/load` for a `session/resume`, and the other way round."""
        replays = request.replay_from is None
        if not (self.agent.features.load if replays else self.agent.features.resume):
            return None
        start = v2.ReplayFromStart() if replays else None
        return ResumeAttempt(
            method=methods2.RESUME_SESSION,
            request=replace(request, replay_from=start),
            replays=replays,
        )

    async def _load(
        self, translation: MethodTranslation, params: v2.ResumeSessionRequest, on_result: OnResult
    ) -> Any:
        session_id = params.session_id
        request = self._downgrade(translation, params)
        upgrader = self._sessions[session_id] = SessionUpgrader()
        upgrader.begin_replay()

        def end(_: AcpError | None = None) -> None:
            self.peer.enqueue(session_id, SessionUpgrader.end_replay, upgrader)

        def loaded(result: v1.LoadSessionResponse) -> Any:
            end()
            return apply(result)

        def upgrade(result: v1.LoadSessionResponse) -> Any:
            return translation.upgrade_result(result, upgrader, request)

        apply = self._apply_in_lane_too(session_id, upgrade)
        return await self._send(translation.v1, request, loaded, on_result, on_error=end)

    async def _request_in_session(
        self, translation: MethodTranslation, params: Any, on_result: OnResult
    ) -> Any:
        """Send a request whose result has the options of the session."""
        upgrader = self._upgrader(params.session_id)
        request = self._downgrade(translation, params, upgrader)

        def upgrade(result: Any) -> Any:
            return translation.upgrade_result(result, upgrader, request)

        apply = self._apply_in_lane_too(params.session_id, upgrade)
        return await self._send(translation.v1, request, apply, on_result)

    def _apply_in_lane_too(
        self, session_id: str, apply: Callable[[Any], Any]
    ) -> Callable[[Any], Any]:
        """Return a function that applies a result now, and again in the session's lane.

        Updates that arrived before the result are still in the lane. They would overwrite the
        options in the result with older ones.
        """

        def apply_again(result: Any) -> None:
            apply(result)

        def apply_now_and_in_lane(result: Any) -> Any:
            self.peer.enqueue(session_id, apply_again, result)
            return apply(result)

        return apply_now_and_in_lane

    # Turns and options

    def begin_prompt(
        self,
        params: v2.PromptRequest,
        *,
        on_accepted: Callable[[v2.PromptResponse], None],
        on_failed: Callable[[BaseException], None],
    ) -> None:
        """Send a prompt before returning, and report the end of its turn in the session's lane.

        `on_failed` is not used: an error of the agent also ends the turn, as an update.
        """
        del on_failed
        downgraded = _PROMPT.downgrade(params, _NO_SESSION)
        session_id = params.session_id
        upgrader = self._upgrader(session_id)
        message_id = upgrader.new_message_id()

        def ended(outcome: v1.PromptResponse | AcpError) -> None:
            if not isinstance(outcome, ConnectionClosed):
                self._enqueue_updates(session_id, partial(upgrader.end_turn, message_id, outcome))

        self.peer.begin_request(_PROMPT.v1, downgraded, on_result=ended, on_error=ended)
        on_accepted(v2.PromptResponse(message_id=message_id))
        self._enqueue_updates(session_id, partial(upgrader.begin_turn, message_id, params.prompt))

    async def _prompt(
        self, method: Method[Any, Any], params: v2.PromptRequest, on_result: OnResult
    ) -> v2.PromptResponse:
        """Send a prompt and return its response, which does not wait for the agent."""
        del method
        responses: list[v2.PromptResponse] = []
        self.begin_prompt(params, on_accepted=responses.append, on_failed=_ignore)
        if on_result is not None:
            on_result(responses[0])
        return responses[0]

    async def _set_option(
        self,
        method: Method[Any, Any],
        params: v2.SetSessionConfigOptionRequest,
        on_result: OnResult,
    ) -> Any:
        if isinstance(params, Unknown):
            raise Unsupported(f"version 1 of the protocol has no option value {params.tag!r}")
        upgrader = self._upgrader(params.session_id)
        translation = translation_of("request", method.name, params, upgrader)
        return await self._request_in_session(translation, params, on_result)

    _overrides: ClassVar[dict[str, RequestOverride]] = {
        methods2.NEW_SESSION.name: _open,
        methods2.FORK_SESSION.name: _open,
        methods2.RESUME_SESSION.name: _resume,
        methods2.PROMPT.name: _prompt,
        methods2.SET_SESSION_CONFIG_OPTION.name: _set_option,
    }

    _handler_wrappers: ClassVar[dict[str, HandlerWrapper]] = {
        methods1.REQUEST_PERMISSION.name: _user_decision_handler,
        methods1.CREATE_ELICITATION.name: _user_decision_handler,
    }


def _ignore(_: Any) -> None:
    """Ignore updates, for a program without a handler; the translation must see them anyway."""


_BLOCK_TYPES = frozenset({"text", "image", "audio", "resource_link", "resource"})


_ITEM_TYPES = frozenset({"content", "diff", "terminal"})


_find_types = re.compile(rb'"type"\s*:\s*"([^"]*)"').findall


_KNOWN_TYPES = frozenset(each.encode() for each in _BLOCK_TYPES | _ITEM_TYPES)


class _Update(Struct):
    content: Raw = Raw(b"null")


class _Params(Struct):
    update: _Update


class _Head(Struct):
    method: str
    params: _Params


class _Item(Struct):
    type: str
    content: Raw = Raw(b"null")


def unknown_content(frame: Frame) -> list[Unknown]:
    """Return the content of unknown types in a message or a tool call update."""
    # Nearly every frame is sorted out by this search, without decoding.
    if _KNOWN_TYPES.issuperset(_find_types(frame)):
        return []
    try:
        head = msgspec.json.decode(frame, type=_Head)
        content = head.params.update.content if head.method == "session/update" else Raw(b"null")
        if bytes(content).startswith(b"["):
            items = msgspec.json.decode(content, type=list[Raw])
            return [found for item in items for found in _unknown_in_item(item)]
        return _unknown_in_block(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


def _unknown_in_item(raw: Raw) -> list[Unknown]:
    item = msgspec.json.decode(raw, type=_Item)
    if item.type == "content":
        return _unknown_in_block(item.content)
    return [] if item.type in _ITEM_TYPES else [Unknown(item.type, bytes(raw))]


def _unknown_in_block(raw: Raw) -> list[Unknown]:
    block = msgspec.json.decode(raw, type=_Item | None)
    return [] if block is None or block.type in _BLOCK_TYPES else [Unknown(block.type, bytes(raw))]
