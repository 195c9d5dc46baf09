"""MCP servers over ACP for agents that do not support them, declared as a kind that they do.

An agent that reaches servers over HTTP gets one on loopback, any other agent a small program to
start. What it sends there goes to the provider as `mcp/*`, as if the agent had sent that. The
provider is a `Provider` of this process (in a client), or the next hop (in a conductor). An agent
that supports MCP over ACP needs no bridge, and one without MCP cannot be bridged.

Where the agent is on another machine than the bridge, it cannot reach either of them.
"""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from parley.errors import InvalidParams
from parley.rpc._codec import DECODE_ERRORS
from parley.schema import v2
from parley.schema._codec import decode, encode
from parley.session._capabilities import AgentFeatures
from parley.session._mcp_capabilities import mcp_capabilities, mcp_stdio_tag, with_mcp_acp

from ._bridge_stdio import StdioListener
from ._channels import McpChannels, Upstream
from ._endpoint import Endpoint, Listener

Reach: TypeAlias = Literal["acp", "http", "stdio"] | None
"""How servers over ACP are declared to an agent; None if they cannot be."""

_members = msgspec.json.Decoder(dict[str, Raw]).decode
_items = msgspec.json.Decoder(list[Raw]).decode


class SessionSetup(Struct, eq=False):
    """The params of a request that opens a session, as the agent gets them."""

    params: bytes
    """What to send; what came, if there is nothing to bridge."""


def reach_in(features: AgentFeatures) -> Reach:
    """Return how servers over ACP are declared to an agent with these features."""
    if features.mcp_acp:
        return "acp"
    if features.mcp_http and _has_http():
        return "http"
    return "stdio" if features.mcp_stdio else None


def reach_of(result: bytes) -> Reach:
    """Return the same for an agent that has answered initialize with this."""
    return reach_in(mcp_capabilities(result)[0])


def offer_acp(result: bytes) -> bytes:
    """Return an agent's answer to initialize as one that offers MCP over ACP.

    It is what came if the agent does that itself, or nothing can be bridged to it.
    """
    return result if reach_of(result) in (None, "acp") else with_mcp_acp(result)


