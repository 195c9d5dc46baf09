"""A client's side of a version 1 connection.

In version 1 the answer to a prompt ends its turn; in version 2 it only says that the prompt was
taken. So a prompt is answered here as soon as it is sent, with a message id that is made up, and a
task waits for the agent's answer. What version 2 sends in between is put into the session's lane:
the user's message and `running` when the prompt is sent, `idle` with the stop reason when the
answer arrives, behind every update that came before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar, cast

from msgspec.structs import replace

from parley.errors import AcpError, ConnectionClosed, Unsupported
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler, Typed
from parley.peer.initialize import Agreement
from parley.rpc.framing import Frame
from parley.schema import v1, v2
from parley.schema.base import Method, Table, Unknown
from parley.schema.v1 import former_methods as former1
from parley.schema.v1 import methods as methods1
from parley.schema.v1 import unstable as draft1
from parley.schema.v2 import methods as methods2
from parley.schema.v2 import unstable as draft2

from .features_v1 import agent_from_v1
from .lift import Lifting
from .nes import NES_REQUESTS
from .pairs import (
    REQUESTS,
    Pair,
    lift_auth_method,
    lift_info,
    lower_fork,
    lower_load,
    lower_new,
    lower_permission_answer,
    lower_prompt_request,
    lower_resume,
)
from .surface import AgentDescription, Program, extended_table
from .unread import unread
from .v1_wire import Asked, Told, Wire, plain_handler, plain_listener

__all__ = ["ClientWire"]

P = TypeVar("P")

MAX_SESSIONS = 10_000
"""How many sessions are remembered; what is told of further unknown ones is read without memory."""
_NOTE = v2.UpdateSessionNotification(session_id="", update=v2.StateUpdated(state="idle"))
_NAMELESS = v2.Implementation(name="unknown", version="unknown")


def _closing(name: str) -> Asked:
    """Return what sends a request after which a session is gone."""

    async def close(self: ClientWire, params: Any, told: Told) -> Any:
        result = await self.ask((REQUESTS | NES_REQUESTS)[name], params, told)
        self.forget(params.session_id)
        return result

    return close


class ClientWire(Wire):
    """A version 1 agent as a client sees it."""

    def __init__(self, peer: Peer, agreement: Agreement, table: Table) -> None:
        answer: v1.InitializeResponse = agreement.result
        super().__init__(peer, table, answer.agent_capabilities)
        self.agent = AgentDescription(
            info=_NAMELESS if answer.agent_info is None else lift_info(answer.agent_info),
            features=agent_from_v1(answer.agent_capabilities, answer.position_encoding),
            auth_methods=[lift_auth_method(method) for method in answer.auth_methods],
            meta=answer.meta,
        )
        self._sessions: dict[str, Lifting] = {}
        self._turns: set[asyncio.Task[Any]] = set()
        self._listener: NotificationHandler = _ignore

    def use(self, program: Program) -> None:
        """Have the program's handlers called."""
        self.table = extended_table(self.table, program)
        requests, notifications = self.requests(program), self.notifications(program)
        asked = program.requests.get(methods2.REQUEST_PERMISSION.name)
        if asked is not None:
            requests[methods1.REQUEST_PERMISSION.name] = self._permission(plain_handler(asked))
        elicit = requests.get(methods1.CREATE_ELICITATION.name)
        if isinstance(elicit, Typed):
            waiting = Typed(self._waiting(elicit.handler), elicit.params)
            requests[methods1.CREATE_ELICITATION.name] = waiting
        listener = program.notifications.get(methods2.UPDATE_SESSION.name)
        if listener is not None:
            self._listener = plain_listener(listener)
        notifications[methods1.UPDATE_SESSION.name] = self._updated
        self.peer.use(self.table, requests=requests, notifications=notifications)

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification of version 2."""
        if method is methods2.CANCEL_SESSION:
            await asyncio.sleep(0)  # a prompt that was begun before is sent before, see `_prompt`
        await super().notify(method, params)

    def unread(self, frame: Frame) -> Sequence[Unknown]:
        """Return what of an update version 1 has no name for."""
        return unread(frame)

    def forget(self, session_id: str) -> None:
        """Know nothing more about a session."""
        self._sessions.pop(session_id, None)

    # What the agent says

    def _lifting(self, session_id: str) -> Lifting:
        lifting = self._sessions.get(session_id)
        if lifting is None:
            lifting = Lifting()
            if len(self._sessions) < MAX_SESSIONS:  # an agent may invent them
                self._sessions[session_id] = lifting
        return lifting

    def _updated(self, note: v1.SessionNotification) -> Awaitable[None] | None:
        session_id = note.session_id
        lifting = self._sessions.get(session_id) or self._lifting(session_id)
        updates = lifting.lift(note.update)
        if len(updates) == 1:
            return self._listener(
                replace(_NOTE, session_id=session_id, update=updates[0], meta=note.meta)
            )
        return self._tell_all(session_id, updates) if updates else None

    async def _tell_all(self, session_id: str, updates: Sequence[v2.SessionUpdate]) -> None:
        for update in updates:
            rest = self._listener(
                v2.UpdateSessionNotification(session_id=session_id, update=update)
            )
            if rest is not None:
                await rest

    def _permission(self, handler: RequestHandler) -> RequestHandler:
        async def ask(params: v1.RequestPermissionRequest, request: RequestContext) -> Any:
            request.params = self._lifting(params.session_id).permission(params)
            return lower_permission_answer(await handler(request.params, request))

        return self._waiting(ask)

    def _waiting(self, handler: RequestHandler) -> RequestHandler:
        """Report, while a handler asks the user, that the session waits for that."""

        async def wait(params: Any, request: RequestContext) -> Any:
            if request.session_id is None:
                return await handler(params, request)
            lifting = self._lifting(request.session_id)
            self._post(request.session_id, lifting.begin_wait)
            try:
                return await handler(params, request)
            finally:
                self._post(request.session_id, lifting.end_wait)

        return wait

    def _post(self, session_id: str, updates: Callable[[], Sequence[v2.SessionUpdate]]) -> None:
        """Have updates told that are made when it is their turn."""

        def tell(_: None) -> Awaitable[None]:
            return self._tell_all(session_id, updates())

        self.peer.post(session_id, tell, None)

    # Opening and closing sessions

    async def _new(self, params: v2.NewSessionRequest, told: Told) -> Any:
        def opened(result: v1.NewSessionResponse) -> v2.NewSessionResponse:
            lifting = self._sessions[result.session_id] = Lifting()
            return lifting.new_session(result)

        pair = Pair(v1=methods1.NEW_SESSION, lower=lower_new, lift_result=opened)
        return await self.ask(pair, params, told)

    async def _fork(self, params: draft2.ForkSessionRequest, told: Told) -> Any:
        def opened(result: draft1.ForkSessionResponse) -> draft2.ForkSessionResponse:
            lifting = self._sessions[result.session_id] = Lifting()
            return lifting.fork_session(result)

        pair = Pair(v1=methods1.FORK_SESSION, lower=lower_fork, lift_result=opened)
        return await self.ask(pair, params, told)

    async def _resume(self, params: v2.ResumeSessionRequest, told: Told) -> Any:
        if params.replay_from is not None:
            return await self._load(params, told)
        lifting = self._lifting(params.session_id)
        apply = self._in_lane(params.session_id, lifting.resume_session)
        pair = Pair(v1=methods1.RESUME_SESSION, lower=lower_resume, lift_result=apply)
        return await self.ask(pair, params, told)

    async def _load(self, params: v2.ResumeSessionRequest, told: Told) -> Any:
        session_id = params.session_id
        lifting = Lifting()

        def begin(params: v2.ResumeSessionRequest) -> v1.LoadSessionRequest:
            lowered = lower_load(params)
            self._sessions[session_id] = lifting
            lifting.begin_replay()
            return lowered

        def end(_: AcpError | None = None) -> None:
            self.peer.post(session_id, Lifting.end_replay, lifting)

        def loaded(result: v1.LoadSessionResponse) -> v2.ResumeSessionResponse:
            end()
            return cast("v2.ResumeSessionResponse", apply(result))

        apply = self._in_lane(session_id, lifting.resume_session)
        pair = Pair(v1=methods1.LOAD_SESSION, lower=begin, lift_result=loaded)
        return await self.ask(pair, params, told, on_error=end)

    def _in_lane(self, session_id: str, apply: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Apply what an answer says at once, and again behind the updates that came before it."""

        def again(result: Any) -> None:
            apply(result)

        def applied(result: Any) -> Any:
            self.peer.post(session_id, again, result)
            return apply(result)

        return applied

    # Turns and options

    async def _prompt(self, params: v2.PromptRequest, told: Told) -> v2.PromptResponse:
        lowered = lower_prompt_request(params)
        session_id = params.session_id
        lifting = self._lifting(session_id)
        message_id = lifting.new_message_id()
        turn = asyncio.create_task(self._run_turn(lifting, message_id, lowered))
        self._turns.add(turn)
        turn.add_done_callback(self._turn_over)
        try:
            await asyncio.sleep(0)  # the task has its first turn now, in which it sends the prompt
        except asyncio.CancelledError:
            turn.cancel()
            raise
        if turn.done():
            turn.result()
        response = v2.PromptResponse(message_id=message_id)
        if told is not None:
            told(response)
        self._post(session_id, partial(lifting.begin_turn, message_id, params.prompt))
        return response

    async def _run_turn(self, lifting: Lifting, message_id: str, prompt: v1.PromptRequest) -> None:
        def ended(outcome: v1.PromptResponse | AcpError) -> None:
            if not isinstance(outcome, ConnectionClosed):
                self._post(prompt.session_id, partial(lifting.end_turn, message_id, outcome))

        await self.peer.request(methods1.PROMPT, prompt, on_result=ended, on_error=ended)

    def _turn_over(self, turn: asyncio.Task[None]) -> None:
        self._turns.discard(turn)
        if not turn.cancelled():
            turn.exception()  # told in the lane

    async def _set_option(self, params: v2.SetSessionConfigOptionRequest, told: Told) -> Any:
        if isinstance(params, Unknown):
            raise Unsupported(f"version 1 of the protocol has no option value {params.tag!r}")
        lifting = self._lifting(params.session_id)
        request = lifting.set_option(params)
        if isinstance(request, v1.SetSessionModeRequest):
            method: Method[Any, Any] = methods1.SET_SESSION_MODE
            apply: Callable[[Any], Any] = partial(lifting.mode_set, request)
        else:
            method, apply = methods1.SET_SESSION_CONFIG_OPTION, lifting.option_set
        pair = Pair(v1=method, lift_result=self._in_lane(params.session_id, apply))
        return await self.ask(pair, request, told)

    special: ClassVar[dict[str, Asked]] = {
        methods2.NEW_SESSION.name: _new,
        methods2.FORK_SESSION.name: _fork,
        methods2.RESUME_SESSION.name: _resume,
        methods2.CLOSE_SESSION.name: _closing(methods2.CLOSE_SESSION.name),
        methods2.DELETE_SESSION.name: _closing(methods2.DELETE_SESSION.name),
        methods2.ARCHIVE_SESSION.name: _closing(methods2.ARCHIVE_SESSION.name),
        former1.CLOSE_NES.name: _closing(former1.CLOSE_NES.name),
        methods2.PROMPT.name: _prompt,
        methods2.SET_SESSION_CONFIG_OPTION.name: _set_option,
    }


def _ignore(_: Any) -> None:
    """Take updates of a program that wants none; the translation has to see them all the same."""
