"""An agent made with Parley uses MCP servers that its client has, in both forms of the wire.

https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley import Agent
from parley.agent import Turn
from parley.transport import memory_pair

from .raw_client import RawClient
from .raw_connection import ErrorResponse

requirement = pytest.mark.requirement
both = pytest.mark.parametrize("version", [1, 2])
forms = pytest.mark.parametrize("form", ["newer", "older"])

SERVER = {"type": "acp", "name": "desk", "serverId": "id-1"}
TOOL = {"name": "greet", "inputSchema": {"type": "object"}}
FOUND: dict[str, Any] = {
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
HELLO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "desk", "version": "1"},
}
TOOLS: dict[str, Any] = {
    "tools": [TOOL],
    "resultType": "complete",
    "ttlMs": 0,
    "cacheScope": "private",
}
DONE: dict[str, Any] = {"content": [{"type": "text", "text": "hello"}], "resultType": "complete"}
INNER: dict[str, Any] = {
    "server/discover": FOUND,
    "initialize": HELLO,
    "tools/list": TOOLS,
    "tools/call": DONE,
}


class Provider(RawClient):
    """A client with one MCP server that speaks one form."""

    def speak(self, form: str) -> None:
        """Respond to an agent's request to the server."""
        if form == "newer":
            self.answers["mcp/message"] = self._newer
            self.answers["mcp/connect"] = _unknown
        else:
            self.answers["mcp/connect"] = lambda params: {"connectionId": "c-1"}
            self.answers["mcp/message"] = self._older
            self.answers["mcp/disconnect"] = lambda params: {}

    def _newer(self, params: Any) -> Any:
        if params.get("serverId") != "id-1":
            raise ErrorResponse(-33001)
        way = {name: params[name] for name in ("serverId", "requestId")}
        self._report(params, way)
        return {"result": INNER[params["method"]]}

    def _older(self, params: Any) -> Any:
        if params.get("connectionId") != "c-1":
            raise ErrorResponse(-32602)
        self._report(params, {"connectionId": "c-1"})
        return INNER[params["method"]]

    def _report(self, params: Any, way: dict[str, str]) -> None:
        token = params.get("params", {}).get("_meta", {}).get("progressToken")
        if token is not None:
            reported = {"progressToken": token, "progress": 1, "message": "half"}
            message = {**way, "method": "notifications/progress", "params": reported}
            self.send(method="mcp/message", params=message)

    @property
    def server_requests(self) -> list[str]:
        """The requests that the agent has sent to the server, in order."""
        return [
            f"{each['method']} {each['params'].get('method', '')}".strip()
            for each in self.log
            if each.get("method", "").startswith("mcp/")
        ]


def _unknown(params: Any) -> Any:
    raise ErrorResponse(-32601)


def _agent() -> Agent:
    agent = Agent("user", mcp=True)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            await turn.think(message or "")

        if turn.text == "call":
            result = await turn.session.mcp.call_tool("greet", progress=hear)
            await turn.say(json.dumps([each.model_dump()["text"] for each in result.content]))

    return agent


@asynccontextmanager
async def provider(version: int, form: str) -> AsyncGenerator[Provider]:
    here, there = memory_pair()
    serving = asyncio.create_task(_agent().serve(there))
    client = Provider(here)
    client.speak(form)
    try:
        await client.initialize(version)
        yield client
    finally:
        await here.aclose()
        await serving


@requirement("TR-MCP-01")
@both
async def test_an_agent_that_uses_servers_over_acp_says_so(version: int) -> None:
    async with provider(version, "newer") as client:
        (hello,) = (each["result"] for each in client.log if "result" in each)
    offered = (
        hello["agentCapabilities"]["mcpCapabilities"]
        if version == 1
        else hello["capabilities"]["session"]["mcp"]
    )
    assert offered["acp"] == (True if version == 1 else {})


@requirement("V1-MCP-21")
@both
@forms
async def test_a_server_is_used_in_the_form_that_its_client_speaks(version: int, form: str) -> None:
    async with provider(version, form) as client:
        session = await client.new_session(mcpServers=[SERVER])
        assert client.server_requests == [], "it is opened when it is used"
        turn = await client.turn(session, "call")
        assert turn.text == '["hello"]'
        (thought,) = turn.of("agent_thought_chunk")
        assert thought["content"]["text"] == "half"


@requirement("TR-MCP-06", "TR-MCP-12", "V1-MCP-17")
@both
async def test_in_the_older_form_the_handshake_goes_inside(version: int) -> None:
    async with provider(version, "older") as client:
        session = await client.new_session(mcpServers=[SERVER])
        await client.turn(session, "call")
        assert client.server_requests == [
            "mcp/message server/discover",
            "mcp/connect",
            "mcp/message initialize",
            "mcp/message notifications/initialized",
            "mcp/message tools/list",
            "mcp/message tools/call",
        ]
        connect = next(each for each in client.log if each.get("method") == "mcp/connect")
        assert connect["params"] == {"serverId": "id-1"}


@requirement("TR-MCP-09")
@both
async def test_the_agent_gives_its_connection_back_with_the_session(version: int) -> None:
    async with provider(version, "older") as client:
        session = await client.new_session(mcpServers=[SERVER])
        await client.turn(session, "call")
        await client.call("session/close", {"sessionId": session})
        last = next(each for each in client.log if each.get("method") == "mcp/disconnect")
        assert last["params"] == {"connectionId": "c-1"}


@requirement("TR-MCP-08", "TR-MCP-10")
@both
async def test_what_a_server_asks_is_answered_and_what_nobody_knows_refused(version: int) -> None:
    async with provider(version, "older") as client:
        session = await client.new_session(mcpServers=[SERVER])
        await client.turn(session, "call")
        request = {"connectionId": "c-1", "method": "roots/list"}
        response = await client.reply(client.request("mcp/message", request))
        assert response["error"]["code"] in (-32600, -32601)  # the agent has no roots to show
        for way in ({"connectionId": "c-2"}, {"serverId": "id-1", "requestId": "r"}):
            wrong = {**way, "method": "ping"}
            response = await client.reply(client.request("mcp/message", wrong))
            assert response["error"]["code"] == -32602
            client.send(method="mcp/message", params=wrong)
        assert (await client.turn(session, "call")).text == '["hello"]'


@requirement("TR-MCP-18")
@both
async def test_without_a_server_the_agent_sends_no_message_of_mcp(version: int) -> None:
    async with provider(version, "newer") as client:
        session = await client.new_session()
        await client.turn(session, "nothing")
        await client.turn(session, "call")
        assert client.server_requests == []
