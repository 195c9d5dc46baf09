"""The part of a client connection that Parley drives: sessions, background tasks and the end.

The other modules of this package hold a `ConnectionState`. Programs get a `Connection`, which is a
view of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct

from parley._task_owner import TaskOwner
from parley.errors import ConnectionClosed, InvalidParams, JournalError, RequestCancelled
from parley.journal import Recorder
from parley.peer import Peer
from parley.schema import v2
from parley.schema._codec import encode
from parley.session._adapter import ClientAdapter
from parley.session._capabilities import AgentFeatures, ClientFeatures
from parley.session._checked_adapter import CheckedClientAdapter

from ._connection import Connection
from ._login import Chooser, Launch, LoginHandler
from ._open_questions import OpenQuestions
from ._session_state import SessionState
from ._tools import Toolbox
from .workspace._workspace import Workspace, end_session, open_roots

if TYPE_CHECKING:
    from ._session import Session
    from ._turn_state import PromptTurnState


logger = logging.getLogger(__name__)

R = TypeVar("R")

UpdateCallback: TypeAlias = Callable[[SessionState, v2.SessionUpdate], Awaitable[None] | None]
"""Called with each update, after it is folded into the transcript."""

_CLOSE_GRACE = 1.0
FOREIGN_SESSIONS = 1024
"""Maximum number of sessions that the agent started by itself and that are kept."""
FOREIGN_BYTES = 16 * 1024 * 1024
"""Maximum size of the updates that are kept of such sessions, all together, as JSON.

