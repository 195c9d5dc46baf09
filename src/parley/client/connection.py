"""The connection to an agent: its sessions, how it begins and how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, Unpack

from parley.errors import (
    ConnectionClosed,
    InvalidParams,
    JournalError,
    LocalProtocolError,
    RequestCancelled,
)
from parley.journal import Recorder
from parley.peer import Peer
from parley.schema import v2
from parley.schema.base import Method
from parley.schema.v2 import methods, unstable
from parley.session.features import ClientFeatures
from parley.session.surface import ClientSurface

from .administration import Administration
from .login import Chooser, Launch, LoginDesk
from .opening import SessionOptions, first_updates, session_params
from .session import Session
from .tools import Toolbox
from .workspace import Workspace

__all__ = ["Connection"]

logger = logging.getLogger(__name__)

P = TypeVar("P")
R = TypeVar("R")

_CLOSE_GRACE = 1.0
FOREIGN_SESSIONS = 1024
"""How many sessions may be kept that nobody opened here."""


class Connection(Administration):
    """An agent that we are connected to; made by `connect`."""

    def __init__(self, peer: Peer, cwd: Path, recorder: Recorder | None = None) -> None:
        self.peer = peer
        """The connection below, for what has no place here."""
        self.pid: int | None = None
        """The process of an agent that was started for it."""
        self.is_elsewhere = False
        """Whether the agent is on another machine, and reaches nothing that is on ours."""
        self.cwd = cwd
        """Where sessions work that say nothing else."""
        self.recorder = recorder
        """Writes the journal; None where there is none."""
        self.offered = ClientFeatures()
        """What the agent was told that we do."""
        self.workspace: Workspace | None = None
        """The files and commands that the agent may use; what runs in it ends with us."""
        self.toolbox = Toolbox(self)
        """The tools and MCP servers of the program that sessions are given."""
        self.sessions: dict[v2.SessionId, Session] = {}
        """The sessions that are open, those included that the agent began by itself."""
        self._has_ignored = False
        self.auth_status_update: unstable.AuthStatusUpdateNotification | None = None
        """Unstable: what the agent last said about its login without being asked."""
        self.on_update: Callable[[Session, v2.SessionUpdate], Awaitable[None] | None] | None = None
        self._logins = LoginDesk(self, None, None)
        self._surface: ClientSurface | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def surface(self) -> ClientSurface:
        """The connection in version 2's words."""
        assert self._surface is not None, "the connection is not initialized"
        return self._surface

    async def new_session(
        self, cwd: str | Path | None = None, **options: Unpack[SessionOptions]
    ) -> Session:
        """Begin a session.

        Args:
            cwd: Where it works; the connection's directory unless told otherwise. A relative one
                begins there. Whether it exists is for the agent to say, which may be elsewhere.
            options: See `SessionOptions`.

        Raises:
            AuthRequired: The agent wants a login first; the text lists the ways.
            Unsupported: The agent does not take one of the options.
        """

        def request(params: dict[str, Any]) -> v2.NewSessionRequest:
            return v2.NewSessionRequest(**params)

        return await self._open(methods.NEW_SESSION, request, cwd, options)

    async def fork_session(
        self,
        session_id: v2.SessionId,
        cwd: str | Path | None = None,
        **options: Unpack[SessionOptions],
    ) -> Session:
        """Unstable: begin a session that has the history of another, but an empty transcript."""

        def request(params: dict[str, Any]) -> unstable.ForkSessionRequest:
            return unstable.ForkSessionRequest(session_id=session_id, **params)

        return await self._open(methods.FORK_SESSION, request, cwd, options)

    async def _open(
        self,
        method: Method[P, Any],
        request: Callable[[dict[str, Any]], P],
        cwd: str | Path | None,
        options: SessionOptions,
    ) -> Session:
        """Send a request whose answer names a session; what came early already finds it."""
        opened: list[Session] = []
        options = self.toolbox.merged(options)
        params = self._params(cwd, options)

        def answered(answer: v2.NewSessionResponse | unstable.ForkSessionResponse) -> None:
            session = self._add(answer.session_id, params)
            for update in first_updates(answer):
                session.transcript.fold(update)
            opened.append(session)

        async with self.toolbox.offered(options, params) as ids:
            asked = request(params)
            await self._logins.logged_in(
                lambda: self.surface.request(method, asked, on_result=answered)
            )
            self.toolbox.keep(opened[-1], ids)
        return opened[-1]

    async def resume_session(
        self,
        session_id: v2.SessionId,
        cwd: str | Path | None = None,
        *,
        replay: bool = True,
        said: Iterable[v2.SessionUpdate] = (),
        **options: Unpack[SessionOptions],
    ) -> Session:
        """Open a session again.

        Args:
            session_id: Its id.
            cwd: Where it works from now on.
            replay: Whether the agent tells the conversation again, into the transcript. An agent
                that can only do one of the two does that.
            said: What the transcript begins with, for an agent that does not tell it.
            options: See `SessionOptions`; nothing is remembered from before.

        Raises:
            LocalProtocolError: It is open on this connection.
            Unsupported: The agent cannot open sessions again.
        """
        known = self.sessions.get(session_id)
        if known is not None and known.cwd is not None:
            raise LocalProtocolError(f"the session {session_id} is open already")
        options = self.toolbox.merged(options)
        params = self._params(cwd, options)
        replay = self.features.load and (replay or not self.features.resume)
        start = v2.ReplayFromStart() if replay else None
        history = list(said)
        async with self.toolbox.offered(options, params) as ids:
            request = v2.ResumeSessionRequest(session_id=session_id, replay_from=start, **params)
            session = await self._logins.logged_in(lambda: self._resume(request, params, history))
            self.toolbox.keep(session, ids)
        return session

    async def _resume(
        self,
        request: v2.ResumeSessionRequest,
        params: dict[str, Any],
        history: list[v2.SessionUpdate],
    ) -> Session:
        session = self._add(request.session_id, params)
        session.is_replaying = request.replay_from is not None
        for update in history:
            session.transcript.fold(update)

        def answered(answer: v2.ResumeSessionResponse) -> None:
            self.peer.post(session.id, _end_replay, session)  # behind all that came before
            for update in first_updates(answer):
                self.peer.post(session.id, session.turns.take, update)

        try:
            await self.surface.request(methods.RESUME_SESSION, request, on_result=answered)
        except BaseException:  # also when cancelled: it is not open
            self.forget(session)
            raise
        return session

    def _params(self, cwd: str | Path | None, options: SessionOptions) -> dict[str, Any]:
        return session_params(self.cwd / (cwd or "."), options, self.features, self.name)

    def _add(self, session_id: v2.SessionId, params: Mapping[str, Any]) -> Session:
        if session_id in self.sessions:  # begun by the agent, or named twice by it
            self._closed_there(session_id)
        session = self.sessions[session_id] = Session(
            self,
            session_id,
            cwd=params["cwd"],
            additional_directories=params["additional_directories"],
        )
        if self.workspace is not None:
            self.workspace.roots_of(session)  # opened now: later they might be something else
        return session

    async def login(self, method_id: v2.AuthMethodId) -> None:
        """Log in by one of `auth_methods`.

        After a login in a terminal the agent is started again: sessions that were open are closed.

        Raises:
            LocalProtocolError: It is not offered, or it is a login in a terminal and `connect` got
                no `terminal_login` to run it with.
            AuthRequired: The login in the terminal failed.
            Unsupported: The agent offers no login.
        """
        await self._logins.log_in(method_id)

    async def logged_in(self, call: Callable[[], Awaitable[R]]) -> R:
        """Do something that may need a login: log in as the user chooses, and do it once more.

        Raises:
            AuthRequired: Nobody chose, the login failed, or the agent still wants one.
        """
        return await self._logins.logged_in(call)

    def give(self, tools: Sequence[Callable[..., Any]], servers: Sequence[object]) -> None:
        """Have every session that is opened given these tools and MCP servers."""
        self.toolbox = Toolbox(self, tools, servers)

    def log_in_by(self, choose: Chooser | None, launch: Launch | None) -> None:
        """Log in with these."""
        self._logins = LoginDesk(self, choose, launch)

    def begin(self, surface: ClientSurface) -> None:
        """Be initialized."""
        self._surface = surface
        self.spawn(self._watch(self.peer))

    def updated(self, note: v2.UpdateSessionNotification) -> Awaitable[None] | None:
        """Handle an update; one for a session that is not known begins it."""
        session = self.sessions.get(note.session_id) or self._foreign(note.session_id)
        if session is None:
            return None
        update = note.update
        if self.recorder is not None and type(update) is v2.StateUpdated and update.state == "idle":
            return self._take_recorded(session, update)
        return session.turns.take(update)

    async def _take_recorded(self, session: Session, update: v2.SessionUpdate) -> None:
        """Let nobody see the end of a turn before it is in the journal."""
        await self.commit()
        if (rest := session.turns.take(update)) is not None:
            await rest

    async def commit(self) -> None:
        """Wait until the journal keeps what has happened; one that cannot has said so."""
        if self.recorder is not None:
            with suppress(JournalError):
                await self.recorder.commit()

    def session_of(self, session_id: v2.SessionId) -> Session | None:
        """Return the session that a question is about; None if there are too many.

        Raises:
            InvalidParams: There is none with this id: neither opened, nor seen in an update, nor
                named as a subagent's.
        """
        if session_id in self.sessions:
            return self.sessions[session_id]
        if any(session_id in each.transcript.subagents for each in self.sessions.values()):
            return self._foreign(session_id)
        raise InvalidParams(data={"problem": "params.sessionId: there is no such session"})

    def _foreign(self, session_id: v2.SessionId) -> Session | None:
        if sum(each.cwd is None for each in self.sessions.values()) >= FOREIGN_SESSIONS:
            if not self._has_ignored:
                logger.warning("%s: ignored updates of more unknown sessions", self.name)
                self._has_ignored = True
            return None
        session = self.sessions[session_id] = Session(self, session_id)
        return session

    def forget(self, session: Session) -> None:
        """Drop a session that was closed."""
        if self.sessions.get(session.id) is session:
            del self.sessions[session.id]
        session.end(RequestCancelled(f"the session {session.id} was closed"))
        self.toolbox.forget(session)
        if self.workspace is not None:
            self.spawn(self.workspace.end_session(session))

    def _closed_there(self, session_id: v2.SessionId) -> None:
        """Drop a session that is no longer open."""
        if session_id in self.sessions:
            self.forget(self.sessions[session_id])

    def spawn(self, work: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
        """Have something done beside; it ends with the connection."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, ConnectionClosed):
            logger.error("%s: something failed beside", self.name, exc_info=error)

    async def _watch(self, peer: Peer) -> None:
        """Tell the sessions when the connection ends, each after the updates that came before."""
        reason = await peer.wait_closed()
        for session in list(self.sessions.values() if peer is self.peer else ()):
            peer.post(session.id, session.end, reason)
        if peer is not self.peer:
            return
        if self.workspace is not None:
            await self.workspace.aclose(self)
        await self.toolbox.hang_up()

    async def hang_up(self) -> None:
        """End the connection below and its sessions; another one may follow."""
        for session in self.sessions.values():
            session.turns.leave_loop()
        await self.peer.aclose()
        reason = await self.peer.wait_closed()
        for session in list(self.sessions.values()):
            session.end(reason)
        if self.workspace is not None:
            await self.workspace.aclose(self)
        await self.toolbox.hang_up()

    async def aclose(self) -> None:
        """Close the connection; what is under way fails."""
        await self.hang_up()
        await self.toolbox.aclose()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            _, left = await asyncio.wait(self._tasks, timeout=_CLOSE_GRACE)
            if left:
                logger.error("%s: %d functions do not end when cancelled", self.name, len(left))
        if self.recorder is not None:
            self.recorder.close()
            await self.commit()

    def __repr__(self) -> str:
        version = "not initialized" if self._surface is None else f"version {self.version}"
        return f"Connection({self.name!r}, {version}, {len(self.sessions)} sessions)"


def _end_replay(session: Session) -> None:
    session.is_replaying = False
