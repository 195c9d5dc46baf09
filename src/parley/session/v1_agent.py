"""An agent's side of a version 1 connection.

In version 1 the answer to a prompt ends its turn; in version 2 it only says that the prompt was
taken. So a prompt is handed to the program, and when that has taken it, the answer waits: the first
prompt of a session that has none is answered when the program says that the session is idle and
why. Nothing that the program says after that is sent before the answer.

A prompt that the client withdraws is cancelled as with `session/cancel`, and still answered by the
end of its turn.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, ClassVar, TypeVar

from parley.errors import ConnectionClosed, Unsupported
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler, Typed
from parley.peer.initialize import Agreement
from parley.schema import v1, v2
from parley.schema.base import Method, Table
from parley.schema.v1 import former_methods as former1
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2
from parley.schema.v2 import unstable as draft2

from .features import ClientFeatures
from .features_v1 import client_from_v1
from .lower import Lowering, lower_commands, lower_end
from .nes import lower_suggestions
from .pairs import lift_fork, lift_info, lift_load, lift_new, lift_prompt, lift_resume
from .surface import Gate, Program, extended_table
from .v1_wire import Asked, Told, Wire, lifted, plain_handler, plain_listener

__all__ = ["AgentWire"]

logger = logging.getLogger(__name__)

P = TypeVar("P")

_CANCELLED = v2.StateUpdated(state="idle", stop_reason="cancelled")


class _Prompt:
    """A prompt without an answer."""

    def __init__(self, request: RequestContext) -> None:
        self.request = request
        self.end: asyncio.Future[v2.StateUpdated] = asyncio.get_running_loop().create_future()
        self.is_waiting = False
        """Whether it only waits for its end."""
        self.is_cancelled = False
        """Whether the program was told that the client has withdrawn it."""


class _Session:
    """One session."""

    def __init__(self, features: ClientFeatures) -> None:
        self.lowering = Lowering(features)
        self.prompts: deque[_Prompt] = deque()
        self.is_open = False
        """Whether the program has opened it on this connection, or said something in it."""


class AgentWire(Wire):
    """A version 1 client as an agent sees it."""

    def __init__(self, peer: Peer, agreement: Agreement, table: Table) -> None:
        params: v1.InitializeRequest = agreement.params
        answer: v1.InitializeResponse = agreement.result
        super().__init__(peer, table, params.client_capabilities)
        self.client = client_from_v1(params.client_capabilities, params.general)
        self.client_info = None if params.client_info is None else lift_info(params.client_info)
        self._own = Gate("agent", answer.agent_capabilities)
        self._sessions: dict[str, _Session] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._cancel: NotificationHandler | None = None

    def use(self, program: Program) -> None:
        """Have the program's handlers called, for what the agent has said that it offers."""
        self.table = extended_table(self.table, program)
        routes = self.requests(program)
        for name, methods in self._served.items():
            if name in program.requests:
                handler = plain_handler(program.requests[name])
                routes |= {method.name: serve(self, handler) for method, serve in methods}
        closing = {method.name for method in self.table.methods if method.closes_session}
        routes |= {name: self._closing(routes[name]) for name in closing.intersection(routes)}
        cancel = program.notifications.get(methods2.CANCEL_SESSION.name)
        self._cancel = None if cancel is None else plain_listener(cancel)
        offered = {name: route for name, route in routes.items() if self._offers(name)}
        self.peer.use(self.table, requests=offered, notifications=self.notifications(program))

    def _offers(self, name: str) -> bool:
        method = self.table.requests("agent").get(name)
        if method is None:
            return True
        with suppress(Unsupported):
            self._own.check(method)
            return True
        return False

    # Saying something

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification of version 2."""
        if isinstance(params, v2.UpdateSessionNotification):
            await self._update(params)
        else:
            await super().notify(method, params)

    def update(self, session_id: str, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        """Send an update of version 2."""
        session = self._sessions.get(session_id) or self._session(session_id)
        if type(update) is v2.AgentMessageChunk and session.is_open:
            lowered = session.lowering.lower(update)
            if len(lowered) == 1:
                return self.peer.update(methods1.UPDATE_SESSION, session_id, lowered[0])
            return self._tell(session_id, lowered)
        return self._update(v2.UpdateSessionNotification(session_id=session_id, update=update))

    async def _update(self, note: v2.UpdateSessionNotification) -> None:
        session = self._sessions.get(note.session_id) or self._session(note.session_id)
        session.is_open = True
        update = note.update
        for lowered in session.lowering.lower(update):
            await self.peer.notify(
                methods1.UPDATE_SESSION,
                v1.SessionNotification(session_id=note.session_id, update=lowered, meta=note.meta),
            )
        if isinstance(update, v2.StateUpdated) and update.state == "idle" and update.stop_reason:
            await self._end_turn(note.session_id, session, update)

    async def _tell(self, session_id: str, updates: Sequence[v1.SessionUpdate]) -> None:
        for update in updates:
            note = v1.SessionNotification(session_id=session_id, update=update)
            await self.peer.notify(methods1.UPDATE_SESSION, note)

    async def _ask_permission(self, params: v2.RequestPermissionRequest, told: Told) -> Any:
        session_id = params.session_id
        lowering = self._session(session_id).lowering
        await self._tell(session_id, lowering.flush())
        permission = lowering.permission(params)
        answer: v2.RequestPermissionResponse | None = None
        try:
            answer = await self.peer.request(_PERMISSION, permission.request, on_result=told)
        finally:
            with suppress(ConnectionClosed):
                await self._tell(session_id, permission.settled(answer))
        return answer

    async def _create_terminal(self, params: v1.CreateTerminalRequest, told: Told) -> Any:
        def created(result: v1.CreateTerminalResponse) -> None:
            self._session(params.session_id).lowering.client_terminals.add(result.terminal_id)
            if told is not None:
                told(result)

        return await self.ask_native(methods1.CREATE_TERMINAL, params, created)

    special: ClassVar[dict[str, Asked]] = {
        methods2.REQUEST_PERMISSION.name: _ask_permission,
        methods1.CREATE_TERMINAL.name: _create_terminal,
    }

    # Sessions

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _Session(self.client)
        return session

    def _known(self, session_id: str) -> _Session:
        """Return a session that the client names; one that is not open is not remembered."""
        return self._sessions.get(session_id) or _Session(self.client)

    def _new(self, handler: RequestHandler) -> RequestHandler:
        return self._opening(handler, lift_new, Lowering.new_session)

    def _fork(self, handler: RequestHandler) -> RequestHandler:
        return self._opening(handler, lift_fork, Lowering.fork_session)

    def _resume(self, handler: RequestHandler) -> RequestHandler:
        return self._opening(handler, lift_resume, Lowering.resume_session)

    def _load(self, handler: RequestHandler) -> RequestHandler:
        opening = self._opening(handler, lift_load, Lowering.load_session)

        async def load(params: v1.LoadSessionRequest, request: RequestContext) -> Any:
            if params.session_id in self._sessions:
                self._sessions[params.session_id].lowering.begin_replay()
            return await opening(params, request)

        return load

    def _opening(
        self,
        handler: RequestHandler,
        lift: Callable[[Any], Any],
        lower: Callable[[Lowering, Any], Any],
    ) -> RequestHandler:
        """Return what opens a session; its commands are an update that follows the answer."""

        async def open_session(params: Any, request: RequestContext) -> Any:
            result: Any = None
            session_id = ""

            async def tell_commands() -> None:
                if result.available_commands:
                    await self._tell(session_id, [lower_commands(result.available_commands)])

            request.params = lifted(lift, params)
            request.after_answer(tell_commands)
            result = await handler(request.params, request)
            session_id = getattr(result, "session_id", None) or params.session_id
            session = self._session(session_id)
            session.is_open = True
            return lower(session.lowering, result)

        return open_session

    def _closing(self, handler: RequestHandler | Typed) -> Typed:
        """Return what closes a session: the prompts in it are answered before."""
        assert isinstance(handler, Typed)
        typed = handler

        async def close(params: Any, request: RequestContext) -> Any:
            result = await typed.handler(params, request)
            session = self._sessions.pop(params.session_id, None)
            while session is not None and session.prompts:
                await self._end_turn(params.session_id, session, _CANCELLED)
            return result

        return Typed(close, typed.params)

    # Options

    def _set_mode(self, handler: RequestHandler) -> RequestHandler:
        async def set_mode(params: v1.SetSessionModeRequest, request: RequestContext) -> Any:
            lowering = self._known(params.session_id).lowering
            request.params = lowering.set_mode(params)
            result: v2.SetSessionConfigOptionResponse = await handler(request.params, request)
            changed = v2.ConfigOptionUpdate(config_options=result.config_options)
            await self._tell(params.session_id, lowering.lower(changed))
            return v1.SetSessionModeResponse(meta=result.meta)

        return set_mode

    def _set_option(self, handler: RequestHandler) -> RequestHandler:
        async def set_option(params: Any, request: RequestContext) -> Any:
            lowering = self._known(params.session_id).lowering
            request.params = lowering.set_option(params)
            result = lowering.option_set(await handler(request.params, request))
            await self._tell(params.session_id, lowering.mode_updates())
            return result

        return set_option

    # Next edit suggestions

    def _start_nes(self, handler: RequestHandler) -> RequestHandler:
        async def start(params: draft2.StartNesRequest, request: RequestContext) -> Any:
            result: draft2.StartNesResponse = await handler(params, request)
            session = self._session(result.session_id)
            session.is_open = True
            return session.lowering.start_nes(result)

        return start

    def _suggest_nes(self, handler: RequestHandler) -> RequestHandler:
        async def suggest(params: draft2.SuggestNesRequest, request: RequestContext) -> Any:
            return lower_suggestions(await handler(params, request), self.client.nes_actions)

        return suggest

    # Turns

    def _prompt(self, handler: RequestHandler) -> RequestHandler:
        async def prompt(params: v1.PromptRequest, request: RequestContext) -> v1.PromptResponse:
            request.params = lifted(lift_prompt, params)
            session = self._session(params.session_id)
            waiting = _Prompt(request)
            session.prompts.append(waiting)
            try:
                await self._take(session, waiting, handler)
                await self._outlast(waiting, waiting.end)
            finally:
                if waiting in session.prompts:
                    session.prompts.remove(waiting)
                if not session.is_open and not session.prompts:
                    self._sessions.pop(params.session_id, None)
            return lower_end(waiting.end.result())

        return prompt

    async def _take(self, session: _Session, prompt: _Prompt, handler: RequestHandler) -> None:
        """Have the program take a prompt, and do what it wants to be done then."""
        message_id: str | None = None
        session.lowering.await_prompt()
        try:
            answer: v2.PromptResponse = await handler(prompt.request.params, prompt.request)
            message_id = answer.message_id
        finally:
            session.lowering.accept_prompt(message_id)
        session.is_open = True
        hooks, prompt.request.hooks = prompt.request.hooks, []
        await self._outlast(prompt, self._start(_run(hooks)))
        prompt.is_waiting = True

    async def _outlast(self, prompt: _Prompt, work: asyncio.Future[Any]) -> None:
        """Wait, also beyond the moment at which the client withdraws the prompt."""
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
                self._start(self._cancel_session(prompt.request.params.session_id))

    async def _cancel_session(self, session_id: str) -> None:
        if self._cancel is not None:
            rest = self._cancel(v2.CancelSessionNotification(session_id=session_id))
            if rest is not None:
                await rest

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _end_turn(self, session_id: str, session: _Session, end: v2.StateUpdated) -> None:
        """Answer the first prompt; what is said next comes after its answer."""
        await self._tell(session_id, session.lowering.end_turn())
        if not session.prompts:
            return
        prompt = session.prompts.popleft()
        prompt.end.set_result(end)
        task = prompt.request.task
        if prompt.is_waiting and task is not None:
            await asyncio.wait((task,))

    _served: ClassVar[
        dict[str, list[tuple[Method[Any, Any], Callable[[Any, RequestHandler], RequestHandler]]]]
    ] = {
        methods2.NEW_SESSION.name: [(methods1.NEW_SESSION, _new)],
        methods2.FORK_SESSION.name: [(methods1.FORK_SESSION, _fork)],
        methods2.RESUME_SESSION.name: [
            (methods1.RESUME_SESSION, _resume),
            (methods1.LOAD_SESSION, _load),
        ],
        methods2.SET_SESSION_CONFIG_OPTION.name: [
            (methods1.SET_SESSION_MODE, _set_mode),
            (methods1.SET_SESSION_CONFIG_OPTION, _set_option),
        ],
        methods2.PROMPT.name: [(methods1.PROMPT, _prompt)],
        former1.START_NES.name: [(former1.START_NES, _start_nes)],
        former1.SUGGEST_NES.name: [(former1.SUGGEST_NES, _suggest_nes)],
    }


_PERMISSION: Method[v1.RequestPermissionRequest, v2.RequestPermissionResponse] = Method(
    name=methods1.REQUEST_PERMISSION.name,
    to="client",
    kind="request",
    params=v1.RequestPermissionRequest,
    result=v2.RequestPermissionResponse,
    session="session_id",
)


async def _run(hooks: Sequence[Callable[[], Awaitable[None] | None]]) -> None:
    """Do what was to be done after an answer that version 1 does not have."""
    for hook in hooks:
        try:
            rest = hook()
            if rest is not None:
                await rest
        except Exception:  # of the program: the other hooks still run
            logger.exception("what follows the acceptance of a prompt failed")
