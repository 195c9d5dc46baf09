"""Servers of a client's for agents that know no MCP over ACP.

https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from parley.errors import Unsupported
from parley.schema import v2

from .raw_agent import RawAgent, connected

requirement = pytest.mark.requirement
both = pytest.mark.parametrize("version", [1, 2])
modes = pytest.mark.parametrize("mode", ["legacy", "auto"])

HTTP: dict[int, dict[str, Any]] = {
    1: {"mcpCapabilities": {"http": True}, "sessionCapabilities": {"close": {}}},
    2: {"session": {"mcp": {"http": {}, "stdio": {}}}},
}
STDIO: dict[int, dict[str, Any]] = {1: {}, 2: {"session": {"mcp": {"stdio": {}}}}}
ACP: dict[int, dict[str, Any]] = {
    1: {"mcpCapabilities": {"acp": True, "http": True}},
    2: {"session": {"mcp": {"acp": {}, "http": {}}}},
}
GIT = v2.McpServerStdio(name="git", command="/bin/git", meta={"kept": True})


def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


def declared(agent: RawAgent) -> list[dict[str, Any]]:
    """Return the servers of the last session."""
    servers: list[dict[str, Any]] = agent.got("session/new")[-1].get("mcpServers", [])
    return servers


async def added(transport: Any, mode: str) -> Any:
    """Do with a server what an agent does."""
    async with Client(transport, mode=mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add"]
        return (await client.call_tool("add", {"left": 2, "right": 3})).structured_content


@requirement("TR-MCP-14")
@both
@modes
async def test_an_agent_that_reaches_servers_over_http_calls_a_tool_of_the_client(
    version: int, mode: str
) -> None:
    agent = RawAgent(version, HTTP[version])
    async with connected(agent) as connection:
        await connection.new_session(tools=[add])
        (server,) = declared(agent)
        assert (server["type"], server["name"]) == ("http", "tools")
        headers = {each["name"]: each["value"] for each in server["headers"]}
        async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
            sums = await added(streamable_http_client(server["url"], http_client=http), mode)
    assert sums == {"result": 5}
    assert not any(method.startswith("mcp/") for method in agent.methods)


@requirement("TR-MCP-14")
@both
@modes
async def test_an_agent_that_only_starts_servers_calls_a_tool_of_the_client(
    version: int, mode: str
) -> None:
    agent = RawAgent(version, STDIO[version])
    async with connected(agent) as connection:
        await connection.new_session(tools=[add])
        (server,) = declared(agent)
        assert server.get("type") == (None if version == 1 else "stdio")
        env = {each["name"]: each["value"] for each in server["env"]}
        started = StdioServerParameters(command=server["command"], args=server["args"], env=env)
        assert await added(started, mode) == {"result": 5}


@requirement("TR-MCP-15")
@both
async def test_other_servers_are_left_alone(version: int) -> None:
    agent = RawAgent(version, HTTP[version])
    async with connected(agent) as connection:
        await connection.new_session(tools=[add], mcp_servers=[GIT])
        git, tools = declared(agent)
    assert (git["command"], git["_meta"]) == ("/bin/git", {"kept": True})
    assert httpx2.URL(tools["url"]).host == "127.0.0.1"


@requirement("TR-MCP-16")
async def test_an_agent_without_any_mcp_is_given_no_tools() -> None:
    agent = RawAgent(2, {"session": {}})
    async with connected(agent) as connection:
        with pytest.raises(Unsupported, match="does not use MCP servers"):
            await connection.new_session(tools=[add])
    assert "session/new" not in agent.methods


@requirement("TR-MCP-17")
@both
async def test_an_agent_that_knows_mcp_over_acp_is_told_of_the_server_itself(version: int) -> None:
    agent = RawAgent(version, ACP[version])
    async with connected(agent) as connection:
        await connection.new_session(tools=[add])
        (server,) = declared(agent)
        assert (server["type"], set(server)) == ("acp", {"type", "name", "serverId"})
        assert connection._state.toolbox.bridge is None


@both
async def test_the_endpoint_is_gone_with_the_session(version: int) -> None:
    agent = RawAgent(version, HTTP[version])
    async with connected(agent) as connection:
        session = await connection.new_session(tools=[add])
        await connection.new_session(tools=[add])
        gone, left = (each["mcpServers"][0] for each in agent.got("session/new"))
        await session.close()
        statuses: list[int] = []
        async with httpx2.AsyncClient(trust_env=False) as http:
            while 404 not in statuses[:1]:
                statuses = [(await http.post(each["url"])).status_code for each in (gone, left)]
    assert statuses == [404, 401]
