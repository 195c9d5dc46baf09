"""MCP tools of a proxy, and the bridge that a conductor has for agents that know none."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest
from tests.unit.proxy.conducted_chain import ConductedChain, FakeComponent
from tests.unit.proxy.proxied_pair import RESULTS, notification, request, result
from tests.unit.proxy.tool_calls import ENVELOPE, NEW, TAKES_ACP, begin, open_session

from parley.errors import Unsupported
from parley.mcp._function_server import function_server
from parley.proxy import Conductor, Proxy
from parley.schema._session_methods import CLOSES

pytest.importorskip("mcp")

VERSIONS = pytest.mark.parametrize("version", [1, 2])


def library() -> Proxy:
    """Return a proxy with a tool."""
    proxy = Proxy("library")

    @proxy.tool
    def lookup(word: str) -> str:
        """Look a word up."""
        return f"{word}: a word"

    return proxy


def _call(id: object, server_id: str) -> bytes:
    params = {"name": "lookup", "arguments": {"word": "acorn"}, "_meta": ENVELOPE}
    way = {"serverId": server_id, "requestId": "r", "method": "tools/call", "params": params}
    return request(id, "mcp/message", way)


@pytest.mark.requirement("TR-PRX-13", "TR-PRX-27")
@VERSIONS
async def test_a_tool_is_declared_in_each_session_and_answers(version: int) -> None:
    talk = await begin(library(), version)
    one, two = await open_session(talk, "one"), await open_session(talk, "two")
    assert (one["type"], one["name"]) == ("acp", "library")
    assert one["serverId"] != two["serverId"]
    talk.agent.say(_call(5, one["serverId"]))
    answer = await talk.agent.hear()
    assert answer["id"] == 5
    assert "acorn: a word" in json.dumps(answer["result"])
    assert await talk.client.is_silent()


async def test_a_server_of_the_mcp_package_is_given_to_each_session() -> None:
    def lookup(word: str) -> str:
        return f"{word}: of the server"

    proxy = Proxy("shelf")
    proxy.add_mcp_server(function_server([lookup], name="desk"))
    talk = await begin(proxy)
    one, two = await open_session(talk, "one"), await open_session(talk, "two")
    assert (one["name"], two["name"]) == ("desk", "desk")
    assert one["serverId"] != two["serverId"]
    for server in (one, two):
        talk.agent.say(_call(5, server["serverId"]))
        assert "acorn: of the server" in json.dumps((await talk.agent.hear())["result"])


@pytest.mark.requirement("TR-PRX-13")
async def test_the_older_form_is_served_too() -> None:
    talk = await begin(library(), 1)
    server = await open_session(talk)
    talk.agent.say(request(1, "mcp/connect", {"serverId": server["serverId"]}))
    way = (await talk.agent.hear())["result"]
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    talk.agent.say(request(2, "mcp/message", way | {"method": "initialize", "params": hello}))
    assert "serverInfo" in (await talk.agent.hear())["result"]
    talk.agent.say(notification("mcp/message", way | {"method": "notifications/initialized"}))
    talk.agent.say(request(3, "mcp/message", way | {"method": "tools/list", "params": {}}))
    assert (await talk.agent.hear())["result"]["tools"][0]["name"] == "lookup"
    talk.agent.say(request(4, "mcp/disconnect", way))
    assert (await talk.agent.hear())["result"] == {}
    assert await talk.client.is_silent()


@pytest.mark.requirement("TR-PRX-13", "TR-MCP-13")
async def test_in_a_chain_each_message_goes_to_who_declared_the_server() -> None:
    agent = FakeComponent()
    chained = ConductedChain(Conductor(library(), library(), agent=agent))
    chained.initialize()
    asked = await agent.hear()
    agent.say(result(asked["id"], TAKES_ACP[2]))
    await chained.client.hear()
    theirs = {"type": "acp", "name": "the client's", "serverId": "client"}
    chained.client.say(request(1, "session/new", NEW | {"mcpServers": [theirs]}))
    opened = await agent.hear()
    servers = opened["params"]["mcpServers"]
    assert [each["name"] for each in servers] == ["the client's", "library", "library-2"]
    for server in servers[1:]:
        agent.say(_call("q", server["serverId"]))
        assert "acorn: a word" in json.dumps((await agent.hear())["result"])
    agent.say(_call("c", "client"))
    reached = await chained.client.hear()
    assert reached["method"] == "mcp/message"
    assert reached["params"]["serverId"] == "client"
    await chained.end()


@pytest.mark.parametrize("closes", sorted(CLOSES))
async def test_a_server_is_gone_with_its_session_and_with_one_that_was_never_opened(
    closes: str,
) -> None:
    talk = await begin(library())
    server = await open_session(talk)
    talk.client.say(request(2, closes, {"sessionId": "s"}))
    talk.agent.say(result((await talk.agent.hear())["id"], {}))
    await talk.client.hear()
    talk.client.say(request(3, "session/new", NEW))
    asked = await talk.agent.hear()
    refused = {"code": -32603, "message": "no"}
    talk.agent.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": refused}).encode())
    await talk.client.hear()
    await talk.agent.is_silent()
    for gone in (server, asked["params"]["mcpServers"][-1]):
        talk.agent.say(_call(9, gone["serverId"]))
        passed = await talk.client.hear()
        assert passed["method"] == "mcp/message", "it is not ours any more"
        talk.client.say(result(passed["id"], {}))
        await talk.agent.hear()


@pytest.mark.requirement("TR-MCP-02")
async def test_an_agent_that_takes_no_such_servers_is_told_of_none() -> None:
    talk = await begin(library(), 2, RESULTS[2])
    talk.client.say(request("n", "session/new", NEW))
    assert (await talk.agent.hear())["params"] == NEW


async def test_a_tool_that_never_returns_is_cancelled_with_its_request_and_dams_nothing() -> None:
    proxy = Proxy("slow")
    begun, ended = asyncio.Event(), asyncio.Event()

    @proxy.tool
    async def lookup(word: str) -> str:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()
        return word

    talk = await begin(proxy)
    server = await open_session(talk)
    talk.agent.say(_call(5, server["serverId"]))
    await begun.wait()
    talk.agent.say(notification("_passes", {"sessionId": "s"}))
    assert (await talk.client.hear())["method"] == "_passes"
    talk.agent.say(notification("$/cancel_request", {"requestId": 5}))
    await ended.wait()
    assert (await talk.agent.hear())["error"]["code"] == -32800


@pytest.mark.requirement("TR-PRX-12")
async def test_a_conductor_offers_mcp_over_acp_and_bridges_it_for_the_agent() -> None:
    agent = FakeComponent()
    chained = ConductedChain(Conductor(agent=agent))
    chained.initialize(1)
    asked = await agent.hear()
    agent.say(result(asked["id"], RESULTS[1]))
    offered = (await chained.client.hear())["result"]["agentCapabilities"]
    assert offered["mcpCapabilities"]["acp"] is True
    acp = {"type": "acp", "name": "mine", "serverId": "x"}
    chained.client.say(request(1, "session/new", NEW | {"mcpServers": [acp]}))
    opened = await agent.hear()
    declared = opened["params"]["mcpServers"][0]
    assert declared["name"] == "mine"
    assert "command" in declared, "a program that it can start"
    agent.say(result(opened["id"], {"sessionId": "s"}))
    assert (await chained.client.hear())["result"] == {"sessionId": "s"}
    assert await chained.end() is None


@pytest.mark.requirement("TR-MCP-16")
async def test_where_nothing_can_be_bridged_nothing_is_offered() -> None:
    agent = FakeComponent()
    chained = ConductedChain(Conductor(agent=agent))
    chained.initialize(2)
    asked = await agent.hear()
    agent.say(result(asked["id"], RESULTS[2]))
    assert (await chained.client.hear())["result"] == RESULTS[2]
    acp = {"type": "acp", "name": "mine", "serverId": "x"}
    chained.client.say(request(1, "session/new", NEW | {"mcpServers": [acp]}))
    assert (await chained.client.hear())["error"]["code"] == -32602
    await chained.end()


async def test_an_mcp_client_that_answers_nothing_holds_up_no_other_session() -> None:
    agent = FakeComponent()
    chained = ConductedChain(Conductor(agent=agent))
    chained.initialize(1)
    agent.say(result((await agent.hear())["id"], RESULTS[1]))
    await chained.client.hear()
    acp = {"type": "acp", "name": "mine", "serverId": "x"}
    chained.client.say(request(1, "session/new", NEW | {"mcpServers": [acp]}))
    opened = await agent.hear()
    agent.say(result(opened["id"], {"sessionId": "s"}))
    await chained.client.hear()
    env = {each["name"]: each["value"] for each in opened["params"]["mcpServers"][0]["env"]}
    host, _, port = env["PARLEY_MCP_ADDRESS"].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"{env['PARLEY_MCP_TOKEN']}\n".encode())
    writer.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n')
    connect = await chained.client.hear()
    chained.client.say(result(connect["id"], {"connectionId": "c"}))
    await chained.client.hear()
    question = {"connectionId": "c", "method": "roots/list"}
    chained.client.say(request(2, "mcp/message", question))
    assert json.loads(await reader.readline())["method"] == "roots/list"
    chained.client.say(request(3, "session/new", NEW))
    assert (await agent.hear())["method"] == "session/new"
    writer.close()
    await chained.end()


def test_without_the_package_a_tool_is_refused_where_it_is_defined(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    proxy = Proxy("library")
    with pytest.raises(Unsupported, match=r"pip install 'parley-acp\[mcp\]'"):
        proxy.tool(len)
    with pytest.raises(Unsupported, match=r"pip install 'parley-acp\[mcp\]'"):
        proxy.add_mcp_server(object())
    assert not proxy.tools
    assert not proxy.mcp_servers


def test_what_is_no_function_is_no_tool() -> None:
    with pytest.raises(TypeError, match="takes a function"):
        Proxy("library").tool("lookup")  # type: ignore[type-var]


async def test_a_server_of_a_proxy_whose_name_is_taken_gets_another_one() -> None:
    talk = await begin(library())
    theirs = [{"type": "acp", "name": name, "serverId": name} for name in ("library", "library-2")]
    talk.client.say(request("n", "session/new", NEW | {"mcpServers": theirs}))
    asked = await talk.agent.hear()
    assert asked["params"]["mcpServers"][:2] == theirs
    assert asked["params"]["mcpServers"][2]["name"] == "library-3"
