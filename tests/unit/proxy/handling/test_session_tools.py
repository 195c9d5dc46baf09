"""Tools and MCP servers that a proxy gives to one session, and tools that know their session."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.proxy.conducted_chain import ConductedChain, FakeComponent
from tests.unit.proxy.proxied_pair import RESULTS, request, result
from tests.unit.proxy.tool_calls import (
    NEW,
    TAKES_ACP,
    begin,
    call_tool,
    list_tools,
    mcp,
    open_session,
    servers_of,
    text_in,
)

from parley.errors import LocalProtocolError, Unsupported
from parley.proxy import Conductor, Proxy, Request, ToolSession
from parley.schema import v2
from parley.schema._session_methods import CLOSES

pytest.importorskip("mcp")

from mcp.server.mcpserver import MCPServer

VERSIONS = pytest.mark.parametrize("version", [1, 2])
OPENING = ("session/new", "session/resume", "session/fork")


def own_tools(name: str = "p", *methods: str) -> Proxy:
    """Return a proxy that gives a tool to each session, called like the session's directory."""
    proxy = Proxy(name)

    def add(request: Request) -> None:
        def tool(session: ToolSession) -> str:
            return f"{name} in {session.id}"

        tool.__name__ = request.params.cwd.strip("/") or "root"
        request.add_tools(tool)

    for method in methods or OPENING:
        proxy.from_client(method)(add)
    return proxy


def knowing() -> Proxy:
    """Return a proxy with a tool for every session that tells which one calls it."""
    proxy = Proxy("p")

    @proxy.tool
    def which(session: ToolSession) -> str:
        return session.id

    return proxy


async def wait_for(event: asyncio.Event, what: str) -> None:
    """Wait for an event; fails if it does not come."""
    try:
        await asyncio.wait_for(event.wait(), 30)
    except TimeoutError:
        pytest.fail(f"waited in vain for {what}")


@pytest.mark.requirement("SAFE-REACH-06", "TR-PRX-13", "TR-PRX-27")
@VERSIONS
async def test_a_session_has_its_own_tools_and_cannot_call_those_of_another(version: int) -> None:
    talk = await begin(own_tools(), version)
    (one,) = await servers_of(talk, "s1", cwd="/first")
    (two,) = await servers_of(talk, "s2", cwd="/second")
    assert one["name"] == two["name"] == "p"
    assert one["serverId"] != two["serverId"]
    assert list(await list_tools(talk.agent, one)) == ["first"]
    assert list(await list_tools(talk.agent, two)) == ["second"]
    assert text_in(await call_tool(talk.agent, one, "first")) == "p in s1"
    assert text_in(await call_tool(talk.agent, two, "second")) == "p in s2"
    assert "p in" not in json.dumps(await call_tool(talk.agent, two, "first"))


async def test_two_connections_of_a_proxy_have_tools_of_their_own() -> None:
    proxy = own_tools()
    one, two = await begin(proxy), await begin(proxy)
    server = await open_session(one)
    assert text_in(await call_tool(one.agent, server, "root")) == "p in s"
    two.agent.say(mcp("c", server, "tools/call", name="root", arguments={}))
    assert (await two.client.hear())["method"] == "mcp/message", "it is not known there"


@VERSIONS
async def test_a_tool_of_every_session_knows_which_one_calls_it(version: int) -> None:
    talk = await begin(knowing(), version)
    one, two = await open_session(talk, "s1"), await open_session(talk, "s2")
    assert (await list_tools(talk.agent, one))["which"]["inputSchema"]["properties"] == {}
    assert text_in(await call_tool(talk.agent, one, "which", session="s2")) == "s1"
    assert text_in(await call_tool(talk.agent, two, "which")) == "s2"


