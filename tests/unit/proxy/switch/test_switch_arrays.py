from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.proxy.switched_pair import SwitchedPair

from parley.proxy import PortOptions

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{}}}'


def loaded(frame: bytes) -> Any:
    return json.loads(frame)


@pytest.mark.requirement("TR-PRX-30", "V2-BATCH-03", "V2-BATCH-11")
async def test_an_array_goes_on_as_one_and_is_answered_by_one() -> None:
    pair = SwitchedPair()
    pair.client.say(
        b'[{"jsonrpc":"2.0","id":"a","method":"session/list","params":{"n":1.0}}, '
        b'{"jsonrpc":"2.0","method":"_note"},{"jsonrpc":"2.0","id":2,"method":"session/list"}]'
    )
    assert await pair.agent.next() == (
        b'[{"jsonrpc":"2.0","id":0,"method":"session/list","params":{"n":1.0}},'
        b'{"jsonrpc":"2.0","method":"_note"},{"jsonrpc":"2.0","id":1,"method":"session/list"}]'
    )
    pair.agent.say(b'{"jsonrpc":"2.0","id":1,"result":1}')
    assert await pair.client.is_silent()
    pair.agent.say(b'[{"jsonrpc":"2.0","id":0,"result":0}]')
    assert await pair.client.next() == (
        b'[{"jsonrpc":"2.0","id":2,"result":1},{"jsonrpc":"2.0","id":"a","result":0}]'
    )


async def test_an_array_is_split_for_who_takes_none() -> None:
    pair = SwitchedPair(client_options=PortOptions(takes_arrays=False))
    pair.agent.say(b"[%b,%b]" % (UPDATE, UPDATE))
    assert [await pair.client.next() for _ in range(2)] == [UPDATE] * 2


@pytest.mark.requirement("V2-BATCH-04", "V2-BATCH-08")
async def test_an_array_of_notifications_gets_no_response() -> None:
    pair = SwitchedPair()
    pair.agent.say(b"[%b,%b]" % (UPDATE, UPDATE))
    assert await pair.client.next() == b"[%b,%b]" % (UPDATE, UPDATE)
    assert await pair.agent.is_silent()


@pytest.mark.requirement("V2-BATCH-02", "V1-RPC-32")
async def test_an_empty_array_is_one_error() -> None:
    pair = SwitchedPair()
    pair.client.say(b"[]")
    answer = loaded(await pair.client.next())
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)


@pytest.mark.requirement("V2-BATCH-01")
async def test_a_broken_array_is_one_error() -> None:
    pair = SwitchedPair()
    pair.client.say(b'[{"jsonrpc":"2.0"')
    answer = loaded(await pair.client.next())
    assert (answer["id"], answer["error"]["code"]) == (None, -32700)


@pytest.mark.requirement("V2-BATCH-05")
async def test_wrong_entries_are_refused_one_by_one_and_the_others_go_on() -> None:
    pair = SwitchedPair()
    pair.client.say(b'[17,[],{"jsonrpc":"2.0","id":1,"method":"_x"}]')
    assert loaded(await pair.agent.next())["method"] == "_x"
    pair.agent.say(b'{"jsonrpc":"2.0","id":0,"result":{}}')
    answers = loaded(await pair.client.next())
    assert [each["id"] for each in answers] == [None, None, 1]
    assert [each.get("error", {}).get("code") for each in answers] == [-32600, -32600, None]
    pair.client.say(b"[17,true,null]")
    assert len(loaded(await pair.client.next())) == 3


@pytest.mark.requirement("V2-BATCH-10")
async def test_a_question_meanwhile_does_not_wait_for_the_array() -> None:
    pair = SwitchedPair()
    pair.client.say(b'[{"jsonrpc":"2.0","id":1,"method":"session/prompt"}]')
    assert loaded(await pair.agent.next())["id"] == 0
    pair.agent.say(b'{"jsonrpc":"2.0","id":0,"method":"session/request_permission"}')
    await pair.client.next()
    pair.client.say(b'{"jsonrpc":"2.0","id":0,"result":{}}')
    assert loaded(await pair.agent.next())["result"] == {}
    pair.agent.say(b'{"jsonrpc":"2.0","id":0,"result":{}}')
    assert loaded(await pair.client.next()) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


@pytest.mark.requirement("V2-BATCH-09")
async def test_calls_and_answers_in_one_array_each_find_their_way() -> None:
    pair = SwitchedPair()
    pair.client.say(b'{"jsonrpc":"2.0","id":1,"method":"_x"}')
    await pair.agent.next()
    pair.agent.say(b'[{"jsonrpc":"2.0","id":0,"result":5},%b]' % UPDATE)
    assert sorted([await pair.client.next(), await pair.client.next()]) == sorted(
        [b'{"jsonrpc":"2.0","id":1,"result":5}', UPDATE]
    )
