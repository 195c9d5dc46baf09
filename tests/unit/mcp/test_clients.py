"""`session.mcp`: an agent's MCP clients for whatever servers a session carries."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp.server.mcpserver import Context, MCPServer

from parley import Agent
from parley.agent import _mcp as module
from parley.asgi_server.server import Server
from parley.errors import McpCallFailed, Unsupported
from parley.mcp._clients import McpClients
from parley.schema import v2
from parley.schema.base import Unknown

from .bridged_provider import bridged_provider
from .mcp_agent import both_versions, mcp_agent, stdio, whoami


def test_an_agent_that_is_to_use_servers_needs_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find_nothing(name: str) -> None:
        return None

    monkeypatch.setattr(module, "find_spec", find_nothing)
    with pytest.raises(Unsupported, match="parley-acp"):
        Agent("a", mcp=True)
    assert not Agent("a").features.mcp_acp


@both_versions
@pytest.mark.requirement("V1-MCP-01", "V1-MCP-04", "V2-SESS-14")
async def test_tools_of_all_servers_are_listed_with_their_server(
    tmp_path: Path, version: int
) -> None:
    async def work(mcp: McpClients) -> Any:
        listed = await mcp.list_tools()
        return [(tool.server, tool.name) for tool in listed if tool.name in ("whoami", "die")]

    async with mcp_agent(tmp_path, version) as (worker, client):
        session = await client.new_session(mcp_servers=[stdio("a"), stdio("b")])
        found = await worker.do(session, work)
    assert found == [("a", "whoami"), ("a", "die"), ("b", "whoami"), ("b", "die")]


@both_versions
@pytest.mark.requirement("V1-MCP-01", "V1-MCP-10")
async def test_a_process_gets_its_variables_and_few_of_ours(
    tmp_path: Path, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_SECRET", "x")

    async def work(mcp: McpClients) -> Any:
        return (await mcp.call_tool("variables")).structured_content, await whoami(mcp)

    async with mcp_agent(tmp_path, version) as (worker, client):
        session = await client.new_session(mcp_servers=[stdio(DECLARED="declared")])
        variables, told = await worker.do(session, work)
    names = variables["result"]
    assert names[-1] == "declared"
    assert "PATH" in names
    assert "OUR_SECRET" not in names
    assert told == {"result": f"desk in {tmp_path.name}"}


@both_versions
@pytest.mark.requirement("V1-MCP-03", "V1-MCP-10")
async def test_a_server_over_http_gets_its_headers(tmp_path: Path, version: int) -> None:
    async def work(mcp: McpClients) -> Any:
        return (await mcp.call_tool("add", {"a": 2, "b": 3})).structured_content

    async with bridged_provider("http") as desk, mcp_agent(tmp_path, version) as (worker, client):
        declared = msgspec.convert(await desk.declare(), v2.McpServerHttp)
        session = await client.new_session(mcp_servers=[declared])
        assert await worker.do(session, work) == {"result": 5}
        await session.close()


@pytest.mark.requirement("V1-MCP-10")
async def test_a_server_over_server_sent_events_is_reached_in_version_1(tmp_path: Path) -> None:
    server = MCPServer("events")
    seen: list[dict[bytes, bytes]] = []

    @server.tool()
    def greet() -> str:
        return "hello"

    served = server.sse_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dict(scope["headers"]))
        await served(scope, receive, send)

    async def work(mcp: McpClients) -> Any:
        return (await mcp.call_tool("greet")).structured_content

    async with Server(app) as opened, mcp_agent(tmp_path, 1) as (worker, client):
        host, port = opened.addresses[0]
        raw = msgspec.json.encode(
            {
                "type": "sse",
                "name": "events",
                "url": f"http://{host}:{port}/sse",
                "headers": [{"name": "X-Token", "value": "t"}],
            }
        )
        session = await client.new_session(mcp_servers=[Unknown("sse", raw)])
        assert await worker.do(session, work) == {"result": "hello"}
        await session.close()
    assert all(each[b"x-token"] == b"t" for each in seen)


@both_versions
async def test_a_tool_of_the_client_is_called_over_acp(tmp_path: Path, version: int) -> None:
    heard: list[float] = []

    async def count(context: Context[Any, Any], to: int) -> str:
        """Count."""
        for each in range(to):
            await context.report_progress(each + 1, to)
        return "done"

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def work(mcp: McpClients) -> Any:
        return (await mcp.call_tool("count", {"to": 3}, progress=hear)).content[0]

    async with mcp_agent(tmp_path, version) as (worker, client):
        session = await client.new_session(tools=[count])
        assert [type(each) for each in worker.sessions[0].mcp_servers] == [v2.McpServerAcp]
        assert (await worker.do(session, work)).text == "done"
    assert heard == [1, 2, 3]


@pytest.mark.requirement("V1-MCP-11")
async def test_servers_of_one_session_are_not_in_another(tmp_path: Path) -> None:
    def secret() -> str:
        """Tell."""
        return "of the first"

    async def names(mcp: McpClients) -> list[str]:
        return [tool.name for tool in await mcp.list_tools()]

    async with mcp_agent(tmp_path) as (worker, client):
        first = await client.new_session(tools=[secret])
        second = await client.new_session()
        assert await worker.do(first, names) == ["secret"]
        assert await worker.do(second, names) == []
        with pytest.raises(KeyError):
            await worker.do(second, lambda mcp: mcp.call_tool("secret"))


@pytest.mark.requirement("V1-MCP-12")
async def test_a_session_that_is_resumed_has_the_servers_of_that_request(tmp_path: Path) -> None:
    def one() -> int:
        """One."""
        return 1

    def two() -> int:
        """Two."""
        return 2

    async def names(mcp: McpClients) -> list[str]:
        return [tool.name for tool in await mcp.list_tools()]

    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(tools=[one])
        await session.close()
        again = await client.resume_session(session.id, tools=[two])
        assert await worker.do(again, names) == ["two"]


async def test_a_server_is_opened_at_its_first_use_and_ends_with_the_session(
    tmp_path: Path,
) -> None:
    async def work(mcp: McpClients) -> Any:
        return (await mcp.call_tool("process")).structured_content

    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(mcp_servers=[stdio()])
        assert worker.sessions[0]._state._mcp_clients is None
        first = (await worker.do(session, work))["result"]
        assert (await worker.do(session, work))["result"] == first
        os.kill(first, 0)
        await session.close()
        with pytest.raises(ProcessLookupError):
            os.kill(first, 0)
        with pytest.raises(McpCallFailed, match="ended with its session"):
            await worker.sessions[0].mcp.call_tool("process", server="desk")


async def test_everything_ends_with_the_connection(tmp_path: Path) -> None:
    async def work(mcp: McpClients) -> Any:
        return (await mcp.call_tool("process")).structured_content

    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(mcp_servers=[stdio()])
        process = (await worker.do(session, work))["result"]
    await worker.sessions[0].mcp.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


async def test_a_subagent_has_the_servers_of_its_session(tmp_path: Path) -> None:
    def ping() -> str:
        """Answer."""
        return "pong"

    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(tools=[ping])
        async with worker.sessions[0].subagent("Explore") as explorer:
            child = explorer.session
            assert child.mcp is worker.sessions[0].mcp
            assert [tool.name for tool in await child.mcp.list_tools()] == ["ping"]
        await session.close()
