"""MCP over ACP for an agent that does not know it: the proxy that a conductor puts before it.

Its answer to initialize offers MCP over ACP if there is any way to bring such servers to the agent.
What opens a session is changed so that the agent understands it; see `parley.mcp._bridge`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Raw

from parley.mcp._bridge import Bridge, offer_acp
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._handling.message import Message, Notification, Request, Response
from parley.proxy._proxy import Proxy
from parley.schema._session_methods import CLOSES, OPENS
from parley.session._dialect import RENAMED

_BRIDGE = "bridge"


def mcp_bridge_proxy() -> Proxy:
    """Return the proxy."""
    proxy = Proxy("bridge", offers_mcp=False)

    @proxy.from_client("initialize")
    async def begin(call: Request) -> Response:
        reply = await call.forward()
        await end(call.connection)
        call.connection.state[_BRIDGE] = Bridge.of(_Upstream(call.connection), reply.raw)
        offered = offer_acp(reply.raw)
        if offered != reply.raw:
            reply.replace(offered)
        return reply

    @proxy.close_connection
    async def end(connection: ProxyConnection) -> None:
        bridge: Bridge | None = connection.state.pop(_BRIDGE, None)
        if bridge is not None:
            await bridge.aclose()

    for method in OPENS - RENAMED.keys():
        proxy.from_client(method)(_open)
    for method in CLOSES:
        proxy.from_client(method)(_close)
    proxy.from_client("mcp/message")(_bring)
    return proxy


def _bridge(message: Message) -> Bridge | None:
    bridge: Bridge | None = message.connection.state.get(_BRIDGE)
    return None if bridge is None or bridge.reach == "acp" else bridge


async def _open(call: Request) -> Response | None:
    """Declare the servers of a session so that the agent understands them."""
    bridge = _bridge(call)
    if bridge is None or b'"acp"' not in call.raw:
        return None
    setup = await bridge.adapt(call.raw)
    if setup.params != call.raw:
        call.replace(setup.params)
    try:
        reply = await call.forward()
    except BaseException:  # also when cancelled
        await bridge.failed(setup)
        raise
    session_id: str = getattr(reply.result, "session_id", call.session_id)
    await bridge.opened(setup, session_id)
    return reply


async def _close(call: Request) -> Response | None:
    bridge = _bridge(call)
    if bridge is None:
        return None
    reply = await call.forward()
    await bridge.close_session(call.session_id)
    return reply


async def _bring(message: Message) -> Any:
    """Send a message of a server to the agent's MCP client."""
    bridge = _bridge(message)
    if bridge is None:
        return None
    if isinstance(message, Notification):
        bridge.channels.notified(Raw(message.raw))
        message.drop()
        return None
    asyncio.get_running_loop().call_soon(message.unblock)  # the MCP client may never answer
    return bytes(await bridge.channels.requested(Raw(message.raw)))


class _Upstream:
    """The client's side, which has declared the servers."""

    def __init__(self, connection: ProxyConnection) -> None:
        self._connection = connection

    async def request(self, method: str, params: Raw) -> Raw:
        return await self._connection.client.request_raw(method, params)

    async def notify(self, method: str, params: Raw) -> None:
        await self._connection.client.notify(method, bytes(params))
