from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent

from parley.agent import Agent, Turn
from parley.client import Connection, Session, connect
from parley.errors import (
    InternalError,
    InvalidParams,
    LocalProtocolError,
    McpCallFailed,
    Unsupported,
)
from parley.schema import v2
from parley.session._capabilities import AgentFeatures

from .scripted_agent import Message, ScriptedAgent, connected

AGENT: Message = {"capabilities": {"session": {"mcp": {"acp": {}, "http": {}}, "fork": {}}}}
ENVELOPE: Message = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def add(left: int, right: int) -> int:
    return left + right


def message(server: Message, method: str, **params: Any) -> Message:
    way = {"serverId": server["serverId"], "requestId": "r", "method": method}
    return {**way, "params": {"_meta": ENVELOPE, **params}}


async def opened(
    connection: Connection, remote: ScriptedAgent, id: str = "s", **options: Any
) -> tuple[Session, list[Message]]:
    """Open a session and return it with the servers that the agent was told of."""
    task = asyncio.create_task(connection.new_session(**options))
    request = await remote.open(id)
    return await task, request["params"].get("mcpServers", [])


async def ask(remote: ScriptedAgent, method: str, params: Message) -> Message:
    """Send a request to the client as the agent, and return the response."""
    remote.call("a", method, params)
    response = await remote.take()
    assert response["id"] == "a"
    return response


async def names(remote: ScriptedAgent, server: Message) -> list[str]:
    response = await ask(remote, "mcp/message", message(server, "tools/list"))
    return [each["name"] for each in response["result"]["result"]["tools"]]


@pytest.mark.requirement("SAFE-REACH-06")
async def test_a_session_has_its_own_tools_and_those_of_all_sessions() -> None:
    def everywhere() -> None: ...

    async with connected(AGENT, tools=[everywhere]) as (connection, remote):
        _, (first,) = await opened(connection, remote, "one", tools=[add])
        _, (second,) = await opened(connection, remote, "two")
        assert await names(remote, first) == ["everywhere", "add"]
        assert await names(remote, second) == ["everywhere"]


async def test_servers_stand_beside_what_is_only_declared() -> None:
    one, two = MCPServer("one"), MCPServer("two")
    declared = v2.McpServerHttp(name="elsewhere", url="https://example.com")
    async with connected(AGENT) as (connection, remote):
        _, servers = await opened(connection, remote, mcp_servers=[declared, one, two], tools=[add])
        assert [each["type"] for each in servers] == ["http", "acp", "acp", "acp"]
        assert [each["name"] for each in servers] == ["elsewhere", "one", "two", "tools"]
        assert await names(remote, servers[3]) == ["add"]


@pytest.mark.requirement("SAFE-REACH-06")
async def test_what_a_session_had_is_gone_when_it_is_closed_and_others_keep_theirs() -> None:
    async with connected(AGENT) as (connection, remote):
        one, (first,) = await opened(connection, remote, "one", tools=[add])
        _, (second,) = await opened(connection, remote, "two", tools=[add])
        way = (await ask(remote, "mcp/connect", {"serverId": first["serverId"]}))["result"]
        closing = asyncio.create_task(one.close())
        remote.respond(await remote.take("session/close"), {})
        await closing
        gone = await ask(remote, "mcp/message", message(first, "tools/list"))
        assert gone["error"]["code"] == -33001
        dead = await ask(remote, "mcp/message", {**way, "method": "tools/list"})
        assert dead["error"]["code"] == -32602
        assert await names(remote, second) == ["add"]


async def test_a_session_that_was_not_opened_leaves_nothing() -> None:
    async with connected(AGENT) as (connection, remote):
        opening = asyncio.create_task(connection.new_session(tools=[add]))
        request = await remote.take("session/new")
        (server,) = request["params"]["mcpServers"]
        assert await names(remote, server) == ["add"]
        remote.refuse(request, -32603, "no")
        with pytest.raises(InternalError):
            await opening
        gone = await ask(remote, "mcp/message", message(server, "tools/list"))
        assert gone["error"]["code"] == -33001


async def test_resumed_and_forked_sessions_get_tools_too() -> None:
    async with connected(AGENT) as (connection, remote):
        resuming = asyncio.create_task(connection.resume_session("s", tools=[add]))
        request = await remote.take("session/resume")
        assert await names(remote, request["params"]["mcpServers"][0]) == ["add"]
        remote.respond(request, {})
        await resuming
        forking = asyncio.create_task(connection.fork_session("s", tools=[add]))
        request = await remote.take("session/fork")
        assert await names(remote, request["params"]["mcpServers"][0]) == ["add"]
        remote.respond(request, {"sessionId": "t"})
        await forking


