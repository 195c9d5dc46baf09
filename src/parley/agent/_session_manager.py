"""`SessionManager`: the sessions of one connection, and the handlers of all `session/*` requests.

Sessions outlive the connection in the agent's store. Opening a session that is open on another
connection moves it: its turn is cancelled, and it is closed there. On its own connection, a session
can be opened again while no turn is running. Requests to list, delete, archive and rename sessions
are about all stored sessions, whether they are open or not.

`AgentState.session_owners` records which connection owns a session, from before the `open_session`
hook runs until the session is closed. Opening, moving and deleting a session can race, so code that
has awaited something checks again that its connection is still the owner.

Spec: https://agentclientprotocol.com/protocol/v2/session-setup and
https://agentclientprotocol.com/protocol/v2/session-list
"""

from __future__ import annotations

import asyncio
import copy
import logging
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from parley._user_code import reraise_if_ending
from parley.errors import InvalidParams, InvalidRequest, Overloaded, ResourceNotFound
from parley.peer import RequestContext
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.base import Unknown

from ._activity import Activity
from ._config_options import with_value
from ._paths import is_absolute
from ._session import AgentSession, Origin
from ._session_listing import OlderFilters, paginate
from ._session_state import AgentSessionState, OpenActivity
from ._store import DatedStore, StoredSession, new_id, now
from ._terminal import Terminal
from ._tool_call import ToolCall
from ._turn import TurnQueue, TurnState

if TYPE_CHECKING:
    from ._connection_server import ConnectionServer


logger = logging.getLogger(__name__)


_MAX_FORKED_BYTES = 256 * 1024 * 1024
"""The most that the open forks of a connection may have inherited, as JSON.

A fork costs a client one short request, and us a copy of the whole transcript.
"""

_STATES: dict[str, v2.StateUpdate] = {
    "running": v2.RunningStateUpdate(),
    "requires_action": v2.RequiresActionStateUpdate(),
    "idle": v2.IdleStateUpdate(),
}


