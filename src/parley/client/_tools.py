"""Tools and MCP servers of the program, offered to the sessions of a connection.

Each session gets servers with ids of its own, even if the program gave them for all sessions, so
that nothing of one session is visible in another. The servers work before the session is open,
because an agent may connect to them while it opens the session, and they are removed with it. An
agent that does not support MCP over ACP gets servers that it can reach through a bridge instead
(`parley.mcp._bridge`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from parley.errors import ConnectionClosed, Unsupported
from parley.mcp._provider import MCP_METHODS, Provider
from parley.peer import RequestContext, TypedHandler
from parley.peer._peer_name import with_article
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods

from ._check_options import check_options
from ._session_options import SessionOptions

if TYPE_CHECKING:
    from parley.mcp._bridge import Bridge

    from ._connection_state import ConnectionState
    from ._session_state import SessionState


def is_declaration(server: object) -> bool:
    """Return whether an object declares how to reach a server, rather than being a server."""
    kinds = (v2.McpServerStdio, v2.McpServerHttp, v2.McpServerAcp, Unknown)
    return isinstance(server, kinds)


class Toolbox:
    """The tools and MCP servers that a program offers to the agent, session by session."""

    def __init__(
        self,
        connection: ConnectionState,
        tools: Sequence[Callable[..., Any]] = (),
        servers: Sequence[object] = (),
    ) -> None:
        self._connection = connection
        self._tools = list(tools)
        self._servers = list(servers)
        self._provider = Provider(_McpMessageSender(self))
        self._sessions: dict[SessionState, list[str]] = {}
        self._bridge: Bridge | None = None

    @property
    def connection(self) -> ConnectionState:
        """The connection over which the servers are offered."""
        return self._connection

    @property
    def bridge(self) -> Bridge | None:
        """The bridge to the servers, for an agent that cannot reach them over ACP."""
        return self._bridge

    def merged(self, options: SessionOptions) -> SessionOptions:
        """Return the options of a session, with the tools and servers for all sessions added.

        Raises:
            TypeError: There is no such option, or its value has the wrong type.
        """
        check_options(options, SessionOptions)
        tools = [*self._tools, *options.get("tools", ())]
        servers = [*self._servers, *options.get("mcp_servers", ())]
        return {**options, "tools": tools, "mcp_servers": servers}

    @asynccontextmanager
    async def offered(
        self, options: SessionOptions, params: dict[str, Any]
    ) -> AsyncGenerator[list[str]]:
        """Offer the tools and servers of a session, and add them to the params that open it.

        If the block fails, they are withdrawn.

        Yields:
            The ids of the offered servers.

        Raises:
            Unsupported: The agent does not use MCP servers or cannot reach ours, or the `mcp`
                package is not installed.
            TypeError: An object is neither a server nor a function that can be a tool.
            ValueError: Two servers have the same name.
        """
        ids: list[str] = []
        try:
            declared = [
                each if is_declaration(each) else await self._declare(self._provider.add(each), ids)
                for each in options.get("mcp_servers", ())
            ]
            if tools := options.get("tools", ()):
                declared.append(await self._declare(self._provider.add_functions(tools), ids))
            _check_names(declared)
            params["mcp_servers"] = declared
            yield ids
        except BaseException:  # also when cancelled
            await self._withdraw(ids)
            raise

    def keep(self, session: SessionState, ids: list[str]) -> None:
        """Keep servers until the session closes for which they were offered."""
        if not ids:
            return
        self._sessions[session] = ids
        if session.is_closed:
            self.forget(session)

    def forget(self, session: SessionState) -> None:
        """Withdraw the servers of a closed session."""
        if (ids := self._sessions.pop(session, None)) is not None:
            self._connection.spawn(self._withdraw(ids))

    def is_at_work(self, session: SessionState) -> bool:
        """Return whether the caller runs in a tool of this session, which its turn waits for."""
        return self._provider.is_at_work(self._sessions.get(session, ()))

    async def disconnect(self) -> None:
        """Withdraw the servers of all sessions, because the agent has disconnected."""
        await self._provider.hang_up()
        while self._sessions:
            await self._withdraw(self._sessions.popitem()[1])

    async def aclose(self) -> None:
        """Withdraw everything and close the bridge."""
        self._sessions.clear()
        await self._provider.aclose()
        if self._bridge is not None:
            await self._bridge.aclose()

    def requests(self) -> Mapping[str, TypedHandler]:
        """Return the handlers of the agent's requests to the servers."""

        async def serve(params: Raw, context: RequestContext) -> Raw:
            return await self._provider.request(context.method, params, id=context.id)

        return {method: TypedHandler(serve, Raw) for method in MCP_METHODS}

    def notifications(self) -> Mapping[str, TypedHandler]:
        """Return the handlers of the agent's notifications to the servers."""
        return {"mcp/message": TypedHandler(self._provider.notified, Raw)}

    async def _declare(self, server_id: str, ids: list[str]) -> v2.McpServer:
        """Return a declaration that the agent can use, over ACP or through the bridge.

        The id is added to `ids` first, so that it is withdrawn if this fails.
        """
        ids.append(server_id)
        declaration = self._provider.declaration(server_id)
        if self._connection.features.mcp_acp:
            return declaration
        return await self._require_bridge().declare(declaration)

    def _require_bridge(self) -> Bridge:
        """Return the bridge, created at the first use.

        Raises:
            Unsupported: The agent does not use MCP servers, or is on another machine.
        """
        if self._bridge is None:
            from parley.mcp._bridge import Bridge, reach_in

            connection = self._connection
            reach = reach_in(connection.features)
            if reach is None:
                raise Unsupported(
                    f"{with_article(connection.name)} does not use MCP servers, "
                    "so it cannot call your tools"
                )
            if connection.is_on_other_host:
                raise Unsupported(
                    f"{with_article(connection.name)} is on another machine and does not speak "
                    "MCP over ACP, so it cannot reach your tools; "
                    "serve `parley conduct -- AGENT` there"
                )
            upstream = _BridgeUpstream(self._provider)
            self._bridge = Bridge(upstream, reach=reach, version=connection.adapter.version)
        return self._bridge

    async def _withdraw(self, ids: list[str]) -> None:
        for server_id in ids:
            if self._bridge is not None:
                await self._bridge.withdraw(server_id)
            await self._provider.remove(server_id)


