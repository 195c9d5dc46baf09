"""The MCP request that the running code serves: a tool must not wait for what waits for it."""

from __future__ import annotations

from contextvars import ContextVar


class ServerRequest:
    """A request that a server works on."""

    def __init__(self, server: object, session: object = None) -> None:
        self.server = server
        """The server."""
        self.session = session
        """The session that the server was added for; None if that is not known."""
        self.is_over = False
        """Whether it has been answered; what it has started may still run."""


current_request: ContextVar[ServerRequest | None] = ContextVar("work", default=None)
"""The request that the running code serves; None if it serves none."""
