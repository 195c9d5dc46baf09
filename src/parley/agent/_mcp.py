"""MCP on the agent's side: the MCP clients of its sessions, and server messages over ACP."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from parley.errors import Unsupported
from parley.mcp._channels import McpChannels
from parley.peer import NotificationHandler, RequestContext, RequestHandler, TypedHandler
from parley.schema.base import Method

if TYPE_CHECKING:
    from parley.mcp._clients import McpClients

    from ._connection_server import ConnectionServer
    from ._session_state import AgentSessionState


def check_installed() -> None:
    """Raise `Unsupported` if the `mcp` package is not installed."""
    if find_spec("mcp") is None:
        raise Unsupported("MCP servers need the mcp package: pip install 'parley-acp[mcp]'")


class McpHost:
    """Creates the MCP clients of a connection's sessions, and carries MCP messages over ACP."""

    def __init__(self, server: ConnectionServer) -> None:
        self._server = server
        self._lines = McpChannels(self)

    @property
    def requests(self) -> dict[str, RequestHandler | TypedHandler]:
        """The handlers of requests from MCP servers over ACP, in its older form."""
        return {"mcp/message": TypedHandler(self._requested, Raw)}

    @property
    def notifications(self) -> dict[str, NotificationHandler | TypedHandler]:
        """The handlers of notifications from MCP servers over ACP."""
        return {"mcp/message": TypedHandler(self._lines.notified, Raw)}

    def clients(self, session: AgentSessionState) -> McpClients:
        """Return the MCP clients of a session.

        Raises:
            Unsupported: The `mcp` package is not installed.
        """
        check_installed()
        from mcp_types import Implementation

        from parley.mcp._clients import McpClients

        agent = self._server.settings
        info = Implementation(name=agent.name, title=agent.title, version=agent.version)
        return McpClients(
            session.mcp_servers, cwd=session.stored.cwd, channels=self._lines, info=info
        )

    async def request(self, method: str, params: Raw) -> Raw:
        """Send a request to the ACP client, which hosts the servers."""
        sent: Method[Raw, Raw] = Method(
            name=method, to="client", kind="request", params=Raw, result=Raw
        )
        return await self._server.adapter.peer.request(sent, params)

    async def notify(self, method: str, params: Raw) -> None:
        """Send a notification to the ACP client."""
        sent: Method[Raw, None] = Method(name=method, to="client", kind="notification", params=Raw)
        await self._server.adapter.peer.notify(sent, params)

    async def _requested(self, params: Raw, request: RequestContext) -> Any:
        return await self._lines.requested(params)
