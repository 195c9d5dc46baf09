"""The error that an MCP server responds with."""

from __future__ import annotations

from typing import Any


class McpFailure(Exception):
    """A request of MCP that its server refused; how it travels depends on the wire form."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['message']} ({error['code']})")
        self.error = error
        """MCP's error object: code, message, perhaps data."""
