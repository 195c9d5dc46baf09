"""An agent's end of a provider, without a connection of ACP between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from parley.mcp import Provider
from parley.mcp._function_server import function_server

ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HANDSHAKE: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


class ProviderClient:
    """Asks a provider, and keeps what its servers say."""

    def __init__(self) -> None:
        self.provider = Provider(self)
        self.told: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self._requests = 0

    async def request(self, params: dict[str, Any]) -> Any:
        self.asked.append(params)
        return {}

    async def notify(self, params: dict[str, Any]) -> None:
        self.told.append(params)

    def serve(self, *functions: Callable[..., Any]) -> str:
        """Offer functions and return the id of their server."""
        return self.provider.add(function_server(functions))

    async def send(self, method: str, params: dict[str, Any], id: int | None = None) -> Any:
        return msgspec.json.decode(
            await self.provider.request(method, msgspec.json.encode(params), id=id)
        )

    def tell(self, params: dict[str, Any]) -> None:
        self.provider.notified(msgspec.json.encode(params))

    async def ask(self, server: str, method: str, id: str = "", **params: Any) -> Any:
        """Ask in the present form and return the outcome."""
        self._requests += 1
        way = {"serverId": server, "requestId": id or f"r{self._requests}", "method": method}
        return await self.send("mcp/message", {**way, "params": {"_meta": ENVELOPE, **params}})

    async def call(self, server: str, tool: str, id: str = "", **arguments: Any) -> Any:
        """Call a tool in the present form and return its result."""
        outcome = await self.ask(server, "tools/call", id, name=tool, arguments=arguments)
        return outcome["result"]

    async def connect(self, server: str) -> dict[str, Any]:
        """Open a connection of the older form and shake hands."""
        way: dict[str, Any] = await self.send("mcp/connect", {"serverId": server})
        await self.send("mcp/message", {**way, "method": "initialize", "params": HANDSHAKE})
        self.tell({**way, "method": "notifications/initialized"})
        return way


def text_of(result: Any) -> str:
    """Return the first text of a tool's result."""
    text: str = result["content"][0]["text"]
    return text
