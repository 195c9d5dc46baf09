"""`session.mcp` with servers that are missing, hang, die, refuse, or are not clear."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley import Agent
from parley.agent import AgentSession, Turn
from parley.asgi_server.server import Server
from parley.errors import McpCallFailed, RequestError
from parley.mcp._clients import McpClients
from parley.mcp._stderr import MAX_LINES
from parley.schema import v2
from parley.schema.base import Unknown
from parley.testing import pair

from .bridged_provider import bridged_provider
from .mcp_agent import HANGING, MISSING, both_versions, mcp_agent, stdio, whoami


@both_versions
@pytest.mark.requirement("V1-MCP-09")
async def test_a_server_that_is_missing_leaves_the_others_usable(
    tmp_path: Path, version: int
) -> None:
    async def work(mcp: McpClients) -> Any:
        tools = {tool.server for tool in await mcp.list_tools()}
        return tools, dict(mcp.failures), await whoami(mcp)

    async with mcp_agent(tmp_path, version) as (worker, client):
        session = await client.new_session(mcp_servers=[MISSING, stdio()])
        tools, failures, told = await worker.do(session, work)
        assert tools == {"desk"}
        assert list(failures) == ["missing"]
        assert failures["missing"].server == "missing"
        assert "the MCP server missing cannot be started" in str(failures["missing"])
        assert told == {"result": f"desk in {tmp_path.name}"}
        with pytest.raises(McpCallFailed, match="missing"):
            await worker.do(session, lambda mcp: mcp.call_tool("x", server="missing"))


async def test_a_server_that_hangs_is_given_up(tmp_path: Path) -> None:
    async def work(mcp: McpClients) -> Any:
        mcp.open_seconds = 0.3
        await mcp.client("hanging")

    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(mcp_servers=[HANGING])
        with pytest.raises(McpCallFailed, match=r"hanging was not ready within 0\.3 s"):
            await worker.do(session, work)


async def test_a_session_is_closed_while_a_server_is_being_opened(tmp_path: Path) -> None:
    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(mcp_servers=[HANGING])
        opening = asyncio.create_task(worker.sessions[0].mcp.client("hanging"))
        listing = asyncio.create_task(worker.sessions[0].mcp.list_tools())
        await session.close()
        with pytest.raises(McpCallFailed, match="hanging has ended with its session"):
            await opening
        assert await listing == []


async def test_a_tool_that_takes_too_long_is_cancelled(tmp_path: Path) -> None:
    async with bridged_provider("http") as desk, mcp_agent(tmp_path) as (worker, client):
        declared = msgspec.convert(await desk.declare(), v2.McpServerHttp)
        session = await client.new_session(mcp_servers=[declared])
        with pytest.raises(McpCallFailed, match=r"desk has not answered for 0\.2 s"):
            await worker.do(session, lambda mcp: mcp.call_tool("wait", give_up_after=0.2))
        await desk.was_cancelled.wait()
        await session.close()


async def test_a_server_that_dies_is_started_again(tmp_path: Path) -> None:
    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(mcp_servers=[stdio("a"), stdio("b")])
        with pytest.raises(McpCallFailed, match="the MCP server a has ended") as raised:
            await worker.do(session, lambda mcp: mcp.call_tool("die", server="a"))
        assert raised.value.server == "a"
        for name in ("b", "a"):
            told = await worker.do(session, partial(_ask, server=name))
            assert told == {"result": f"{name} in {tmp_path.name}"}


async def _ask(mcp: McpClients, server: str) -> Any:
    return (await mcp.call_tool("whoami", server=server)).structured_content


async def test_a_server_over_http_that_goes_away_says_so(tmp_path: Path) -> None:
    async def work(mcp: McpClients) -> Any:
        return (await mcp.call_tool("add", {"a": 1, "b": 1})).structured_content

    async with mcp_agent(tmp_path) as (worker, client):
        async with bridged_provider("http") as desk:
            declared = msgspec.convert(await desk.declare(), v2.McpServerHttp)
            session = await client.new_session(mcp_servers=[declared, stdio("other")])
            assert await worker.do(session, work) == {"result": 2}
        with pytest.raises(McpCallFailed, match="the MCP server desk"):
            await worker.do(session, work)
        assert await worker.do(session, whoami) == {"result": f"other in {tmp_path.name}"}


async def test_what_is_not_clear_or_not_there_is_asked_about(tmp_path: Path) -> None:
    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(mcp_servers=[stdio("a"), stdio("b")])
        assert worker.sessions[0].mcp.servers == ["a", "b"]
        with pytest.raises(KeyError, match="name one of them: a, b"):
            await worker.do(session, whoami)
        with pytest.raises(KeyError, match="no server has a tool fly"):
            await worker.do(session, lambda mcp: mcp.call_tool("fly"))
        with pytest.raises(KeyError, match="there is no MCP server c"):
            await worker.do(session, lambda mcp: mcp.call_tool("fly", server="c"))


async def test_an_error_of_the_server_has_its_code(tmp_path: Path) -> None:
    def refuse() -> str:
        """Refuse."""
        raise RequestError("no", code=-32050)

    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(tools=[refuse])
        with pytest.raises(McpCallFailed, match="refused: no") as raised:
            await worker.do(session, lambda mcp: mcp.call_tool("refuse"))
    assert raised.value.code == -32050


async def test_a_turn_that_is_cancelled_cancels_the_call(tmp_path: Path) -> None:
    is_running, was_cancelled = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        """Wait."""
        is_running.set()
        try:
            await asyncio.Event().wait()
        finally:
            was_cancelled.set()

    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(tools=[wait])
        prompting = asyncio.create_task(worker.do(session, lambda mcp: mcp.call_tool("wait")))
        await is_running.wait()
        await session.cancel()
        await was_cancelled.wait()
        prompting.cancel()


async def test_a_server_of_an_unknown_kind_is_a_failure_of_its_own() -> None:
    server = Unknown("_pigeon", b'{"type":"_pigeon","name":"coo"}')
    agent = Agent("a", mcp=True)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        pass

    session: list[AgentSession] = []

    @agent.open_session
    async def keep(opened: AgentSession) -> None:
        session.append(opened)

    async with pair(agent) as client:
        await client.new_session(mcp_servers=[server])
        assert await session[0].mcp.list_tools() == []
        assert "servers of the kind _pigeon cannot be reached" in str(
            session[0].mcp.failures["coo"]
        )


async def test_what_a_server_says_on_stderr_is_logged_and_harmless(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO, "parley.mcp.stderr")
    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(mcp_servers=[stdio("a")])
        with pytest.raises(McpCallFailed, match="a has ended; stderr ends with: \ufffdtwo"):
            await worker.do(session, lambda mcp: mcp.call_tool("shout", server="a"))
    assert [each.getMessage() for each in caplog.records] == [
        "the MCP server a: \u241b]0;mine\u2407 one",
        "the MCP server a: \ufffdtwo",
    ]
    assert "mine" not in capfd.readouterr().err


async def test_a_server_that_floods_stderr_works_and_is_not_all_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "parley.mcp.stderr")
    async with mcp_agent(tmp_path) as (worker, client):
        session = await client.new_session(mcp_servers=[stdio("a")])
        called = await worker.do(session, lambda mcp: mcp.call_tool("scream", server="a"))
        assert called.structured_content == {"result": "done"}
    assert len(caplog.records) == MAX_LINES + 1
    assert caplog.records[-1].getMessage().endswith("further lines are left out")


@pytest.mark.parametrize("status", [302, 307, 308])
@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_headers_do_not_follow_a_redirect_to_another_origin(
    tmp_path: Path, kind: str, status: int
) -> None:
    asked: list[str] = []

    async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
        asked.append("elsewhere")
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body"})

    async def here(scope: Any, receive: Any, send: Any) -> None:
        asked.append("here")
        headers = [(b"location", f"http://127.0.0.1:{far.addresses[0][1]}/mcp".encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body"})

    async with (
        Server(elsewhere) as far,
        Server(here) as near,
        mcp_agent(tmp_path, 1) as (worker, client),
    ):
        url = f"http://127.0.0.1:{near.addresses[0][1]}/mcp"
        secret = [v2.HttpHeader(name="X-Api-Key", value="secret")]
        body = {"type": kind, "name": "a", "url": url, "headers": secret}
        declared = v2.McpServerHttp(name="a", url=url, headers=secret)
        server = Unknown("sse", msgspec.json.encode(body)) if kind == "sse" else declared
        session = await client.new_session(mcp_servers=[server])
        with pytest.raises(McpCallFailed, match="the MCP server a"):
            await worker.do(session, lambda mcp: mcp.call_tool("x", server="a"))
        await session.close()
    assert set(asked) == {"here"}
