"""One connection of an agent: what its client may call, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

from parley.errors import InvalidParams, LocalProtocolError
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler, Typed
from parley.schema import v2
from parley.schema.base import Kind, Method
from parley.schema.v2 import methods, unstable
from parley.session.features import AgentFeatures, ClientFeatures
from parley.session.surface import AgentDescription, AgentSurface, Program, open_agent
from parley.transport.base import Transport

from .addition import Joined, shared
from .archive import Archive
from .login import Login
from .sessions import Sessions

if TYPE_CHECKING:
    from .agent import Agent
    from .mcp import McpSide

__all__ = ["Connection"]

logger = logging.getLogger(__name__)


class Connection:
    """One client of an agent."""

    def __init__(self, agent: Agent, transport: Transport) -> None:
        self.agent = agent
        """The agent that serves it."""
        self.features: AgentFeatures = agent.handlers.features(agent.features)
        """What the agent offers."""
        self.surface: AgentSurface
        """What carries it; there since it was initialized."""
        self._peer = Peer(transport, "agent", limits=agent.limits)
        self._sessions = Sessions(self)
        self._joined: list[Joined] = [each.join(self) for each in agent.additions]
        self._kept: set[asyncio.Task[Any]] = set()

    @property
    def name(self) -> str:
        """What the client is called in logs and errors."""
        return self._peer.name

    @cached_property
    def mcp(self) -> McpSide:
        """What MCP clients of the sessions need of the connection."""
        from .mcp import McpSide  # few agents use MCP servers

        return McpSide(self)

    async def serve(self) -> None:
        """Answer until the connection ends, then end what was under way on it."""
        open_agent(self._peer, self._describe, self._begin, self.agent.versions)
        try:
            async with self._peer:
                try:
                    await self._peer.wait_closed()
                finally:  # if it is we who end it, the client is told how its turns end
                    await self._end()
        finally:
            await self._end()

    async def _end(self) -> None:
        await self._sessions.close_all()
        for each in self._joined:
            await each.aclose()

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Keep a task that nobody waits for any more from being forgotten while it runs."""
        self._kept.add(task)
        task.add_done_callback(self._dropped)

    def _dropped(self, task: asyncio.Task[Any]) -> None:
        self._kept.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.info("what nobody waited for any more failed", exc_info=error)

    async def request(self, method: str, params: Any = None, result: Any = Any) -> Any:
        """Send a request of your own, whose name begins with `_`.

        Args:
            method: Its name.
            params: Anything that can be written as JSON.
            result: The type of its result; plain JSON values unless told otherwise.

        Raises:
            RequestError: The client refused; `MethodNotFound` if it does not know it.
        """
        return await self.surface.request(_extension(method, "request", result), params)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send a notification of your own, whose name begins with `_`."""
        await self.surface.notify(_extension(method, "notification", None), params)

    async def report_auth_status(self, status: unstable.AuthStatusResponse) -> None:
        """Tell the client that somebody has logged in or out."""
        note = unstable.AuthStatusUpdateNotification(
            state=status.state, accounts=status.accounts, meta=status.meta
        )
        await self.surface.notify(methods.AUTH_STATUS_UPDATE, note)

    async def _describe(
        self, client: ClientFeatures, info: v2.Implementation | None
    ) -> AgentDescription:
        agent = self.agent
        agent.check_open()
        for each in self._joined:
            self.features = each.features(self.features, client)
        logins = [login.method for login in agent.handlers.logins.values()]
        if not client.terminal_login:
            logins = [each for each in logins if not isinstance(each, v2.AuthMethodTerminal)]
        return AgentDescription(
            info=v2.Implementation(name=agent.name, title=agent.title, version=agent.version),
            features=self.features,
            auth_methods=[*logins],
            meta=agent.meta,
        )

    def _begin(self, surface: AgentSurface) -> Program:
        self.surface = surface
        requests: dict[str, RequestHandler | Typed] = {}
        notifications: dict[str, NotificationHandler | Typed] = {}
        if self.features.sessions:
            requests |= self._session_requests()
            notifications[methods.CANCEL_SESSION.name] = self._sessions.cancel
        if self.features.mcp_acp:
            requests |= self.mcp.requests
            notifications |= self.mcp.notifications
        requests |= self._other_requests()
        for joined in self._joined:
            for name, handler in joined.requests.items():
                requests[name] = shared(joined, handler, requests.get(name))
            notifications |= joined.notifications
        requests |= {name: self._typed(each) for name, each in self.agent.handlers.requests.items()}
        for name, each in self.agent.handlers.notifications.items():
            notifications[name] = self._typed(each)
        return Program(requests=requests, notifications=notifications)

    def _session_requests(self) -> dict[str, RequestHandler]:
        sessions, archive, features = self._sessions, Archive(self.agent), self.features
        offered: list[tuple[Method[Any, Any], RequestHandler, bool]] = [
            (methods.NEW_SESSION, sessions.new, True),
            (methods.LIST_SESSIONS, archive.list, True),
            (methods.RESUME_SESSION, sessions.resume, True),
            (methods.CLOSE_SESSION, sessions.close, True),
            (methods.PROMPT, sessions.prompt, True),
            (methods.SET_SESSION_CONFIG_OPTION, sessions.set_config_option, True),
            (methods.CANCEL_TOOL_CALL, sessions.cancel_tool_call, True),
            (methods.CANCEL_TERMINAL, sessions.cancel_terminal, True),
            (methods.DELETE_SESSION, archive.delete, features.delete),
            (methods.FORK_SESSION, sessions.fork, features.fork),
            (methods.ARCHIVE_SESSION, archive.archive, features.archive),
            (methods.UNARCHIVE_SESSION, archive.unarchive, features.archive),
            (methods.SESSION_STATUS, archive.status, features.status),
            (methods.SET_SESSION_TITLE, archive.set_title, features.title),
        ]
        return {method.name: handler for method, handler, is_on in offered if is_on}

    def _other_requests(self) -> dict[str, RequestHandler]:
        handlers = self.agent.handlers
        offered: list[tuple[Method[Any, Any], RequestHandler, bool]] = [
            (methods.LOGIN_AUTH, self._login, bool(handlers.logins)),
            (methods.LOGOUT_AUTH, self._logout, bool(handlers.logins)),
            (methods.AUTH_STATUS, self._auth_status, self.features.auth_status),
            (methods.LIST_PROVIDERS, self._list_providers, self.features.providers),
            (methods.SET_PROVIDER, self._set_provider, self.features.providers),
            (methods.DISABLE_PROVIDER, self._disable_provider, self.features.providers),
        ]
        return {method.name: handler for method, handler, is_on in offered if is_on}

    def _typed(self, typed: Typed) -> Typed:
        """Give a handler of the program's own the connection."""

        def handle(params: Any, request: RequestContext | None = None) -> Any:
            return typed.handler(params, self)

        return Typed(handle, typed.params)

    async def _login(self, params: v2.LoginAuthRequest, request: RequestContext) -> None:
        found = self.agent.handlers.logins.get(params.method_id)
        if found is None or found.handler is None:
            raise InvalidParams("There is no such way to log in here")
        await found.handler(Login(self, request.id, params))

    async def _logout(self, params: v2.LogoutAuthRequest, request: RequestContext) -> None:
        assert self.agent.handlers.logout is not None
        await self.agent.handlers.logout()

    async def _auth_status(
        self, params: unstable.AuthStatusRequest, request: RequestContext
    ) -> unstable.AuthStatusResponse:
        assert self.agent.handlers.auth_status is not None
        return await self.agent.handlers.auth_status()

    async def _list_providers(
        self, params: unstable.ListProvidersRequest, request: RequestContext
    ) -> unstable.ListProvidersResponse:
        assert self.agent.handlers.list_providers is not None
        providers = await self.agent.handlers.list_providers()
        return unstable.ListProvidersResponse(providers=list(providers))

    async def _set_provider(
        self, params: unstable.SetProviderRequest, request: RequestContext
    ) -> None:
        assert self.agent.handlers.set_provider is not None
        found = await self._provider(params.provider_id)
        if found is None or params.api_type not in found.supported:
            raise InvalidParams("There is no such provider, or it speaks another protocol")
        await self.agent.handlers.set_provider(params)

    async def _disable_provider(
        self, params: unstable.DisableProviderRequest, request: RequestContext
    ) -> None:
        assert self.agent.handlers.disable_provider is not None
        found = await self._provider(params.provider_id)
        if found is None:
            return
        if found.required:
            raise InvalidParams("The provider is required")
        await self.agent.handlers.disable_provider(params.provider_id)

    async def _provider(self, id: unstable.ProviderId) -> unstable.ProviderInfo | None:
        assert self.agent.handlers.list_providers is not None
        listed = await self.agent.handlers.list_providers()
        return next((each for each in listed if each.provider_id == id), None)

    def __repr__(self) -> str:
        version = (
            f"version {self.surface.version}" if hasattr(self, "surface") else "not initialized"
        )
        return f"Connection({self.agent.name!r} to {self.name!r}, {version}, {self._sessions!r})"


def _extension(name: str, kind: Kind, result: Any) -> Method[Any, Any]:
    if not name.startswith("_"):
        raise LocalProtocolError(f"a method of your own begins with an underscore: {name}")
    return Method(name=name, to="client", kind=kind, params=Any, result=result)
