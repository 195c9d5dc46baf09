"""Agents that accept MCP servers over ACP, and their calls to the servers of a proxy."""

from __future__ import annotations

import json
from typing import Any

from parley.proxy import Proxy

from .proxied_pair import RESULTS, JsonPeer, ProxiedPair, request, result

ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
TAKES_ACP: dict[int, dict[str, Any]] = {
    1: RESULTS[1] | {"agentCapabilities": {"mcpCapabilities": {"acp": True}}},
    2: RESULTS[2] | {"capabilities": {"session": {"mcp": {"acp": {}}}}},
}
NEW: dict[str, Any] = {"cwd": "/", "mcpServers": [], "unknown": 1}


async def begin(proxy: Proxy, version: int = 2, answer: object = None) -> ProxiedPair:
    """Return an initialized connection through a proxy to an agent that takes MCP over ACP."""
    talk = ProxiedPair(proxy)
    talk.client.say(request(1, "initialize", {"protocolVersion": version}))
    asked = await talk.agent.hear()
    talk.agent.say(result(asked["id"], answer or TAKES_ACP[version]))
    await talk.client.hear()
    return talk


async def open_session(talk: ProxiedPair, session_id: str = "s") -> dict[str, Any]:
    """Open a session; returns the last server that the agent is told of."""
    (*_, declared) = await servers_of(talk, session_id)
    return declared


async def servers_of(
    talk: ProxiedPair, session_id: str, method: str = "session/new", **params: object
) -> list[dict[str, Any]]:
    """Open a session; returns the servers that the agent is told of."""
    talk.client.say(request("n", method, NEW | params))
    asked = await talk.agent.hear()
    assert asked["method"] == method
    declared: list[dict[str, Any]] = asked["params"]["mcpServers"]
    assert asked["params"] | {"mcpServers": []} == NEW | params
    talk.agent.say(result(asked["id"], {"sessionId": session_id}))
    assert (await talk.client.hear())["result"] == {"sessionId": session_id}
    return declared


def mcp(id: object, server: dict[str, Any], method: str, **params: object) -> bytes:
    """Return a request of the agent's to a server."""
    way = {"serverId": server["serverId"], "requestId": str(id), "method": method}
    return request(id, "mcp/message", way | {"params": params | {"_meta": ENVELOPE}})


async def list_tools(agent: JsonPeer, server: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the tools of a server, by name."""
    agent.say(mcp("l", server, "tools/list"))
    listed = (await agent.hear())["result"]["result"]["tools"]
    return {tool["name"]: tool for tool in listed}


async def call_tool(
    agent: JsonPeer, server: dict[str, Any], name: str, **arguments: object
) -> dict[str, Any]:
    """Have the agent call a tool of a server; returns what MCP answers."""
    agent.say(mcp("c", server, "tools/call", name=name, arguments=arguments))
    answer = await agent.hear()
    assert answer["id"] == "c", json.dumps(answer)
    outcome: dict[str, Any] = answer["result"]
    return outcome


def text_in(outcome: dict[str, Any]) -> str:
    """Return the text of a tool's result."""
    text: str = outcome["result"]["content"][0]["text"]
    return text
