"""The sessions of one connection: opened, prompted, cancelled, closed.

Sessions outlive the connection in the agent's store. Opening one that is open on another connection
takes it away from there; its turn is cancelled first. On its own connection it can be opened again
while no turn runs. What is done with stored sessions, open or not, is in `archive.py`.

Spec: https://agentclientprotocol.com/protocol/v2/session-setup
"""

from __future__ import annotations

import asyncio
import copy
import logging
from typing import TYPE_CHECKING

from parley.errors import InvalidParams, InvalidRequest, Overloaded, ResourceNotFound
from parley.peer import RequestContext
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import unstable

from .config import with_value
from .part import Part
from .paths import is_absolute
from .session import Origin, Session
from .store import StoredSession, new_id
from .subagent import Subagent
from .terminal import Terminal
from .tool import ToolCall
from .turn import Turn
from .turns import Turns

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["Sessions", "not_found"]

logger = logging.getLogger(__name__)


def not_found(session_id: str) -> ResourceNotFound:
    """Return what a request for a session that does not exist fails with."""
    return ResourceNotFound("There is no such session", {"sessionId": session_id})


class Sessions:
    """The sessions that are open on one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._agent = connection.agent
        self._open: dict[str, Turns] = {}
        self._closing: dict[str, asyncio.Task[None]] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs, also one of a session that is being closed."""
        return bool(self._closing) or any(each.is_working for each in self._open.values())

    async def new(
        self, params: v2.NewSessionRequest, request: RequestContext
    ) -> v2.NewSessionResponse:
        """Answer `session/new`."""
        self._check(params)
        stored = StoredSession(
            id=new_id("session"),
            cwd=params.cwd,
            additional_directories=list(params.additional_directories),
        )
        session = await self._begin(stored, "new", params, request)
        return v2.NewSessionResponse(
            session_id=session.id,
            config_options=session.config_options,
            available_commands=session.transcript.commands,
            meta=session.answer_meta,
        )

    async def resume(
        self, params: v2.ResumeSessionRequest, request: RequestContext
    ) -> v2.ResumeSessionResponse:
        """Answer `session/resume`; before it go the replay, if one is wanted, and the state."""
        self._check(params)
        if isinstance(params.replay_from, Unknown):
            raise InvalidParams("This place to replay from is not known")
        stored = await self._claim(params.session_id)
        stored.cwd = params.cwd
        stored.additional_directories = list(params.additional_directories)
        replay: list[v2.SessionUpdate] = [v2.StateUpdated(state="idle")]
        if params.replay_from is not None:
            replay = list(stored.transcript.replay())  # ends with the state
        session = await self._begin(stored, "resumed", params, request, replay)
        return v2.ResumeSessionResponse(
            config_options=session.config_options,
            available_commands=session.transcript.commands,
            meta=session.answer_meta,
        )

    async def fork(
        self, params: unstable.ForkSessionRequest, request: RequestContext
    ) -> unstable.ForkSessionResponse:
        """Answer `session/fork`; the copy has the transcript and the program's data."""
        self._check(params)
        source = await self._agent.store.get(params.session_id)
        if source is None:
            raise not_found(params.session_id)
        stored = StoredSession(
            id=new_id("session"),
            cwd=params.cwd,
            additional_directories=list(params.additional_directories),
            data=copy.deepcopy(source.data),
        )
        said = source.transcript
        for update in list(said.replay()):
            stored.transcript.fold(update)
        stored.transcript.cancel_unfinished()
        stored.transcript.fold(v2.ConfigOptionUpdate(config_options=said.config_options))
        stored.transcript.fold(v2.AvailableCommandsUpdate(available_commands=said.commands))
        session = await self._begin(stored, "forked", params, request)
        return unstable.ForkSessionResponse(
            session_id=session.id,
            config_options=session.config_options,
            available_commands=session.transcript.commands,
            meta=session.answer_meta,
        )

    async def _claim(self, id: str) -> StoredSession:
        """Take a session, also away from another connection, and return what is known of it."""
        if id in self._open and self._open[id].is_busy:
            raise InvalidRequest("The session has a turn that runs", {"sessionId": id})
        while True:
            if (holder := self._agent.holders.get(id)) is not None:
                await holder.close_one(id)
            stored = await self._agent.store.get(id)
            if stored is None:
                raise not_found(id)
            holder = self._agent.holders.get(id)  # somebody else may have been faster
            if holder is self:
                raise InvalidRequest("The session is being opened already")
            if holder is None or not holder.holds(id):
                return stored

    async def _begin(
        self,
        stored: StoredSession,
        origin: Origin,
        params: v2.NewSessionRequest | v2.ResumeSessionRequest | unstable.ForkSessionRequest,
        request: RequestContext,
        replay: list[v2.SessionUpdate] | None = None,
    ) -> Session:
        """Open a session, and have the program prepare it."""
        handlers, holders = self._agent.handlers, self._agent.holders
        assert handlers.prompt is not None
        session = Session(
            self._connection,
            stored,
            origin,
            mcp_servers=params.mcp_servers,
            system_prompt=params.system_prompt,
            meta=params.meta,
        )
        session.hold()
        holders[session.id] = self
        try:
            if handlers.open_session is not None:
                await handlers.open_session(session)
            for update in replay or ():
                await session.send(update)
            await self.save(session)
            if holders.get(session.id) is not self:
                raise InvalidRequest("The session was opened elsewhere or deleted meanwhile")
        except BaseException:  # also when cancelled: it must not stay claimed
            self._leave(session.id)
            await session.close_mcp()
            raise
        grace_after = self._agent.give_up_after
        self._open[session.id] = Turns(
            session, handlers.prompt, save=self.save, grace_after=grace_after
        )
        request.after_answer(session.release)
        return session

    def _leave(self, id: str) -> None:
        self._open.pop(id, None)
        if self._agent.holders.get(id) is self:
            del self._agent.holders[id]

    def _check(
        self, params: v2.NewSessionRequest | v2.ResumeSessionRequest | unstable.ForkSessionRequest
    ) -> None:
        """Refuse what is malformed, what was not offered, and more than there is room for."""
        self._agent.check_open()
        features = self._connection.features
        for path in (params.cwd, *params.additional_directories):
            if not is_absolute(path):
                raise InvalidParams("A directory is not an absolute path")
        if params.additional_directories and not features.additional_directories:
            raise InvalidParams("This agent takes no additional directories")
        prompt = params.system_prompt
        if prompt is not None:
            can = {
                "append": features.system_prompt,
                "override": features.system_prompt and features.system_prompt_override,
            }
            if not can.get(prompt.mode, False):
                raise InvalidParams("This agent takes no such system prompt")
        if len(self._open) >= self._agent.max_sessions:
            raise Overloaded(f"{self._agent.max_sessions} sessions are open already")

    async def prompt(self, params: v2.PromptRequest, request: RequestContext) -> v2.PromptResponse:
        """Answer `session/prompt`: the turn begins behind the answer.

        What is accepted is kept: the user's message is stored before the answer says so.
        """
        self._agent.check_open()
        turns = self._find(params.session_id)
        self._check_blocks(params.prompt)
        turn = Turn(turns.session, params)
        turn.cancelled = request.is_cancelled
        turns.add(turn)
        self._agent.store.append(turns.session.id, turn.message)
        try:
            await self.save(turns.session)
            self._find(params.session_id)  # it may have been closed meanwhile
        except BaseException:  # also when withdrawn
            turns.remove(turn)
            raise
        request.after_answer(lambda: turns.begin(turn))
        return v2.PromptResponse(message_id=turn.message_id)

    def _check_blocks(self, prompt: list[v2.ContentBlock]) -> None:
        features = self._connection.features
        for block in prompt:
            match block:
                case v2.ImageContent() if not features.image:
                    raise InvalidParams("This agent takes no pictures")
                case v2.AudioContent() if not features.audio:
                    raise InvalidParams("This agent takes no sound")
                case v2.EmbeddedResource() if not features.embedded_context:
                    raise InvalidParams("This agent takes no embedded resources")
                case _:
                    pass

    def _find(self, id: str) -> Turns:
        turns = self._open.get(id)
        if turns is None:
            raise ResourceNotFound("There is no such session open here", {"sessionId": id})
        return turns

    def _session(self, id: str) -> Session:
        """Return an open session, or one of a subagent."""
        subagent = self._subagent(id)
        return self._find(id).session if subagent is None else subagent.session

    def _subagent(self, id: str) -> Subagent | None:
        found = (_below(turns.session, id) for turns in self._open.values())
        return next((each for each in found if each is not None), None)

    def cancel(self, params: v2.CancelSessionNotification) -> None:
        """Take `session/cancel`; a session that does nothing, or is unknown, is no matter."""
        turns = self._open.get(params.session_id)
        if turns is not None:
            turns.cancel()
            return
        subagent = self._subagent(params.session_id)
        if subagent is not None and subagent.is_cancellable:
            subagent.cancel()

    async def cancel_tool_call(
        self, params: v2.CancelToolCallRequest, request: RequestContext
    ) -> v2.CancelToolCallResponse:
        """Answer `tool_call/cancel`."""
        session = self._session(params.session_id)
        part, known = session.parts.get(params.tool_call_id), session.transcript.tool_calls
        _cancel(part if isinstance(part, ToolCall) else None, params.tool_call_id in known)
        return v2.CancelToolCallResponse()

    async def cancel_terminal(
        self, params: v2.CancelTerminalRequest, request: RequestContext
    ) -> v2.CancelTerminalResponse:
        """Answer `terminal/cancel`."""
        session = self._session(params.session_id)
        part, known = session.parts.get(params.terminal_id), session.transcript.terminals
        _cancel(part if isinstance(part, Terminal) else None, params.terminal_id in known)
        return v2.CancelTerminalResponse()

    async def set_config_option(
        self, params: v2.SetSessionConfigOptionRequest, request: RequestContext
    ) -> v2.SetSessionConfigOptionResponse:
        """Answer `session/set_config_option`; when the program refuses, nothing has changed."""
        if isinstance(params, Unknown):
            raise InvalidParams("This kind of value is not known")
        session = self._find(params.session_id).session
        before = session.config_options
        changed = with_value(before, params.config_id, params.value)
        session.transcript.fold(v2.ConfigOptionUpdate(config_options=changed))
        if self._agent.handlers.set_config_option is not None:
            try:
                await self._agent.handlers.set_config_option(
                    session, params.config_id, params.value
                )
            except BaseException:  # also when cancelled: the old value counts
                session.transcript.fold(v2.ConfigOptionUpdate(config_options=before))
                raise
        session.fold(v2.ConfigOptionUpdate(config_options=session.config_options))
        await self.save(session)
        return v2.SetSessionConfigOptionResponse(config_options=session.config_options)

    async def close(
        self, params: v2.CloseSessionRequest, request: RequestContext
    ) -> v2.CloseSessionResponse:
        """Answer `session/close`; one that is not open is closed already."""
        if self.holds(params.session_id):
            await self.close_one(params.session_id)
        elif await self._agent.store.get(params.session_id) is None:
            raise not_found(params.session_id)
        return v2.CloseSessionResponse()

    async def close_one(self, id: str) -> None:
        """Cancel what a session does and close it; the stored session stays.

        Once it has begun it is done, also when nobody waits for it any more.
        """
        turns = self._open.pop(id, None)
        if turns is not None:
            self._closing[id] = asyncio.create_task(self._close(turns))
        if id in self._closing:
            await asyncio.shield(self._closing[id])

    async def _close(self, turns: Turns) -> None:
        try:
            await turns.stop()
            if self._agent.handlers.close_session is not None:
                await self._agent.handlers.close_session(turns.session)
        except Exception:  # of the program: the session ends all the same
            logger.exception("%s: closing a session failed", self._connection.name)
        await turns.session.close_mcp()
        await self.save(turns.session)
        del self._closing[turns.session.id]
        self._leave(turns.session.id)

    async def close_all(self) -> None:
        """Close everything: the connection ends."""
        await asyncio.gather(*map(self.close_one, [*self._open, *self._closing]))

    def get(self, id: str) -> Session | None:
        """Return a session that is open here."""
        turns = self._open.get(id)
        return None if turns is None else turns.session

    def holds(self, id: str) -> bool:
        """Tell whether a session is open here, or not yet closed."""
        return id in self._open or id in self._closing

    async def save(self, session: Session) -> None:
        """Have the store remember a session that is still here.

        A failure is logged, the work goes on. One that was deleted meanwhile stays so.
        """
        if self._agent.holders.get(session.id) is not self:
            return
        try:
            await self._agent.store.put(session.stored)
        except Exception:  # of the program's store, whatever it is
            logger.exception("%s: a session could not be stored", self._connection.name)

    def __repr__(self) -> str:
        return f"{len(self._open)} sessions"


def _below(session: Session, id: str) -> Subagent | None:
    """Return the subagent with this id that works for a session, or for one below it."""
    for part in session.parts.values():
        if isinstance(part, Subagent):
            found = part if part.id == id else _below(part.session, id)
            if found is not None:
                return found
    return None


def _cancel(part: Part | None, is_known: bool) -> None:
    if part is None:
        if not is_known:
            raise ResourceNotFound("There is nothing of this id")
    elif not part.is_cancellable:
        raise InvalidRequest("This cannot be cancelled alone")
    else:
        part.cancel()