class SessionManager:
    """The open sessions of one connection, and the handlers of the requests about them."""

    def __init__(self, server: ConnectionServer) -> None:
        self._server = server
        self._settings = server.settings
        self._handlers = server.agent_state.handlers
        self._owners = server.agent_state.session_owners
        self._queues: dict[str, TurnQueue] = {}
        """The turns of each open session, by session id."""
        self._closing: dict[str, asyncio.Task[None]] = {}
        """The tasks that are closing sessions, by session id."""
        self._reading: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._opening = 0
        """The number of sessions that are being opened; they do not count as open yet."""
        self._forked_bytes: dict[str, int] = {}
        """The bytes that each open fork has inherited, by session id."""

    @property
    def is_busy(self) -> bool:
        """Whether a turn is running or waiting, or a session is being closed."""
        return bool(self._closing) or any(each.is_working for each in self._queues.values())

    async def new_session(
        self, params: v2.NewSessionRequest, request: RequestContext
    ) -> v2.NewSessionResponse:
        """Handle `session/new`."""
        self._check_params(params)
        stored = StoredSession(
            id=new_id("session"),
            cwd=params.cwd,
            additional_directories=list(params.additional_directories),
        )
        session = await self._open_session(stored, "new", params, request)
        return v2.NewSessionResponse(
            session_id=session.id,
            config_options=session.config_options,
            available_commands=session.transcript.commands,
            meta=session.response_meta,
        )

    async def resume_session(
        self, params: v2.ResumeSessionRequest, request: RequestContext
    ) -> v2.ResumeSessionResponse:
        """Handle `session/resume`; the requested replay and the state precede the response."""
        self._check_params(params)
        if isinstance(params.replay_from, Unknown):
            raise InvalidParams("Unknown position to replay from")
        stored = await self._claim(params.session_id)
        self._check_count()  # again: others may have been opened meanwhile
        stored.cwd = params.cwd
        stored.additional_directories = list(params.additional_directories)
        replay: list[v2.SessionUpdate] = [v2.StateUpdated(state="idle")]
        if params.replay_from is not None:
            replay = list(stored.transcript.replay())  # ends with the state
        session = await self._open_session(stored, "resumed", params, request, replay)
        return v2.ResumeSessionResponse(
            config_options=session.config_options,
            available_commands=session.transcript.commands,
            meta=session.response_meta,
        )

    async def fork_session(
        self, params: v2.ForkSessionRequest, request: RequestContext
    ) -> v2.ForkSessionResponse:
        """Handle `session/fork`; the fork has a copy of the transcript and the program's data."""
        self._check_params(params)
        async with self._read_lock(params.session_id):
            stored = self._copy(await self._get_stored(params.session_id), params)
        session = await self._open_session(stored, "forked", params, request)
        return v2.ForkSessionResponse(
            session_id=session.id,
            config_options=session.config_options,
            available_commands=session.transcript.commands,
            meta=session.response_meta,
        )

    def _copy(self, source: StoredSession, params: v2.ForkSessionRequest) -> StoredSession:
        """Return a new session with the transcript and the program's data of another one.

        Raises:
            Overloaded: Too many sessions are open, or their forks have inherited too much.
        """
        self._check_count()  # again: others may have been opened meanwhile
        original = source.transcript
        updates = list(original.replay())
        size_bytes = sum(len(encode(each)) for each in updates)
        if sum(self._forked_bytes.values()) + size_bytes > _MAX_FORKED_BYTES:
            raise Overloaded(
                f"The open forks may have {_MAX_FORKED_BYTES} bytes in total. Close one of them"
            )
        stored = StoredSession(
            id=new_id("session"),
            cwd=params.cwd,
            additional_directories=list(params.additional_directories),
            data=copy.deepcopy(source.data),
        )
        copied = stored.transcript
        for update in updates:
            copied.fold(update)
        copied.cancel_unfinished()
        copied.fold(v2.ConfigOptionUpdate(config_options=original.config_options))
        copied.fold(v2.AvailableCommandsUpdate(available_commands=original.commands))
        self._forked_bytes[stored.id] = size_bytes
        return stored

    def _read_lock(self, id: str) -> asyncio.Lock:
        """Return the lock for reading a session: a flood must not read a large one many times."""
        return self._reading.setdefault(id, asyncio.Lock())

    async def _claim(self, id: str) -> StoredSession:
        """Close a session wherever it is open, and return the stored session.

        Other connections may open or delete the session during each `await`, hence the loop.
        """
        if id in self._queues and self._queues[id].is_busy:
            raise InvalidRequest("The session has a running turn", {"sessionId": id})
        while True:
            await self._close_anywhere(id)
            async with self._read_lock(id):
                if self._owners.get(id) is self and not self._has_session(id):
                    raise InvalidRequest("The session is already being opened")
                stored = await self._get_stored(id)
            owner = self._owners.get(id)  # another request may have been faster
            if owner is self:
                raise InvalidRequest("The session is already being opened")
            if owner is None or not owner._has_session(id):
                return stored

    async def _open_session(
        self,
        stored: StoredSession,
        origin: Origin,
        params: v2.NewSessionRequest | v2.ResumeSessionRequest | v2.ForkSessionRequest,
        request: RequestContext,
        replay: list[v2.SessionUpdate] | None = None,
    ) -> AgentSession:
        """Open a session: claim it, call the `open_session` hook, send the replay, and save it.

        Updates that the hook sends are held back until the response has been sent.
        """
        state = AgentSessionState(self._server, stored, mcp_servers=params.mcp_servers)
        session = AgentSession(state, origin, system_prompt=params.system_prompt, meta=params.meta)
        state.hold_updates()
        self._owners[state.id] = self
        self._opening += 1
        try:
            await self._handlers.announce(session)
            if self._handlers.open_session is not None:
                await self._handlers.open_session(session)
            for update in replay or ():
                await state.send(update)
            await self._save(state)
            if self._owners.get(state.id) is not self:
                raise InvalidRequest("The session was opened elsewhere or deleted meanwhile")
        except BaseException:  # including cancellation: it must not stay claimed
            self._release_ownership(state.id)
            await state.close_mcp_clients()
            raise
        finally:
            self._opening -= 1
        self._queues[state.id] = TurnQueue(
            state,
            session,
            self._handlers.reply,
            save=self._save,
            cancel_timeout=self._settings.cancel_timeout,
        )
        state.is_opening = False
        request.after_response(state.release_updates)
        return session

    def _release_ownership(self, id: str) -> None:
        self._queues.pop(id, None)
        self._forked_bytes.pop(id, None)
        if self._owners.get(id) is self:
            del self._owners[id]

    def _check_params(
        self, params: v2.NewSessionRequest | v2.ResumeSessionRequest | v2.ForkSessionRequest
    ) -> None:
        """Raise for params that are malformed or were not offered, and for too many sessions."""
        self._server.agent_state.check_accepting()
        features = self._server.features
        for path in (params.cwd, *params.additional_directories):
            if not is_absolute(path):
                raise InvalidParams("Directories must be absolute paths")
        if params.additional_directories and not features.additional_directories:
            raise InvalidParams("This agent does not support additional directories")
        prompt = params.system_prompt
        if prompt is not None:
            can = {
                "append": features.system_prompt,
                "override": features.system_prompt and features.system_prompt_override,
            }
            if not can.get(prompt.mode, False):
                raise InvalidParams("This agent does not support this kind of system prompt")
        _check_server_names(params.mcp_servers)
        self._check_count()

    def _check_count(self) -> None:
        """Raise if as many sessions as may be open are open or being opened."""
        if len(self._queues) + self._opening >= self._settings.max_sessions:
            raise Overloaded(f"{self._settings.max_sessions} sessions are already open")

    async def prompt(self, params: v2.PromptRequest, request: RequestContext) -> v2.PromptResponse:
        """Handle `session/prompt`; the turn begins after the response.

        An accepted prompt is durable: the user's message is stored before the response is sent.
        """
        self._server.agent_state.check_accepting()
        queue = self._find_queue(params.session_id)
        self._check_blocks(params.prompt)
        turn = TurnState(queue.state, queue.session, params)
        turn.is_cancelled = request.is_cancelled
        queue.add(turn)
        message = turn.view.message
        self._settings.store.append(params.session_id, message)
        try:
            await self._save(queue.state)
            self._find_queue(params.session_id)  # raises if it was closed meanwhile
        except BaseException:  # including cancellation of the request
            queue.remove(turn)
            # Empty content tells the store to leave the message out; see `SessionStore.append`.
            withdrawn = v2.UserMessage(message_id=message.message_id, content=[])
            self._settings.store.append(params.session_id, withdrawn)
            raise
        request.after_response(lambda: queue.begin(turn))
        return v2.PromptResponse(message_id=message.message_id)

    def _check_blocks(self, prompt: list[v2.ContentBlock]) -> None:
        features = self._server.features
        for block in prompt:
            match block:
                case v2.ImageContent() if not features.image:
                    raise InvalidParams("This agent does not support images in prompts")
                case v2.AudioContent() if not features.audio:
                    raise InvalidParams("This agent does not support audio in prompts")
                case v2.EmbeddedResource() if not features.embedded_context:
                    raise InvalidParams("This agent does not support embedded resources in prompts")
                case _:
                    pass

    def _find_queue(self, id: str) -> TurnQueue:
        queue = self._queues.get(id)
        if queue is None:
            raise ResourceNotFound("The session is not open on this connection", {"sessionId": id})
        return queue

    def _find_state(self, id: str) -> AgentSessionState:
        """Return the state of an open session, or of the session of a subagent."""
        subagent = self._find_subagent(id)
        if subagent is not None and subagent.child is not None:
            return subagent.child
        return self._find_queue(id).state

    def _find_subagent(self, id: str) -> OpenActivity | None:
        found = (queue.state.find_subagent(id) for queue in self._queues.values())
        return next((each for each in found if each is not None), None)

    def cancel_session(self, params: v2.CancelSessionNotification) -> None:
        """Handle `session/cancel`; ignore it if the session is idle or unknown."""
        queue = self._queues.get(params.session_id)
        if queue is not None:
            queue.cancel()
            return
        subagent = self._find_subagent(params.session_id)
        if subagent is not None and subagent.activity.is_cancellable:
            subagent.activity.cancel()

    async def cancel_tool_call(
        self, params: v2.CancelToolCallRequest, request: RequestContext
    ) -> v2.CancelToolCallResponse:
        """Handle `tool_call/cancel`."""
        state = self._find_state(params.session_id)
        found, known = state.activities.get(params.tool_call_id), state.transcript.tool_calls
        call = found.activity if found is not None else None
        _cancel(call if isinstance(call, ToolCall) else None, params.tool_call_id in known)
        return v2.CancelToolCallResponse()

    async def cancel_terminal(
        self, params: v2.CancelTerminalRequest, request: RequestContext
    ) -> v2.CancelTerminalResponse:
        """Handle `terminal/cancel`."""
        state = self._find_state(params.session_id)
        found, known = state.activities.get(params.terminal_id), state.transcript.terminals
        terminal = found.activity if found is not None else None
        _cancel(terminal if isinstance(terminal, Terminal) else None, params.terminal_id in known)
        return v2.CancelTerminalResponse()

    async def set_config_option(
        self, params: v2.SetSessionConfigOptionRequest, request: RequestContext
    ) -> v2.SetSessionConfigOptionResponse:
        """Handle `session/set_config_option`; if the hook raises, the old value is restored."""
        if isinstance(params, Unknown):
            raise InvalidParams("Unknown type of value")
        queue = self._find_queue(params.session_id)
        transcript, session = queue.state.transcript, queue.session
        before = transcript.config_options
        changed = with_value(before, params.config_id, params.value)
        value_before = session.option(params.config_id)
        transcript.fold(v2.ConfigOptionUpdate(config_options=changed))
        try:
            await self._handlers.call_option_hooks(session, params.config_id, value_before)
        except BaseException:  # including cancellation: the old value counts
            transcript.fold(v2.ConfigOptionUpdate(config_options=before))
            raise
        queue.state.record(v2.ConfigOptionUpdate(config_options=transcript.config_options))
        await self._save(queue.state)
        return v2.SetSessionConfigOptionResponse(config_options=transcript.config_options)

    async def close_session(
        self, params: v2.CloseSessionRequest, request: RequestContext
    ) -> v2.CloseSessionResponse:
        """Handle `session/close`; closing a stored session that is not open succeeds."""
        if self._has_session(params.session_id):
            await self._close(params.session_id)
        else:
            await self._get_stored(params.session_id)
        return v2.CloseSessionResponse()

    async def close_all(self) -> None:
        """Close all sessions, because the connection ends."""
        await asyncio.gather(*map(self._close, [*self._queues, *self._closing]))

    async def _close(self, id: str) -> None:
        """Cancel the turns of a session and close it; the stored session is kept.

        Closing runs in its own task, so it completes even if the caller is cancelled.
        """
        queue = self._queues.pop(id, None)
        if queue is not None:
            self._closing[id] = asyncio.create_task(self._run_close(queue))
        if id in self._closing:
            await asyncio.shield(self._closing[id])

    async def _run_close(self, queue: TurnQueue) -> None:
        try:
            await queue.stop()
            if self._handlers.close_session is not None:
                await self._handlers.close_session(queue.session)
        except BaseException as error:  # raised by the program; the session is closed anyway
            reraise_if_ending(error)
            logger.exception("%s: closing a session failed", self._server.name)
        await queue.state.close_mcp_clients()
        await self._save(queue.state)
        del self._closing[queue.state.id]
        self._release_ownership(queue.state.id)

    def _has_session(self, id: str) -> bool:
        """Return whether a session is open on this connection, or still being closed."""
        return id in self._queues or id in self._closing

    async def _save(self, state: AgentSessionState) -> None:
        """Save a session in the store, if this connection still owns it.

        A session that was deleted meanwhile stays deleted. A failure is logged and not raised.
        """
        if self._owners.get(state.id) is not self:
            return
        try:
            await self._settings.store.put(state.stored)
        except BaseException as error:  # the program's store may raise anything
            reraise_if_ending(error)
            logger.exception("%s: a session could not be stored", self._server.name)

    async def list_sessions(
        self, params: v2.ListSessionsRequest, request: RequestContext
    ) -> v2.ListSessionsResponse:
        """Handle `session/list`."""
        store = self._settings.store
        older = OlderFilters.read(request.call.params)
        created: dict[str, str] = {}
        if older.created_after is not None and isinstance(store, DatedStore):
            created = await store.created()
        return paginate(await store.list(params.cwd), params, older, created)

    async def delete_session(
        self, params: v2.DeleteSessionRequest, request: RequestContext
    ) -> v2.DeleteSessionResponse:
        """Handle `session/delete`; deleting an unknown session succeeds."""
        await self._close_anywhere(params.session_id)
        # A request that is opening the session sees that it lost the claim, and fails.
        self._owners.pop(params.session_id, None)
        await self._settings.store.delete(params.session_id)
        return v2.DeleteSessionResponse()

    async def archive_session(
        self, params: v2.ArchiveSessionRequest, request: RequestContext
    ) -> v2.ArchiveSessionResponse:
        """Handle `session/archive`; an open session is closed."""
        await self._close_anywhere(params.session_id)
        await self._set_archived(params.session_id, True)
        return v2.ArchiveSessionResponse()

    async def unarchive_session(
        self, params: v2.UnarchiveSessionRequest, request: RequestContext
    ) -> v2.UnarchiveSessionResponse:
        """Handle `session/unarchive`."""
        await self._set_archived(params.session_id, False)
        return v2.UnarchiveSessionResponse()

    async def _set_archived(self, id: str, is_archived: bool) -> None:
        stored = await self._get_stored(id)
        stored.is_archived = is_archived
        await self._settings.store.put(stored)

    async def session_status(
        self, params: v2.SessionStatusRequest, request: RequestContext
    ) -> v2.SessionStatusResponse:
        """Handle `session/status`."""
        queue = self._find_anywhere(params.session_id)
        if queue is None:
            await self._get_stored(params.session_id)
            return v2.SessionStatusResponse(status="saved")
        state = _STATES[queue.state.transcript.state]
        return v2.SessionStatusResponse(status="open", state=state)

    async def set_session_title(
        self, params: v2.SetSessionTitleRequest, request: RequestContext
    ) -> v2.SetSessionTitleResponse:
        """Handle `session/set_title`."""
        queue = self._find_anywhere(params.session_id)
        if queue is not None:
            await queue.session.set_title(params.title)
            stored = queue.state.stored
        else:
            stored = await self._get_stored(params.session_id)
            stored.updated_at = now()
            update = v2.SessionInfoUpdate(title=params.title)
            stored.transcript.fold(update)
            self._settings.store.append(stored.id, update)
        await self._settings.store.put(stored)
        return v2.SetSessionTitleResponse(title=params.title)

    def _find_anywhere(self, id: str) -> TurnQueue | None:
        """Return a session that is open on any connection of the agent, or None."""
        owner = self._owners.get(id)
        return None if owner is None else owner._queues.get(id)

    async def _close_anywhere(self, id: str) -> None:
        """Close a session on the connection that owns it, if there is one."""
        owner = self._owners.get(id)
        if owner is not None:
            await owner._close(id)

    async def _get_stored(self, id: str) -> StoredSession:
        stored = await self._settings.store.get(id)
        if stored is None:
            raise ResourceNotFound("There is no such session", {"sessionId": id})
        return stored

    def __repr__(self) -> str:
        return f"{len(self._queues)} sessions"


def _check_server_names(servers: list[v2.McpServer]) -> None:
    """Raise if two MCP servers have the same name, which distinguishes their tools."""
    names = [each.name for each in servers if not isinstance(each, Unknown)]
    for name in names:
        if names.count(name) > 1:
            raise InvalidParams(
                f"Two MCP servers have the name {name:.100}; rename one of them",
                {"name": name[:1000]},
            )


def _cancel(activity: Activity | None, is_known: bool) -> None:
    if activity is None:
        if not is_known:
            raise ResourceNotFound("There is no tool call or terminal with this id")
    elif not activity.is_cancellable:
        raise InvalidRequest("This cannot be cancelled without its turn")
    else:
        activity.cancel()
