from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from msgspec import Raw
from tests.unit.proxy.switched_pair import SwitchedPair

from parley.errors import ConnectionClosed, InvalidParams, ProcessExited
from parley.proxy import DirectResponse, PendingRequest, PortOptions, RawNotification


def loaded(frame: bytes) -> Any:
    return json.loads(frame)


IDS = [
    b"0",
    b"7",
    b"-7",
    b'"7"',
    b'"a \\"quoted\\" id"',
    b'""',
    b"null",
    b"12345678901234567890123",
]


@pytest.mark.parametrize("id", IDS)
async def test_an_id_comes_back_as_it_was_written(id: bytes) -> None:
    pair = SwitchedPair()
    pair.client.say(b'{"jsonrpc":"2.0","id":%b,"method":"session/list","params":{}}' % id)
    assert await pair.agent.next() == (
        b'{"jsonrpc":"2.0","id":0,"method":"session/list","params":{}}'
    )
    pair.agent.say(b'{"jsonrpc":"2.0","id":0,"result":{"sessions":[]}}')
    assert await pair.client.next() == b'{"jsonrpc":"2.0","id":%b,"result":{"sessions":[]}}' % id
    assert pair.client_port.pending == pair.agent_port.unanswered == 0


FRAMES = [
    (b'{"jsonrpc":"2.0","id":', b',"method":"_x","params":{"n":1.50,"m":1e3,"_meta":{"z":0.10}}}'),
    (b'{"method":"_x","id":', b',"jsonrpc":"2.0"}'),
    (b'{"params":{"id":"no","deep":{"id":3}},"method":"_x","jsonrpc":"2.0","id":', b"}"),
    (b'  {"jsonrpc" : "2.0" ,\t"unknown":[1, 2,3 ],"id" :  ', b' , "method":"_x" }  '),
    (b'{"jsonrpc":"2.0","method":"_x","params":["\\u00e9\\"id\\":1","\\u0069d"],"id":', b"}"),
    (b'{"jsonrpc":"2.0","\\u0069d":', b',"method":"_x"}'),
    (b'{"jsonrpc":"2.0","method":"_x","params":{"big":123456789012345678901234567890},"id":', b"}"),
]


@pytest.mark.parametrize("frame", FRAMES)
async def test_nothing_but_the_id_is_touched(frame: tuple[bytes, bytes]) -> None:
    pair = SwitchedPair()
    for number in range(3):
        pair.client.say(b"41".join(frame))
        assert await pair.agent.next() == (b"%d" % number).join(frame)
        answer = b'{"extra" :1.0, "result":{"id":9, "_meta":{"a":1.00}},"jsonrpc":"2.0","id": %b }'
        pair.agent.say(answer % b"%d" % number)
        assert await pair.client.next() == answer % b"41"


async def test_both_sides_may_use_the_same_id_at_the_same_time() -> None:
    pair = SwitchedPair()
    pair.client.say(b'{"jsonrpc":"2.0","id":0,"method":"session/prompt"}')
    assert loaded(await pair.agent.next())["id"] == 0
    pair.agent.say(b'{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file"}')
    assert loaded(await pair.client.next())["method"] == "fs/read_text_file"
    pair.client.say(b'{"jsonrpc":"2.0","id":0,"result":"of the file"}')
    assert loaded(await pair.agent.next())["result"] == "of the file"
    pair.agent.say(b'{"jsonrpc":"2.0","id":0,"result":"of the turn"}')
    assert loaded(await pair.client.next())["result"] == "of the turn"


async def test_7_and_the_text_7_are_two_ids_and_7_twice_is_one_too_many() -> None:
    pair = SwitchedPair()
    pair.client.say(
        b'{"jsonrpc":"2.0","id":7,"method":"_a"}',
        b'{"jsonrpc":"2.0","id":"7","method":"_b"}',
        b'{"jsonrpc":"2.0","id":7,"method":"_c"}',
    )
    refused = loaded(await pair.client.next())
    assert (refused["id"], refused["error"]["code"]) == (7, -32600)
    assert [loaded(await pair.agent.next())["method"] for _ in range(2)] == ["_a", "_b"]
    pair.agent.say(b'{"jsonrpc":"2.0","id":1,"result":1}', b'{"jsonrpc":"2.0","id":0,"result":0}')
    assert [loaded(await pair.client.next())["id"] for _ in range(2)] == ["7", 7]


AMBIGUOUS = [
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"_x"}',
    b'{"jsonrpc":"2.0","id":1,"method":"_x","\\u0069d":2}',
    b'{"jsonrpc":"2.0","id":1,"method":"_x","params":{"a":1},"params":{"bb":1,"id":1}}',
]


