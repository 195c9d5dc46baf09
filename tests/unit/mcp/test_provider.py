from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, TextContent

from parley.errors import (
    InvalidParams,
    McpLimitReached,
    McpServerFailed,
    McpServerUnknown,
    MethodNotFound,
    RequestCancelled,
    RequestError,
)
from parley.mcp import _provider as module

from .provider_client import ENVELOPE, HANDSHAKE, ProviderClient, text_of

WAIT: dict[str, Any] = {"name": "wait", "arguments": {}}


def add(left: int, right: int) -> int:
    return left + right


class Endless:
    """A tool that ends only when it is told to."""

    def __init__(self) -> None:
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def wait(self) -> None:
        """Wait for ever."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


async def test_fifty_megabytes_arrive_and_more_than_a_message_holds_is_refused() -> None:
    async def text(megabytes: int) -> Any:
        said = TextContent(type="text", text="x" * 1024 * 1024 * megabytes)
        return CallToolResult(content=[said])

    asker = ProviderClient()
    server = asker.serve(text)
    assert len(text_of(await asker.call(server, "text", megabytes=50))) == 50 * 1024 * 1024
    with pytest.raises(McpLimitReached, match="answers"):
        await asker.call(server, "text", megabytes=61)
    way = await asker.connect(server)
    params = {"name": "text", "arguments": {"megabytes": 61}}
    with pytest.raises(McpLimitReached):
        await asker.send("mcp/message", {**way, "method": "tools/call", "params": params})
    assert text_of(await asker.call(server, "text", megabytes=0)) == ""


async def test_who_gives_up_cancels_the_tool() -> None:
    endless, asker = Endless(), ProviderClient()
    task = asyncio.create_task(asker.call(asker.serve(endless.wait), "wait"))
    await endless.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await endless.ended.wait()


async def test_who_gives_up_does_not_wait_for_a_tool_that_cannot_be_cancelled() -> None:
    begun, leave = asyncio.Event(), asyncio.Event()

    async def stubborn() -> str:
        begun.set()
        while not leave.is_set():
            try:
                await leave.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    asker = ProviderClient()
    task = asyncio.create_task(asker.call(asker.serve(stubborn), "stubborn"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    leave.set()


async def test_a_plain_function_that_blocks_blocks_nobody_else() -> None:
    leave = threading.Event()

    def block() -> None:
        leave.wait()

    asker = ProviderClient()
    server = asker.serve(block, add)
    task = asyncio.create_task(asker.call(server, "block"))
    try:
        assert text_of(await asker.call(server, "add", left=1, right=2)) == "3"
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    finally:
        leave.set()


async def test_mcps_own_cancelling_ends_a_request_of_the_present_form() -> None:
    endless, asker = Endless(), ProviderClient()
    server = asker.serve(endless.wait)
    task = asyncio.create_task(asker.call(server, "wait", "r"))
    await endless.begun.wait()
    cancel = {"serverId": server, "requestId": "r", "method": "notifications/cancelled"}
    asker.tell({**cancel, "requestId": "other"})
    asker.tell(cancel)
    with pytest.raises(RequestCancelled):
        await task
    await endless.ended.wait()


async def test_mcps_own_cancelling_ends_a_request_of_the_older_form() -> None:
    endless, asker = Endless(), ProviderClient()
    way = await asker.connect(asker.serve(endless.wait))
    other = await asker.connect(asker.serve(endless.wait))
    message = {**way, "method": "tools/call", "params": WAIT}
    task = asyncio.create_task(asker.send("mcp/message", message, id=7))
    await endless.begun.wait()
    cancelled = {"method": "notifications/cancelled"}
    asker.tell({**other, **cancelled, "params": {"requestId": 7}})
    asker.tell({**way, **cancelled, "params": {"requestId": [7]}})
    asker.tell({**way, **cancelled, "params": {"requestId": 7}})
    with pytest.raises(RequestCancelled):
        await task


async def test_what_runs_in_a_server_ends_when_it_is_withdrawn() -> None:
    endless, asker = Endless(), ProviderClient()
    server = asker.serve(endless.wait)
    task = asyncio.create_task(asker.call(server, "wait"))
    await endless.begun.wait()
    await asker.provider.remove(server)
    with pytest.raises(RequestCancelled):
        await task
    with pytest.raises(McpServerUnknown):
        await asker.call(server, "wait")
    await asker.provider.remove(server)


async def test_a_connection_that_is_closed_takes_its_requests_and_no_others() -> None:
    endless, asker = Endless(), ProviderClient()
    server = asker.serve(endless.wait, add)
    way, other = await asker.connect(server), await asker.connect(server)
    message = {**way, "method": "tools/call", "params": WAIT}
    task = asyncio.create_task(asker.send("mcp/message", message, id=1))
    await endless.begun.wait()
    await asker.send("mcp/disconnect", way)
    with pytest.raises(RequestCancelled):
        await task
    assert await asker.send("mcp/message", {**other, "method": "tools/list"})
    await asker.provider.hang_up()
    with pytest.raises(InvalidParams):
        await asker.send("mcp/message", {**other, "method": "tools/list"})
    assert await asker.connect(server)


async def test_two_requests_with_one_name_are_refused() -> None:
    endless, asker = Endless(), ProviderClient()
    server = asker.serve(endless.wait)
    task = asyncio.create_task(asker.call(server, "wait", "same"))
    await endless.begun.wait()
    with pytest.raises(InvalidParams):
        await asker.call(server, "wait", "same")
    await asker.provider.aclose()
    with pytest.raises(RequestCancelled):
        await task


async def test_too_much_at_once_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RUNNING", 1)
    monkeypatch.setattr(module, "MAX_CONNECTIONS", 1)
    endless, asker = Endless(), ProviderClient()
    server = asker.serve(endless.wait)
    way = await asker.connect(server)
    with pytest.raises(McpLimitReached):
        await asker.connect(server)
    task = asyncio.create_task(asker.call(server, "wait"))
    await endless.begun.wait()
    with pytest.raises(McpLimitReached):
        await asker.call(server, "wait")
    with pytest.raises(McpLimitReached):
        await asker.send("mcp/message", {**way, "method": "tools/list"})
    task.cancel()
    await asker.provider.aclose()


async def test_a_lifespan_is_entered_once_and_left_when_the_server_is_withdrawn() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def lifespan(server: MCPServer[str]) -> AsyncGenerator[str]:
        seen.append("entered")
        yield "state"
        seen.append("left")

    asker = ProviderClient()
    server = asker.provider.add(MCPServer("lasting", lifespan=lifespan))
    assert asker.provider.declaration(server).name == "lasting"
    assert seen == []
    await asyncio.gather(asker.ask(server, "tools/list"), asker.ask(server, "tools/list"))
    await asker.connect(server)
    assert seen == ["entered"]
    await asker.provider.aclose()
    assert seen == ["entered", "left"]


async def test_a_server_that_cannot_be_started_is_a_failure_of_its_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    problems = [OSError("the disk is full")]

    @asynccontextmanager
    async def lifespan(server: Server[None]) -> AsyncGenerator[None]:
        if problems:
            raise problems.pop()
        yield

    asker = ProviderClient()
    server = asker.provider.add(Server("broken", lifespan=lifespan))
    with pytest.raises(McpServerFailed, match="broken cannot be started") as failed:
        await asker.ask(server, "server/discover")
    assert failed.value.code == -33002
    assert "disk is full" in caplog.text
    assert "disk" not in str(failed.value)
    assert "result" in await asker.ask(server, "server/discover")
    await asker.provider.aclose()


async def test_the_handshake_belongs_to_connections() -> None:
    asker = ProviderClient()
    server = asker.serve(add)
    outcome = await asker.ask(server, "initialize", **HANDSHAKE)
    assert outcome["error"]["code"] == -32022
    assert outcome["error"]["data"]["supported"] == ["2026-07-28"]
    way = await asker.send("mcp/connect", {"serverId": server})
    with pytest.raises(RequestError):
        await asker.send("mcp/message", {**way, "method": "tools/list"})


async def test_a_request_that_says_everything_by_itself_is_answered_on_a_connection_too() -> None:
    asker = ProviderClient()
    way = await asker.send("mcp/connect", {"serverId": asker.serve(add)})
    message = {**way, "method": "server/discover", "params": {"_meta": ENVELOPE}}
    assert (await asker.send("mcp/message", message))["supportedVersions"] == ["2026-07-28"]


async def test_a_provider_knows_what_is_for_it() -> None:
    asker = ProviderClient()
    server = asker.serve(add)
    way = await asker.connect(server)
    owns = asker.provider.owns
    assert owns(f'{{"serverId":"{server}"}}'.encode())
    assert owns(f'{{"connectionId":"{way["connectionId"]}"}}'.encode())
    assert not owns(b'{"serverId":"other"}')
    assert not owns(b"{}")
    assert not owns(b"[")


async def test_nonsense_is_refused_or_ignored() -> None:
    asker = ProviderClient()
    with pytest.raises(MethodNotFound):
        await asker.send("mcp/other", {})
    with pytest.raises(InvalidParams):
        await asker.send("mcp/message", {"serverId": 5})
    asker.tell({"serverId": 5})
    asker.tell({})
    with pytest.raises(TypeError, match="str is not an MCP server"):
        asker.provider.add("server")
