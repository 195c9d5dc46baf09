"""MCP servers of a client's, which an agent reaches over the connection that it has anyway.

https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    TextContent,
)

from parley.client import Session
from parley.errors import RequestError, Unsupported
from parley.schema import v2

from .raw_agent import RawAgent, connected

requirement = pytest.mark.requirement
both = pytest.mark.parametrize("version", [1, 2])

ACP: dict[int, dict[str, Any]] = {
    1: {"mcpCapabilities": {"acp": True}, "sessionCapabilities": {"close": {}}},
    2: {"session": {"mcp": {"acp": {}}}},
}
NO_MCP: dict[str, Any] = {"session": {}}
ENVELOPE: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HANDSHAKE: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"sampling": {}},
    "clientInfo": {"name": "raw", "version": "1"},
}


def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


def refuse() -> None:
    raise RequestError("Not today", {"day": "Monday"}, code=-32099)


@asynccontextmanager
async def opened(agent: RawAgent, **options: Any) -> AsyncGenerator[Session]:
    async with connected(agent) as connection:
        yield await connection.new_session(**options)


def declared(agent: RawAgent) -> list[Any]:
    """Return the servers of the last session."""
    servers: list[Any] = agent.got("session/new")[-1].get("mcpServers", [])
    return servers


def stateless(server: Any, method: str, request_id: str = "1", **params: Any) -> dict[str, Any]:
    meta = {**ENVELOPE, **params.pop("meta", {})}
    way = {"serverId": server["serverId"], "requestId": request_id}
    return {**way, "method": method, "params": {**params, "_meta": meta}}


async def connect(agent: RawAgent, server: Any) -> dict[str, Any]:
    """Open a connection of the older form and shake hands."""
    way: dict[str, Any] = await agent.call("mcp/connect", {"serverId": server["serverId"]})
    await agent.call("mcp/message", {**way, "method": "initialize", "params": HANDSHAKE})
    agent.send(method="mcp/message", params={**way, "method": "notifications/initialized"})
    return way


@requirement("TR-MCP-01", "TR-MCP-02", "V1-MCP-05", "V1-MCP-13")
@both
async def test_a_server_of_the_client_is_declared_to_an_agent_that_offers_it(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    async with opened(agent, tools=[add]):
        (server,) = declared(agent)
    assert (server["type"], server["name"]) == ("acp", "tools")
    assert server["serverId"]
    assert "mcp" not in str(agent.got("initialize"))  # the client offers nothing


@requirement("TR-MCP-02", "V1-MCP-13")
async def test_a_declaration_over_acp_is_refused_where_it_is_not_offered() -> None:
    agent = RawAgent(2, NO_MCP)
    server = v2.McpServerAcp(name="mine", server_id="1")
    async with connected(agent) as connection:
        with pytest.raises(Unsupported, match="does not support MCP servers over ACP"):
            await connection.new_session(mcp_servers=[server])
        with pytest.raises(Unsupported, match="does not use MCP servers"):
            await connection.new_session(tools=[add])
    assert "session/new" not in agent.methods


@requirement("TR-MCP-03", "V1-MCP-14")
@both
async def test_every_server_of_every_session_has_an_id_of_its_own(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    numbers = iter(range(9))
    agent.answers["session/new"] = lambda params: {"sessionId": f"s{next(numbers)}"}
    mine = MCPServer("mine")
    async with connected(agent, mcp_servers=[mine]) as connection:
        await connection.new_session(tools=[add])
        await connection.new_session(tools=[add], mcp_servers=[MCPServer("other")])
    servers = [each for params in agent.got("session/new") for each in params["mcpServers"]]
    assert [each["name"] for each in servers] == ["mine", "tools", "mine", "other", "tools"]
    assert len({each["serverId"] for each in servers}) == 5


@requirement("TR-MCP-04", "V1-MCP-21")
@pytest.mark.parametrize("opening", ["session/new", "session/resume", "session/load"])
async def test_a_server_is_ready_before_the_session_is_answered(opening: str) -> None:
    capabilities = {**ACP[1], "loadSession": opening == "session/load"}
    capabilities["sessionCapabilities"] = {"resume": {}}
    agent = RawAgent(1, capabilities)
    del agent.answers[opening]
    async with connected(agent) as connection:
        opens = (
            connection.new_session(tools=[add])
            if opening == "session/new"
            else connection.resume_session("s", tools=[add])
        )
        task = asyncio.ensure_future(opens)
        request = await agent.requested(opening)
        (server,) = request["params"]["mcpServers"]
        way = await connect(agent, server)
        await agent.call("mcp/message", stateless(server, "tools/list"))
        agent.send(id=request["id"], result={"sessionId": "s"})
        await task
        assert await agent.call("mcp/message", {**way, "method": "tools/list"})


@requirement("TR-MCP-05", "V1-MCP-16")
@both
async def test_each_connect_makes_a_connection_of_its_own(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    async with opened(agent, tools=[add]):
        (server,) = declared(agent)
        one, other = await connect(agent, server), await connect(agent, server)
        assert one["connectionId"] != other["connectionId"]
        for way in (one, other):
            listed = await agent.call("mcp/message", {**way, "method": "tools/list"})
            assert [each["name"] for each in listed["tools"]] == ["add"]


@requirement("TR-MCP-06", "TR-MCP-07", "TR-MCP-12", "V1-MCP-17", "V1-MCP-19")
@both
async def test_an_inner_message_is_flat_and_its_result_bare(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    async with opened(agent, tools=[add]):
        way = await connect(agent, declared(agent)[0])
        absent = await agent.call("mcp/message", {**way, "method": "tools/list"})
        null = await agent.call("mcp/message", {**way, "method": "tools/list", "params": None})
        assert absent == null
        (tool,) = absent["tools"]
        assert tool["description"] == "Add two numbers."
        assert tool["inputSchema"]["required"] == ["left", "right"]
        params = {"name": "add", "arguments": {"left": 2, "right": 3}}
        call = {**way, "method": "tools/call", "params": params}
        assert (await agent.call("mcp/message", call))["structuredContent"] == {"result": 5}


@requirement("TR-MCP-07", "V1-MCP-18")
@both
async def test_an_inner_error_is_the_outer_one_on_a_connection(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    async with opened(agent, tools=[refuse]):
        way = await connect(agent, declared(agent)[0])
        params: dict[str, Any] = {"name": "refuse", "arguments": {}}
        call = {**way, "method": "tools/call", "params": params}
        error = (await agent.ask("mcp/message", call))["error"]
        assert error == {"code": -32099, "message": "Not today", "data": {"day": "Monday"}}
        assert await agent.refusal("mcp/message", {**way, "method": "no/such"}) == -32601


@requirement("TR-MCP-08", "V1-MCP-17")
@both
async def test_a_server_asks_and_tells_the_agent_on_a_connection(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    agent.answers["mcp/message"] = lambda params: {
        "role": "assistant",
        "model": "m",
        "content": {"type": "text", "text": f"{params['method']} for you"},
    }
    server = MCPServer("asking")

    @server.tool()
    async def ask(context: Context) -> str:
        """Prompt the agent."""
        await context.report_progress(1, 2)
        params = CreateMessageRequestParams(messages=[], max_tokens=9)
        request = CreateMessageRequest(params=params)
        response = await context.session.send_request(request, CreateMessageResult)
        return response.content.text if isinstance(response.content, TextContent) else ""

    async with opened(agent, mcp_servers=[server]):
        way = await connect(agent, declared(agent)[0])
        params = {"name": "ask", "arguments": {}, "_meta": {"progressToken": "t"}}
        response = await agent.call(
            "mcp/message", {**way, "method": "tools/call", "params": params}
        )
    assert response["content"][0]["text"] == "sampling/createMessage for you"
    reported, message = agent.got("mcp/message")
    assert reported["connectionId"] == message["connectionId"] == way["connectionId"]
    assert reported["method"] == "notifications/progress"
    assert reported["params"] == {"progressToken": "t", "progress": 1, "total": 2}


@requirement("TR-MCP-09", "TR-MCP-11", "V1-MCP-20")
@both
async def test_after_disconnect_the_connection_is_dead(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    async with opened(agent, tools=[add]):
        (server,) = declared(agent)
        way, other = await connect(agent, server), await connect(agent, server)
        assert await agent.call("mcp/disconnect", way) == {}
        assert await agent.refusal("mcp/message", {**way, "method": "tools/list"}) == -32602
        assert await agent.refusal("mcp/disconnect", way) == -32602
        assert await agent.call("mcp/message", {**other, "method": "tools/list"})
    assert not {"mcp/connect", "mcp/disconnect"} & set(agent.methods)


@requirement("TR-MCP-10", "V1-MCP-15")
@both
async def test_unknown_ids_are_errors_in_requests_and_ignored_in_notifications(
    version: int,
) -> None:
    agent = RawAgent(version, ACP[version])
    async with opened(agent, tools=[add]):
        assert await agent.refusal("mcp/connect", {"serverId": "zzz"}) == -32602
        unknown = {"connectionId": "zzz", "method": "tools/list"}
        assert await agent.refusal("mcp/message", unknown) == -32602
        nobody = stateless({"serverId": "zzz"}, "tools/list")
        assert await agent.refusal("mcp/message", nobody) == -33001
        agent.send(method="mcp/message", params=unknown)
        agent.send(method="mcp/message", params=nobody)
        agent.send(method="mcp/message", params={"serverId": 5})
        assert await agent.call("mcp/message", stateless(declared(agent)[0], "tools/list"))


@requirement("TR-MCP-06", "TR-MCP-07")
@both
async def test_the_stateless_form_has_the_outcome_inside_the_answer(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    async with opened(agent, tools=[add, refuse]):
        (server,) = declared(agent)
        call = stateless(server, "tools/call", name="add", arguments={"left": 2, "right": 3})
        response = await agent.call("mcp/message", call)
        assert response["result"]["structuredContent"] == {"result": 5}
        failing = stateless(server, "tools/call", name="refuse", arguments={})
        failed = await agent.call("mcp/message", failing)
        error = {"code": -32099, "message": "Not today", "data": {"day": "Monday"}}
        assert failed == {"error": error}
        nothing = {"serverId": server["serverId"], "requestId": "2", "method": "tools/list"}
        lacking = await agent.call("mcp/message", nothing)
        assert lacking["error"]["code"] == -32602  # MCP wants to know its revision


@both
async def test_what_a_server_reports_names_the_request_that_it_is_about(version: int) -> None:
    agent = RawAgent(version, ACP[version])

    async def slow(context: Context) -> str:
        await context.report_progress(1, 2, "half")
        return "done"

    async with opened(agent, tools=[slow]):
        (server,) = declared(agent)
        meta = {"progressToken": 7}
        call = stateless(server, "tools/call", "r", name="slow", arguments={}, meta=meta)
        await agent.call("mcp/message", call)
        (update,) = agent.got("mcp/message")
        assert (update["serverId"], update["requestId"]) == (server["serverId"], "r")
        assert update["params"]["message"] == "half"


@requirement("TR-MCP-18")
@both
async def test_without_a_server_there_is_no_message_of_mcp(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    async with opened(agent) as session:
        await session.ask("Hello")
        assert declared(agent) == []
    assert not any(method.startswith("mcp/") for method in agent.methods)


@requirement("TR-MCP-19")
@both
async def test_everything_ends_with_the_connection(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    running, ended = asyncio.Event(), asyncio.Event()

    async def endless() -> None:
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with opened(agent, tools=[endless]):
        (server,) = declared(agent)
        way = await connect(agent, server)
        params: dict[str, Any] = {"name": "endless", "arguments": {}}
        agent.request("mcp/message", {**way, "method": "tools/call", "params": params})
        await running.wait()
    assert ended.is_set()