def _check_names(servers: Sequence[object]) -> None:
    """Raise `ValueError` if two servers share a name: an agent tells their tools apart by it."""
    names = [getattr(each, "name", None) for each in servers]
    for name in names:
        if name is not None and names.count(name) > 1:
            raise ValueError(
                f"two MCP servers of the session are called {name!r}, so the agent could not tell "
                "their tools apart; give one of them another name (functions in tools= are a "
                "server called 'tools')"
            )


class _McpMessageSender:
    """Sends the messages of the servers to the agent, over ACP or the bridge."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    async def request(self, params: dict[str, Any]) -> Any:
        if (bridge := self._toolbox.bridge) is not None:
            response = await bridge.channels.requested(Raw(msgspec.json.encode(params)))
            return msgspec.json.decode(response)
        return await self._toolbox.connection.peer.request(
            methods.MESSAGE_MCP_CONNECTION, _raw(params)
        )

    async def notify(self, params: dict[str, Any]) -> None:
        if (bridge := self._toolbox.bridge) is not None:
            bridge.channels.notified(Raw(msgspec.json.encode(params)))
            return
        try:
            await self._toolbox.connection.peer.notify(
                methods.MESSAGE_MCP_CONNECTION_NOTIFICATION, _raw(params)
            )
        except ConnectionClosed:
            return  # the server's work ends with the connection


def _raw(params: dict[str, Any]) -> Any:
    """Return params encoded as JSON; their form differs between messages."""
    return Raw(msgspec.json.encode(params))


class _BridgeUpstream:
    """Adapts the provider to the interface that the bridge expects."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def request(self, method: str, params: Raw) -> Raw:
        return await self._provider.request(method, params)

    async def notify(self, method: str, params: Raw) -> None:
        self._provider.notified(params)