@VERSIONS
async def test_a_tool_sends_updates_to_the_client_of_its_session_and_asks_it(version: int) -> None:
    proxy = Proxy("p")

    @proxy.tool
    async def ask(session: ToolSession) -> str:
        await session.update(v2.SessionInfoUpdate(title="asking"))
        form = v2.ElicitationSchema(
            type="object", properties={"name": v2.StringPropertySchema(title="Name")}
        )
        question = v2.ElicitationFormMode(
            message="Who?", session_id=session.id, requested_schema=form
        )
        answer = await session.connection.client.request("elicitation/create", question)
        return str(answer.content["name"])

    talk = await begin(proxy, version)
    await open_session(talk, "other")
    server = await open_session(talk, "s")
    talk.agent.say(mcp("c", server, "tools/call", name="ask", arguments={}))
    update = (await talk.client.hear())["params"]
    assert (update["sessionId"], update["update"]["title"]) == ("s", "asking")
    asked = await talk.client.hear()
    assert (asked["method"], asked["params"]["sessionId"]) == ("elicitation/create", "s")
    talk.client.say(result(asked["id"], {"action": "accept", "content": {"name": "Ada"}}))
    assert text_in((await talk.agent.hear())["result"]) == "Ada"


@pytest.mark.parametrize(
    ("version", "method", "expected"),
    [
        (1, "session/load", "old"),
        (1, "session/resume", "old"),
        (2, "session/resume", "old"),
        (1, "session/fork", "new"),
        (2, "session/fork", "new"),
    ],
)
async def test_every_request_that_opens_a_session_can_have_tools(
    version: int, method: str, expected: str
) -> None:
    talk = await begin(own_tools(), version)
    (server,) = await servers_of(talk, expected, method, sessionId="old")
    assert text_in(await call_tool(talk.agent, server, "root")) == f"p in {expected}"


@pytest.mark.parametrize("method", ["session/new", "session/fork", "session/resume"])
async def test_a_tool_called_before_the_session_is_open_knows_the_id_only_if_it_was_asked_for(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    talk = await begin(own_tools())
    talk.client.say(request("n", method, NEW | {"sessionId": "old"}))
    asked = await talk.agent.hear()
    (server,) = asked["params"]["mcpServers"]
    early = await call_tool(talk.agent, server, "root")
    if method == "session/resume":
        assert text_in(early) == "p in old"
    else:
        assert early["result"]["isError"] is True
        assert "the session has no id yet" in caplog.text
    talk.agent.say(result(asked["id"], {"sessionId": "late"}))
    await talk.client.hear()
    expected = "old" if method == "session/resume" else "late"
    assert text_in(await call_tool(talk.agent, server, "root")) == f"p in {expected}"


async def test_tools_of_the_session_and_of_the_proxy_are_one_server_before_others() -> None:
    proxy = knowing()
    desk = MCPServer("desk", log_level="ERROR")

    @desk.tool()
    async def where() -> str:
        return ToolSession.current().id

    @desk.tool()
    def in_a_thread() -> str:
        return ToolSession.current().id

    @proxy.from_client("session/new")
    async def open_with_more(request: Request) -> object:
        def first() -> None: ...
        def second() -> None: ...

        request.add_tools(first)
        request.add_mcp_server(desk)
        request.add_tools(second)
        return await request.forward()

    talk = await begin(proxy)
    for session_id in ("s1", "s2"):
        tools, server = await servers_of(talk, session_id)
        assert (tools["name"], server["name"]) == ("p", "desk")
        assert list(await list_tools(talk.agent, tools)) == ["which", "first", "second"]
        for name in ("where", "in_a_thread"):
            assert text_in(await call_tool(talk.agent, server, name)) == session_id


async def test_servers_whose_names_are_taken_get_other_ones() -> None:
    proxy = knowing()

    @proxy.from_client("session/new")
    def add(request: Request) -> None:
        request.add_mcp_server(MCPServer("p", log_level="ERROR"))

    talk = await begin(proxy)
    theirs = {"type": "acp", "name": "p", "serverId": "client"}
    talk.client.say(request("n", "session/new", NEW | {"mcpServers": [theirs]}))
    declared = (await talk.agent.hear())["params"]["mcpServers"]
    assert declared[0] == theirs
    assert [each["name"] for each in declared] == ["p", "p-2", "p-3"]


@VERSIONS
async def test_in_a_chain_each_proxy_gives_its_own_tools_to_the_session(version: int) -> None:
    agent = FakeComponent()
    chained = ConductedChain(Conductor(own_tools("one"), own_tools("two"), agent=agent))
    chained.initialize(version)
    agent.say(result((await agent.hear())["id"], TAKES_ACP[version]))
    await chained.client.hear()
    chained.client.say(request(1, "session/new", NEW))
    asked = await agent.hear()
    agent.say(result(asked["id"], {"sessionId": "s"}))
    await chained.client.hear()
    servers = asked["params"]["mcpServers"]
    assert [each["name"] for each in servers] == ["one", "two"]
    for server in servers:
        answer = text_in(await call_tool(await agent.talker(), server, "root"))
        assert answer == f"{server['name']} in s"
    await chained.end()


KNOWS_STDIO: dict[int, dict[str, Any]] = {
    1: RESULTS[1],
    2: RESULTS[2] | {"capabilities": {"session": {"mcp": {"stdio": {}}}}},
}


@pytest.mark.requirement("TR-PRX-12")
@VERSIONS
async def test_the_bridge_brings_the_tools_of_a_session_to_an_agent_without_mcp_over_acp(
    version: int,
) -> None:
    agent = FakeComponent()
    chained = ConductedChain(Conductor(own_tools(), agent=agent))
    chained.initialize(version)
    agent.say(result((await agent.hear())["id"], KNOWS_STDIO[version]))
    await chained.client.hear()
    for session_id in ("s1", "s2"):
        chained.client.say(request(1, "session/new", NEW))
        asked = await agent.hear()
        agent.say(result(asked["id"], {"sessionId": session_id}))
        await chained.client.hear()
        (declared,) = asked["params"]["mcpServers"]
        env = {each["name"]: each["value"] for each in declared["env"]}
        host, _, port = env["PARLEY_MCP_ADDRESS"].rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        hello: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}}
        hello["clientInfo"] = {"name": "agent", "version": "1"}
        writer.write(env["PARLEY_MCP_TOKEN"].encode() + b"\n")
        writer.write(request(1, "initialize", hello) + b"\n")
        assert json.loads(await reader.readline())["id"] == 1
        call = request(2, "tools/call", {"name": "root", "arguments": {}})
        writer.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n' + call + b"\n")
        assert text_in(json.loads(await reader.readline())) == f"p in {session_id}"
        writer.close()
    await chained.end()


