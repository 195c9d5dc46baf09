"""POST and DELETE, status by status."""

from __future__ import annotations

import asyncio
import json

import pytest

from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._stream_routing import scope_of

from .asgi_client import EVENTS, INITIALIZE, client_of
from .manual_clock import ManualClock, settle
from .scripted_agent import ScriptedAgent, request


@pytest.mark.requirement("TR-HTTP-01")
@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "TRACE", "OPTIONS"])
async def test_other_methods_get_405_with_a_list_of_the_allowed_ones(method: str) -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        response = await client.request(method)
        assert (response.status, response.code) == (405, "method_not_allowed")
        assert response.headers["allow"] == "GET, POST, DELETE"


@pytest.mark.requirement("TR-HTTP-01")
async def test_there_is_one_path_unless_somebody_else_routes() -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        response = await client.request("POST", path="/other")
        assert (response.status, response.code) == (404, "not_found")
        assert "/acp" in response.json["error"]["message"]
    async with client_of(HttpApp(ScriptedAgent(), path=None)) as client:
        assert (await client.request("POST", path="/other")).status == 415


@pytest.mark.requirement("TR-HTTP-04", "TR-HTTP-05")
async def test_initialize_makes_a_connection_and_responds_with_its_id_in_a_header() -> None:
    app = HttpApp(ScriptedAgent())
    async with client_of(app) as client:
        response = await client.post({**INITIALIZE, "id": "first"})
        assert response.status == 200
        assert response.headers["content-type"] == "application/json"
        assert response.json == {"jsonrpc": "2.0", "id": "first", "result": {"protocolVersion": 1}}
        assert len(response.headers["acp-connection-id"]) >= 22  # 128 bits
        assert "parley-resume" not in response.headers
        other = await client.post(INITIALIZE)
        assert other.headers["acp-connection-id"] != response.headers["acp-connection-id"]
        assert len(app.connections) == 2


@pytest.mark.requirement("TR-HTTP-06")
async def test_any_other_message_gets_202_before_the_agent_has_responded() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        response = await client.post(request(1, "session/new", cwd="/"))
        assert (response.status, response.body) == (202, b"")
        assert (await host.last.next())["method"] == "session/new"
        stream = await client.stream()
        host.last.respond(1, {"sessionId": "s"})
        assert (await stream.event()).data == {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"sessionId": "s"},
        }


@pytest.mark.requirement("TR-HTTP-07", "SAFE-IN-05")
@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 202),
        ("application/json; charset=utf-8", 202),
        ("Application/JSON", 202),
        ("text/plain", 415),
        ("text/plain; application/json", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("", 415),
    ],
)
async def test_what_is_not_declared_as_json_gets_415(kind: str, status: int) -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        await client.initialize()
        response = await client.post(request(1, "session/list"), content_type=kind)
        assert response.status == status
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        response = await client.post(INITIALIZE, content_type=kind)
        assert response.status == (415 if status == 415 else 200)
        assert len(host.served) == (status != 415)


@pytest.mark.requirement("TR-HTTP-09")
async def test_a_missing_connection_id_gets_400() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        responses = [
            await client.post(request(1, "session/new")),
            await client.post({"jsonrpc": "2.0", "method": "initialize"}),
            await client.request("GET", EVENTS),
            await client.request("DELETE"),
        ]
        assert [(each.status, each.code) for each in responses] == [(400, "no_connection")] * 4
        assert not host.served


@pytest.mark.requirement("TR-HTTP-10")
async def test_an_unknown_connection_id_gets_404() -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        client.connection = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
        responses = [
            await client.post(request(1, "session/new")),
            await client.request("GET", EVENTS),
            await client.request("DELETE"),
        ]
        assert [(each.status, each.code) for each in responses] == [(404, "unknown_connection")] * 3


@pytest.mark.requirement("TR-HTTP-11", "TR-HTTP-33")
@pytest.mark.parametrize(
    "method",
    [
        *("session/prompt", "session/cancel", "session/close"),
        *("session/set_config_option", "session/set_mode"),
    ],
)
async def test_a_message_of_a_session_without_its_header_gets_400(method: str) -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        response = await client.post(request(1, method, "s"))
        assert (response.status, response.code) == (400, "no_session")
        assert (await client.post(request(1, method, "s"), "s")).status == 202
        assert (await host.last.next())["method"] == method
        assert host.last.inbox.empty()


