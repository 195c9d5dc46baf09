"""`ConnectionServer`: the methods that a client may call, and how its connection ends."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from parley._task_owner import TaskOwner
from parley.errors import AcpError, InvalidParams
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler, TypedHandler
from parley.schema import v2
from parley.schema.base import Method
from parley.schema.v2 import methods
from parley.session._adapter import (
    AgentAdapter,
    AgentDescription,
    HandlerTable,
    open_agent_adapter,
)
from parley.session._capabilities import AgentFeatures, ClientFeatures
from parley.session._checked_adapter import CheckedAgentAdapter, checked_handler
from parley.session._response_meta import with_response_meta
from parley.transport._base import Transport

from ._agent_state import AgentState
from ._connection import AgentConnection
from ._elicitation import handling
from ._extension import ConnectionExtension, route_by_session
from ._login import Login
from ._session_manager import SessionManager

if TYPE_CHECKING:
    from ._agent import Agent
    from ._mcp import McpHost


_CLOSE_GRACE = 1.0


class ConnectionServer:
    """Serves one client until its connection ends; `AgentConnection` is the program's view."""

    def __init__(
        self, agent: Agent, state: AgentState, transport: Transport, *, keeps_sessions: bool = True
    ) -> None:
        """Prepare to serve a client.

        Args:
            agent: The agent.
            state: What all connections of the agent share.
            transport: The transport to the client.
            keeps_sessions: Whether sessions can still exist when the client reconnects.

        Raises:
            LocalProtocolError: A handler is missing that another one needs.
        """
        self.agent_state = state
        self.settings = settings = state.settings
        """The settings of the agent."""
        self.features: AgentFeatures = state.handlers.features(
            settings.features, keeps_sessions=keeps_sessions
        )
        """The features that the agent offers to this client."""
        self.adapter: AgentAdapter
        """The protocol adapter; set when the connection is initialized."""
        self.connection = AgentConnection(agent, self)
        """The connection as the program sees it."""
        self._peer = Peer(
            transport,
            "agent",
            limits=settings.limits,
            observer=settings.observer,
            tracer=settings.tracer,
        )
        self._sessions = SessionManager(self)
        self._extensions: list[ConnectionExtension] = [
            each.join(self.connection, state) for each in state.extensions
        ]
        self.tasks = TaskOwner(self._peer.name, expected=(AcpError,))
        """The tasks that outlive the turn that started them."""

    @property
    def name(self) -> str:
        """The name of the client in logs and errors."""
        return self._peer.name

    @cached_property
    def mcp(self) -> McpHost:
        """The part of the connection that the MCP clients of its sessions share."""
        from ._mcp import McpHost  # imported late: few agents use MCP servers

        return McpHost(self)

    def summary(self) -> str:
        """Return the names of both sides, the version and the number of sessions."""
        version = (
            f"version {self.adapter.version}" if hasattr(self, "adapter") else "not initialized"
        )
        return f"{self.settings.name!r} to {self.name!r}, {version}, {self._sessions!r}"

    async def serve(self) -> None:
        """Serve requests until the connection ends, then close its sessions and extensions."""
        open_agent_adapter(self._peer, self._describe, self._begin, self.settings.versions)
        try:
            async with self._peer:
                try:
                    await self._peer.wait_closed()
                finally:  # if we end the connection, the client still learns how its turns end
                    await self._end()
        finally:  # also if opening the peer fails; `_end` may run twice
            try:
                await self._end()
            finally:
                await self.tasks.aclose(_CLOSE_GRACE)

    async def _end(self) -> None:
        await self._sessions.close_all()
        for each in self._extensions:
            await each.aclose()

    async def _describe(
        self, client: ClientFeatures, info: v2.Implementation | None
    ) -> AgentDescription:
        agent = self.settings
        self.agent_state.check_accepting()
        for each in self._extensions:
            self.features = each.features(self.features, client)
        logins = [login.method for login in self.agent_state.handlers.logins.values()]
        if not client.terminal_login:
            logins = [each for each in logins if not isinstance(each, v2.AuthMethodTerminal)]
        return AgentDescription(
            info=v2.Implementation(name=agent.name, title=agent.title, version=agent.version),
            features=self.features,
            auth_methods=[*logins],
            meta=agent.meta,
        )

    def _begin(self, adapter: AgentAdapter) -> HandlerTable:
        self.adapter = CheckedAgentAdapter(adapter)
        requests: dict[str, RequestHandler | TypedHandler] = {}
        notifications: dict[str, NotificationHandler | TypedHandler] = {}
        if self.features.sessions:
            requests |= self._session_requests()
            notifications[methods.CANCEL_SESSION.name] = self._sessions.cancel_session
        if self.features.mcp_acp:
            requests |= self.mcp.requests
            notifications |= self.mcp.notifications
        requests |= {name: checked_handler(each) for name, each in self._other_requests().items()}
        for extension in self._extensions:
            for name, handler in extension.requests.items():
                requests[name] = route_by_session(
                    extension, checked_handler(handler), requests.get(name)
                )
            notifications |= extension.notifications
        requests |= {
            name: self._bind_connection(each)
            for name, each in self.agent_state.handlers.requests.items()
        }
        for name, each in self.agent_state.handlers.notifications.items():
            notifications[name] = self._bind_connection(each)
        handled = {name: self._handled(each) for name, each in requests.items()}
        return HandlerTable(requests=handled, notifications=notifications)

    def _handled(self, handler: RequestHandler | TypedHandler) -> RequestHandler | TypedHandler:
        """Wrap a handler so that elicitations made while it runs belong to its request."""
        call = handler.handler if isinstance(handler, TypedHandler) else handler

        async def handle(params: Any, request: RequestContext) -> Any:
            with handling(self, request.id):
                return await call(params, request)

        if isinstance(handler, TypedHandler):
            return TypedHandler(handle, handler.params)
        response_meta = self.settings.response_meta
        return handle if response_meta is None else with_response_meta(handle, response_meta)

    def _session_requests(self) -> dict[str, RequestHandler]:
        sessions, features = self._sessions, self.features
        rows: list[tuple[Method[Any, Any], RequestHandler, bool]] = [
            (methods.NEW_SESSION, sessions.new_session, True),
            (methods.LIST_SESSIONS, sessions.list_sessions, True),
            (methods.RESUME_SESSION, sessions.resume_session, True),
            (methods.CLOSE_SESSION, sessions.close_session, True),
            (methods.PROMPT, sessions.prompt, True),
            (methods.SET_SESSION_CONFIG_OPTION, sessions.set_config_option, True),
            (methods.CANCEL_TOOL_CALL, sessions.cancel_tool_call, True),
            (methods.CANCEL_TERMINAL, sessions.cancel_terminal, True),
            (methods.DELETE_SESSION, sessions.delete_session, bool(features.delete)),
            (methods.FORK_SESSION, sessions.fork_session, features.fork),
            (methods.ARCHIVE_SESSION, sessions.archive_session, features.archive),
            (methods.UNARCHIVE_SESSION, sessions.unarchive_session, features.archive),
            (methods.SESSION_STATUS, sessions.session_status, features.status),
            (methods.SET_SESSION_TITLE, sessions.set_session_title, features.title),
        ]
        return {method.name: handler for method, handler, is_offered in rows if is_offered}

    def _other_requests(self) -> dict[str, RequestHandler]:
        handlers = self.agent_state.handlers
        rows: list[tuple[Method[Any, Any], RequestHandler, bool]] = [
            (methods.LOGIN_AUTH, self._login, bool(handlers.logins)),
            (methods.LOGOUT_AUTH, self._logout, bool(handlers.logins)),
            (methods.AUTH_STATUS, self._auth_status, self.features.auth_status),
            (methods.LIST_PROVIDERS, self._list_providers, self.features.providers),
            (methods.SET_PROVIDER, self._set_provider, self.features.providers),
            (methods.DISABLE_PROVIDER, self._disable_provider, self.features.providers),
        ]
        return {method.name: handler for method, handler, is_offered in rows if is_offered}

    def _bind_connection(self, typed: TypedHandler) -> TypedHandler:
        """Wrap a program's extension handler so that it is called with this connection."""

        def handle(params: Any, request: RequestContext | None = None) -> Any:
            return typed.handler(params, self.connection)

        return TypedHandler(handle, typed.params)

    async def _login(self, params: v2.LoginAuthRequest, request: RequestContext) -> None:
        found = self.agent_state.handlers.logins.get(params.method_id)
        if found is None or found.handler is None:
            raise InvalidParams("Unknown login method")
        await found.handler(Login(self.connection, params))

    async def _logout(self, params: v2.LogoutAuthRequest, request: RequestContext) -> None:
        assert self.agent_state.handlers.logout is not None
        await self.agent_state.handlers.logout(self.connection)

    async def _auth_status(
        self, params: v2.AuthStatusRequest, request: RequestContext
    ) -> v2.AuthStatusResponse:
        assert self.agent_state.handlers.auth_status is not None
        return await self.agent_state.handlers.auth_status(self.connection)

    async def _list_providers(
        self, params: v2.ListProvidersRequest, request: RequestContext
    ) -> v2.ListProvidersResponse:
        assert self.agent_state.handlers.list_providers is not None
        providers = await self.agent_state.handlers.list_providers(self.connection)
        return v2.ListProvidersResponse(providers=list(providers))

    async def _set_provider(self, params: v2.SetProviderRequest, request: RequestContext) -> None:
        assert self.agent_state.handlers.set_provider is not None
        found = await self._provider(params.provider_id)
        if found is None or params.api_type not in found.supported:
            raise InvalidParams("There is no such provider, or it does not support this API type")
        await self.agent_state.handlers.set_provider(params, self.connection)

    async def _disable_provider(
        self, params: v2.DisableProviderRequest, request: RequestContext
    ) -> None:
        assert self.agent_state.handlers.disable_provider is not None
        found = await self._provider(params.provider_id)
        if found is None:
            return
        if found.required:
            raise InvalidParams("The provider is required and cannot be disabled")
        await self.agent_state.handlers.disable_provider(params.provider_id, self.connection)

    async def _provider(self, id: v2.ProviderId) -> v2.ProviderInfo | None:
        assert self.agent_state.handlers.list_providers is not None
        listed = await self.agent_state.handlers.list_providers(self.connection)
        return next((each for each in listed if each.provider_id == id), None)