The sessions of subagents are not limited: their agent has named them in a session that is open."""


class ConnectionSettings(Struct, frozen=True, kw_only=True):
    """The settings of a connection that `connect` fixes before opening it."""

    cwd: Path
    """The default working directory of sessions."""
    identity: str
    """Identifies the agent across connections."""
    recorder: Recorder | None = None
    """Writes the journal; None without a journal."""
    on_update: UpdateCallback | None = None
    tools: Sequence[Callable[..., Any]] = ()
    """Functions offered to every session."""
    mcp_servers: Sequence[object] = ()
    """MCP servers offered to every session."""
    choose_login: Chooser | None = None
    """Lets the user choose a login method."""
    launch: Launch | None = None
    """Runs a login in a terminal; None if that is not possible."""


class ConnectionState:
    """The state of one connection to an agent."""

    def __init__(self, peer: Peer, settings: ConnectionSettings) -> None:
        self.peer = peer
        """The current peer; a login in a terminal restarts the agent and replaces it."""
        self.cwd = settings.cwd
        self.identity = settings.identity
        self.recorder = settings.recorder
        self.on_update = settings.on_update
        self.pid: int | None = None
        """The process id of the agent, if `connect` started one."""
        self.is_on_other_host = False
        """Whether the agent is on another machine and cannot reach anything on this one."""
        self.offered = ClientFeatures()
        """The features that were offered to the agent."""
        self.workspace: Workspace | None = None
        """The files and terminals that the agent may use; its commands end with the connection."""
        self.auth_status_update: v2.AuthStatusUpdateNotification | None = None
        """The last login status that the agent reported in a notification."""
        self.sessions: dict[v2.SessionId, SessionState] = {}
        """The open sessions by id, including those that the agent started by itself."""
        self.questions = OpenQuestions(self)
        """The questions to the user that are waiting for a decision."""
        self.toolbox = Toolbox(self, settings.tools, settings.mcp_servers)
        """The program's tools and MCP servers, which are offered to the sessions."""
        self.logins = LoginHandler(self, settings.choose_login, settings.launch)
        self.connection = Connection(self)
        """The program's view."""
        self._adapter: CheckedClientAdapter | None = None
        self._tasks = TaskOwner(peer.name, expected=(ConnectionClosed,))
        self._has_ignored_session = self._has_ignored_update = False
        self._foreign_bytes = 0

    @property
    def name(self) -> str:
        """The name of the agent in logs and errors."""
        return self.peer.name

    @property
    def is_initialized(self) -> bool:
        """Whether a protocol version has been negotiated."""
        return self._adapter is not None

    @property
    def adapter(self) -> ClientAdapter:
        """The adapter that sends and receives version 2 types."""
        assert self._adapter is not None, "the connection is not initialized"
        return self._adapter

    @property
    def unchecked_adapter(self) -> ClientAdapter:
        """The adapter without the check of custom values, for values that the agent named."""
        assert self._adapter is not None, "the connection is not initialized"
        return self._adapter.unchecked

    @property
    def features(self) -> AgentFeatures:
        """The features that the agent offers."""
        return self.adapter.agent.features

    def start(self, adapter: ClientAdapter) -> None:
        """Store the negotiated adapter and watch for the end of the connection."""
        self._adapter = CheckedClientAdapter(adapter)
        self.spawn(self._watch(self.peer))

    def handle_update(self, note: v2.UpdateSessionNotification) -> Awaitable[None] | None:
        """Handle a `session/update`; one for an unknown session adds that session."""
        session, update = self.sessions.get(note.session_id), note.update
        if session is None or session.is_foreign:
            session = session or self._add_foreign(note.session_id)
            if session is None or not self._count_foreign_update(session, update):
                return None
        if self.recorder is not None and type(update) is v2.StateUpdated and update.state == "idle":
            return self._handle_recorded(session, update)
        return session.turns.handle_update(update)

    async def _handle_recorded(self, session: SessionState, update: v2.SessionUpdate) -> None:
        """Commit the journal, and only then let the program see the end of a turn."""
        await self.commit()
        if (rest := session.turns.handle_update(update)) is not None:
            await rest

    async def commit(self) -> None:
        """Wait until the journal has stored everything; it has already reported its errors."""
        if self.recorder is not None:
            with suppress(JournalError):
                await self.recorder.commit()

    def find_session(self, session_id: v2.SessionId) -> SessionState | None:
        """Return the session that a request is about; None if there are too many sessions.

        Raises:
            InvalidParams: There is no session with this id: none was opened, seen in an update, or
                named as a subagent's.
        """
        if session_id in self.sessions:
            return self.sessions[session_id]
        if self.is_subagent(session_id):
            return self._add_foreign(session_id)
        raise InvalidParams(data={"problem": "params.sessionId: there is no such session"})

    def is_subagent(self, session_id: v2.SessionId) -> bool:
        """Return whether the agent has named a session as that of a subagent."""
        return any(session_id in each.transcript.subagents for each in self.sessions.values())

    def current_turn(self, session: Session) -> PromptTurnState | None:
        """Return the turn that updates of a session belong to now; None if no turn is running."""
        state = self.sessions.get(session.id)
        # A closed session has no turns, and another session may have its id by now.
        return state.turns.first if state is not None and state.session is session else None

    def is_cancelling(self, session: Session) -> bool:
        """Return whether the current turn of a session was cancelled and has not ended yet."""
        turn = self.current_turn(session)
        return turn is not None and turn.is_cancelled

    def add_session(self, session_id: v2.SessionId, params: Mapping[str, Any]) -> SessionState:
        """Add a session that was opened here; one with the same id ends."""
        self.forget_id(session_id)  # started by the agent, or an id that it gave twice
        state = self.sessions[session_id] = SessionState(
            self,
            session_id,
            cwd=params["cwd"],
            additional_directories=params["additional_directories"],
        )
        if self.workspace is not None:
            open_roots(self.workspace, state.session)
        return state

    def _add_foreign(self, session_id: v2.SessionId) -> SessionState | None:
        """Add a session that the agent started by itself; return None if there are too many."""
        foreign = sum(each.session.cwd is None for each in self.sessions.values())
        if foreign >= FOREIGN_SESSIONS:
            if not self._has_ignored_session:
                logger.warning("%s: ignored updates of more unknown sessions", self.name)
                self._has_ignored_session = True
            return None
        state = self.sessions[session_id] = SessionState(self, session_id)
        return state

    def _count_foreign_update(self, session: SessionState, update: v2.SessionUpdate) -> bool:
        """Count an update of a session that the agent started; return False if it is too much."""
        if self.is_subagent(session.id):
            return True
        size = len(encode(update))
        if self._foreign_bytes + size > FOREIGN_BYTES:
            if not self._has_ignored_update:
                logger.warning(
                    "%s: ignored updates of sessions that were not opened here, because more than "
                    "%d bytes have arrived",
                    self.name,
                    FOREIGN_BYTES,
                )
                self._has_ignored_update = True
            return False
        session.foreign_bytes += size
        self._foreign_bytes += size
        return True

    def forget(self, session: SessionState) -> None:
        """Remove a session that was closed, and everything that belongs to it."""
        if self.sessions.get(session.id) is session:
            del self.sessions[session.id]
            self._foreign_bytes -= session.foreign_bytes
        session.end(RequestCancelled(f"the session {session.id} was closed"))
        self.toolbox.forget(session)
        if self.workspace is not None:
            self.spawn(end_session(self.workspace, session.session))

    def forget_id(self, session_id: v2.SessionId) -> None:
        """Remove a session that the agent no longer has open, if it is open here."""
        if session_id in self.sessions:
            self.forget(self.sessions[session_id])

    def spawn(self, work: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
        """Run a coroutine as a background task, which is cancelled when the connection closes."""
        return self._tasks.create_task(work)

    async def _watch(self, peer: Peer) -> None:
        """End the sessions when the connection ends, each after its earlier updates."""
        reason = await peer.wait_closed()
        for session in list(self.sessions.values() if peer is self.peer else ()):
            peer.enqueue(session.id, session.end, reason)
        if peer is not self.peer:
            return
        if self.workspace is not None:
            await self.workspace.aclose(self.connection)
        await self.toolbox.disconnect()

    async def disconnect(self) -> None:
        """Close the peer and end all sessions; a new peer may replace it."""
        for session in self.sessions.values():
            session.turns.leave_loop()
        await self.peer.aclose()
        reason = await self.peer.wait_closed()
        for session in list(self.sessions.values()):
            session.end(reason)
        if self.workspace is not None:
            await self.workspace.aclose(self.connection)
        await self.toolbox.disconnect()

    async def aclose(self) -> None:
        """Close the connection; unfinished requests and turns fail."""
        await self.disconnect()
        await self.toolbox.aclose()
        await self._tasks.aclose(_CLOSE_GRACE)
        if self.recorder is not None:
            self.recorder.close()
            await self.commit()
