"""MCP over ACP for an agent that does not know it: the proxy that a conductor puts before it.

Its answer to initialize offers MCP over ACP if there is any way to bring such servers to the agent.
What opens a session is changed so that the agent understands it; see `parley.mcp.bridge`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Raw

from parley.mcp.bridge import Bridge, offer_acp
from parley.proxy.handling.link import Link
from parley.proxy.handling.message import Message, Notification, Reply, Request
from parley.proxy.proxy import Proxy
from parley.schema._session_methods import CLOSES, OPENS
from parley.session._dialect import RENAMED

__all__ = ["bridging"]

_BRIDGE = "bridge"


def bridging() -> Proxy:
    """Return the proxy."""
    proxy = Proxy("bridge")
    proxy.offers_mcp = False

    @proxy.from_client("initialize")
    async def begin(call: Request) -> Reply:
        reply = await call.forward()
        await end(call.link)
        call.link.state[_BRIDGE] = Bridge.of(_Upstream(call.link), reply.raw)
        offered = offer_acp(reply.raw)
        if offered != reply.raw:
            reply.replace(offered)
        return reply

    @proxy.close_link
    async def end(link: Link) -> None:
        bridge: Bridge | None = link.state.pop(_BRIDGE, None)
        if bridge is not None:
            await bridge.aclose()

    for method in OPENS - RENAMED.keys():
        proxy.from_client(method)(_open)
    for method in CLOSES:
        proxy.from_client(method)(_close)
    proxy.from_client("mcp/message")(_bring)
    return proxy


def _bridge(message: Message) -> Bridge | None:
    bridge: Bridge | None = message.link.state.get(_BRIDGE)
    return None if bridge is None or bridge.reach == "acp" else bridge


async def _open(call: Request) -> Reply | None:
    """Have the agent understand the servers of a session."""
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


async def _close(call: Request) -> Reply | None:
    bridge = _bridge(call)
    if bridge is None:
        return None
    reply = await call.forward()
    await bridge.close_session(call.session_id)
    return reply


async def _bring(message: Message) -> Any:
    """Bring the agent's MCP client what a server says to it."""
    bridge = _bridge(message)
    if bridge is None:
        return None
    if isinstance(message, Notification):
        bridge.lines.notified(Raw(message.raw))
        message.drop()
        return None
    asyncio.get_running_loop().call_soon(message.step_aside)  # the MCP client may never answer
    return bytes(await bridge.lines.requested(Raw(message.raw)))


class _Upstream:
    """Whoever has declared the servers, on the client's side."""

    def __init__(self, link: Link) -> None:
        self._link = link

    async def request(self, method: str, params: Raw) -> Raw:
        return await self._link.client.request_raw(method, params)

    async def notify(self, method: str, params: Raw) -> None:
        await self._link.client.notify(method, bytes(params))