class Release:
    """A server whose lifespan is observed, and the proxy that gives it to one session."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.proxy = Proxy("p")

        @asynccontextmanager
        async def lifespan(server: MCPServer) -> AsyncGenerator[None]:
            try:
                yield
            finally:
                self.ended.set()

        @self.proxy.from_client("session/new")
        def add(request: Request) -> None:
            request.add_mcp_server(MCPServer("desk", log_level="ERROR", lifespan=lifespan))


@pytest.mark.parametrize("closes", sorted(CLOSES))
async def test_a_server_of_a_session_is_released_when_the_session_is_closed(closes: str) -> None:
    release = Release()
    talk = await begin(release.proxy)
    server = await open_session(talk)
    await list_tools(talk.agent, server)
    talk.client.say(request(2, closes, {"sessionId": "another"}))
    talk.agent.say(result((await talk.agent.hear())["id"], {}))
    await talk.client.hear()
    await list_tools(talk.agent, server)
    talk.client.say(request(3, closes, {"sessionId": "s"}))
    talk.agent.say(result((await talk.agent.hear())["id"], {}))
    await talk.client.hear()
    await wait_for(release.ended, "the end of the server")


async def test_a_server_of_a_session_is_released_when_it_is_opened_again_without() -> None:
    release = Release()
    talk = await begin(release.proxy)
    await list_tools(talk.agent, await open_session(talk))
    assert await servers_of(talk, "s", "session/resume", sessionId="s") == []
    await wait_for(release.ended, "the end of the server")


async def test_a_server_of_a_session_is_released_when_the_connection_ends() -> None:
    release = Release()
    talk = await begin(release.proxy)
    await list_tools(talk.agent, await open_session(talk))
    await talk.client.transport.aclose()
    await wait_for(release.ended, "the end of the server")
    await talk.task


async def test_a_server_of_a_session_that_is_refused_is_released() -> None:
    release = Release()
    talk = await begin(release.proxy)
    talk.client.say(request("n", "session/new", NEW))
    asked = await talk.agent.hear()
    await list_tools(talk.agent, asked["params"]["mcpServers"][0])
    refused = {"code": -32603, "message": "no"}
    talk.agent.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": refused}).encode())
    await talk.client.hear()
    await wait_for(release.ended, "the end of the server")


async def test_forking_a_session_leaves_the_tools_of_the_first_one() -> None:
    talk = await begin(own_tools("p", "session/new"))
    server = await open_session(talk)
    assert await servers_of(talk, "fork", "session/fork", sessionId="s") == []
    assert text_in(await call_tool(talk.agent, server, "root")) == "p in s"


@VERSIONS
async def test_an_agent_that_uses_no_mcp_servers_gets_no_tools(version: int) -> None:
    talk = await begin(own_tools(), version, RESULTS[version])
    assert await servers_of(talk, "s") == []


def twice(request: Request) -> None:
    def same() -> None: ...

    request.add_tools(same, same)


def like_the_proxys(request: Request) -> None:
    def which() -> None: ...

    request.add_tools(which)


def a_name(request: Request) -> None:
    request.add_tools("which")  # type: ignore[arg-type]


def a_list(request: Request) -> None:
    request.add_tools([twice])  # type: ignore[arg-type]


def declaration(request: Request) -> None:
    request.add_mcp_server(v2.McpServerHttp(name="web", url="https://web"))


async def too_late(request: Request) -> None:
    await request.forward()
    request.add_tools(too_late)


WRONG: list[tuple[str, Callable[[Request], Any], type[Exception], str]] = [
    ("session/new", twice, TypeError, "two tools are called same"),
    ("session/new", like_the_proxys, TypeError, "two tools are called which"),
    ("session/new", a_name, TypeError, "must be a function"),
    ("session/new", a_list, TypeError, "must be a function"),
    ("session/new", declaration, TypeError, "McpServerHttp is not an MCP server"),
    ("session/new", too_late, LocalProtocolError, "was forwarded already"),
    ("session/close", twice, LocalProtocolError, "does not open a session"),
    ("session/close", declaration, LocalProtocolError, "does not open a session"),
]


@pytest.mark.parametrize(
    ("method", "mistake", "error", "text"),
    WRONG,
    ids=["twice", "taken", "text", "list", "declaration", "late", "close", "close-server"],
)
async def test_a_mistake_is_an_error_where_it_is_made(
    method: str, mistake: Callable[[Request], Any], error: type[Exception], text: str
) -> None:
    proxy = knowing()
    raised: list[Exception] = []

    @proxy.from_client(method)
    async def handle(request: Request) -> None:
        try:
            outcome = mistake(request)
            if outcome is not None:
                await outcome
        except (TypeError, LocalProtocolError) as caught:
            raised.append(caught)

    talk = await begin(proxy)
    talk.client.say(request(2, method, NEW | {"sessionId": "s"}))
    asked = await talk.agent.hear()
    talk.agent.say(result(asked["id"], {"sessionId": "s"}))
    assert (await talk.client.hear())["result"] == {"sessionId": "s"}
    (caught,) = raised
    assert isinstance(caught, error)
    assert text in str(caught)
    if method == "session/new":
        (server,) = asked["params"]["mcpServers"]
        assert list(await list_tools(talk.agent, server)) == ["which"], "the others are untouched"


async def test_what_is_added_to_a_message_of_the_agent_is_refused() -> None:
    proxy = Proxy("p")
    raised: list[Exception] = []

    @proxy.from_agent("*")
    def add(message: Request) -> None:
        try:
            message.add_tools(twice)
        except LocalProtocolError as caught:
            raised.append(caught)

    talk = await begin(proxy)
    talk.agent.say(request(2, "session/new", NEW))
    await talk.client.hear()
    assert "does not open a session" in str(raised)


def test_outside_of_a_tool_there_is_no_current_session() -> None:
    with pytest.raises(LocalProtocolError, match="not called by a tool of a proxy"):
        ToolSession.current()


async def test_without_the_package_a_handler_learns_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    proxy = Proxy("p")
    raised: list[Unsupported] = []

    @proxy.from_client("session/new")
    def add(request: Request) -> None:
        for give in (request.add_tools, request.add_mcp_server):
            with pytest.raises(Unsupported, match=r"pip install 'parley-acp\[mcp\]'") as caught:
                give(twice)
            raised.append(caught.value)

    for module in ("mcp", "parley.mcp._function_server", "parley.mcp._hosted_server"):
        monkeypatch.setitem(sys.modules, module, None)
    talk = await begin(proxy)
    talk.client.say(request(2, "session/new", NEW))
    await talk.agent.hear()
    assert len(raised) == 2
