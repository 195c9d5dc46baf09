"""Tools and MCP servers of the program, offered to the sessions of a connection.

Each session gets servers with ids of its own, also where the program gave them for all sessions, so
what belongs to one is never seen in another. They can be used before the session is opened, since
an agent may connect to them while it opens it, and are gone with it. An agent that does not speak
MCP over ACP is given something that it can reach instead (`parley.mcp.bridge`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from parley.errors import ConnectionClosed, Unsupported
from parley.mcp.provider import MCP_METHODS, Provider
from parley.peer import RequestContext, Typed
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import unstable

from .opening import SessionOptions
from .options import check_options

if TYPE_CHECKING:
    from parley.mcp.bridge import Bridge

    from .connection import Connection
    from .session import Session

__all__ = ["Toolbox", "is_declaration"]


def is_declaration(server: object) -> bool:
    """Tell whether this is how a server is reached, and not a server."""
    kinds = (v2.McpServerStdio, v2.McpServerHttp, unstable.McpServerAcp, Unknown)
    return isinstance(server, kinds)


class Toolbox:
    """What a program gives to the agent to use, session by session."""

    def __init__(
        self,
        connection: Connection,
        tools: Sequence[Callable[..., Any]] = (),
        servers: Sequence[object] = (),
    ) -> None:
        self._connection = connection
        self._tools = list(tools)
        self._servers = list(servers)
        self._provider = Provider(_Outlet(self))
        self._sessions: dict[Session, list[str]] = {}
        self._bridge: Bridge | None = None

    @property
    def connection(self) -> Connection:
        """The connection over which it is offered."""
        return self._connection

    @property
    def bridge(self) -> Bridge | None:
        """What the agent reaches the servers by, if it cannot do that over ACP."""
        return self._bridge

    def merged(self, options: SessionOptions) -> SessionOptions:
        """Return the options of a session with what is for all sessions.

        Raises:
            TypeError: There is no such option, or it is something else than it should be.
        """
        check_options(options, SessionOptions)
        tools = [*self._tools, *options.get("tools", ())]
        servers = [*self._servers, *options.get("mcp_servers", ())]
        return {**options, "tools": tools, "mcp_servers": servers}

    @asynccontextmanager
    async def offered(
        self, options: SessionOptions, params: dict[str, Any]
    ) -> AsyncGenerator[list[str]]:
        """Offer what a session is to have, and put it into the params that open it.

        If the block fails, nothing of it stays.

        Raises:
            Unsupported: The agent uses no MCP servers, or the `mcp` package is not installed.
            TypeError: Something is neither a server nor a function that can be a tool.
        """
        ids: list[str] = []
        try:
            declared = [
                each if is_declaration(each) else await self._declare(self._provider.add(each), ids)
                for each in options.get("mcp_servers", ())
            ]
            if tools := options.get("tools", ()):
                declared.append(await self._declare(self._provider.add_functions(tools), ids))
            params["mcp_servers"] = declared
            yield ids
        except BaseException:  # also when cancelled
            await self._withdraw(ids)
            raise

    def keep(self, session: Session, ids: list[str]) -> None:
        """Have servers last as long as the session for which they were offered."""
        if not ids:
            return
        self._sessions[session] = ids
        if session.is_closed:
            self.forget(session)

    def forget(self, session: Session) -> None:
        """Withdraw what a session had that is closed."""
        if (ids := self._sessions.pop(session, None)) is not None:
            self._connection.spawn(self._withdraw(ids))

    def is_at_work(self, session: Session) -> bool:
        """Tell whether what runs now is a tool of this session, which its turn waits for."""
        return self._provider.is_at_work(self._sessions.get(session, ()))

    async def hang_up(self) -> None:
        """Withdraw what sessions have: the agent that they were with is gone."""
        await self._provider.hang_up()
        while self._sessions:
            await self._withdraw(self._sessions.popitem()[1])

    async def aclose(self) -> None:
        """Offer nothing any more."""
        self._sessions.clear()
        await self._provider.aclose()
        if self._bridge is not None:
            await self._bridge.aclose()

    def requests(self) -> Mapping[str, Typed]:
        """Return the handlers of what the agent asks the servers."""

        async def serve(params: Raw, context: RequestContext) -> Raw:
            return await self._provider.request(context.method, params, id=context.id)

        return {method: Typed(serve, Raw) for method in MCP_METHODS}

    def notifications(self) -> Mapping[str, Typed]:
        """Return the handlers of what the agent tells the servers."""
        return {"mcp/message": Typed(self._provider.notified, Raw)}

    async def _declare(self, server_id: str, ids: list[str]) -> v2.McpServer:
        ids.append(server_id)
        declaration = self._provider.declaration(server_id)
        if self._connection.features.mcp_acp:
            return declaration
        return await self._bridged().declare(declaration)

    def _bridged(self) -> Bridge:
        if self._bridge is None:
            from parley.mcp.bridge import Bridge, reach_in

            connection = self._connection
            reach = reach_in(connection.features)
            if reach is None:
                raise Unsupported(
                    f"the {connection.name} uses no MCP servers, so it can be given no tools"
                )
            if connection.is_elsewhere:
                raise Unsupported(
                    f"the {connection.name} is on another machine and does not speak MCP over ACP, "
                    "so it cannot reach your tools; have `parley conduct -- AGENT` served there"
                )
            upstream = _Upstream(self._provider)
            self._bridge = Bridge(upstream, reach=reach, version=connection.version)
        return self._bridge

    async def _withdraw(self, ids: list[str]) -> None:
        for server_id in ids:
            if self._bridge is not None:
                await self._bridge.withdraw(server_id)
            await self._provider.remove(server_id)


class _Outlet:
    """Brings the agent what the servers say."""

    def __init__(self, toolbox: Toolbox) -> None:
        self._toolbox = toolbox

    async def request(self, params: dict[str, Any]) -> Any:
        from parley.schema.v2.former_methods import MESSAGE_MCP_CONNECTION

        if (bridge := self._toolbox.bridge) is not None:
            answer = await bridge.lines.requested(Raw(msgspec.json.encode(params)))
            return msgspec.json.decode(answer)
        return await self._toolbox.connection.peer.request(MESSAGE_MCP_CONNECTION, _raw(params))

    async def notify(self, params: dict[str, Any]) -> None:
        from parley.schema.v2.former_methods import MESSAGE_MCP_CONNECTION_NOTIFICATION as MESSAGE

        if (bridge := self._toolbox.bridge) is not None:
            bridge.lines.notified(Raw(msgspec.json.encode(params)))
            return
        try:
            await self._toolbox.connection.peer.notify(MESSAGE, _raw(params))
        except ConnectionClosed:
            return  # what runs in the server ends with it


def _raw(params: dict[str, Any]) -> Any:
    """Return params as they are to be sent: they have one form or the other."""
    return Raw(msgspec.json.encode(params))


class _Upstream:
    """The provider as the bridge sees it."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def request(self, method: str, params: Raw) -> Raw:
        return await self._provider.request(method, params)

    async def notify(self, method: str, params: Raw) -> None:
        self._provider.notified(params)
