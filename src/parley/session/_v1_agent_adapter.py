"""The adapter for agents whose client speaks version 1.

In version 1 the response to a prompt ends its turn; in version 2 it only says that the prompt was
accepted. So the program's handler accepts the prompt, and the response to the client waits: when
the program reports that the session is idle, with a stop reason, the oldest pending prompt of the
session gets its response. Nothing that the program sends after that overtakes the response.

If the client cancels the request of a prompt, the turn is cancelled as with `session/cancel`, and
the end of the turn is still the response to the prompt.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

from msgspec.structs import replace

from parley._user_code import reraise_if_ending
from parley.errors import ConnectionClosed, Unsupported
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler, TypedHandler
from parley.peer._initialize import Negotiated
from parley.schema import v1, v2
from parley.schema.base import JsonObject, Method, MethodTable
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2

from ._adapter import CapabilityCheck, HandlerTable, extended_table
from ._capabilities import ClientFeatures
from ._v1_adapter import (
    HandlerWrapper,
    OnResult,
    RequestOverride,
    V1Adapter,
    untyped_listener,
    upgrade_params,
)
from ._v1_capabilities import client_from_v1
from ._v1_method_translations import TRANSLATIONS, MethodTranslation, upgrade_info
from ._v1_session_downgrader import SessionDowngrader, downgrade_commands, downgrade_turn_end

logger = logging.getLogger(__name__)

P = TypeVar("P")

_CANCELLED = v2.StateUpdated(state="idle", stop_reason="cancelled")


class _PendingPrompt:
    """A prompt that has not had its response yet."""

    def __init__(self, request: RequestContext) -> None:
        self.request = request
        self.end: asyncio.Future[v2.StateUpdated] = asyncio.get_running_loop().create_future()
        self.is_accepted = False
        """Whether the program accepted it, so that only the end of its turn is missing."""
        self.is_cancelled = False
        """Whether the client cancelled the request and the program was notified."""
        self.meta: JsonObject | None = None
        """The `_meta` with which the program accepted it."""


class _Session:
    """The state of one session: its translation and its pending prompts."""

    def __init__(self, features: ClientFeatures) -> None:
        self.downgrader = SessionDowngrader(features)
        self.prompts: deque[_PendingPrompt] = deque()
        self.is_open = False
        """Whether the program opened it here, accepted a prompt in it, or sent an update in it."""


class V1AgentAdapter(V1Adapter):
    """An agent's connection to a client that speaks version 1."""

    def __init__(self, peer: Peer, negotiated: Negotiated, table: MethodTable) -> None:
        params: v1.InitializeRequest = negotiated.params
        response: v1.InitializeResponse = negotiated.result
        super().__init__(peer, table, params.client_capabilities)
        self.client = client_from_v1(params.client_capabilities, params.general)
        self.client_info = None if params.client_info is None else upgrade_info(params.client_info)
        self._own_capabilities = CapabilityCheck("agent", response.agent_capabilities)
        self._sessions: dict[str, _Session] = {}
        self._no_session = SessionDowngrader(self.client)
        self._on_cancel: NotificationHandler | None = None

    def register(self, program: HandlerTable) -> None:
        """Register the program's handlers for the methods that the agent's capabilities offer."""
        self._table = extended_table(self._table, program)
        handlers = self._request_handlers(program)
        # These wrap whichever handler is there, so they come after all others.
        closing = {method.name for method in self._table.methods if method.closes_session}
        handlers |= {
            name: self._closing_handler(handlers[name]) for name in closing.intersection(handlers)
        }
        cancel = program.notifications.get(methods2.CANCEL_SESSION.name)
        self._on_cancel = None if cancel is None else untyped_listener(cancel)
        offered = {name: handler for name, handler in handlers.items() if self._offers(name)}
        self.peer.set_handlers(
            self._table, requests=offered, notifications=self._notification_handlers(program)
        )

    def _offers(self, name: str) -> bool:
        method = self._table.requests("agent").get(name)
        if method is None:
            return True
        with suppress(Unsupported):
            self._own_capabilities.check(method)
            return True
        return False

    # Sending

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification, given as version 2 types."""
        if isinstance(params, v2.UpdateSessionNotification):
            await self._update(params)
        else:
            await super().notify(method, params)

    def update(self, session_id: str, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        """Send an update, given as a version 2 type."""
        session = self._sessions.get(session_id) or self._session(session_id)
        # The fast path: nearly all updates are message chunks, and become one update.
        if type(update) is v2.AgentMessageChunk and session.is_open:
            if session.downgrader.take_text(update):
                return self.peer.notify_update(methods1.UPDATE_SESSION, session_id, update)
            downgraded = session.downgrader.downgrade(update)
            if len(downgraded) == 1:
                return self.peer.notify_update(methods1.UPDATE_SESSION, session_id, downgraded[0])
            return self._send_updates(session_id, downgraded)
        return self._update(v2.UpdateSessionNotification(session_id=session_id, update=update))

    async def _update(self, note: v2.UpdateSessionNotification) -> None:
        session = self._sessions.get(note.session_id) or self._session(note.session_id)
        session.is_open = True
        update = note.update
        for downgraded in session.downgrader.downgrade(update):
            await self.peer.notify(
                methods1.UPDATE_SESSION,
                v1.SessionNotification(
                    session_id=note.session_id, update=downgraded, meta=note.meta
                ),
            )
        if isinstance(update, v2.StateUpdated) and update.state == "idle" and update.stop_reason:
            await self._end_turn(note.session_id, session, update)

    async def _send_updates(self, session_id: str, updates: Sequence[v1.SessionUpdate]) -> None:
        for update in updates:
            note = v1.SessionNotification(session_id=session_id, update=update)
            await self.peer.notify(methods1.UPDATE_SESSION, note)

    async def _request_permission(
        self, method: Method[Any, Any], params: v2.RequestPermissionRequest, on_result: OnResult
    ) -> Any:
        """Request permission, after what was held back; then send the updates that settle it."""
        session_id = params.session_id
        downgrader = self._session(session_id).downgrader
        await self._send_updates(session_id, downgrader.flush())
        permission = downgrader.permission(params)
        response: v2.RequestPermissionResponse | None = None
        try:
            translation = TRANSLATIONS["request", method.name][0]
            response = await self.peer.request(
                translation.v1, permission.request, on_result=on_result
            )
        finally:
            with suppress(ConnectionClosed):
                await self._send_updates(session_id, permission.updates_after(response))
        return response

    async def _create_terminal(
        self, method: Method[Any, Any], params: v1.CreateTerminalRequest, on_result: OnResult
    ) -> Any:
        """Create a terminal, and note its id as the client's before any update names it."""

        def on_created(result: v1.CreateTerminalResponse) -> None:
            self._session(params.session_id).downgrader.client_terminals.add(result.terminal_id)
            if on_result is not None:
                on_result(result)

        return await self._request_untranslated(method, params, on_created)

    _overrides: ClassVar[dict[str, RequestOverride]] = {
        methods2.REQUEST_PERMISSION.name: _request_permission,
        methods1.CREATE_TERMINAL.name: _create_terminal,
    }

    # Sessions

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _Session(self.client)
        return session

    def _find_session(self, session_id: str) -> _Session:
        """Return a session that the client names, or a temporary one if the program has none."""
        return self._sessions.get(session_id) or _Session(self.client)

    def _translation_state(self, session_id: str | None) -> SessionDowngrader:
        session = None if session_id is None else self._sessions.get(session_id)
        return self._no_session if session is None else session.downgrader

    def _load_handler(
        self, translation: MethodTranslation, handler: RequestHandler
    ) -> RequestHandler:
        opening = self._opening_handler(translation, handler)

        async def load(params: v1.LoadSessionRequest, request: RequestContext) -> Any:
            if params.session_id in self._sessions:
                self._sessions[params.session_id].downgrader.begin_replay()
            return await opening(params, request)

        return load

    def _opening_handler(
        self, translation: MethodTranslation, handler: RequestHandler
    ) -> RequestHandler:
        """Return a handler that opens a session.

        In version 1 the commands are not part of the response but an update that follows it.
        """

        async def open_session(params: Any, request: RequestContext) -> Any:
            result: Any = None
            session_id = ""

            async def send_commands() -> None:
                if result.available_commands:
                    await self._send_updates(
                        session_id, [downgrade_commands(result.available_commands)]
                    )

            request.params = upgrade_params(translation, params, None)
            request.after_response(send_commands)
            result = await handler(request.params, request)
            session_id = getattr(result, "session_id", None) or params.session_id
            session = self._session(session_id)
            session.is_open = True
            return translation.downgrade_result(result, session.downgrader)

        return open_session

    def _closing_handler(self, handler: RequestHandler | TypedHandler) -> TypedHandler:
        """Return a handler that closes a session; first its prompts get their responses."""
        assert isinstance(handler, TypedHandler)
        typed = handler

        async def close(params: Any, request: RequestContext) -> Any:
            result = await typed.handler(params, request)
            session = self._sessions.pop(params.session_id, None)
            while session is not None and session.prompts:
                await self._end_turn(params.session_id, session, _CANCELLED)
            return result

        return TypedHandler(close, typed.params)

    # Options

    def _set_mode_handler(
        self, translation: MethodTranslation, handler: RequestHandler
    ) -> RequestHandler:
        async def set_mode(params: v1.SetSessionModeRequest, request: RequestContext) -> Any:
            downgrader = self._find_session(params.session_id).downgrader
            request.params = translation.upgrade(params, downgrader)
            result: v2.SetSessionConfigOptionResponse = await handler(request.params, request)
            changed = v2.ConfigOptionUpdate(config_options=result.config_options)
            await self._send_updates(params.session_id, downgrader.downgrade(changed))
            return translation.downgrade_result(result, downgrader)

        return set_mode

    def _set_option_handler(
        self, translation: MethodTranslation, handler: RequestHandler
    ) -> RequestHandler:
        async def set_option(params: Any, request: RequestContext) -> Any:
            downgrader = self._find_session(params.session_id).downgrader
            request.params = translation.upgrade(params, downgrader)
            response = await handler(request.params, request)
            result = translation.downgrade_result(response, downgrader)
            await self._send_updates(params.session_id, downgrader.mode_updates())
            return result

        return set_option

    # Next edit suggestions

    def _start_nes_handler(
        self, translation: MethodTranslation, handler: RequestHandler
    ) -> RequestHandler:
        async def start(params: v2.StartNesRequest, request: RequestContext) -> Any:
            result: v2.StartNesResponse = await handler(params, request)
            session = self._session(result.session_id)
            session.is_open = True
            return translation.downgrade_result(result, session.downgrader)

        return start

    # Turns

    def _prompt_handler(
        self, translation: MethodTranslation, handler: RequestHandler
    ) -> RequestHandler:
        async def prompt(params: v1.PromptRequest, request: RequestContext) -> v1.PromptResponse:
            request.params = upgrade_params(translation, params, None)
            session = self._session(params.session_id)
            pending = _PendingPrompt(request)
            session.prompts.append(pending)
            try:
                await self._run_prompt_handler(session, pending, handler)
                await self._wait_for(pending, pending.end)
            finally:
                if pending in session.prompts:
                    session.prompts.remove(pending)
                # The client named a session that the program does not have: keep no state for it.
                if not session.is_open and not session.prompts:
                    self._sessions.pop(params.session_id, None)
            response = downgrade_turn_end(pending.end.result())
            # Version 2 has two places for `_meta`, the acceptance and the end; version 1 has one.
            meta = {**(pending.meta or {}), **(response.meta or {})}
            return replace(response, meta=meta) if meta else response

        return prompt

    async def _run_prompt_handler(
        self, session: _Session, prompt: _PendingPrompt, handler: RequestHandler
    ) -> None:
        """Run the program's prompt handler and its after-response hooks.

        Version 1 has no response at this point, so the hooks run once the handler has returned.
        """
        message_id: str | None = None
        session.downgrader.await_prompt()
        try:
            response: v2.PromptResponse = await handler(prompt.request.params, prompt.request)
            message_id, prompt.meta = response.message_id, response.meta
        finally:
            session.downgrader.accept_prompt(message_id)
        session.is_open = True
        hooks, prompt.request.hooks = prompt.request.hooks, []
        await self._wait_for(prompt, self.peer.create_task(_run_hooks(hooks)))
        prompt.is_accepted = True

    async def _wait_for(self, prompt: _PendingPrompt, work: asyncio.Future[Any]) -> None:
        """Wait for `work`, even if the client cancels the request of the prompt meanwhile.

        That cancellation is passed to the program once, as `session/cancel`. Any other one, such
        as the end of the connection, cancels `work`.
        """
        while not work.done():
            try:
                await asyncio.wait((work,))
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or not prompt.request.is_withdrawn or prompt.is_cancelled:
                    work.cancel()
                    raise
                task.uncancel()
                prompt.is_cancelled = True
                self.peer.create_task(self._cancel_session(prompt.request.params.session_id))

    async def _cancel_session(self, session_id: str) -> None:
        if self._on_cancel is not None:
            awaitable = self._on_cancel(v2.CancelSessionNotification(session_id=session_id))
            if awaitable is not None:
                await awaitable

    async def _end_turn(self, session_id: str, session: _Session, end: v2.StateUpdated) -> None:
        """Send the response to the oldest prompt; return when it is sent, to keep the order.

        If the program has not accepted the prompt yet, this does not wait: the caller may run
        inside that prompt's handler or hooks, and waiting for them would be a deadlock.
        """
        await self._send_updates(session_id, session.downgrader.end_turn())
        if not session.prompts:
            return
        prompt = session.prompts.popleft()
        prompt.end.set_result(end)
        task = prompt.request.task
        if prompt.is_accepted and task is not None:
            await asyncio.wait((task,))

    _handler_wrappers: ClassVar[dict[str, HandlerWrapper]] = {
        methods1.NEW_SESSION.name: _opening_handler,
        methods1.FORK_SESSION.name: _opening_handler,
        methods1.RESUME_SESSION.name: _opening_handler,
        methods1.LOAD_SESSION.name: _load_handler,
        methods1.SET_SESSION_MODE.name: _set_mode_handler,
        methods1.SET_SESSION_CONFIG_OPTION.name: _set_option_handler,
        methods1.PROMPT.name: _prompt_handler,
        methods1.START_NES.name: _start_nes_handler,
    }


async def _run_hooks(hooks: Sequence[Callable[[], Awaitable[None] | None]]) -> None:
    """Run the after-response hooks of an accepted prompt, one after the other."""
    for hook in hooks:
        try:
            awaitable = hook()
            if awaitable is not None:
                await awaitable
        except BaseException as error:  # from the program: the other hooks still run
            reraise_if_ending(error)
            logger.exception("a hook after an accepted prompt failed")