class Bridge:
    """The servers over ACP of one connection to an agent."""

    def __init__(self, upstream: Upstream, *, reach: Reach, version: int) -> None:
        """Prepare a bridge; nothing listens before a server is declared.

        Args:
            upstream: Who has the servers.
            reach: How the agent reaches them; see `reach_in`.
            version: The version of ACP that the agent speaks.
        """
        self.channels = McpChannels(upstream)
        """What takes the messages that the provider sends."""
        self.reach: Reach = reach
        """How servers are declared to the agent."""
        self._version = version
        self._endpoints: dict[str, Endpoint] = {}
        self._listener: Listener | None = None
        self._opening = asyncio.Lock()

    @classmethod
    def of(cls, upstream: Upstream, result: bytes) -> Bridge:
        """Return the bridge to an agent that has answered initialize with this."""
        features, version = mcp_capabilities(result)
        return cls(upstream, reach=reach_in(features), version=version)

    async def adapt(self, params: bytes) -> SessionSetup:
        """Return the params of a request that opens a session, as the agent understands them.

        Servers over ACP are replaced; everything else, and their names, `_meta` and everything else
        they have, stays as it came. Call `opened` or `failed` with the outcome of the request.

        Raises:
            InvalidParams: There is such a server, and the agent reaches none.
        """
        setup = SessionSetup(params)
        servers = _servers(params)
        if self.reach == "acp" or not any(_is_acp(each) for each in servers):
            return setup
        adapted: list[Raw] = []
        try:
            for server in servers:
                if not _is_acp(server):
                    adapted.append(server)
                    continue
                endpoint = await self._endpoint(_server_id(_members(server)))
                endpoint.users.add(setup)
                adapted.append(Raw(self._replaced(server, endpoint)))
        except BaseException:  # also when cancelled: the endpoints are not needed
            await self.failed(setup)
            raise
        changed = {**_members(params), "mcpServers": Raw(encode(adapted))}
        setup.params = encode(changed)
        return setup

    async def declare(self, server: v2.McpServerAcp) -> v2.McpServer:
        """Return the declaration of one server for the agent; it stays until it is withdrawn.

        Raises:
            InvalidParams: The agent reaches none.
        """
        if self.reach == "acp":
            return server
        endpoint = await self._endpoint(server.server_id)
        endpoint.users.add(self)
        replaced = _members(self._replaced(encode(server), endpoint))
        declared = {**mcp_stdio_tag(2), **replaced}
        found: v2.McpServer = decode(v2.McpServer, encode(declared))
        return found

    async def opened(self, setup: SessionSetup, session_id: str) -> None:
        """Note that the agent has opened a session with these servers and no others."""
        for endpoint in list(self._endpoints.values()):
            endpoint.users.discard(session_id)
            if setup in endpoint.users:
                endpoint.users.add(session_id)
        await self.failed(setup)

    async def failed(self, setup: SessionSetup) -> None:
        """Note that the agent has not opened the session."""
        await self._forget(setup)

    async def close_session(self, session_id: str) -> None:
        """Note that a session has been closed, and end the servers that only it had."""
        await self._forget(session_id)

    async def withdraw(self, server_id: str) -> None:
        """End what goes to a server; it is not there any more."""
        endpoint = self._endpoints.pop(server_id, None)
        if endpoint is not None:
            await endpoint.aclose()

    async def aclose(self) -> None:
        """End everything: the connection does."""
        self._endpoints.clear()
        await self.channels.aclose()
        if self._listener is not None:
            await self._listener.aclose()

    async def _forget(self, user: object) -> None:
        for endpoint in list(self._endpoints.values()):
            endpoint.users.discard(user)
            if not endpoint.users:
                await self.withdraw(endpoint.server_id)

    async def _endpoint(self, server_id: str) -> Endpoint:
        """Return where a server is found, which stays the same while anybody has it."""
        if self.reach is None:
            raise InvalidParams(
                "This agent cannot use MCP servers of its client: "
                "it reaches none over ACP, HTTP or stdio"
            )
        async with self._opening:
            if self._listener is None:
                listener = self._new_listener()
                await listener.open()
                self._listener = listener
        return self._endpoints.setdefault(server_id, Endpoint(server_id))

    def _new_listener(self) -> Listener:
        if self.reach == "stdio":
            return StdioListener(self.channels, self._endpoints)
        from ._bridge_http import HttpListener  # it brings a server along

        return HttpListener(self.channels, self._endpoints)

    def _replaced(self, server: Raw | bytes, endpoint: Endpoint) -> bytes:
        assert self._listener is not None
        kept = {name: each for name, each in _members(server).items() if name != "serverId"}
        kept.pop("type")
        declaration = self._listener.declaration(endpoint)
        tag = mcp_stdio_tag(self._version) if self.reach == "stdio" else {}
        return encode({**tag, **declaration, **kept})


def _has_http() -> bool:
    """Return whether what serves HTTP is installed."""
    return all(find_spec(name) is not None for name in ("h11", "h2", "websockets"))


def _servers(params: bytes) -> list[Raw]:
    """Return the servers of a request; what is malformed is the agent's to refuse."""
    try:
        return _items(_members(params)["mcpServers"])
    except (KeyError, *DECODE_ERRORS):
        return []


def _is_acp(server: Raw) -> bool:
    try:
        return bytes(_members(server).get("type", b"")) == b'"acp"'
    except DECODE_ERRORS:
        return False


def _server_id(members: dict[str, Raw]) -> str:
    try:
        return msgspec.json.decode(members["serverId"], type=str)
    except (KeyError, *DECODE_ERRORS):
        raise InvalidParams("An MCP server over ACP has no serverId") from None
