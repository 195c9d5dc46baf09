"""The bridge: agents without MCP over ACP use servers of this process by HTTP and by stdio."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import CreateMessageResult, TextContent

from parley.errors import InvalidParams
from parley.mcp._bridge import Bridge, Reach, offer_acp, reach_of
from parley.schema import v2

from .bridged_provider import bridged_provider, reached

both_reaches = pytest.mark.parametrize("reach", ["http", "stdio"])
both_modes = pytest.mark.parametrize("mode", ["legacy", "auto"])

V1 = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": True}}, "_x": 1}
V2: dict[str, Any] = {
    "protocolVersion": 2,
    "info": {"name": "a", "version": "1"},
    "capabilities": {"session": {"mcp": {"stdio": {}}}},
}


def encoded(value: object) -> bytes:
    return json.dumps(value).encode()


@both_reaches
@both_modes
async def test_a_tool_of_this_process_is_called_through_the_bridge(reach: Reach, mode: str) -> None:
    async with bridged_provider(reach) as desk, reached(await desk.declare(), mode) as client:
        listed = await client.list_tools()
        result = await client.call_tool("add", {"a": 2, "b": 3})
    assert [each.name for each in listed.tools] == ["add", "count", "ask", "wait"]
    assert not result.is_error
    assert result.structured_content == {"result": 5}


async def test_a_client_that_shakes_hands_has_a_connection_that_is_given_back() -> None:
    async with bridged_provider("stdio") as desk:
        async with reached(await desk.declare(), "legacy") as client:
            await client.call_tool("add", {"a": 1, "b": 1})
        await desk.has_disconnected.wait()
    assert desk.methods == [
        "mcp/connect",
        "mcp/message initialize",
        "mcp/message notifications/initialized",
        "mcp/message tools/call",
        "mcp/message tools/list",
        "mcp/disconnect",
    ]


async def test_a_session_over_http_that_is_ended_gives_its_connection_back() -> None:
    async with bridged_provider("http") as desk:
        async with reached(await desk.declare(), "legacy") as client:
            await client.call_tool("add", {"a": 1, "b": 1})
        assert desk.methods[-1] == "mcp/disconnect"


@both_reaches
async def test_a_client_of_the_newer_revision_needs_no_connection(reach: Reach) -> None:
    async with bridged_provider(reach) as desk, reached(await desk.declare()) as client:
        await client.call_tool("add", {"a": 1, "b": 1})
        assert {method for method, _ in desk.said} == {"mcp/message"}
        assert all("serverId" in params for _, params in desk.said)


@both_reaches
async def test_a_provider_without_connections_serves_a_client_that_shakes_hands(
    reach: Reach,
) -> None:
    async with (
        bridged_provider(reach, knows_connections=False) as desk,
        reached(await desk.declare(), "legacy") as client,
    ):
        assert client.server_info is not None
        assert client.server_info.name == "desk"
        result = await client.call_tool("add", {"a": 20, "b": 3})
        assert result.structured_content == {"result": 23}
        with pytest.warns(MCPDeprecationWarning):
            await client.send_ping()  # pyright: ignore[reportDeprecated]


@both_reaches
@both_modes
async def test_progress_arrives_before_the_result(reach: Reach, mode: str) -> None:
    heard: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with bridged_provider(reach) as desk, reached(await desk.declare(), mode) as client:
        await client.call_tool("count", {"to": 3}, progress_callback=hear)
    assert heard == [1, 2, 3]


@both_reaches
async def test_a_server_may_ask_a_client_that_has_shaken_hands(reach: Reach) -> None:
    async def sample(context: Any, params: Any) -> CreateMessageResult:
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text="forty-two"), model="m"
        )

    async with (
        bridged_provider(reach) as desk,
        reached(await desk.declare(), "legacy", sampling_callback=sample) as client,
    ):
        result = await client.call_tool("ask")
    assert result.structured_content == {"result": "forty-two"}


@both_reaches
async def test_what_a_client_does_not_do_is_an_error_of_the_tool(reach: Reach) -> None:
    async with bridged_provider(reach) as desk, reached(await desk.declare(), "legacy") as client:
        with pytest.raises(MCPError, match="Sampling not supported"):
            await client.call_tool("ask")


@both_reaches
@both_modes
async def test_a_call_that_is_cancelled_is_cancelled_at_the_provider(
    reach: Reach, mode: str
) -> None:
    async with bridged_provider(reach) as desk, reached(await desk.declare(), mode) as client:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "wait")
            await desk.is_waiting.wait()
            group.cancel_scope.cancel()
        await desk.was_cancelled.wait()
        assert (await client.call_tool("add", {"a": 1, "b": 1})).structured_content == {"result": 2}


@both_reaches
async def test_what_runs_ends_with_the_bridge(reach: Reach) -> None:
    async with bridged_provider(reach) as desk, reached(await desk.declare(), "legacy") as client:
        call = asyncio.create_task(client.call_tool("wait"))
        await desk.is_waiting.wait()
        await desk.bridge.aclose()
        await desk.was_cancelled.wait()
        with pytest.raises(MCPError):
            await call


async def test_an_error_of_the_server_has_its_code() -> None:
    async with (
        bridged_provider("http") as desk,
        reached(await desk.declare(), "legacy") as client,
    ):
        with pytest.raises(MCPError) as raised:
            await client.read_resource("x://nothing")
    assert raised.value.code == -32602


# The declaration


@pytest.mark.requirement("TR-MCP-15")
async def test_only_the_way_to_the_server_changes() -> None:
    async with bridged_provider("http") as desk:
        other = {"name": "git", "command": "/bin/git", "args": [], "env": [], "_odd": [1.50]}
        unknown = {"type": "pigeon", "name": "coo", "serverId": "x"}
        acp = {**desk.declared, "_meta": {"a": 1}, "_extra": {"b": None}}
        params = {"cwd": "/w", "_meta": {"t": 1}, "mcpServers": [other, acp, unknown], "x": 1e3}
        setup = await desk.bridge.adapt(encoded(params))
        changed = json.loads(setup.params)
        assert list(changed) == list(params)
        assert changed == {**params, "mcpServers": changed["mcpServers"]}
        first, bridged, last = changed["mcpServers"]
        assert (first, last) == (other, unknown)
        url, headers = bridged.pop("url"), bridged.pop("headers")
        assert bridged == {
            "type": "http",
            "name": "desk",
            "_meta": {"a": 1},
            "_extra": {"b": None},
        }
        assert url.startswith("http://127.0.0.1:")
        assert [each["name"] for each in headers] == ["Authorization"]
        assert desk.server_id not in setup.params.decode()


async def test_what_is_sent_by_stdio_has_the_shape_of_the_version() -> None:
    async with bridged_provider("stdio", 1) as desk:
        declared = await desk.declare(_meta={"a": 1})
        assert set(declared) == {"name", "command", "args", "env", "_meta"}
    async with bridged_provider("stdio", 2) as desk:
        assert (await desk.declare())["type"] == "stdio"


@pytest.mark.requirement("TR-MCP-15")
async def test_a_server_has_one_place_and_a_token_of_its_own() -> None:
    async with bridged_provider("http") as desk:
        again = desk.provider.add(desk._server())
        first, second = await desk.declare(), await desk.declare()
        other = await desk.declare(serverId=again)
    assert first == second
    assert first["url"] != other["url"]
    assert first["headers"] != other["headers"]


@pytest.mark.requirement("TR-MCP-17")
async def test_a_native_agent_gets_what_was_sent() -> None:
    async with bridged_provider("acp") as desk:
        params = encoded({"cwd": "/w", "mcpServers": [desk.declared]})
        setup = await desk.bridge.adapt(params)
        assert setup.params is params
        assert offer_acp(native := encoded(_with_acp())) is native


def _with_acp() -> dict[str, Any]:
    return {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"acp": True}}}


@pytest.mark.requirement("TR-MCP-16")
async def test_an_agent_without_any_mcp_is_not_offered_it() -> None:
    answer = encoded({**V2, "capabilities": {"session": {}}})
    assert offer_acp(answer) is answer
    async with bridged_provider(reach_of(answer), 2) as desk:
        with pytest.raises(InvalidParams, match="reaches none"):
            await desk.declare()
        plain = encoded({"cwd": "/w", "mcpServers": []})
        assert (await desk.bridge.adapt(plain)).params is plain


def test_it_is_offered_where_it_can_be_bridged() -> None:
    assert reach_of(encoded(V1)) == "http"
    assert reach_of(encoded({"protocolVersion": 1})) == "stdio"
    assert reach_of(encoded(V2)) == "stdio"
    assert reach_of(encoded({**V2, "info": None})) == "stdio", "version 1 in disguise"
    assert reach_of(b"[]") == "stdio"
    assert reach_of(b"{") is None
    offered = json.loads(offer_acp(encoded(V1)))
    assert offered["agentCapabilities"]["mcpCapabilities"] == {"http": True, "acp": True}
    assert offered["_x"] == 1
    offered = json.loads(offer_acp(encoded(V2)))
    assert offered["capabilities"]["session"]["mcp"] == {"stdio": {}, "acp": {}}
    assert offered["info"] == V2["info"]


async def test_a_client_may_have_a_server_declared_by_its_type() -> None:
    server = v2.McpServerAcp(name="desk", server_id="s", meta={"a": 1})
    async with bridged_provider("http", 2) as desk:
        declared = await desk.bridge.declare(server)
        assert isinstance(declared, v2.McpServerHttp)
        assert (declared.name, declared.meta) == ("desk", {"a": 1})
    async with bridged_provider("stdio", 1) as desk:
        assert isinstance(await desk.bridge.declare(server), v2.McpServerStdio)
    async with bridged_provider("acp") as desk:
        assert await desk.bridge.declare(server) is server


# The endpoints


def _status(url: str, **headers: str) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with httpx2.Client(trust_env=False) as http:
        return http.post(url, json=body, headers=headers).status_code


@pytest.mark.requirement("SAFE-IN-11")
async def test_nobody_gets_in_without_the_token() -> None:
    async with bridged_provider("http") as desk:
        declared, other = await desk.declare(), desk.provider.add(desk._server())
        token = declared["headers"][0]["value"]
        theirs = (await desk.declare(serverId=other))["headers"][0]["value"]
        url = declared["url"]
        page = {"Authorization": token, "Origin": "https://example.com"}
        rebound = {"Authorization": token, "Host": "evil.example", "Origin": "http://evil.example"}
        found = [
            await asyncio.to_thread(_status, url),
            await asyncio.to_thread(_status, url, Authorization="Bearer x"),
            await asyncio.to_thread(_status, url, Authorization=theirs),
            await asyncio.to_thread(_status, url, **page),
            await asyncio.to_thread(_status, url, **rebound),
            await asyncio.to_thread(_status, f"{url}x", Authorization=token),
            await asyncio.to_thread(_status, url, Authorization=token),
        ]
    assert found == [401, 401, 401, 403, 403, 404, 200]
    assert desk.methods == ["mcp/message tools/list"]


@pytest.mark.requirement("SAFE-IN-11")
async def test_a_shim_without_the_token_is_hung_up_on() -> None:
    async with bridged_provider("stdio") as desk:
        declared = await desk.declare()
        host, port = declared["env"][0]["value"].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"wrong\n" + encoded({"jsonrpc": "2.0", "id": 1, "method": "x"}) + b"\n")
        assert await reader.read() == b""
        writer.close()
        assert desk.said == []


@both_reaches
async def test_the_place_goes_with_the_last_session_that_has_it(reach: Reach) -> None:
    async with bridged_provider(reach) as desk:
        params = encoded({"cwd": "/w", "mcpServers": [desk.declared]})
        first, second = await desk.bridge.adapt(params), await desk.bridge.adapt(params)
        await desk.bridge.opened(first, "one")
        await desk.bridge.opened(second, "two")
        await desk.bridge.close_session("one")
        again = await desk.bridge.adapt(params)
        assert again.params == first.params
        await desk.bridge.failed(again)
        async with reached(json.loads(first.params)["mcpServers"][0], "legacy") as client:
            await client.call_tool("add", {"a": 1, "b": 1})
            await desk.bridge.close_session("two")
            with pytest.raises(MCPError):
                await client.call_tool("add", {"a": 1, "b": 1})
        assert (await desk.bridge.adapt(params)).params != first.params


async def test_a_session_that_is_opened_again_has_the_servers_of_that_request() -> None:
    async with bridged_provider("http") as desk:
        params = encoded({"cwd": "/w", "mcpServers": [desk.declared]})
        setup = await desk.bridge.adapt(params)
        await desk.bridge.opened(setup, "one")
        await desk.bridge.opened(await desk.bridge.adapt(b'{"cwd":"/w"}'), "one")
        assert (await desk.bridge.adapt(params)).params != setup.params


async def test_nothing_listens_before_a_server_is_declared_nor_after_the_end() -> None:
    async with bridged_provider("http") as desk:
        await desk.bridge.adapt(b'{"cwd":"/w","mcpServers":[]}')
        assert desk.bridge._listener is None
        url = httpx2.URL((await desk.declare())["url"])
    assert url.host == "127.0.0.1"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((url.host, url.port or 0)).close()


@pytest.mark.parametrize(
    "params",
    [b"null", b"[", b'{"mcpServers":{}}', b'{"mcpServers":[1,null]}', b'{"mcpServers":[{}]}'],
)
async def test_what_is_malformed_is_left_to_the_agent(params: bytes) -> None:
    async with bridged_provider("http") as desk:
        assert (await desk.bridge.adapt(params)).params is params


async def test_a_server_without_an_id_is_refused() -> None:
    async with bridged_provider("http") as desk:
        with pytest.raises(InvalidParams, match="serverId"):
            await desk.bridge.adapt(b'{"mcpServers":[{"type":"acp","name":"x"}]}')


def test_a_bridge_is_made_from_an_answer() -> None:
    async def make() -> Bridge:
        async with bridged_provider("http") as desk:
            return Bridge.of(desk._Upstream(desk), encoded(V2))

    assert asyncio.run(make()).reach == "stdio"
