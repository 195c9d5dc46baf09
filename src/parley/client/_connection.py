"""The client's connection to an agent, as programs see it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from parley.errors import LocalProtocolError, MethodNotFound, RemoteProtocolError, Unsupported
from parley.journal import Recorder
from parley.peer import Peer
from parley.peer._peer_name import with_article
from parley.schema import v2
from parley.schema._custom_values import check_custom_method
from parley.schema.base import JsonObject, Kind, Method
from parley.schema.v2 import methods
from parley.session._adapter import ClientAdapter, ResumeAttempt
from parley.session._capabilities import AgentFeatures, ClientFeatures
from parley.session._transcript import first_updates

from ._session import Session
from ._session_options import SessionOptions, session_params
from .workspace._workspace import Workspace

if TYPE_CHECKING:
    from ._connection_state import ConnectionState
    from ._session_state import SessionState


logger = logging.getLogger(__name__)

MAX_EMPTY_PAGES = 100
"""How many pages without a session may follow each other in the list of sessions."""

P = TypeVar("P")
R = TypeVar("R")


class Connection:
    """An initialized connection to an agent; `async with connect(...)` yields one.

        async with connect("opencode acp") as connection:
            print(connection.info.name, connection.version)
            session = await connection.new_session()

    Use `new_session`, `resume_session` or `fork_session` to open a session, and `list_sessions` to
    see those that the agent knows. `info`, `features` and `version` describe the agent. `login` and
    `logout` handle authentication; `request` and `notify` call extension methods. The connection
    closes at the end of the `async with` block.
    """

    def __init__(self, state: ConnectionState) -> None:
        self._state = state
        self._listed_protocols: frozenset[str] = frozenset()
        """The API types that the agent last listed for its providers."""

    @property
    def name(self) -> str:
        """The name of the agent in logs and errors."""
        return self._state.name

    @property
    def identity(self) -> str:
        """A digest of the command or URL, the same for each connection; random for an object."""
        return self._state.identity

    @property
    def version(self) -> int:
        """The negotiated protocol version."""
        return self._state.adapter.version

    @property
    def info(self) -> v2.Implementation:
        """The agent's name, title and version."""
        return self._state.adapter.agent.info

    @property
    def features(self) -> AgentFeatures:
        """The features that the agent offers, independent of the protocol version."""
        return self._state.features

    @property
    def auth_methods(self) -> list[v2.AuthMethod]:
        """The login methods that the agent offers; see `login`."""
        return self._state.adapter.agent.auth_methods

    @property
    def meta(self) -> dict[str, Any] | None:
        """The `_meta` of the agent's response to `initialize`."""
        return self._state.adapter.agent.meta

    @property
    def offered(self) -> ClientFeatures:
        """The features that were offered to the agent."""
        return self._state.offered

    @property
    def cwd(self) -> Path:
        """The default working directory of sessions."""
        return self._state.cwd

    @property
    def sessions(self) -> dict[v2.SessionId, Session]:
        """The sessions that are open now, by id, including those that the agent started itself."""
        return {id: each.session for id, each in self._state.sessions.items()}

    @property
    def workspace(self) -> Workspace | None:
        """The files and terminals that the agent may use; None if `connect` was given none."""
        return self._state.workspace

    @property
    def recorder(self) -> Recorder | None:
        """Writes the journal; None without a journal."""
        return self._state.recorder

    @property
    def pid(self) -> int | None:
        """The process id of the agent, if `connect` started one."""
        return self._state.pid

    @property
    def auth_status_update(self) -> v2.AuthStatusUpdateNotification | None:
        """Unstable: the last login status that the agent reported in a notification."""
        return self._state.auth_status_update

    @property
    def adapter(self) -> ClientAdapter:
        """Sends any method of the protocol with version 2 types, whatever version is on the wire.

        Use it for methods that this class does not cover:
        `await connection.adapter.request(methods.LIST_SESSIONS, v2.ListSessionsRequest())`, with
        `methods` from `parley.schema.v2`.
        """
        return self._state.adapter

    @property
    def peer(self) -> Peer:
        """The underlying peer, which sends and receives messages without translating them."""
        return self._state.peer

    async def new_session(
        self, cwd: str | Path | None = None, **options: Unpack[SessionOptions]
    ) -> Session:
        """Start a session.

        Args:
            cwd: The working directory, relative to the connection's and by default the same. Its
                existence is not checked, because the agent may be on another machine.
            options: See `SessionOptions`.

        Raises:
            AuthRequired: The agent requires a login first; the message lists the login methods.
            Unsupported: The agent does not support one of the options.
            TypeError: There is no such option, or its value has the wrong type.
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
        """Unstable: start a session with the history of another, but with an empty transcript.

        Args:
            session_id: The id of the session to fork.
            cwd: The working directory, as in `new_session`.
            options: See `SessionOptions`.

        Raises:
            AuthRequired: The agent requires a login first; the message lists the login methods.
            Unsupported: The agent cannot fork sessions, or does not support one of the options.
        """

        def request(params: dict[str, Any]) -> v2.ForkSessionRequest:
            return v2.ForkSessionRequest(session_id=session_id, **params)

        return await self._open(methods.FORK_SESSION, request, cwd, options)

    async def _open(
        self,
        method: Method[P, Any],
        request: Callable[[dict[str, Any]], P],
        cwd: str | Path | None,
        options: SessionOptions,
    ) -> Session:
        """Send a request that opens a session, and return the session.

        It is added as soon as the response is read, so that updates which arrived early find it.
        """
        state = self._state
        opened: list[SessionState] = []
        options = state.toolbox.merged(options)
        params = self._params(cwd, options)

        def add(response: v2.NewSessionResponse | v2.ForkSessionResponse) -> None:
            session = state.add_session(response.session_id, params)
            for update in first_updates(response):
                session.transcript.fold(update)
            opened.append(session)

        async with state.toolbox.offered(options, params) as ids:
            built = request(params)
            await state.logins.with_login(
                lambda: state.adapter.request(method, built, on_result=add)
            )
            state.toolbox.keep(opened[-1], ids)
        return opened[-1].session

    async def resume_session(
        self,
        session_id: v2.SessionId,
        cwd: str | Path | None = None,
        *,
        replay: bool = True,
        history: Iterable[v2.SessionUpdate] = (),
        **options: Unpack[SessionOptions],
    ) -> Session:
        """Resume a session.

        Args:
            session_id: The id of the session.
            cwd: The working directory from now on.
            replay: Whether the agent replays the conversation into the transcript. If the agent
                supports only one of the two ways, that one is used.
            history: The updates that the transcript starts with if the agent does not replay.
            options: See `SessionOptions`; the earlier options are not remembered.

        Raises:
            AuthRequired: The agent requires a login first; the message lists the login methods.
            LocalProtocolError: The session is already open on this connection.
            Unsupported: The agent cannot resume sessions, or does not support one of the options.
        """
        state = self._state
        known = state.sessions.get(session_id)
        if known is not None and known.session.cwd is not None:
            raise LocalProtocolError(f"the session {session_id} is already open")
        options = state.toolbox.merged(options)
        params = self._params(cwd, options)
        replay = bool(self.features.load) and (replay or not self.features.resume)
        start = v2.ReplayFromStart() if replay else None
        earlier = list(history)
        async with state.toolbox.offered(options, params) as ids:
            request = v2.ResumeSessionRequest(session_id=session_id, replay_from=start, **params)
            session = await state.logins.with_login(lambda: self._resume(request, params, earlier))
            state.toolbox.keep(session, ids)
        return session.session

    async def _resume(
        self,
        request: v2.ResumeSessionRequest,
        params: dict[str, Any],
        history: list[v2.SessionUpdate],
    ) -> SessionState:
        """Resume a session; if the agent does not know the method, try the other one."""
        replays = request.replay_from is not None
        attempt = ResumeAttempt(method=methods.RESUME_SESSION, request=request, replays=replays)
        try:
            return await self._try_resume(attempt, params, history)
        except MethodNotFound:
            fallback = self._state.adapter.resume_fallback(request)
            if fallback is None:
                raise
        if fallback.replays == replays:
            logger.info("%s does not know session/resume; trying session/load", self.name)
        else:
            mode = "with" if fallback.replays else "without"
            logger.warning(
                "%s declares a method that it does not know; resuming %s replay", self.name, mode
            )
        return await self._try_resume(fallback, params, [] if fallback.replays else history)

    async def _try_resume(
        self, attempt: ResumeAttempt, params: dict[str, Any], history: list[v2.SessionUpdate]
    ) -> SessionState:
        """Resume a session with one method; it is added first, because its updates come first."""
        state = self._state
        session = state.add_session(attempt.request.session_id, params)
        session.is_replaying = attempt.replays
        for update in history:
            session.transcript.fold(update)

        def resumed(response: v2.ResumeSessionResponse) -> None:
            state.peer.enqueue(session.id, _end_replay, session)  # after the replayed updates
            for update in first_updates(response):
                state.peer.enqueue(session.id, session.turns.handle_update, update)

        try:
            await state.adapter.request(attempt.method, attempt.request, on_result=resumed)
        except BaseException:  # also when cancelled: the session is not open
            state.forget(session)
            raise
        return session

    def _params(self, cwd: str | Path | None, options: SessionOptions) -> dict[str, Any]:
        return session_params(self.cwd / (cwd or "."), options, self.features, self.name)

    async def login(self, method_id: v2.AuthMethodId, *, meta: JsonObject | None = None) -> None:
        """Log in with one of `auth_methods`.

        After a login in a terminal the agent is restarted, which closes all open sessions.

        Raises:
            LocalProtocolError: The agent does not offer this method, or it is a login in a terminal
                and `connect` was called without `terminal_login`.
            AuthRequired: The login in the terminal failed.
            Unsupported: The agent does not offer any login.
        """
        await self._state.logins.log_in(method_id, meta=meta)

    async def with_login(self, call: Callable[[], Awaitable[R]]) -> R:
        """Await `call()`; if it raises `AuthRequired`, let the user log in and call it once more.

        Raises:
            AuthRequired: No login was chosen, the login failed, or the agent still requires one.
        """
        return await self._state.logins.with_login(call)

    async def list_sessions(
        self,
        cwd: str | Path | None = None,
        *,
        archived: v2.SessionArchiveFilter | None = None,
        meta: JsonObject | None = None,
    ) -> AsyncIterator[v2.SessionInfo]:
        """Iterate over the sessions that the agent knows, requesting one page at a time.

        Args:
            cwd: List only the sessions of this directory.
            archived: Unstable: whether to exclude or include archived sessions, or list only those.
            meta: The `_meta` of each request.

        Raises:
            RemoteProtocolError: The agent returns the same cursor twice in a row, or
                `MAX_EMPTY_PAGES` pages without a session in a row.
        """
        cursor, empty_pages = None, 0
        while True:
            page = await self.list_sessions_page(cwd, cursor=cursor, archived=archived, meta=meta)
            for info in page.sessions:
                yield info
            empty_pages = 0 if page.sessions else empty_pages + 1
            if page.next_cursor is None:
                return
            if page.next_cursor == cursor:
                raise RemoteProtocolError(
                    f"{with_article(self.name)} returned the same page of sessions twice"
                )
            if empty_pages >= MAX_EMPTY_PAGES:
                raise RemoteProtocolError(
                    f"{with_article(self.name)} returned {empty_pages} pages without a session "
                    "in a row"
                )
            cursor = page.next_cursor

    async def list_sessions_page(
        self,
        cwd: str | Path | None = None,
        *,
        cursor: v2.SessionListCursor | None = None,
        archived: v2.SessionArchiveFilter | None = None,
        meta: JsonObject | None = None,
    ) -> v2.ListSessionsResponse:
        """Return one page of the list; pass its `next_cursor` as `cursor` to get the next page."""
        directory = None if cwd is None else str((self.cwd / cwd).absolute())
        request = v2.ListSessionsRequest(cwd=directory, cursor=cursor, archived=archived, meta=meta)
        return await self._state.adapter.request(methods.LIST_SESSIONS, request)

    async def delete_session(
        self, session_id: v2.SessionId, *, meta: JsonObject | None = None
    ) -> None:
        """Delete a session from the agent's list; if it is open here, this closes it."""
        request = v2.DeleteSessionRequest(session_id=session_id, meta=meta)
        await self._state.adapter.request(methods.DELETE_SESSION, request)
        self._state.forget_id(session_id)

    async def archive_session(
        self, session_id: v2.SessionId, *, meta: JsonObject | None = None
    ) -> None:
        """Unstable: hide a session from lists; if it is open here, this closes it."""
        request = v2.ArchiveSessionRequest(session_id=session_id, meta=meta)
        await self._state.adapter.request(methods.ARCHIVE_SESSION, request)
        self._state.forget_id(session_id)

    async def unarchive_session(
        self, session_id: v2.SessionId, *, meta: JsonObject | None = None
    ) -> None:
        """Unstable: show an archived session in lists again."""
        request = v2.UnarchiveSessionRequest(session_id=session_id, meta=meta)
        await self._state.adapter.request(methods.UNARCHIVE_SESSION, request)

    async def session_status(
        self, session_id: v2.SessionId, *, meta: JsonObject | None = None
    ) -> v2.SessionStatusResponse:
        """Unstable: return whether a session is in the agent's memory, without loading it."""
        request = v2.SessionStatusRequest(session_id=session_id, meta=meta)
        return await self._state.adapter.request(methods.SESSION_STATUS, request)

    async def set_session_title(
        self, session_id: v2.SessionId, title: str, *, meta: JsonObject | None = None
    ) -> str:
        """Unstable: set the title of a session and return it as stored by the agent."""
        request = v2.SetSessionTitleRequest(session_id=session_id, title=title, meta=meta)
        return (await self._state.adapter.request(methods.SET_SESSION_TITLE, request)).title

    async def logout(self, *, meta: JsonObject | None = None) -> None:
        """Log out; open sessions may fail afterwards.

        Raises:
            Unsupported: The agent does not offer a logout.
        """
        if not self.features.logout:
            raise Unsupported(f"{with_article(self.name)} does not offer a logout")
        await self._state.adapter.request(methods.LOGOUT_AUTH, v2.LogoutAuthRequest(meta=meta))

    async def auth_status(self, *, meta: JsonObject | None = None) -> v2.AuthStatusResponse:
        """Unstable: return whether the agent is logged in, and its accounts."""
        return await self._state.adapter.request(
            methods.AUTH_STATUS, v2.AuthStatusRequest(meta=meta)
        )

    async def list_providers(self, *, meta: JsonObject | None = None) -> list[v2.ProviderInfo]:
        """Unstable: return the providers that the agent can send its model calls to."""
        request = v2.ListProvidersRequest(meta=meta)
        providers = (await self._state.adapter.request(methods.LIST_PROVIDERS, request)).providers
        self._listed_protocols = frozenset(name for each in providers for name in each.supported)
        return providers

    async def set_provider(self, request: v2.SetProviderRequest) -> None:
        """Unstable: configure where the agent sends its model calls.

        The `_meta` of the request is `request.meta`.

        Raises:
            LocalProtocolError: The API type is not defined by ACP, does not start with an
                underscore, and is not in the list that the agent last returned.
        """
        # An API type that the agent lists may be newer than this library, so it is not checked.
        is_listed = request.api_type in self._listed_protocols
        adapter = self._state.unchecked_adapter if is_listed else self._state.adapter
        await adapter.request(methods.SET_PROVIDER, request)

    async def disable_provider(
        self, provider_id: v2.ProviderId, *, meta: JsonObject | None = None
    ) -> None:
        """Unstable: stop the agent from using a provider.

        Raises:
            LocalProtocolError: The agent lists it as required.
        """
        for each in await self.list_providers():
            if each.provider_id == provider_id and each.required:
                raise LocalProtocolError(
                    f"the provider {provider_id!r} cannot be disabled: "
                    f"{with_article(self.name)} requires it"
                )
        request = v2.DisableProviderRequest(provider_id=provider_id, meta=meta)
        await self._state.adapter.request(methods.DISABLE_PROVIDER, request)

    async def request(self, method: str, params: Any = None, result: Any = Any) -> Any:
        """Send a request with an extension method and return its result.

        Args:
            method: The name of the method, which starts with an underscore.
            params: Anything that can be encoded as JSON.
            result: The type of the result; by default plain JSON values.
        """
        return await self._state.adapter.request(_extension(method, "request", result), params)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send a notification with an extension method, whose name starts with an underscore."""
        await self._state.adapter.notify(_extension(method, "notification", None), params)

    async def aclose(self) -> None:
        """Close the connection; unfinished requests and turns fail.

        The end of the `async with` block does this for you.
        """
        await self._state.aclose()

    def __repr__(self) -> str:
        state = self._state
        version = f"version {self.version}" if state.is_initialized else "not initialized"
        return f"Connection({self.name!r}, {version}, {len(state.sessions)} sessions)"


def _extension(name: str, kind: Kind, result: Any) -> Method[Any, Any]:
    check_custom_method(name)
    return Method(name=name, to="agent", kind=kind, params=Any, result=result)


def _end_replay(session: SessionState) -> None:
    session.is_replaying = False
