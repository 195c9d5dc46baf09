from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import (
    ProxiedPair,
    chunk,
    notification,
    proxied_pair,
    request,
    result,
)

from parley.errors import InvalidParams, LocalProtocolError
from parley.proxy import Message, Notification, Proxy, ProxyConnection, Request
from parley.schema import v1, v2

VERSIONS = pytest.mark.parametrize("version", [1, 2])


@pytest.mark.requirement("TR-PRX-09", "TR-PRX-21")
@VERSIONS
async def test_without_handlers_everything_passes_as_the_bytes_it_is(version: int) -> None:
    talk = await proxied_pair(Proxy("p"), version)
    said = [
        b'{"jsonrpc":"2.0","method":"_vendor/x","params":{"a": 1.50,"_meta":{"z":[ ]}},"more":0}',
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s/1 \\u00e9"}}',
    ]
    for frame in said:
        talk.client.say(frame)
        assert await talk.agent.next() == frame
        talk.agent.say(frame)
        assert await talk.client.next() == frame
    talk.client.say(b'{"jsonrpc":"2.0","id":"x","method":"_v/y","params":{"n":1e3}}')
    assert await talk.agent.next() == (
        b'{"jsonrpc":"2.0","id":1,"method":"_v/y","params":{"n":1e3}}'
    )
    talk.agent.say(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m","data":1.0}}')
    assert await talk.client.next() == (
        b'{"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"m","data":1.0}}'
    )


@pytest.mark.requirement("TR-PRX-11")
async def test_the_answer_to_initialize_offers_mcp_over_acp() -> None:
    one, two = ProxiedPair(Proxy("p")), ProxiedPair(Proxy("p"))
    capabilities = (await one.begin(1))["result"]["agentCapabilities"]
    assert capabilities["mcpCapabilities"]["acp"] is True
    assert (await two.begin(2))["result"]["capabilities"]["session"]["mcp"]["acp"] == {}


async def test_an_agent_without_sessions_is_not_given_any() -> None:
    talk = ProxiedPair(Proxy("p"))
    talk.client.say(request(1, "initialize", {"protocolVersion": 2}))
    asked = await talk.agent.hear()
    bare = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {}}
    talk.agent.say(result(asked["id"], bare))
    assert (await talk.client.hear())["result"] == bare


@pytest.mark.requirement("TR-PRX-26")
async def test_a_proxy_of_one_version_refuses_the_other() -> None:
    talk = ProxiedPair(Proxy("picky", versions=(1,)))
    talk.client.say(request(1, "initialize", {"protocolVersion": 2}))
    refused = (await talk.client.hear())["error"]
    assert refused["code"] == -32022
    assert "picky" in refused["message"]
    other = ProxiedPair(Proxy("picky", versions=(2,)))
    other.client.say(request(1, "initialize", {"protocolVersion": 2}))
    asked = await other.agent.hear()
    other.agent.say(result(asked["id"], {"protocolVersion": 1, "agentCapabilities": {}}))
    assert (await other.client.hear())["error"]["code"] == -32022


PROMPT = (
    b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s",'
    b'"prompt":[{"type":"text","text":"hi","vendor":1.50}], "_meta":{"a":1.0},"unknown":[ 1]}}'
)


@VERSIONS
async def test_a_handler_changes_what_it_names_and_nothing_else(version: int) -> None:
    proxy = Proxy("greeter")

    @proxy.from_client("session/prompt")
    async def greet(call: Request) -> None:
        call.change(prompt=[v2.TextContent(text="Be brief."), *call.params.prompt])

    talk = await proxied_pair(proxy, version)
    talk.client.say(PROMPT)
    assert await talk.agent.next() == PROMPT.replace(b'"id":7', b'"id":1').replace(
        b'"prompt":[', b'"prompt":[{"type":"text","text":"Be brief."},'
    )


