"""Handlers: their arguments, their results and exceptions, and how many run at once."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec import Raw

from parley.errors import (
    AuthRequired,
    InvalidRequest,
    LocalProtocolError,
    Overloaded,
    RequestError,
    ResourceNotFound,
    Unsupported,
)
from parley.peer import Limits, Peer, RequestContext, TypedHandler
from parley.rpc._codec import encode_notification
from parley.rpc._framing import LineBlock
from parley.schema import v1
from parley.schema._codec import encode
from parley.schema.base import JsonObject, Object
from parley.schema.v1 import methods
from parley.transport import memory_pair

from .raw_peer import TABLE, RawPeer, WatchedTransport, chunk, connected, mode, permission, text_of

PERMISSION = "session/request_permission"


class Wish(Object):
    word: str


@pytest.mark.parametrize(
    ("error", "expected", "is_logged"),
    [
        (AuthRequired(), {"code": -32000, "message": "Authentication required"}, False),
        (
            ResourceNotFound("no such file", {"path": "/a"}),
            {"code": -32002, "message": "no such file", "data": {"path": "/a"}},
            False,
        ),
        (RequestError("odd", None, code=7), {"code": 7, "message": "odd", "data": None}, False),
        (Unsupported("no forms"), {"code": -32600, "message": "no forms"}, False),
        (InvalidRequest("two\nlines"), {"code": -32600, "message": "two lines"}, False),
        (RequestError("odd", object(), code=7), {"code": 7, "message": "odd"}, True),
        (ZeroDivisionError("a secret"), {"code": -32603, "message": "Internal error"}, True),
    ],
    ids=["subclass", "with data", "null data", "unsupported", "two lines", "no JSON", "any other"],
)
async def test_what_a_handler_raises_reaches_the_peer_if_it_is_meant_to(
    error: Exception, expected: Any, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(params: Raw, request: RequestContext) -> None:
        raise error

    async with connected(requests={"_fail": fail}) as (_, remote):
        remote.call(1, "_fail", {})
        assert (await remote.receive())["error"] == expected
        await remote.wait_until_read()
    assert ("Traceback" in caplog.text) is is_logged


async def test_none_is_an_empty_result_and_what_is_not_json_is_our_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    results = [None, {"a": None}, object()]

    async def give(params: Raw, request: RequestContext) -> Any:
        return results.pop(0)

    async with connected(requests={"_give": give}) as (_, remote):
        for id in range(3):
            remote.call(id, "_give", {})
        responses = {
            response["id"]: response for response in [await remote.receive() for _ in range(3)]
        }
    assert responses[0]["result"] == {}
    assert responses[1]["result"] == {"a": None}
    assert responses[2]["error"] == {"code": -32603, "message": "Internal error"}
    assert "the handler of _give failed" in caplog.text


@pytest.mark.requirement("V2-SDK-04")
async def test_params_are_typed_by_the_table_or_as_the_handler_wants_or_raw() -> None:
    seen: list[Any] = []

    async def take(params: Any, request: RequestContext) -> None:
        seen.append((request.method, params))

    async with connected(
        requests={
            PERMISSION: take,
            "fs/read_text_file": TypedHandler(take, Raw),
            "_typed": TypedHandler(take, Wish),
            "_raw": take,
        },
        notifications={"_note_raw": seen.append, "_note_typed": TypedHandler(seen.append, Wish)},
    ) as (_, remote):
        remote.call(1, PERMISSION, permission("s"))
        remote.call(2, "fs/read_text_file", {"no": "path"})
        remote.call(3, "_typed", {"word": "please"})
        remote.call(4, "_typed", {"word": 5})
        remote.call(5, "_raw", [1])
        responses = {
            response["id"]: response for response in [await remote.receive() for _ in range(5)]
        }
        remote.notify("_note_raw", [2])
        remote.notify("_note_typed", {"word": "note"})
        remote.notify("_note_typed", {"word": 5})
        await remote.wait_until_read()
    assert isinstance(seen[0][1], v1.RequestPermissionRequest)
    assert json.loads(bytes(seen[1][1])) == {"no": "path"}
    assert seen[2] == ("_typed", Wish(word="please"))
    assert seen[3] == ("_raw", Raw(b"[1]"))
    assert seen[4:] == [Raw(b"[2]"), Wish(word="note")]
    assert responses[4]["error"] == {
        "code": -32602,
        "message": "Invalid params",
        "data": {"problem": "params.word: expected string"},
    }


async def test_a_handler_that_takes_a_session_raw_keeps_its_place_in_it() -> None:
    steps: list[str] = []
    may_handle = asyncio.Event()

    async def update(params: Raw) -> None:
        await may_handle.wait()
        steps.append(json.loads(bytes(params))["sessionId"])

    async def take(params: Raw, request: RequestContext) -> None:
        steps.append(f"asked in {request.session_id}")

    async with connected(
        requests={PERMISSION: TypedHandler(take, Raw)},
        notifications={"session/update": TypedHandler(update, Raw)},
    ) as (_, remote):
        remote.notify("session/update", {"sessionId": "s", "update": {"sessionUpdate": "future"}})
        remote.call(1, PERMISSION, {"sessionId": "s", "shape": "of the future"})
        remote.call(2, PERMISSION, {"sessionId": 5})
        remote.call(3, PERMISSION, ["s"])
        await remote.wait_until_read()
        assert steps == ["asked in None", "asked in None"]
        may_handle.set()
        while "asked in s" not in steps:
            await remote.receive()
    assert steps[2:] == ["s", "asked in s"]


@pytest.mark.requirement("SAFE-REACH-07")
async def test_meta_overrides_nothing() -> None:
    seen: list[Any] = []

    async def decide(params: v1.RequestPermissionRequest, request: RequestContext) -> None:
        seen.append((params.session_id, request.session_id, request.id, request.method))

    meta = {"sessionId": "other", "session_id": "other", "id": 99, "method": "_other"}
    async with connected(
        requests={PERMISSION: decide},
        notifications={"session/update": lambda note: seen.append(note.session_id)},
    ) as (_, remote):
        remote.call(1, PERMISSION, {**permission("mine"), "_meta": meta})
        assert (await remote.receive())["id"] == 1
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}}
        update = {"sessionId": "mine", "update": {**chunk, "_meta": meta}, "_meta": meta}
        remote.notify("session/update", update)
        await remote.wait_until_read()
    assert seen == [("mine", "mine", 1, PERMISSION), "mine"]


async def test_an_update_handler_that_fails_does_not_stop_the_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handled: list[str] = []

    async def update(note: v1.SessionNotification) -> None:
        text = text_of(note)
        if text == "fail":
            raise ZeroDivisionError
        if text == "cancel":
            raise asyncio.CancelledError
        handled.append(text)

    def note(params: Raw) -> None:
        raise KeyError("not async")

    async with connected(notifications={"session/update": update, "_example": note}) as (_, remote):
        for text in ("1", "fail", "2", "cancel", "3"):
            remote.update("s", text)
        remote.notify("_example", {})
        await remote.wait_until_read()
    assert handled == ["1", "2", "3"]
    for name in ("ZeroDivisionError", "CancelledError", "not async"):
        assert name in caplog.text


async def test_an_update_handler_whose_task_is_cancelled_takes_nothing_with_it() -> None:
    handled: list[str] = []

    async def update(note: v1.SessionNotification) -> None:
        handled.append(text_of(note))
        if text_of(note) == "2":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.Event().wait()

    async def permit(params: Any, request: RequestContext) -> JsonObject:
        handled.append("permit")
        return {"outcome": {"outcome": "cancelled"}}

    async with connected(
        notifications={"session/update": update}, requests={PERMISSION: permit}
    ) as (peer, remote):
        request_task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        question = await remote.receive()
        notes = (chunk("s", text) for text in "123")
        frames = [encode_notification("session/update", encode(note)) for note in notes]
        peer.frames_received(LineBlock(b"".join(frame + b"\n" for frame in frames)))
        remote.call(1, PERMISSION, permission("s"))
        remote.respond(question, {})
        await request_task
        assert (await remote.receive())["id"] == 1
    assert handled == ["1", "2", "3", "permit"]


@pytest.mark.parametrize(
    ("role", "requests", "notifications"),
    [
        ("client", {"session/prompt": None}, {}),
        ("agent", {PERMISSION: None}, {}),
        ("client", {"session/update": None}, {}),
        ("agent", {}, {"session/update": None}),
        ("client", {}, {"future/word": None}),
    ],
)
async def test_a_handler_for_what_our_role_does_not_handle_is_a_mistake(
    role: Any, requests: Any, notifications: Any
) -> None:
    peer = Peer(memory_pair()[0], role)
    with pytest.raises(LocalProtocolError, match=f"that the {role} handles"):
        peer.set_handlers(TABLE, requests=requests, notifications=notifications)


@pytest.mark.requirement("V1-INIT-24", "V2-INIT-21")
async def test_nothing_but_initialize_is_possible_before_a_version_is_agreed_on() -> None:
    async with connected() as (peer, remote):
        peer.set_handlers(None)
        remote.call(1, "session/new", {})
        error = (await remote.receive())["error"]
        assert error == {
            "code": -32600,
            "message": "Call initialize before session/new",
        }
        remote.call(2, "proxy/initialize", {"protocolVersion": 1})
        assert (await remote.receive())["error"][
            "code"
        ] == -32601  # no proxy, whatever has been said
        peer.set_handlers(TABLE)
        remote.call(2, "initialize", {"protocolVersion": 1})
        error = (await remote.receive())["error"]
        assert error == {"code": -32600, "message": "The connection is already initialized"}


async def test_more_requests_than_may_be_in_flight_are_refused_and_none_is_sent() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def wait(params: Raw, request: RequestContext) -> None:
        begun.set()
        await may_end.wait()

    async with connected(requests={"_wait": wait}, limits=Limits(in_flight=2)) as (peer, remote):
        for id in range(3):
            remote.call(id, "_wait", {})
        response = await remote.receive()
        assert (response["id"], response["error"]["code"]) == (2, -32005)
        await begun.wait()
        may_end.set()
        assert {(await remote.receive())["id"] for _ in range(2)} == {0, 1}

        message = [
            asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s"))) for _ in range(2)
        ]
        questions = [await remote.receive() for _ in message]
        with pytest.raises(Overloaded, match="2 requests are already pending"):
            await peer.request(methods.SET_SESSION_MODE, mode("s"))
        for question in questions:
            remote.respond(question, {})
        await asyncio.gather(*message)
        assert remote.received.empty()


async def test_handlers_whose_responses_nobody_takes_count_as_in_flight() -> None:
    body = {"text": "x" * 300_000}

    async def give(params: Raw, request: RequestContext) -> JsonObject:
        return body

    async with connected(requests={"_give": give}, limits=Limits(in_flight=1)) as (_, remote):
        remote.transport.pause_reading()
        remote.call(1, "_give", {})
        await remote.near.full.wait()
        remote.call(2, "_give", {})
        while remote.near.sent < 2:  # noqa: ASYNC110 - what is refused is sent, and nobody reads it
            await asyncio.sleep(0)
        remote.transport.resume_reading()
        assert (await remote.receive())["result"] == body
        assert (await remote.receive())["error"]["code"] == -32005


async def test_reading_stops_while_the_peer_does_not_take_our_refusals() -> None:
    async with connected() as (_, remote):
        remote.transport.pause_reading()
        count = 0
        while not remote.near.paused.is_set():
            remote.call(f"{count} {'x' * 10_000}", "_unknown", {})
            count += 1
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert count < 100
        remote.transport.resume_reading()
        for number in range(count):
            response = await remote.receive()
            assert int(response["id"].split()[0]) == number
        await remote.wait_until_read()
        assert not remote.near.paused.is_set()


async def test_a_peer_with_a_name_is_called_by_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    inner, transport = memory_pair()
    local = WatchedTransport(inner)
    peer = Peer(local, "client", name="opencode", skips_noise=True)
    peer.set_handlers(TABLE)
    remote = RawPeer(transport, local)
    transport.start(remote)
    async with peer:
        transport.send(b"hello from a banner")
        transport.send(b'\x1b[0m{"jsonrpc":"2.0","id":1,"method":"_unknown"}')
        assert (await remote.receive())["error"]["code"] == -32601
        transport.send(b"{oops")
        assert (await remote.receive())["error"]["code"] == -32700
    assert "opencode: ignored a message: a line that is not JSON" in caplog.text
    assert "opencode: ignored a message: noise before a message" in caplog.text
    assert "opencode: rejected a message: not JSON" in caplog.text


async def test_an_update_is_sent_as_the_notification_that_it_is() -> None:
    async with connected("agent") as (peer, remote):
        for session in ("a", "b", "b", 'a"'):
            note = chunk(session, "text")
            await peer.notify_update(methods.UPDATE_SESSION, session, note.update)
            await peer.notify(methods.UPDATE_SESSION, note)
            assert await remote.receive() == await remote.receive()
