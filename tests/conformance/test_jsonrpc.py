"""Envelopes, ids, errors and order of responses on a live connection.

https://agentclientprotocol.com/protocol/v1/overview and https://www.jsonrpc.org/specification
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from parley.errors import InvalidParams, RemoteProtocolError, RequestError
from parley.peer import RequestContext, Role
from parley.peer._initialize import table_of
from parley.schema import v1
from parley.schema.v1 import methods as v1_methods

from .raw_peer import ECHO, SIDES, VERSIONS, RawPeer, connected

requirement = pytest.mark.requirement
TEXT = {"type": "text", "text": "hi"}
on_both_sides = pytest.mark.parametrize(("version", "role"), SIDES)
in_both_versions = pytest.mark.parametrize("version", VERSIONS)


async def new_session(params: Any, request: RequestContext) -> Any:
    return {"sessionId": "s-1"}


async def list_sessions(params: Any, request: RequestContext) -> Any:
    return {"sessions": []}


async def fail(params: Any, request: RequestContext) -> Any:
    raise RuntimeError("a secret of ours")


async def refuse(params: Any, request: RequestContext) -> Any:
    raise InvalidParams("Not\nlike this", {"why": [1]})


@requirement("V1-RPC-01", "V1-RPC-05")
@on_both_sides
async def test_everything_that_is_sent_has_the_marker_and_a_plain_id(
    version: int, role: Role
) -> None:
    async with connected(version, role) as (peer, raw):
        table = table_of(version)
        method = next(iter(table.requests("client" if role == "agent" else "agent").values()))
        call = asyncio.create_task(peer.request(method, None))
        request = await raw.next()
        assert type(request["id"]) is int
        call.cancel()
        cancel = await raw.next()
        raw.message(id="x", method=ECHO)
        response = await raw.next()
        raw.send(b"{bad")
        refusal = await raw.next()
    assert cancel == {
        "jsonrpc": "2.0",
        "method": "$/cancel_request",
        "params": {"requestId": request["id"]},
    }
    assert {each["jsonrpc"] for each in (request, cancel, response, refusal)} == {"2.0"}


@requirement("V1-RPC-02")
@in_both_versions
@pytest.mark.parametrize("marker", [{}, {"jsonrpc": "1.0"}, {"jsonrpc": 2.0}, {"jsonrpc": None}])
async def test_a_request_without_the_marker_is_refused_and_not_executed(
    version: int, marker: dict[str, Any]
) -> None:
    opened: list[Any] = []

    async def open_session(params: Any, request: RequestContext) -> Any:
        opened.append(params)

    async with connected(version, requests={"session/new": open_session}) as (_, raw):
        params: dict[str, Any] = {"cwd": "/", "mcpServers": []}
        raw.send(
            json.dumps({**marker, "id": 5, "method": "session/new", "params": params}).encode()
        )
        reply = await raw.next()
        assert (reply["id"], reply["error"]["code"]) == (5, -32600)
        await raw.is_alive()
    assert opened == []


@requirement("V1-RPC-03", "V1-RPC-04", "V2-RPC-01")
@on_both_sides
@pytest.mark.parametrize(
    "id", ["7", '"7"', '"abc"', '""', "0", "-1", "9007199254740993", str(2**63 - 1), str(-(2**63))]
)
async def test_an_answer_repeats_the_id_byte_for_byte(version: int, role: Role, id: str) -> None:
    async with connected(version, role) as (_, raw):
        for method, outcome in ((ECHO, "result"), ("_zzz/nope", "error")):
            raw.send(f'{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}'.encode())
            frame = await raw.frame()
            assert f'"id":{id},'.encode() in frame
            assert json.loads(frame).keys() == {"jsonrpc", "id", outcome}


@requirement("V1-RPC-04")
@in_both_versions
async def test_a_null_id_is_readable_in_version_1_and_refused_in_version_2(version: int) -> None:
    async with connected(version) as (_, raw):
        raw.message(id=None, method=ECHO, params={})
        reply = await raw.next()
        assert reply["id"] is None
        assert reply.get("result", reply.get("error", {}).get("code")) == (
            {} if version == 1 else -32600
        )
        raw.message(id=1.5, method=ECHO, params={})
        assert (await raw.next())["error"]["code"] == -32600
        await raw.is_alive()


@requirement("V1-RPC-06", "V1-RPC-29", "V2-RPC-01")
@on_both_sides
async def test_each_request_gets_one_answer_in_whatever_order_they_end(
    version: int, role: Role
) -> None:
    gates: dict[Any, asyncio.Event] = {}

    async def wait(params: Any, request: RequestContext) -> Any:
        gates[request.id] = asyncio.Event()
        await gates[request.id].wait()
        if request.id in ("a", 3):
            raise RequestError("no", code=7)

    ids = [0, 1, 2, 3, "a", "1", -5]
    async with connected(version, role, requests={"_wait": wait}) as (_, raw):
        for id in ids:
            raw.message(id=id, method="_wait")
        await raw.is_alive()
        replies: list[Any] = []
        for id in reversed(ids):
            gates[id].set()
            replies.append(await raw.next())
    assert [reply["id"] for reply in replies] == ids[::-1]
    assert all(("result" in reply) is not ("error" in reply) for reply in replies)
    assert [reply["id"] for reply in replies if "error" in reply] == ["a", 3]


@requirement("V1-RPC-07", "V2-RPC-02", "V1-CANCEL-14")
@on_both_sides
async def test_a_notification_is_never_answered_however_broken(version: int, role: Role) -> None:
    def fails(params: Any) -> None:
        raise RuntimeError("a failing handler")

    known = "session/cancel" if role == "agent" else "session/update"
    async with connected(version, role, notifications={known: fails}) as (_, raw):
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}}
        broken: list[tuple[str, Any]] = [
            (known, {"sessionId": "s", "update": {**chunk, "messageId": "m"}}),
            (known, {"sessionId": 5}),
            (known, "text"),
            (known, None),
            ("session/nope", {}),
            ("_zzz/nope", {}),
            ("$/foo", {}),
            ("$/cancel_request", []),
            (ECHO, {}),
            ("initialize", {}),
        ]
        for method, params in broken:
            raw.message(method=method, params=params)
        raw.send(b'{"method":"session/cancel"}', b'{"jsonrpc":"1.0","method":"session/update"}')
        raw.send(b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * 200 + b"]" * 200 + b"}")
        await raw.is_alive()


@requirement("V1-RPC-08")
@in_both_versions
async def test_a_client_sends_nothing_back_for_updates(version: int) -> None:
    seen: list[Any] = []
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}}
    update = chunk | ({} if version == 1 else {"messageId": "m-1"})
    async with connected(version, "client", notifications={"session/update": seen.append}) as (
        _,
        raw,
    ):
        for _ in range(100):
            raw.message(method="session/update", params={"sessionId": "s", "update": update})
        await raw.is_alive()
    assert len(seen) == 100


async def provoke(raw: RawPeer) -> list[Any]:
    """Make the other side refuse in every way there is, and return the errors."""
    raw.send(b"{bad", b"42", b"[]", b'{"jsonrpc":"2.0","id":1}')
    raw.message(id=2, method="foo/bar")
    raw.message(id=3, method="session/new", params={"cwd": 5})
    raw.message(id=4, method="_fail")
    raw.message(id=5, method="_refuse")
    raw.message(id=6, method="initialize", params={})
    return [(await raw.next())["error"] for _ in range(9)]


@requirement("V1-RPC-09", "V1-RPC-10", "V2-RPC-03", "V2-RPC-04")
@in_both_versions
async def test_an_error_has_a_code_and_one_short_line_and_tells_no_secret(version: int) -> None:
    handlers = {"session/new": new_session, "_fail": fail, "_refuse": refuse}
    async with connected(version, requests=handlers) as (_, raw):
        errors = await provoke(raw)
        await raw.is_alive()
    codes = {-32700, -32600, -32601, -32602, -32603}
    assert {error["code"] for error in errors} == codes
    for error in errors:
        assert error.keys() <= {"code", "message", "data"}
        assert type(error["code"]) is int
        assert 0 < len(error["message"]) < 80
        assert "\n" not in error["message"]
    assert "secret" not in json.dumps(errors)
    assert {"code": -32602, "message": "Not like this", "data": {"why": [1]}} in errors
    assert {"code": -32603, "message": "Internal error"} in errors


@requirement("V1-RPC-11")
@on_both_sides
async def test_an_unknown_error_code_reaches_the_caller_as_it_is(version: int, role: Role) -> None:
    async with connected(version, role) as (peer, raw):
        table = table_of(version)
        method = next(iter(table.requests("client" if role == "agent" else "agent").values()))
        call = asyncio.create_task(peer.request(method, None))
        request = await raw.next()
        raw.message(id=request["id"], error={"code": -31999, "message": "odd", "data": {"a": None}})
        with pytest.raises(RequestError) as refusal:
            await call
        await raw.is_alive()
    assert type(refusal.value) is RequestError
    assert (refusal.value.code, refusal.value.message) == (-31999, "odd")
    assert refusal.value.data == {"a": None}


@requirement("V1-RPC-12")
@on_both_sides
async def test_an_unknown_method_is_refused_and_the_next_one_works(
    version: int, role: Role
) -> None:
    async with connected(version, role) as (_, raw):
        assert (await raw.ask("foo/bar"))["error"]["code"] == -32601
        await raw.is_alive()


@requirement("V1-RPC-13", "V2-BATCH-01", "V2-RPC-03")
@on_both_sides
@pytest.mark.parametrize(
    "frame",
    [
        b"{bad",
        b'[{"jsonrpc":"2.0","id":1,"method":"_test/echo"},',
        b'{"jsonrpc":"2.0","id":1,"method":"_test/echo"',
        b'{"jsonrpc":"2.0","id":1,"method":"_test/echo","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"_test/echo","params":{"a":"\xff"}}',
        b"hello",
    ],
)
async def test_bytes_that_are_no_json_are_answered_with_a_null_id(
    version: int, role: Role, frame: bytes
) -> None:
    async with connected(version, role) as (_, raw):
        raw.send(frame)
        reply = await raw.next()
        assert (reply["id"], reply["error"]["code"]) == (None, -32700)
        await raw.is_alive()


@requirement("V1-RPC-14", "V1-RPC-32", "V2-BATCH-02")
@on_both_sides
@pytest.mark.parametrize("frame", [b"42", b'"x"', b"null", b"true", b"[]", b" [ ] ", b"{}"])
async def test_json_that_is_no_message_is_answered_by_one_error_object(
    version: int, role: Role, frame: bytes
) -> None:
    async with connected(version, role) as (_, raw):
        raw.send(frame)
        reply = await raw.next()
        assert (reply["id"], reply["error"]["code"]) == (None, -32600)
        await raw.is_alive()


@requirement("V1-RPC-29")
@in_both_versions
async def test_a_quick_request_is_answered_while_a_prompt_runs(version: int) -> None:
    gate = asyncio.Event()

    async def prompt(params: Any, request: RequestContext) -> Any:
        await gate.wait()
        return {"stopReason": "end_turn", "messageId": "m-1"}

    handlers = {"session/prompt": prompt, "session/list": list_sessions}
    async with connected(version, requests=handlers) as (_, raw):
        raw.message(id=1, method="session/prompt", params={"sessionId": "s", "prompt": [TEXT]})
        assert (await raw.ask("session/list", None, 2))["result"] == {"sessions": []}
        gate.set()
        assert (await raw.next())["id"] == 1


@requirement("V1-RPC-30")
async def test_a_client_that_waits_for_its_prompt_serves_the_agent_meanwhile() -> None:
    async def read(params: v1.ReadTextFileRequest, request: RequestContext) -> Any:
        return v1.ReadTextFileResponse(content=f"the text of {params.path}")

    async with connected(1, "client", requests={"fs/read_text_file": read}) as (peer, raw):
        params = v1.PromptRequest(session_id="s", prompt=[])
        call = asyncio.create_task(peer.request(v1_methods.PROMPT, params))
        prompt = await raw.next()
        reply = await raw.ask("fs/read_text_file", {"sessionId": "s", "path": "/a"}, prompt["id"])
        assert reply["result"] == {"content": "the text of /a"}
        assert not call.done()
        raw.message(id=prompt["id"], result={"stopReason": "end_turn"})
        assert (await call).stop_reason == "end_turn"


@requirement("V1-RPC-31")
@on_both_sides
@pytest.mark.parametrize("id", [0, 99, "0", None])
async def test_an_answer_to_nothing_is_ignored(version: int, role: Role, id: Any) -> None:
    async with connected(version, role) as (_, raw):
        raw.message(id=id, result={})
        raw.message(id=id, error={"code": 1, "message": "m"})
        raw.message(id=id, result={}, error={"code": 1, "message": "m"})
        raw.message(result={})
        await raw.is_alive()


@requirement("V1-RPC-31", "V1-RPC-06")
@on_both_sides
@pytest.mark.parametrize(
    "members",
    [
        {"result": {}, "error": {"code": 1, "message": "m"}},
        {},
        {"error": None},
        {"error": "no"},
        {"error": {"message": "m"}},
        {"error": {"code": "1", "message": "m"}},
        {"error": {"code": 1, "message": None}},
        {"jsonrpc": "1.0", "result": {}},
    ],
)
async def test_a_broken_answer_fails_the_call_that_waits_for_it(
    version: int, role: Role, members: dict[str, Any]
) -> None:
    async with connected(version, role) as (peer, raw):
        table = table_of(version)
        method = next(iter(table.requests("client" if role == "agent" else "agent").values()))
        call = asyncio.create_task(peer.request(method, None))
        request = await raw.next()
        raw.message(**{"id": request["id"], **members})
        raw.message(id=request["id"], result={})
        with pytest.raises(RemoteProtocolError):
            await call
        await raw.is_alive()