@pytest.mark.requirement("TR-PRX-27")
@pytest.mark.parametrize("version", [1, 2])
async def test_a_server_that_is_added_changes_only_that_field(version: int) -> None:
    proxy = Proxy("tools")
    seen: list[str] = []

    def add(call: Request) -> None:
        seen.append(type(call.params).__name__)
        server = v2.McpServerStdio(name="ours", command="/bin/ours")
        call.change(mcp_servers=[*call.params.mcp_servers, server])

    for method in ("session/new", "session/resume", "session/fork"):
        proxy.from_client(method)(add)
    talk = await proxied_pair(proxy, version)
    theirs = b'{"name":"theirs","type":"stdio","command":"/x","args":[],"env":[],"vendor":1.0}'
    methods = ["session/new", "session/resume", "session/fork"]
    for method in [*methods, "session/load"][: 4 if version == 1 else 3]:
        body = b'{"cwd":"/w", "sessionId":"s","mcpServers":[%b],"unknown":1e2}' % theirs
        talk.client.say(b'{"jsonrpc":"2.0","id":"i","method":"%b","params":%b}' % (
            method.encode(), body,
        ))  # fmt: skip
        frame = await talk.agent.next()
        head, _, tail = body.partition(theirs)
        start = frame.index(b'"params":') + len(b'"params":')
        assert frame[start:-1].startswith(head + theirs + b",{")
        assert frame[start:-1].endswith(tail)
        assert json.loads(frame)["params"]["mcpServers"][1]["name"] == "ours"
        talk.agent.say(result(json.loads(frame)["id"], {"sessionId": "s"}))
        await talk.client.next()
    assert set(seen) == {"NewSessionRequest", "ResumeSessionRequest", "ForkSessionRequest"}


@VERSIONS
async def test_updates_are_seen_in_version_2s_words_and_changed_in_their_own(version: int) -> None:
    proxy = Proxy("shout")
    kinds: list[str] = []

    @proxy.from_agent("session/update")
    def shout(note: Notification) -> None:
        kinds.append(note.kind)
        update = note.update
        if isinstance(update, v2.AgentMessageChunk) and isinstance(update.content, v2.TextContent):
            note.change(content=v2.TextContent(text=update.content.text.upper()))
        elif note.kind == "tool_call_update":
            note.drop()

    talk = await proxied_pair(proxy, version)
    talk.agent.say(chunk("quiet", vendor=1))
    heard = await talk.client.hear()
    assert heard["params"]["update"]["content"] == {"type": "text", "text": "QUIET"}
    assert heard["params"]["update"]["vendor"] == 1
    kind = "tool_call" if version == 1 else "tool_call_update"
    update = {"sessionUpdate": kind, "toolCallId": "t", "title": "x"}
    talk.agent.say(notification("session/update", {"sessionId": "s", "update": update}))
    assert await talk.client.is_silent()
    assert kinds == ["agent_message_chunk", "tool_call_update"]
    assert {type(kind) for kind in kinds} == {str}


@pytest.mark.requirement("TR-PRX-28")
async def test_a_handler_answers_by_itself_and_refuses() -> None:
    proxy = Proxy("p")

    @proxy.from_client("session/list")
    def listed(call: Request) -> object:
        return v2.ListSessionsResponse(sessions=[])

    @proxy.from_client("_mine")
    async def mine(call: Request) -> object:
        return {"got": call.params["a"]}

    @proxy.from_client("session/delete")
    async def reject(call: Request) -> None:
        raise InvalidParams("Not here", {"why": 1})

    talk = await proxied_pair(proxy)
    talk.client.say(
        request(1, "session/list", {}),
        request(2, "_mine", {"a": 3}),
        request(3, "session/delete", {"sessionId": "s"}),
    )
    answers = {each["id"]: each for each in [await talk.client.hear() for _ in range(3)]}
    assert answers[1]["result"] == {"sessions": []}
    assert answers[2]["result"] == {"got": 3}
    assert answers[3]["error"] == {"code": -32602, "message": "Not here", "data": {"why": 1}}
    assert await talk.agent.is_silent()