@pytest.mark.parametrize("frame", AMBIGUOUS)
async def test_a_request_that_two_readers_read_differently_is_refused(frame: bytes) -> None:
    pair = SwitchedPair()
    pair.client.say(frame)
    assert loaded(await pair.client.next())["error"]["code"] == -32600
    assert await pair.agent.is_silent()


SMUGGLED = [
    b'{"jsonrpc":"2.0","id":1,"method":"_x","params":{"sessionId":"mine","sessionId":"hers"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"_x","params":{"sessionId":"mine","\\u0073essionId":"hers"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"_x","params":{},"params":{"sessionId":"hers"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"_x","method":"session/prompt"}',
]


@pytest.mark.parametrize("frame", SMUGGLED)
async def test_nobody_who_is_not_trusted_names_two_sessions_at_once(frame: bytes) -> None:
    pair = SwitchedPair(client_options=PortOptions(is_trusted=False))
    pair.client.say(frame, frame.replace(b'"id":1,', b""))
    assert loaded(await pair.client.next())["error"]["code"] == -32600
    assert await pair.agent.is_silent()
    pair.client.say(
        b'{"jsonrpc":"2.0","id":1,"method":"_x","params":{"sessionId":"a","b":{"sessionId":"c"}}}'
    )
    assert loaded(await pair.agent.next())["id"] == 0, "what is inside is nobody's business"


async def test_updates_of_who_is_not_trusted_are_read() -> None:
    pair = SwitchedPair(agent_options=PortOptions(is_trusted=False))
    smuggled = (UPDATE % (b"s", b"{}"))[:-1] + b',"method":"_other"}'
    pair.agent.say(smuggled, UPDATE % (b"s", b"{}"))
    assert await pair.client.next() == UPDATE % (b"s", b"{}")


UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%b","update":%b}}'


@pytest.mark.parametrize("session", [b"s1", b"s\\u00311", b'\\"', "s\u00e9".encode()])
async def test_updates_pass_untouched_and_are_known_by_their_session(session: bytes) -> None:
    pair = SwitchedPair()
    frame = UPDATE % (session, b'{"sessionUpdate":"_x","n":1.0,"id":[ ]}')
    pair.agent.say(frame, UPDATE % (session, b"{}"))
    assert await pair.client.next() == frame
    assert [each.session_id for each in pair.routed] == [json.loads(b'"%b"' % session)] * 2
    assert all(isinstance(each, RawNotification) for each in pair.routed)


async def test_a_request_in_the_clothes_of_an_update_gets_an_id_of_its_own() -> None:
    pair = SwitchedPair()
    pair.client.say(b'{"jsonrpc":"2.0","id":5,"method":"_mine"}')
    await pair.agent.next()
    pair.agent.say((UPDATE % (b"s", b"{}"))[:-1] + b',"id":9}')
    frame = loaded(await pair.client.next())
    assert frame["id"] == 0
    pair.client.say(b'{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no"}}')
    assert loaded(await pair.agent.next())["id"] == 9


async def test_a_lone_surrogate_does_not_stop_a_message() -> None:
    pair = SwitchedPair()
    pair.client.say(b'{"jsonrpc":"2.0","id":"x","method":"_a","params":["\\ud800"]}')
    assert await pair.agent.next() == (
        b'{"jsonrpc":"2.0","id":0,"method":"_a","params":["\\ud800"]}'
    )
    pair.agent.say(b'{"jsonrpc":"2.0","result":{"id":["\\ud800"]},"id":0}')
    assert loaded(await pair.client.next()) == {
        "jsonrpc": "2.0",
        "id": "x",
        "result": {"id": ["\ufffd"]},
    }, "where the id cannot be found in the bytes, the message is written anew"


async def test_what_cannot_be_spliced_is_written_anew() -> None:
    pair = SwitchedPair()
    pair.client.say(
        b'{"jsonrpc":"2.0","id":"x","method":"_a","params":{"id":"\\ud800"},"_unknown":1}',
        b'{"jsonrpc":"2.0","id":"y","method":"_b","_unknown":{"id":"\\ud800"}}',
    )
    assert loaded(await pair.agent.next())["params"] == {"id": "\ufffd"}
    assert loaded(await pair.agent.next()) == {"jsonrpc": "2.0", "id": 1, "method": "_b"}
    pair.agent.say(
        b'{"jsonrpc":"2.0","id":9,"result":{},"id":0}',
        b'{"jsonrpc":"2.0","error":{"code":1,"message":"no","data":{"id":"\\ud800"}},"id":1}',
    )
    assert loaded(await pair.client.next()) == {"jsonrpc": "2.0", "id": "x", "result": {}}
    failure = loaded(await pair.client.next())
    assert (failure["id"], failure["error"]["data"]) == ("y", {"id": "\ufffd"})


