"""A bridge between a provider of this process and MCP clients of the official package."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import msgspec
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    TextContent,
)
from msgspec import Raw

from parley.errors import MethodNotFound
from parley.mcp import Provider
from parley.mcp._bridge import Bridge, Reach

__all__ = ["BridgedProvider", "bridged_provider", "reached", "server_of"]

OLDER = ("mcp/connect", "mcp/disconnect")


class BridgedProvider:
    """A provider with one server, a bridge to it, and what went over the latter."""

    def __init__(self, reach: Reach, version: int, *, knows_connections: bool = True) -> None:
        self.said: list[tuple[str, dict[str, Any]]] = []
        """What the provider was asked and told."""
        self.is_waiting = asyncio.Event()
        """Whether the tool `wait` runs."""
        self.was_cancelled = asyncio.Event()
        """Whether it was cancelled."""
        self.has_disconnected = asyncio.Event()
        """Whether a connection was given back."""
        self.knows_connections = knows_connections
        self.provider = Provider(self)
        self.bridge = Bridge(self._Upstream(self), reach=reach, version=version)
        self.server_id = self.provider.add(self._server())

    @property
    def methods(self) -> list[str]:
        """What the provider was asked, with the method of MCP where there is one."""
        return [f"{method} {params.get('method', '')}".strip() for method, params in self.said]

    @property
    def declared(self) -> dict[str, Any]:
        """How the server is declared by its provider."""
        return {"type": "acp", "name": "desk", "serverId": self.server_id}

    async def declare(self, **more: Any) -> dict[str, Any]:
        """Return how an agent is told of the server."""
        params = {"cwd": "/work", "mcpServers": [{**self.declared, **more}]}
        setup = await self.bridge.adapt(json.dumps(params).encode())
        server: dict[str, Any] = json.loads(setup.params)["mcpServers"][0]
        return server

    async def request(self, params: dict[str, Any]) -> Any:
        """Pass on what the server asks."""
        return msgspec.json.decode(
            await self.bridge.channels.requested(Raw(msgspec.json.encode(params)))
        )

    async def notify(self, params: dict[str, Any]) -> None:
        """Pass on what the server tells."""
        self.bridge.channels.notified(Raw(msgspec.json.encode(params)))

    async def aclose(self) -> None:
        await self.bridge.aclose()
        await self.provider.aclose()

    class _Upstream:
        def __init__(self, owner: BridgedProvider) -> None:
            self._owner = owner

        async def request(self, method: str, params: Raw) -> Raw:
            self._owner.said.append((method, msgspec.json.decode(params)))
            if method in OLDER and not self._owner.knows_connections:
                raise MethodNotFound
            result = await self._owner.provider.request(method, params)
            if method == "mcp/disconnect":
                self._owner.has_disconnected.set()
            return result

        async def notify(self, method: str, params: Raw) -> None:
            self._owner.said.append((method, msgspec.json.decode(params)))
            self._owner.provider.notified(params)

    def _server(self) -> MCPServer:
        server = MCPServer("desk")

        @server.tool()
        async def add(a: int, b: int) -> int:
            return a + b

        @server.tool()
        async def count(context: Context[Any, Any], to: int) -> str:
            for each in range(to):
                await context.report_progress(each + 1, to)
            return "done"

        @server.tool()
        async def ask(context: Context[Any, Any]) -> str:
            params = CreateMessageRequestParams(messages=[], max_tokens=9)
            request = CreateMessageRequest(params=params)
            answer = await context.session.send_request(request, CreateMessageResult)
            return answer.content.text if isinstance(answer.content, TextContent) else ""

        @server.tool()
        async def wait() -> str:
            self.is_waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.was_cancelled.set()
            return "never"

        return server


@asynccontextmanager
async def bridged_provider(
    reach: Reach, version: int = 1, *, knows_connections: bool = True
) -> AsyncGenerator[BridgedProvider]:
    """Provide a server while the block runs."""
    made = BridgedProvider(reach, version, knows_connections=knows_connections)
    try:
        yield made
    finally:
        await made.aclose()


def server_of(declared: dict[str, Any]) -> StdioServerParameters:
    """Return how the official package starts a server that was declared."""
    env = {each["name"]: each["value"] for each in declared["env"]}
    return StdioServerParameters(command=declared["command"], args=declared["args"], env=env)


@asynccontextmanager
async def reached(
    declared: dict[str, Any], mode: str = "auto", **options: Any
) -> AsyncGenerator[Client]:
    """Be the MCP client of an agent that was told of a server."""
    if "command" in declared:
        async with Client(server_of(declared), mode=mode, **options) as client:
            yield client
        return
    headers = {each["name"]: each["value"] for each in declared["headers"]}
    async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
        transport: AbstractAsyncContextManager[Any] = streamable_http_client(
            declared["url"], http_client=http
        )
        async with Client(transport, mode=mode, **options) as client:
            yield client