async def test_a_permission_is_answered_in_the_words_of_the_wire() -> None:
    proxy = Proxy("p")
    titles: list[str] = []

    @proxy.from_agent("session/request_permission")
    def allow(call: Request) -> object:
        titles.append(call.params.title)
        chosen = v2.SelectedPermissionOutcome(option_id=call.params.options[0].option_id)
        return v2.RequestPermissionResponse(outcome=chosen)

    talk = await proxied_pair(proxy, 1)
    option = {"optionId": "o", "name": "Yes", "kind": "allow_once"}
    asked = {"sessionId": "s", "toolCall": {"toolCallId": "t", "title": "rm"}, "options": [option]}
    talk.agent.say(request(9, "session/request_permission", asked))
    answer = (await talk.agent.hear())["result"]
    assert answer == {"outcome": {"outcome": "selected", "optionId": "o"}}
    assert titles == ["rm"]


async def test_what_only_version_1_has_keeps_its_types() -> None:
    proxy = Proxy("p")
    seen: list[Any] = []

    @proxy.from_agent("fs/read_text_file")
    @proxy.from_client("session/set_mode")
    def see(call: Request) -> None:
        seen.append(call.params)

    talk = await proxied_pair(proxy, 1)
    talk.agent.say(request(1, "fs/read_text_file", {"sessionId": "s", "path": "/a"}))
    await talk.client.next()
    talk.client.say(request(2, "session/set_mode", {"sessionId": "s", "modeId": "m"}))
    await talk.agent.next()
    assert [type(each) for each in seen] == [v1.ReadTextFileRequest, v1.SetSessionModeRequest]


async def test_a_handler_that_fails_is_named_and_what_it_was_given_is_not_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    proxy = Proxy("shaky")

    @proxy.from_client("_x")
    async def fail(message: Message) -> None:
        raise ValueError("secret")

    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "_x"), notification("_x", {"n": 1}))
    failed = (await talk.client.hear())["error"]
    assert failed["code"] == -32603
    assert "shaky" in failed["message"]
    assert "secret" not in failed["message"]
    assert (await talk.agent.hear())["params"] == {"n": 1}
    assert "secret" in caplog.text


async def test_params_that_cannot_be_read_refuse_a_request_and_let_a_notification_pass() -> None:
    proxy = Proxy("p")

    @proxy.from_client("session/prompt")
    def change(call: Request) -> None:
        call.change(prompt=[])

    @proxy.from_agent("session/update")
    def look(note: Notification) -> None:
        assert note.update is not None

    talk = await proxied_pair(proxy)
    talk.client.say(request(1, "session/prompt", {"sessionId": 7}))
    assert (await talk.client.hear())["error"]["code"] == -32602
    talk.agent.say(notification("session/update", {"sessionId": "s", "update": 7}))
    assert (await talk.client.hear())["params"]["update"] == 7


async def test_one_handler_takes_all_that_have_none() -> None:
    proxy = Proxy("p")
    seen: list[str] = []

    @proxy.from_client("*")
    def see(message: Message) -> None:
        seen.append(message.method)

    @proxy.from_client("_own")
    def see_own(message: Message) -> None:
        seen.append("own")

    talk = await proxied_pair(proxy)
    talk.client.say(notification("_a", {}), notification("_own", {}), request(1, "session/list"))
    assert [(await talk.agent.hear())["method"] for _ in range(3)] == ["_a", "_own", "session/list"]
    assert seen == ["initialize", "_a", "own", "session/list"]


@pytest.mark.requirement("TR-PRX-29")
@VERSIONS
async def test_a_proxy_amends_what_the_agent_offers(version: int) -> None:
    proxy = Proxy("no pictures")

    @proxy.from_client("initialize")
    async def amend(call: Request) -> object:
        reply = await call.forward()
        reply.change(meta={"amended": True})
        return reply

    answer = await ProxiedPair(proxy).begin(version)
    assert answer["result"]["_meta"] == {"amended": True}
    assert answer["result"]["protocolVersion"] == version


