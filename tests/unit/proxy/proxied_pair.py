"""A proxy between a client and an agent that are spoken to in bytes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from parley.proxy import Proxy
from parley.transport import memory_pair
from parley.transport._base import Transport

from .switched_pair import RawPeer

RESULTS: dict[int, dict[str, Any]] = {
    1: {"protocolVersion": 1, "agentCapabilities": {}},
    2: {
        "protocolVersion": 2,
        "info": {"name": "agent", "version": "1"},
        "capabilities": {"session": {}},
    },
}
PARAMS: dict[int, dict[str, Any]] = {
    1: {"protocolVersion": 1},
    2: {"protocolVersion": 2, "info": {"name": "client", "version": "1"}},
}


def request(id: object, method: str, params: object = None) -> bytes:
    """Return a request, as bytes."""
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return json.dumps(message | ({} if params is None else {"params": params})).encode()


def notification(method: str, params: object) -> bytes:
    """Return a notification, as bytes."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


def result(id: object, value: object) -> bytes:
    """Return an answer, as bytes."""
    return json.dumps({"jsonrpc": "2.0", "id": id, "result": value}).encode()


def chunk(text: str, session_id: str = "s", **more: object) -> bytes:
    """Return an update with a piece of a message, which both versions have."""
    update = {
        "sessionUpdate": "agent_message_chunk",
        "messageId": "m",
        "content": {"type": "text", "text": text},
    }
    body = {"sessionId": session_id, "update": update | more}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": body}
    return json.dumps(message, separators=(",", ":")).encode()


def text_of(frame: dict[str, Any]) -> str:
    """Return the text of such an update."""
    text: str = frame["params"]["update"]["content"]["text"]
    return text


class JsonPeer(RawPeer):
    """An end that is heard as plain data."""

    async def hear(self) -> Any:
        return json.loads(await self.next())

    async def texts(self, count: int) -> list[str]:
        return [text_of(await self.hear()) for _ in range(count)]


class ProxiedPair:
    """A client, a proxy and an agent."""

    def __init__(self, proxy: Proxy) -> None:
        client_near, client_far = memory_pair()
        agent_near, agent_far = memory_pair()
        self.client, self.agent = JsonPeer(client_near), JsonPeer(agent_near)
        self.task = asyncio.create_task(self._join(proxy, client_far, agent_far))

    async def _join(self, proxy: Proxy, client: Transport, agent: Transport) -> None:
        await proxy.join(client, agent)

    async def begin(self, version: int = 2) -> Any:
        """Initialize; returns the answer that the client got."""
        self.client.say(request("init", "initialize", PARAMS[version]))
        asked = await self.agent.hear()
        assert asked["method"] == "initialize"
        self.agent.say(result(asked["id"], RESULTS[version]))
        return await self.client.hear()


async def proxied_pair(proxy: Proxy, version: int = 2) -> ProxiedPair:
    """Return an initialized connection through a proxy."""
    made = ProxiedPair(proxy)
    await made.begin(version)
    return made
