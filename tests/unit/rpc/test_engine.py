"""The engine: a frame becomes a call, a response, an error or nothing; one response per call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Raw, structs

from parley.errors import (
    AuthRequired,
    LocalProtocolError,
    RemoteProtocolError,
    RequestError,
)
from parley.rpc._codec import MAX_BATCH, encode_request
from parley.rpc._engine import (
    Engine,
    EngineConfig,
    ErrorReply,
    Event,
    IgnoredFrame,
    IncomingRequest,
    ResponseEvent,
)
from parley.rpc._framing import Frame, FrameSplitter
from parley.rpc._message import ErrorObject, Id, Notification

NO = ErrorObject(-1, "no")


def asking(count: int = 1) -> Engine[str]:
    """An engine that waits for the responses to requests 0, 1, …, with objects "ask-0", …"""
    engine: Engine[str] = Engine()
    for number in range(count):
        engine.send_request("m", None, f"ask-{number}")
    return engine


def called(engine: Engine[str], id: Id = 1, method: str = "m") -> IncomingRequest:
    event = engine.receive(encode_request(id, method, None))
    assert isinstance(event, IncomingRequest)
    return event


def response_event(engine: Engine[str], frame: Frame) -> ResponseEvent[str]:
    event = engine.receive(frame)
    assert isinstance(event, ResponseEvent)
    return event


def refused(event: Event[str] | None) -> Any:
    assert isinstance(event, ErrorReply)
    return json.loads(event.frame)


def test_requests_are_numbered_and_their_responses_find_their_caller() -> None:
    engine: Engine[str] = Engine()
    assert engine.send_request("a", b"[1]", "first") == (
        0,
        b'{"jsonrpc":"2.0","id":0,"method":"a","params":[1]}',
    )
    assert engine.send_request("b", None, "second")[0] == 1
    assert engine.outgoing_count == 2
    assert response_event(engine, b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}') == ResponseEvent(
        "second", Raw(b'{"a":1}')
    )
    assert response_event(engine, b'{"jsonrpc":"2.0","id":0,"result":null}').pending == "first"
    assert engine.outgoing_count == 0


def test_a_request_that_cannot_be_written_is_not_waited_for() -> None:
    engine: Engine[str] = Engine()
    with pytest.raises(UnicodeEncodeError):
        engine.send_request("\udcff", None, "caller")
    assert engine.outgoing_count == 0


def test_a_second_response_and_one_to_nothing_have_no_consequence() -> None:
    engine = asking()
    response_event(engine, b'{"jsonrpc":"2.0","id":0,"result":1}')
    late = IgnoredFrame("a response to a request that is no longer pending", is_late=True)
    for id in (b"0", b'"0"', b"99", b"-1", b"null", b'""'):
        for outcome in (b'"result":1', b'"result":1,"error":2', b'"error":5'):
            event = engine.receive(b'{"jsonrpc":"2.0","id":%b,%b}' % (id, outcome))
            expected = late if id == b"0" else IgnoredFrame("a response with an unknown id")
            assert event == expected


@pytest.mark.parametrize(
    "outcome", [b'"result":1', b'"error":{"code":1,"message":"m"}', b'"result":1,"error":2']
)
def test_a_response_whose_id_has_another_type_fails_its_request_and_is_named(
    outcome: bytes,
) -> None:
    engine = asking(11)
    failed = response_event(engine, b'{"jsonrpc":"2.0","id":"10",%b}' % outcome)
    assert failed.pending == "ask-10"
    assert isinstance(failed.outcome, RemoteProtocolError)
    assert 'the response to request 10 has the string "10" as its id' in str(failed.outcome)
    assert engine.outgoing_count == 10


@pytest.mark.parametrize(
    "id",
    [b"00", b"+0", b" 0", b"0.0", b"-0", b"9" * 5000, "\N{ARABIC-INDIC DIGIT ZERO}".encode()],
    ids=["padded", "plus", "space", "fraction", "minus", "huge", "arabic"],
)
def test_a_string_id_that_only_resembles_a_number_is_nobodys(id: bytes) -> None:
    engine = asking()
    assert isinstance(engine.receive(b'{"jsonrpc":"2.0","id":"%b","result":1}' % id), IgnoredFrame)
    assert engine.outgoing_count == 1


SPREAD = [b"{", b'  "jsonrpc": "2.0",', b'  "id": 0,', b'  "result": {}', b"}"]
WRAPPED = [b'{"jsonrpc": "2.0",', b' "id": 0, "result": {}}']


@pytest.mark.parametrize(
    "lines", [SPREAD, WRAPPED, [b"  [\r", b"]"]], ids=["pretty", "wrapped", "array"]
)
@pytest.mark.parametrize("skips_noise", [True, False])
def test_json_spread_over_several_lines_is_named_once_until_a_response_arrives(
    lines: list[bytes], skips_noise: bool
) -> None:
    engine: Engine[str] = Engine(EngineConfig(skips_noise=skips_noise))
    engine.send_request("m", None, "ask-0")
    events = [event for line in lines * 2 for event in [engine.receive(line)] if event is not None]
    named = [each for each in events if isinstance(each, ErrorReply) and "lines" in each.problem]
    assert [each.problem for each in named] == [
        "JSON spread over several lines; each message must be one line"
    ]
    assert engine.diagnosis == f"it sends {named[0].problem}"
    response_event(engine, b'{"jsonrpc":"2.0","id":0,"result":1}')
    assert not engine.diagnosis


def test_a_line_that_is_cut_off_elsewhere_is_not_taken_for_spread_json() -> None:
    engine = asking()
    for line in (b'{"jsonrpc":"2.0","id', b"banner {", b'{"jsonrpc":"2.0","id":7,"method":"m"}'):
        engine.receive(line)
    assert not engine.diagnosis


def test_a_peer_that_cannot_read_us_is_a_diagnosis_until_a_response_arrives() -> None:
    engine = asking()
    engine.receive(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}')
    assert engine.diagnosis == ("it could not read a message from us: 'Parse error (-32700)'")
    response_event(engine, b'{"jsonrpc":"2.0","id":0,"result":1}')
    assert not engine.diagnosis


def test_an_error_arrives_as_the_exception_of_its_code() -> None:
    engine = asking(3)
    known = response_event(
        engine,
        b'{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"log in","data":{"a":1}}}',
    ).outcome
    assert isinstance(known, AuthRequired)
    assert (known.message, known.data) == ("log in", {"a": 1})
    other = response_event(
        engine, b'{"jsonrpc":"2.0","id":1,"error":{"code":-31999,"message":""}}'
    ).outcome
    assert type(other) is RequestError
    assert other.code == -31999
    odd = response_event(
        engine,
        b'{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m","data":1%b}}' % (b"0" * 5000),
    ).outcome
    assert isinstance(odd, RequestError)
    assert not odd.data


@pytest.mark.parametrize(
    "reply",
    [
        b'{"jsonrpc":"2.0","id":0}',
        b'{"jsonrpc":"2.0","id":0,"result":1,"error":{"code":1,"message":"m"}}',
        b'{"jsonrpc":"2.0","id":0,"error":null}',
        b'{"jsonrpc":"2.0","id":0,"error":[]}',
        b'{"jsonrpc":"2.0","id":0,"error":{"code":"1","message":"m"}}',
        b'{"jsonrpc":"2.0","id":0,"error":{"message":"m"}}',
        b'{"jsonrpc":"1.0","id":0,"result":1}',
        b'{"id":0,"result":1}',
        b'{"id":0}',
        b'{"jsonrpc":"2.0","id":0,"result":"\xff"}',
        b'{"jsonrpc":"2.0","id":0,"result":{bad}}',
        b'{"jsonrpc":"2.0","result":{bad},"id":0}',
        b'{"jsonrpc":"2.0","id":0,"result":' + b"[" * 1000 + b"]" * 1000 + b"}",
        b'{"jsonrpc":"2.0","result":' + b"[" * 1000 + b"]" * 1000 + b',"id":0}',
    ],
)
def test_a_broken_reply_fails_the_call_that_waits_for_it(reply: bytes) -> None:
    engine = asking()
    response = response_event(engine, reply)
    assert response.pending == "ask-0"
    assert isinstance(response.outcome, RemoteProtocolError)
    assert str(response.outcome).startswith("the peer responded with ")
    assert engine.outgoing_count == 0


@pytest.mark.parametrize("reply", [b'"id":0,"result":"%b"}', b'"result":"%b","id":0}'])
def test_a_reply_over_the_limit_fails_the_call_that_waits_for_it(reply: bytes) -> None:
    line = b'{"jsonrpc":"2.0",' + reply % (b"x" * 3000)
    [frame] = FrameSplitter(2000).feed(line + b"\n")
    outcome = response_event(asking(), frame).outcome
    assert str(outcome) == "the peer responded with a message longer than 2000 bytes"


def test_a_request_over_the_limit_is_refused_with_its_id_and_a_notification_is_not() -> None:
    engine: Engine[str] = Engine()
    splitter = FrameSplitter(2000)
    long = b'"params":"%b"' % (b"x" * 3000)
    [request] = splitter.feed(b'{"jsonrpc":"2.0","id":"7","method":"m",%b}\n' % long)
    assert refused(engine.receive(request)) == {
        "jsonrpc": "2.0",
        "id": "7",
        "error": {
            "code": -32600,
            "message": "Invalid request",
            "data": {"problem": "a message longer than 2000 bytes"},
        },
    }
    [notification] = splitter.feed(b'{"jsonrpc":"2.0","method":"m",%b}\n' % long)
    assert engine.receive(notification) == IgnoredFrame("a message longer than 2000 bytes")


def test_what_the_peer_could_not_read_is_noted_and_fails_nothing() -> None:
    engine = asking()
    event = engine.receive(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what"}}')
    assert event == IgnoredFrame("the peer could not read a message from us: 'what (-32700)'")
    assert engine.outgoing_count == 1


def test_of_what_the_peer_says_about_it_little_is_shown_and_no_control_character() -> None:
    text = r"\u001b[31m\n" + "x" * 10_000
    event = asking().receive(
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"%b"}}' % text.encode()
    )
    assert isinstance(event, IgnoredFrame)
    assert len(event.problem) < 300
    assert event.problem.isprintable()


def test_a_request_can_be_forgotten_once() -> None:
    engine: Engine[None] = Engine()
    id, _ = engine.send_request("m", None, None)
    assert engine.forget(id) is True
    assert engine.forget(id) is False
    assert engine.receive(b'{"jsonrpc":"2.0","id":0,"result":1}') == IgnoredFrame(
        "a response to a request that is no longer pending", is_late=True
    )


def test_all_requests_can_be_abandoned() -> None:
    engine = asking(2)
    assert list(engine.abandon()) == ["ask-0", "ask-1"]
    assert engine.outgoing_count == 0
    assert list(engine.abandon()) == []


@pytest.mark.parametrize("id", [7, "7", -1, 2**53 + 1, -(2**63), 2**63 - 1, "", None])
def test_a_call_gets_one_response_with_its_own_id(id: Id) -> None:
    engine: Engine[str] = Engine()
    for response in ("result", "error"):
        call = called(engine, id, "do")
        assert (call.id, call.method, bytes(call.params)) == (id, "do", b"")
        assert engine.incoming_count == 1
        frame = (
            engine.respond(call, b"[1]")
            if response == "result"
            else engine.respond_with_error(call, NO)
        )
        assert frame is not None
        reply = json.loads(frame)
        assert (reply.pop("jsonrpc"), reply.pop("id")) == ("2.0", id)
        assert reply == (
            {"result": [1]} if response == "result" else {"error": {"code": -1, "message": "no"}}
        )
        assert engine.incoming_count == 0
        with pytest.raises(LocalProtocolError, match="the request do already has a response"):
            engine.respond(call, b"[1]")
        with pytest.raises(LocalProtocolError):
            engine.respond_with_error(call, NO)


def test_both_directions_number_for_themselves() -> None:
    engine = asking()
    call = called(engine, 0)
    assert response_event(engine, b'{"jsonrpc":"2.0","id":0,"result":1}').pending == "ask-0"
    assert engine.respond(call, b"2") == b'{"jsonrpc":"2.0","id":0,"result":2}'


def test_an_owed_call_is_found_by_the_value_and_the_type_of_its_id() -> None:
    engine: Engine[str] = Engine()
    number, text, null = called(engine, 5), called(engine, "5"), called(engine, None)
    assert (engine.find_incoming(5), engine.find_incoming("5")) == (number, text)
    assert engine.find_incoming(6) is engine.find_incoming(None) is None
    engine.respond(number, b"1")
    engine.respond(null, b"1")
    assert (engine.find_incoming(5), engine.find_incoming("5")) == (None, text)


def test_an_id_that_is_under_way_cannot_be_used_again_until_it_has_a_response() -> None:
    engine: Engine[str] = Engine()
    first = called(engine, 5)
    reply = refused(engine.receive(encode_request(5, "m", None)))
    assert (reply["id"], reply["error"]["code"]) == (5, -32600)
    engine.respond(first, b"1")
    assert called(engine, 5) is not first


def test_a_null_id_is_allowed_or_not_by_the_rules() -> None:
    engine: Engine[str] = Engine()
    assert [called(engine, None).id, called(engine, None).id] == [None, None]
    assert engine.incoming_count == 2
    engine.config = EngineConfig(allows_null_ids=False)
    reply = refused(engine.receive(encode_request(None, "m", None)))
    assert (reply["id"], reply["error"]["code"]) == (None, -32600)
    assert engine.incoming_count == 2


def test_the_depth_of_the_rules_holds_for_every_message() -> None:
    frame = b'{"jsonrpc":"2.0","method":"m","params":[[[[]]]]}'
    engine: Engine[str] = Engine(EngineConfig(max_depth=5))
    assert isinstance(engine.receive(frame), Notification)
    engine.config = structs.replace(engine.config, max_depth=4)
    assert engine.receive(frame) == IgnoredFrame("a message nested deeper than 4 levels")


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","method":"m","params":{"a":1}}',
        b'{"jsonrpc":"2.0","method":"m","params":{"a":1},"extra":0}',
        b'{"method":"m","params":{"a":1},"jsonrpc":"2.0"}\r',
        b'{"jsonrpc":"2.0","method":"m","params":{"a":1}}' + b" " * 300,
    ],
)
def test_a_notification_comes_out_as_it_is(frame: bytes) -> None:
    engine: Engine[str] = Engine()
    assert engine.receive(frame) == Notification("m", Raw(b'{"a":1}'))
    assert engine.incoming_count == 0


def test_a_short_request_in_an_unusual_order_is_no_notification() -> None:
    event = Engine[str]().receive(b'{"jsonrpc":"2.0","method":"m","id":3}')
    assert isinstance(event, IncomingRequest)
    assert event.id == 3


@pytest.mark.parametrize("frame", [b"", b"\r", b" ", b"\xef\xbb\xbf"])
def test_a_blank_frame_means_nothing(frame: bytes) -> None:
    assert Engine[str](EngineConfig(skips_noise=True)).receive(frame) is None


@pytest.mark.parametrize(
    ("frame", "code", "id"),
    [
        (b"{bad", -32700, None),
        (b'{"jsonrpc":"2.0","method":"m","params":NaN}', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, None),
        (b"hello", -32700, None),
        (b"42", -32600, None),
        (b"null", -32600, None),
        (b"[]", -32600, None),
        (b"[%b]" % b",".join([b"{}"] * (MAX_BATCH + 1)), -32600, None),
        (b'{"jsonrpc":"2.0","id":5}', -32600, 5),
        (b'{"jsonrpc":"1.0","id":5,"method":"m"}', -32600, 5),
        (b'{"jsonrpc":"2.0","id":5.5,"method":"m"}', -32600, None),
        (
            b'{"jsonrpc":"2.0","id":5,"method":"m","params":' + b"[" * 200 + b"]" * 200 + b"}",
            -32600,
            5,
        ),
    ],
)
def test_what_is_not_a_message_gets_the_error_of_json_rpc(frame: bytes, code: int, id: Id) -> None:
    engine = asking()
    reply = refused(engine.receive(frame))
    assert reply.keys() == {"jsonrpc", "id", "error"}
    assert (reply["jsonrpc"], reply["id"], reply["error"]["code"]) == ("2.0", id, code)
    assert reply["error"]["data"].keys() == {"problem"}
    assert (engine.incoming_count, engine.outgoing_count) == (0, 1)


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"1.0","method":"m"}',
        b'{"method":"m"}',
        b'{"jsonrpc":"2.0","method":"m","params":' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"jsonrpc":"2.0","result":1}',
        b'{"jsonrpc":"2.0","id":9,"result":1,"error":2}',
        b'{"jsonrpc":"2.0","id":9,"error":"\xff"}',
        b'{"jsonrpc":"2.0","result":' + b"[" * 200 + b"]" * 200 + b"}",
        b'{"error":{"code":1,"message":"m"}}',
    ],
)
def test_a_broken_notification_or_reply_never_gets_a_response(frame: bytes) -> None:
    engine = asking()
    assert isinstance(engine.receive(frame), IgnoredFrame)
    assert engine.outgoing_count == 1
