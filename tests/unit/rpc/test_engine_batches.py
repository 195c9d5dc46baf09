"""Batches get the responses that JSON-RPC 2.0 requires; lines that are not JSON can be skipped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw

from parley.rpc._codec import encode_notification, encode_request, encode_success
from parley.rpc._engine import (
    BatchEvents,
    Engine,
    EngineConfig,
    ErrorReply,
    IgnoredFrame,
    IncomingRequest,
    ResponseEvent,
)
from parley.rpc._framing import FrameSplitter
from parley.rpc._message import ErrorObject, Notification

NO = ErrorObject(-1, "no")


def several(engine: Engine[str], frame: bytes) -> list[Any]:
    event = engine.receive(frame)
    assert isinstance(event, BatchEvents)
    return list(event.events)


def array(*entries: bytes) -> bytes:
    return b"[%b]" % b",".join(entries)


def test_an_array_gets_one_batch_of_responses_when_all_its_calls_are_done() -> None:
    engine: Engine[str] = Engine()
    one, two, three = several(
        engine, array(*(encode_request(id, "m", None) for id in (1, "1", None)))
    )
    assert engine.incoming_count == 3
    assert engine.respond(two, b"2") is None
    assert engine.respond_with_error(three, NO) is None
    frame = engine.respond(one, b"1")
    assert frame is not None
    assert json.loads(frame) == [
        {"jsonrpc": "2.0", "id": "1", "result": 2},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "no"}},
        {"jsonrpc": "2.0", "id": 1, "result": 1},
    ]
    assert engine.incoming_count == 0


def test_an_array_of_one_request_gets_a_batch() -> None:
    engine: Engine[str] = Engine()
    [call] = several(engine, array(encode_request(1, "m", None)))
    assert engine.respond(call, b"{}") == b'[{"jsonrpc":"2.0","id":1,"result":{}}]'


def test_an_array_of_notifications_gets_no_response() -> None:
    engine: Engine[str] = Engine()
    events = several(engine, array(*(encode_notification("m", b"%d" % n) for n in range(3))))
    assert events == [Notification("m", Raw(b"%d" % number)) for number in range(3)]


def test_each_entry_in_error_has_its_own_response_in_one_array() -> None:
    *entries, refusal = several(Engine[str](), b"[17,true,null,[]]")
    assert entries == [IgnoredFrame("not an object")] * 4
    assert isinstance(refusal, ErrorReply)
    responses = json.loads(refusal.frame)
    assert [(each["id"], each["error"]["code"]) for each in responses] == [(None, -32600)] * 4


def test_the_entries_in_error_get_responses_together_with_the_calls_beside_them() -> None:
    engine: Engine[str] = Engine()
    entries = (b"1", encode_request(5, "m", None), encode_notification("n", None), b'{"id":6}')
    first, call, note, last = several(engine, array(*entries))
    assert (type(first), type(last)) == (IgnoredFrame, IgnoredFrame)
    assert note == Notification("n")
    frame = engine.respond(call, b"{}")
    assert frame is not None
    assert [each["id"] for each in json.loads(frame)] == [None, 6, 5]


def test_an_array_of_responses_settles_each_and_gets_no_response() -> None:
    engine: Engine[str] = Engine()
    for caller in ("a", "b"):
        engine.send_request("m", None, caller)
    events = several(engine, array(*(encode_success(id, b"1") for id in (1, 0, 9))))
    assert events == [
        ResponseEvent("b", Raw(b"1")),
        ResponseEvent("a", Raw(b"1")),
        IgnoredFrame("a response with an unknown id"),
    ]


def test_calls_and_responses_may_be_mixed() -> None:
    engine: Engine[str] = Engine()
    engine.send_request("m", None, "a")
    call, response = several(engine, array(encode_request(0, "m", None), encode_success(0, b"1")))
    assert response == ResponseEvent("a", Raw(b"1"))
    assert engine.respond(call, b"2") == array(encode_success(0, b"2"))


def test_the_same_id_twice_in_an_array_is_refused_the_second_time() -> None:
    engine: Engine[str] = Engine()
    call, second = several(engine, array(*[encode_request(3, "m", None)] * 2))
    assert second == IgnoredFrame("a request with this id is already pending")
    frame = engine.respond(call, b"1")
    assert frame is not None
    assert [("error" in each, each["id"]) for each in json.loads(frame)] == [(True, 3), (False, 3)]


def test_two_arrays_do_not_wait_for_each_other() -> None:
    engine: Engine[str] = Engine()
    [slow] = several(engine, array(encode_request(1, "m", None)))
    [quick] = several(engine, array(encode_request(2, "m", None)))
    assert engine.respond(quick, b"1") == array(encode_success(2, b"1"))
    assert engine.respond(slow, b"1") == array(encode_success(1, b"1"))


NOISE = [
    b"Welcome to the agent, version 1",
    b"[INFO] starting",
    b"[2026-11-15 10:00] ready",
    b"[1, 2",
    b"\x1b[2J\x1b[H",
    b"\xff\xfe\xfd",
    b"Gr\xfc\xdfe",
    b'debug {"a": 1}',
    b"NaN",
]


@pytest.mark.parametrize("line", NOISE)
def test_a_line_that_is_not_json_is_skipped_or_rejected_by_the_rules(line: bytes) -> None:
    tolerant: Engine[str] = Engine(EngineConfig(skips_noise=True))
    assert tolerant.receive(line) == IgnoredFrame("a line that is not JSON", is_noise=True)
    assert isinstance(Engine[str]().receive(line), ErrorReply)


def test_a_line_over_the_limit_that_is_no_message_is_noise_too() -> None:
    [frame] = FrameSplitter(2000).feed(b"progress: " + b"=" * 2000 + b"\n")
    engine: Engine[str] = Engine(EngineConfig(skips_noise=True))
    assert engine.receive(frame) == IgnoredFrame("a line that is not JSON", is_noise=True)


@pytest.mark.parametrize(
    "line", [b"{bad", b' {"jsonrpc":', b"\xef\xbb\xbf{bad", b"42", b"[]", b'"text"', b"{}"]
)
def test_a_message_that_went_wrong_is_no_noise(line: bytes) -> None:
    assert isinstance(Engine[str](EngineConfig(skips_noise=True)).receive(line), ErrorReply)


@pytest.mark.requirement("SAFE-WIRE-03")
def test_a_message_after_noise_on_its_line_is_found() -> None:
    engine: Engine[str] = Engine(EngineConfig(skips_noise=True))
    for noise in (b"\x1b[0m", b"ready\xff> ", b"[INFO] "):
        first, call = several(engine, noise + encode_request(1, "m", None))
        assert first == IgnoredFrame("noise before a message", is_noise=True)
        assert isinstance(call, IncomingRequest)
        engine.respond(call, b"1")
    assert isinstance(Engine[str]().receive(b"\x1b[0m" + encode_request(1, "m", None)), ErrorReply)


def test_a_message_after_noise_keeps_to_the_depth_of_the_rules() -> None:
    engine: Engine[str] = Engine(EngineConfig(skips_noise=True, max_depth=3))
    line = b"log " + encode_notification("m", b"[[[]]]")
    assert engine.receive(line) == IgnoredFrame("a line that is not JSON", is_noise=True)
