"""An agent's side of MCP: the clients of its sessions, and messages of servers over ACP."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from parley.errors import Unsupported
from parley.mcp.lines import Lines
from parley.peer import NotificationHandler, RequestContext, RequestHandler, Typed
from parley.schema.base import Method

if TYPE_CHECKING:
    from parley.mcp.clients import McpClients

    from .connection import Connection
    from .session import Session

__all__ = ["McpSide", "check_installed"]


def check_installed() -> None:
    """Raise `Unsupported` without the package that has the MCP clients."""
    if find_spec("mcp") is None:
        raise Unsupported(
            "mcp is not installed, which MCP servers need: pip install 'parley-acp[mcp]'"
        )


class McpSide:
    """What the MCP clients of all sessions of a connection share."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lines = Lines(self)

    @property
    def requests(self) -> dict[str, RequestHandler | Typed]:
        """What servers may ask over ACP, in its older form."""
        return {"mcp/message": Typed(self._requested, Raw)}

    @property
    def notifications(self) -> dict[str, NotificationHandler | Typed]:
        """What servers report over ACP."""
        return {"mcp/message": Typed(self._lines.notified, Raw)}

    def clients(self, session: Session) -> McpClients:
        """Return the MCP clients of a session.

        Raises:
            Unsupported: The `mcp` package is not installed.
        """
        check_installed()
        from mcp_types import Implementation

        from parley.mcp.clients import McpClients

        agent = self._connection.agent
        info = Implementation(name=agent.name, title=agent.title, version=agent.version)
        return McpClients(session.mcp_servers, cwd=session.cwd, lines=self._lines, info=info)

    async def request(self, method: str, params: Raw) -> Raw:
        """Ask the client, who has the servers."""
        sent: Method[Raw, Raw] = Method(
            name=method, to="client", kind="request", params=Raw, result=Raw
        )
        return await self._connection.surface.peer.request(sent, params)

    async def notify(self, method: str, params: Raw) -> None:
        """Tell the client something."""
        sent: Method[Raw, None] = Method(name=method, to="client", kind="notification", params=Raw)
        await self._connection.surface.peer.notify(sent, params)

    async def _requested(self, params: Raw, request: RequestContext) -> Any:
        return await self._lines.requested(params)