@pytest.mark.requirement("TR-HTTP-18", "TR-HTTP-33")
@pytest.mark.parametrize(
    "method", ["session/load", "session/resume", "session/fork", "session/delete"]
)
async def test_a_session_that_is_not_open_may_be_named_in_the_params_alone(method: str) -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        nowhere = await client.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}})
        assert (nowhere.status, nowhere.code) == (400, "no_session")
        assert (await client.post(request(1, method, "s"))).status == 202
        assert (await client.post(request(2, method, "s"), "s")).status == 202
        assert (await client.post(request(3, method, "s"), "t")).code == "other_session"
        assert [(await host.last.next())["id"] for _ in range(2)] == [1, 2]


@pytest.mark.requirement("TR-HTTP-33")
@pytest.mark.parametrize("method", ["session/new", "session/list", "authenticate", "auth/login"])
async def test_a_message_of_the_connection_needs_no_session(method: str) -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        await client.initialize()
        assert (await client.post(request(1, method))).status == 202


@pytest.mark.requirement("TR-HTTP-33")
def test_every_method_has_its_place() -> None:
    assert scope_of("session/new") == "opening"
    assert scope_of("session/list") == scope_of("$/cancel_request") == "connection"
    assert scope_of("session/load") == scope_of("session/resume") == "loading"
    assert scope_of("session/fork") == "loading"
    assert scope_of("session/close") == scope_of("session/delete") == "closing"
    assert scope_of("session/prompt") == scope_of("tool_call/cancel") == "session"
    assert scope_of("session/set_mode") == scope_of("session/set_model") == "session"
    assert scope_of("nes/start") == "opening"
    assert scope_of("nes/suggest") == scope_of("document/didChange") == "session"
    assert scope_of("nes/close") == "closing"
    assert scope_of("_mine/own") is scope_of("what/ever") is None


@pytest.mark.requirement("TR-HTTP-13")
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b" ", b"{", b"nonsense", b"7", b'"text"', b"null", b"{}", b'{"jsonrpc":"2.0"}'),
        *(b'{"jsonrpc":"1.0","id":1,"method":"a"}', b'{"jsonrpc":"2.0","id":1,"method":7}'),
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":' + b"[" * 5000 + b"]" * 5000 + b"}",
    ],
    ids=range(13),
)
async def test_what_is_not_a_message_gets_400_and_never_202(body: bytes) -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        response = await client.post(body)
        assert (response.status, response.code) == (400, "not_a_message")
        await client.initialize()
        response = await client.post(body)
        assert (response.status, response.code) == (400, "not_a_message")
        assert host.last.inbox.empty()


@pytest.mark.requirement("TR-HTTP-14")
@pytest.mark.parametrize(
    "body", [b"[]", b' [{"jsonrpc":"2.0","id":1,"method":"initialize"}]', b"["]
)
async def test_an_array_gets_501(body: bytes) -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        assert (await client.post(body)).status == 501
        assert not host.served
        await client.initialize()
        response = await client.post(body)
        assert (response.status, response.code) == (501, "batch")


@pytest.mark.requirement("TR-HTTP-21", "SAFE-REACH-07")
async def test_a_session_that_is_named_twice_differently_gets_400_with_any_meta() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        response = await client.post(request(1, "session/prompt", "s"), "t")
        assert (response.status, response.code) == (400, "other_session")
        response = await client.post(request(1, "_mine/own", "s"), "t")
        assert (response.status, response.code) == (400, "other_session")
        meta = {"sessionId": "t", "Acp-Session-Id": "t"}
        assert (await client.post(request(1, "session/prompt", "s", _meta=meta), "s")).status == 202
        sent = await host.last.next()
        assert sent["params"] == {"sessionId": "s", "_meta": meta}


async def test_a_header_that_is_there_twice_gets_400() -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        await client.initialize()
        raw = [(b"host", b"localhost"), (b"accept", b"text/event-stream")]
        raw += [(b"acp-connection-id", client.connection.encode())] * 2
        response = await client.request("GET", raw=raw)
        assert (response.status, response.code) == (400, "repeated_header")


@pytest.mark.requirement("TR-HTTP-26", "TR-HTTP-27")
async def test_names_of_headers_have_no_case_and_unknown_ones_are_skipped() -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        await client.initialize()
        raw = [
            (b"Host", b"localhost"),
            (b"ACP-Connection-ID", client.connection.encode()),
            (b"Acp-Session-Id", b"s"),
            (b"Content-TYPE", b"application/json"),
            (b"Acp-Protocol-Version", b"1"),
        ]
        body = json.dumps(request(1, "session/prompt", "s")).encode()
        assert (await client.request("POST", body=body, raw=raw)).status == 202