async def test_a_resume_that_fails_leaves_nothing() -> None:
    async with connected(AGENT) as (connection, remote):
        resuming = asyncio.create_task(connection.resume_session("s", tools=[add]))
        request = await remote.take("session/resume")
        remote.refuse(request, -32602, "no")
        with pytest.raises(InvalidParams):
            await resuming
        (server,) = request["params"]["mcpServers"]
        gone = await ask(remote, "mcp/message", message(server, "tools/list"))
        assert gone["error"]["code"] == -33001


@asynccontextmanager
async def waiting() -> AsyncGenerator[tuple[ScriptedAgent, asyncio.Event]]:
    """A tool that the agent has called as `c` and that waits for ever; the event tells its end."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with connected(AGENT) as (connection, remote):
        _, (server,) = await opened(connection, remote, tools=[wait])
        remote.call("c", "mcp/message", message(server, "tools/call", name="wait", arguments={}))
        await begun.wait()
        yield remote, ended


async def test_a_request_that_the_agent_cancels_cancels_the_tool() -> None:
    async with waiting() as (remote, ended):
        remote.send({"method": "$/cancel_request", "params": {"requestId": "c"}})
        response = await remote.take()
        assert (response["id"], response["error"]["code"]) == ("c", -32800)
        await ended.wait()


async def test_an_agent_that_goes_away_takes_what_runs_for_it_along() -> None:
    async with waiting() as (remote, ended):
        await remote.transport.aclose()
        await ended.wait()


async def test_a_tool_that_works_holds_up_nothing_else() -> None:
    leave = asyncio.Event()

    async def wait() -> str:
        await leave.wait()
        return "done"

    async with connected(AGENT) as (connection, remote):
        session, (server,) = await opened(connection, remote, tools=[wait])
        prompt = asyncio.create_task(session.ask("Hello"))
        await remote.accept()
        remote.call("c", "mcp/message", message(server, "tools/call", name="wait", arguments={}))
        remote.say("Meanwhile")
        remote.idle()
        assert await prompt == "Meanwhile"
        leave.set()
        response = await remote.take()
        assert response["result"]["result"]["content"][0]["text"] == "done"


async def test_fifty_megabytes_cross_the_connection_and_more_are_a_typed_error() -> None:
    agent = Agent("reader", mcp=True)

    def book(megabytes: int) -> CallToolResult:
        text = "x" * 1024 * 1024 * megabytes
        return CallToolResult(content=[TextContent(type="text", text=text)])

    @agent.prompt
    async def reply(turn: Turn) -> None:
        result = await turn.session.mcp.call_tool("book", {"megabytes": 50})
        (block,) = result.content
        assert isinstance(block, TextContent)
        await turn.say(str(len(block.text) // 1024 // 1024))
        try:
            await turn.session.mcp.call_tool("book", {"megabytes": 70})
        except McpCallFailed as error:
            await turn.say(f", {error}")
        await turn.session.mcp.call_tool("book", {"megabytes": 0})

    async with connect(agent) as connection:
        session = await connection.new_session(tools=[book])
        reply_text = await session.ask("Read")
    assert reply_text.startswith("50, ")
    assert "can be sent" in reply_text


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("reach", ["acp", "http", "stdio"])
async def test_an_agent_calls_a_tool_however_it_reaches_servers(reach: str, version: int) -> None:
    kinds: Message = {f"mcp_{kind}": kind in {reach, "stdio"} for kind in ("acp", "http", "stdio")}
    agent = Agent("adder", features=AgentFeatures(**kinds))

    @agent.prompt
    async def reply(turn: Turn) -> None:
        mcp = turn.session.mcp
        (declared,) = turn.session.mcp_servers
        result = await mcp.call_tool("add", {"left": 2, "right": 3})
        await turn.say(f"{type(declared).__name__} {result.structured_content}")

    async with connect(agent, versions=(version,)) as connection:
        session = await connection.new_session(tools=[add])
        kind = {"acp": "McpServerAcp", "http": "McpServerHttp", "stdio": "McpServerStdio"}[reach]
        assert await session.ask("Add") == f"{kind} {{'result': 5}}"


async def test_an_agent_on_another_machine_that_cannot_reach_a_tool_does_not_learn_of_it() -> None:
    reaches: Message = {"capabilities": {"session": {"mcp": {"http": {}}}}}
    async with connected(reaches) as (connection, _):
        connection._state.is_on_other_host = True
        with pytest.raises(Unsupported, match=r"on another machine.*parley conduct -- AGENT"):
            await connection.new_session(tools=[add])
    async with connected(AGENT) as (connection, remote):
        connection._state.is_on_other_host = True
        _, (server,) = await opened(connection, remote, tools=[add])
        assert await names(remote, server) == ["add"], "what speaks MCP over ACP reaches it"


async def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("parley.mcp._hosted_server", "parley.mcp._function_server"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    for name in ("mcp", "mcp.server", "mcp_types"):
        monkeypatch.setitem(sys.modules, name, None)
    async with connected(AGENT) as (connection, _):
        with pytest.raises(Unsupported, match=r"pip install 'parley-acp\[mcp\]'"):
            await connection.new_session(tools=[add])
        with pytest.raises(Unsupported, match=r"pip install 'parley-acp\[mcp\]'"):
            await connection.new_session(mcp_servers=[object()])


async def test_what_is_no_tool_and_no_server_is_refused() -> None:
    async with connected(AGENT) as (connection, _):
        with pytest.raises(TypeError, match="tools= takes a list of functions"):
            await connection.new_session(tools=add)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="mcp_servers= takes a list"):
            await connection.new_session(mcp_servers="server")
        with pytest.raises(TypeError, match="dict is not an MCP server"):
            await connection.new_session(mcp_servers=[{"type": "http"}])


@pytest.mark.parametrize("is_older_form", [True, False])
async def test_a_tool_does_not_wait_for_a_prompt_of_its_own_session(is_older_form: bool) -> None:
    """It would wait for ever: the turn that it is part of has to end first."""
    sessions: dict[str, Session] = {}
    problems: list[str] = []
    later: list[asyncio.Task[str]] = []

    async def meddle() -> str:
        with pytest.raises(LocalProtocolError, match="a tool cannot wait for a prompt of its own"):
            await sessions["one"].ask("And?")
        problems.append("refused")
        response = await sessions["two"].ask("And you?")
        later.append(asyncio.create_task(after()))
        return response

    over = asyncio.Event()

    async def after() -> str:
        await over.wait()
        return await sessions["one"].ask("And now?")

    async with connected(AGENT) as (connection, remote):
        sessions["one"], (server,) = await opened(connection, remote, "one", tools=[meddle])
        sessions["two"], _ = await opened(connection, remote, "two")
        turn = asyncio.create_task(sessions["one"].ask("Go"))
        remote.respond(await remote.take("session/prompt"), {"messageId": "u"})
        remote.state("running", "one")
        calling = message(server, "tools/call", name="meddle", arguments={})
        if is_older_form:
            way = (await ask(remote, "mcp/connect", {"serverId": server["serverId"]}))["result"]
            calling = {**way, "method": "tools/call", "params": calling["params"]}
        remote.call("c", "mcp/message", calling)
        request = await remote.take("session/prompt")
        assert request["params"]["sessionId"] == "two"
        remote.respond(request, {"messageId": "v"})
        remote.say("fine", "two")
        remote.idle(session="two")
        assert "fine" in str(await remote.take())
        assert problems == ["refused"]
        remote.idle(session="one")
        assert await turn == ""
        over.set()
        request = await remote.take("session/prompt")
        assert request["params"]["sessionId"] == "one", "when the turn is over it may"
        remote.respond(request, {"messageId": "w"})
        remote.idle(session="one")
        await later[0]


@pytest.mark.parametrize(
    "options",
    [
        {"mcp_servers": [MCPServer("twin"), MCPServer("twin")]},
        {"mcp_servers": [MCPServer("tools")], "tools": [add]},
        {
            "mcp_servers": [
                v2.McpServerHttp(name="twin", url="https://example.com"),
                MCPServer("twin"),
            ]
        },
    ],
    ids=["servers", "tools", "declared"],
)
async def test_two_servers_of_a_session_with_one_name_are_refused(options: Any) -> None:
    async with connected(AGENT) as (connection, remote):
        with pytest.raises(ValueError, match="two MCP servers of the session are called"):
            await connection.new_session(**options)
        _, servers = await opened(connection, remote, tools=[add])
        assert [each["name"] for each in servers] == ["tools"]
