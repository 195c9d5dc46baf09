"""MCP servers in the requests of a client that open sessions.

https://agentclientprotocol.com/protocol/v1/session-setup#mcp-servers
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.schema import v1, v2

from .raw_agent import RawAgent, connected
from .raw_client import initialized, talking_to
from .wire_values import is_refused, read, write

requirement = pytest.mark.requirement
STDIO: dict[str, Any] = {
    "name": "s",
    "command": "/bin/s",
    "args": ["-v"],
    "env": [{"name": "A", "value": "1"}],
}
HTTP: dict[str, Any] = {
    "name": "h",
    "url": "https://h",
    "headers": [{"name": "X", "value": "1"}],
}


def servers(*each: Any) -> list[Any]:
    request = {"cwd": "/", "mcpServers": list(each)}
    named: list[Any] = write(read(v1.NewSessionRequest, request)).get("mcpServers", [])
    return named


async def sent(*each: v2.McpServer) -> list[Any]:
    """Return how a client of version 1 names servers to an agent that reaches them all."""
    agent = RawAgent(1, {"mcpCapabilities": {"http": True, "sse": True}})
    async with connected(agent) as connection:
        await connection.new_session(mcp_servers=list(each))
    (params,) = agent.got("session/new")
    named: list[Any] = params["mcpServers"]
    return named


@requirement("V2-DUAL-14")
@requirement("V1-MCP-06")
async def test_a_stdio_server_has_four_fields_and_no_type() -> None:
    variables = [v2.EnvVariable(name="A", value="1")]
    stdio = v2.McpServerStdio(name="s", command="/bin/s", args=["-v"], env=variables)
    assert await sent(stdio) == [STDIO]
    assert servers(STDIO) == [STDIO]
    for name in STDIO:
        assert is_refused(v1.McpServer, {key: STDIO[key] for key in STDIO if key != name})
    assert servers({**STDIO, "args": [], "env": []})[0]["args"] == []


@requirement("V1-MCP-07")
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_remote_server_has_type_name_url_and_headers(kind: str) -> None:
    whole = {"type": kind, **HTTP}
    assert await sent(read(v2.McpServer, whole)) == [whole]
    assert servers(whole) == [whole]
    for name in HTTP:
        assert is_refused(v1.McpServer, {key: whole[key] for key in whole if key != name})


@requirement("V1-MCP-08")
@pytest.mark.parametrize(
    "broken", [{"name": "x"}, 5, {**STDIO, "args": [5]}], ids=["fields", "number", "args"]
)
async def test_a_broken_server_is_refused_and_not_left_out(broken: Any) -> None:
    async with initialized(1) as client:
        params = {"cwd": "/", "mcpServers": [broken, STDIO]}
        assert await client.refusal("session/new", params) == -32602
        await client.new_session()


@requirement("V1-MCP-22")
@pytest.mark.parametrize("kind", ["stdio", "other"])
async def test_a_server_of_an_unknown_type_with_the_fields_of_stdio_is_one(kind: str) -> None:
    assert servers({"type": kind, **STDIO}) == [STDIO]
    given: list[v2.McpServer] = []
    agent = Agent("server")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        given.extend(turn.session.mcp_servers)

    async with talking_to(agent) as client:
        await client.initialize(1)
        session = await client.new_session(mcpServers=[{"type": kind, **STDIO}])
        await client.turn(session, "go")
    (server,) = given
    assert isinstance(server, v2.McpServerStdio)
    assert (server.name, server.command) == (STDIO["name"], STDIO["command"])