async def test_a_second_initialize_on_a_connection_gets_400() -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        await client.initialize()
        response = await client.post(INITIALIZE)
        assert (response.status, response.code) == (400, "initialized")


@pytest.mark.requirement("TR-HTTP-32")
async def test_a_body_over_the_limit_gets_413_with_and_without_a_length() -> None:
    host = ScriptedAgent()
    limit = 16 * 1024 * 1024
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        fields = {"content-type": "application/json", "content-length": str(17 * 1024 * 1024)}
        with_length = client.begin("POST", fields, body=None)
        assert (await with_length.response()).status == 413  # before anything of it is read
        exact = json.dumps(request(1, "session/list")).encode().ljust(limit)
        assert (await client.post(exact)).status == 202
        without_length = client.begin("POST", {"content-type": "application/json"}, body=None)
        for _ in range(17):
            without_length.give(b" " * 1024 * 1024, more=True)
        response = await without_length.response()
        assert (response.status, response.code) == (413, "too_long")
        assert str(limit) in response.json["error"]["message"]


@pytest.mark.requirement("TR-HTTP-35")
async def test_what_the_agent_says_before_its_first_response_waits_for_a_stream() -> None:
    class Hasty(ScriptedAgent):
        async def serve(self, transport: object, /) -> None:
            sending = transport.send  # type: ignore[attr-defined]
            sending(b'{"jsonrpc":"2.0","method":"_early"}')
            await super().serve(transport)  # type: ignore[arg-type]

    async with client_of(HttpApp(Hasty())) as client:
        response = await client.initialize()
        assert response.json["result"] == {"protocolVersion": 1}
        assert (await (await client.stream()).event()).data["method"] == "_early"


@pytest.mark.requirement("TR-HTTP-23")
async def test_delete_ends_the_connection_and_its_streams() -> None:
    host = ScriptedAgent()
    app = HttpApp(host)
    async with client_of(app) as client:
        await client.initialize()
        streams = [await client.stream(), await client.stream("s")]
        response = await client.request("DELETE")
        assert (response.status, response.body) == (202, b"")
        for stream in streams:
            await stream.ended()
        assert "client ended" in str(await host.last.lost)
        assert (await client.post(request(1, "session/new"))).status == 404
        assert len(app.connections) == 0


async def test_a_client_that_leaves_during_initialize_leaves_no_connection() -> None:
    host = ScriptedAgent()
    host.silent = True
    app = HttpApp(host)
    async with client_of(app) as client:
        exchange = client.begin_post(INITIALIZE)
        await settle()
        assert len(app.connections) == 1
        exchange.disconnect()
        await exchange.task
        assert len(app.connections) == 0


async def test_an_agent_that_does_not_respond_to_initialize_in_time_gives_504() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    host.silent = True
    app = HttpApp(host, clock=clock, limits=AppLimits(initialize=5))
    async with client_of(app) as client:
        exchange = client.begin_post(INITIALIZE)
        await clock.advance(5)
        response = await exchange.response()
        assert (response.status, response.code) == (504, "agent_silent")
        assert len(app.connections) == 0


async def test_a_body_that_is_cut_off_is_not_delivered() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        body = json.dumps(request(1, "session/new")).encode()
        exchange = client.begin("POST", {"content-type": "application/json"}, body=None)
        exchange.give(body[:-1], more=True)
        exchange.disconnect()
        await exchange.task
        assert host.last.inbox.empty()


async def test_messages_arrive_in_pieces() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        exchange = client.begin("POST", {"content-type": "application/json"}, body=None)
        for byte in json.dumps(request(1, "session/new")).encode():
            exchange.give(bytes([byte]), more=True)
        exchange.give(b"", more=False)
        assert (await exchange.response()).status == 202
        assert (await host.last.next())["id"] == 1


async def test_a_message_waits_while_the_agent_reads_nothing() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        host.last.transport.pause_reading()
        posts = [client.begin_post(request(number, "session/list")) for number in range(3)]
        await settle()
        assert not any(post.task.done() for post in posts)
        assert host.last.inbox.empty()
        host.last.transport.resume_reading()
        assert [(await post.response()).status for post in posts] == [202] * 3
        assert [(await host.last.next())["id"] for _ in range(3)] == [0, 1, 2]


async def test_a_message_that_waits_when_the_connection_ends_gets_404() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        await client.initialize()
        host.last.transport.pause_reading()
        post = client.begin_post(request(1, "session/list"))
        await settle()
        host.last.ends.set_result(None)
        assert (await asyncio.wait_for(post.response(), 300)).status == 404