async def test_nothing_of_the_conductors_passes_a_proxy() -> None:
    talk = await proxied_pair(Proxy("p"))
    wrap = {"method": "session/prompt", "params": {"a": 1}}
    for method in ("proxy/successor", "_proxy/successor", "proxy/initialize", "_proxy/initialize"):
        talk.client.say(request(1, method, wrap), notification(method, wrap))
        assert (await talk.client.hear())["error"]["code"] == -32601
        talk.agent.say(request(1, method, wrap), notification(method, wrap))
        assert (await talk.agent.hear())["error"]["code"] == -32601
    assert await talk.agent.is_silent()
    assert await talk.client.is_silent()


async def test_a_watcher_sees_each_frame_at_the_clients_side() -> None:
    proxy = Proxy("p")
    seen: list[tuple[bool, str]] = []

    @proxy.watch
    def see(
        connection: ProxyConnection, is_from_client: bool, frame: bytes, session_id: str
    ) -> None:
        seen.append((is_from_client, session_id))

    talk = await proxied_pair(proxy)
    seen.clear()
    talk.agent.say(chunk("a"))
    await talk.client.next()
    talk.client.say(request(1, "session/close", {"sessionId": "s"}))
    talk.agent.say(result((await talk.agent.hear())["id"], {}))
    await talk.client.next()
    assert seen == [(False, "s"), (True, "s"), (False, "s")]


async def test_a_link_begins_and_ends() -> None:
    proxy = Proxy("p")
    events: list[str] = []

    @proxy.open_connection
    async def opened(connection: ProxyConnection) -> None:
        connection.state["n"] = 1
        events.append("opened")

    @proxy.close_connection
    async def closed(connection: ProxyConnection) -> None:
        events.append(f"closed {connection.state['n']}")

    talk = await proxied_pair(proxy)
    await talk.client.transport.aclose()
    await talk.task
    assert events == ["opened", "closed 1"]
    assert talk.agent.lost is not None


def test_names_of_version_1_that_version_2_has_others_for_are_refused() -> None:
    proxy = Proxy("p")
    with pytest.raises(LocalProtocolError, match="session/resume"):
        proxy.from_client("session/load")
    proxy.from_client("_x")(print)
    with pytest.raises(LocalProtocolError, match="already"):
        proxy.from_client("_x")(print)
    with pytest.raises(ValueError, match="name"):
        Proxy("")
    for versions in ((), (3,), (2, 3)):
        with pytest.raises(ValueError, match="versions of the protocol are"):
            Proxy("p", versions=versions)


def test_a_handler_that_would_wait_in_vain_is_refused() -> None:
    proxy = Proxy("p")
    with pytest.raises(LocalProtocolError, match="did you mean session/prompt"):
        proxy.from_client("session/prmpt")
    with pytest.raises(LocalProtocolError, match="names of your own begin with _"):
        proxy.from_agent("ping")
    with pytest.raises(LocalProtocolError, match="session/update is sent by the agent; use from_a"):
        proxy.from_client("session/update")
    with pytest.raises(LocalProtocolError, match="session/new is sent by the client; use from_cl"):
        proxy.from_agent("session/new")
    with pytest.raises(LocalProtocolError, match="is called initialize here"):
        proxy.from_client("proxy/initialize")
    with pytest.raises(TypeError, match=r'as @proxy.from_client\("session/prompt"\)'):
        proxy.from_client(print)  # type: ignore[arg-type]
    for either in ("mcp/message", "*", "_own"):
        proxy.from_client(either)(print)
        proxy.from_agent(either)(print)
    for former in ("nes/suggest", "document/didOpen", "session/set_mode"):
        proxy.from_client(former)(print)
    proxy.from_agent("workspace/open_documents")(print)
    proxy.from_agent("fs/read_text_file")(print)