async def test_everything_arrives_in_the_order_in_which_it_was_said() -> None:
    pair = SwitchedPair()
    frames = [UPDATE % (b"s", b'{"n":%d}' % number) for number in range(1000)]
    pair.client.say(b'{"jsonrpc":"2.0","id":1,"method":"session/prompt"}')
    await pair.agent.next()
    pair.agent.say(*frames[:500], b'{"jsonrpc":"2.0","id":0,"result":{}}', *frames[500:])
    got = [await pair.client.next() for _ in range(1001)]
    assert got == [*frames[:500], b'{"jsonrpc":"2.0","id":1,"result":{}}', *frames[500:]]


@pytest.mark.requirement("TR-PRX-23")
async def test_a_cancellation_is_told_hop_by_hop() -> None:
    pair = SwitchedPair()
    pair.client.say(
        b'{"jsonrpc":"2.0","id":4,"method":"_other"}',
        b'{"jsonrpc":"2.0","id":"mine","method":"session/prompt"}',
        b'{"jsonrpc":"2.0","method":"$/cancel_request",'
        b'"params":{"_meta":{"n":1.0},"requestId": "mine"}}',
    )
    await pair.agent.next()
    await pair.agent.next()
    assert await pair.agent.next() == (
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"_meta":{"n":1.0},"requestId": 1}}'
    )
    pair.agent.say(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"Cancelled"}}')
    assert loaded(await pair.client.next())["id"] == "mine", "the answer is still passed on"
    pair.client.say(
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"mine"}}',
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}',
        b'{"jsonrpc":"2.0","method":"$/cancel_request"}',
    )
    assert await pair.agent.is_silent(), "what is answered cannot be cancelled"


async def test_a_form_about_a_request_names_it_as_the_other_side_knows_it() -> None:
    pair = SwitchedPair()
    pair.client.say(b'{"jsonrpc":"2.0","id":"login","method":"auth/login"}')
    await pair.agent.next()
    pair.agent.say(
        b'{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"requestId":0,"a":1.0}}'
    )
    assert await pair.client.next() == (
        b'{"jsonrpc":"2.0","id":0,"method":"elicitation/create",'
        b'"params":{"requestId":"login","a":1.0}}'
    )


@pytest.mark.parametrize("id", [b"9", b'"0"', b"-1", b"null", b"0"])
async def test_an_answer_to_nothing_is_dropped_and_logged(
    id: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    pair = SwitchedPair()
    with caplog.at_level(logging.WARNING):
        pair.agent.say(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id)
        assert await pair.client.is_silent()
    assert "the agent: a response without a request" in caplog.text


async def test_a_second_answer_is_dropped() -> None:
    pair = SwitchedPair()
    pair.client.say(b'{"jsonrpc":"2.0","id":1,"method":"_a"}')
    await pair.agent.next()
    pair.agent.say(b'{"jsonrpc":"2.0","id":0,"result":1}', b'{"jsonrpc":"2.0","id":0,"result":2}')
    assert loaded(await pair.client.next())["result"] == 1
    assert await pair.client.is_silent()


DEEP = b"[" * 500 + b"]" * 500


@pytest.mark.parametrize(
    ("frame", "id", "code"),
    [
        (b"{", None, -32700),
        (b"\xff\xfe", None, -32700),
        (b"17", None, -32600),
        (b'{"jsonrpc":"1.0","id":3,"method":"_x"}', 3, -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"_x"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":4,"method":5}', 4, -32600),
        (b'{"jsonrpc":"2.0","id":5,"method":"_x","params":%b}' % DEEP, 5, -32600),
    ],
)
async def test_what_is_no_message_is_answered_where_it_came_from(
    frame: bytes, id: Any, code: int
) -> None:
    pair = SwitchedPair()
    pair.client.say(frame)
    answer = loaded(await pair.client.next())
    assert (answer["id"], answer["error"]["code"]) == (id, code)
    assert await pair.agent.is_silent()


async def test_a_broken_answer_fails_the_call_that_waits_for_it() -> None:
    pair = SwitchedPair()
    pair.client.say(b'{"jsonrpc":"2.0","id":"a","method":"_x"}')
    await pair.agent.next()
    pair.agent.say(b'{"jsonrpc":"2.0","id":0,"result":1,"error":{"code":1,"message":""}}')
    answer = loaded(await pair.client.next())
    assert (answer["id"], answer["error"]["code"]) == ("a", -32603)
    assert "the agent answered with" in answer["error"]["message"]


async def test_stray_lines_of_an_agent_are_passed_over_and_what_is_behind_them_is_found() -> None:
    pair = SwitchedPair(agent_options=PortOptions(skips_noise=True))
    update = UPDATE % (b"s", b"{}")
    pair.agent.say(b"Welcome!", b"\x1b[0m" + update, b"", update)
    assert [await pair.client.next() for _ in range(2)] == [update] * 2
    assert pair.agent.frames == []


async def test_a_route_may_answer_by_itself_or_keep_a_request() -> None:
    pair = SwitchedPair()
    pair.answers = {
        "_yes": DirectResponse(b'{"n":1.0}'),
        "_no": DirectResponse(InvalidParams("No", {"why": 1})),
        "_later": None,
    }
    pair.client.say(
        b'{"jsonrpc":"2.0","id":1,"method":"_yes"}',
        b'{"jsonrpc":"2.0","id":2,"method":"_no"}',
        b'{"jsonrpc":"2.0","id":3,"method":"_later"}',
    )
    assert await pair.client.next() == b'{"jsonrpc":"2.0","id":1,"result":{"n":1.0}}'
    refused = loaded(await pair.client.next())
    assert refused["error"] == {"code": -32602, "message": "No", "data": {"why": 1}}
    assert await pair.client.is_silent()
    call = pair.routed[-1]
    assert isinstance(call, PendingRequest)
    cancelled: list[PendingRequest] = []
    call.on_cancel = cancelled.append
    pair.client.say(b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}')
    await pair.client.is_silent()
    assert cancelled == [call]
    call.respond(b"3")
    call.respond(b"4")
    assert loaded(await pair.client.next())["result"] == 3
    assert await pair.client.is_silent(), "one request, one answer"


async def test_who_answers_for_somebody_else_takes_the_question_back() -> None:
    pair = SwitchedPair()
    pair.agent.say(b'{"jsonrpc":"2.0","id":8,"method":"session/request_permission"}')
    await pair.client.next()
    call = pair.routed[-1]
    assert isinstance(call, PendingRequest)
    call.respond(Raw(b"{}"))
    assert await pair.agent.next() == b'{"jsonrpc":"2.0","id":8,"result":{}}'
    assert loaded(await pair.client.next()) == {
        "jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 0},
    }  # fmt: skip
    pair.client.say(b'{"jsonrpc":"2.0","id":0,"result":"late"}')
    assert await pair.agent.is_silent()


async def test_no_more_requests_are_under_way_than_allowed() -> None:
    pair = SwitchedPair(in_flight=2)
    for id in range(3):
        pair.client.say(b'{"jsonrpc":"2.0","id":%d,"method":"_x"}' % id)
    refused = loaded(await pair.client.next())
    assert (refused["id"], refused["error"]["code"]) == (2, -32005)
    pair.agent.say(b'{"jsonrpc":"2.0","id":0,"result":0}')
    await pair.client.next()
    pair.client.say(b'{"jsonrpc":"2.0","id":2,"method":"_x"}')
    assert [loaded(await pair.agent.next())["id"] for _ in range(3)] == [0, 1, 2]


async def test_who_is_gone_fails_what_it_owes_and_is_owed_nothing() -> None:
    pair = SwitchedPair()
    pair.client.say(b'{"jsonrpc":"2.0","id":"a","method":"_x"}')
    await pair.agent.next()
    pair.agent.say(b'{"jsonrpc":"2.0","id":6,"method":"fs/read_text_file"}')
    await pair.client.next()
    pair.agent_port.connection_lost(ProcessExited("an-agent --acp", 3, "oh no\n"))
    failed = [loaded(await pair.client.next()) for _ in range(2)]
    assert failed[0]["id"] == "a"
    assert failed[0]["error"]["code"] == -32603
    assert failed[0]["error"]["message"] == "the agent exited with code 3"
    assert failed[0]["error"]["data"] == {
        "gone": "the agent", "exitCode": 3, "lastWords": "oh no\n",
    }  # fmt: skip
    assert failed[1]["method"] == "$/cancel_request"
    pair.client.say(
        b'{"jsonrpc":"2.0","id":0,"result":"late"}', b'{"jsonrpc":"2.0","id":"b","method":"_x"}'
    )
    assert loaded(await pair.client.next())["id"] == "b", "and what comes later fails at once"
    assert pair.client_port.pending == 0


async def test_a_peer_that_hangs_up_is_gone() -> None:
    lost: list[ConnectionClosed] = []
    options = PortOptions(on_lost=lambda _, reason: lost.append(reason))
    pair = SwitchedPair(agent_options=options)
    pair.client.say(b'{"jsonrpc":"2.0","id":1,"method":"_x"}')
    await pair.agent.next()
    await pair.agent.transport.aclose()
    assert "the agent is gone" in loaded(await pair.client.next())["error"]["message"]
    assert len(lost) == 1
    await pair.switch.aclose()
    await pair.client.until(lambda: pair.client.lost is not None)
    assert pair.switch.ports == set()
