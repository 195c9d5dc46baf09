from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import notification, request
from tests.unit.proxy.switched_pair import RawPeer

from parley.errors import ConnectionClosed
from parley.proxy import MuxTransport
from parley.proxy._transports.mux import ids_for
from parley.transport import memory_pair
from parley.transport._base import HIGH_WATER_BYTES

NOTE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","n":1.50}}'
WRAPPED = (
    b'{"jsonrpc":"2.0","method":"%b","params":'
    b'{"method":"session/update","params":{"sessionId":"s","n":1.50}}}'
)


class Pipe:
    """The far end of a pipe, and the two sides of the near one."""

    def __init__(self, *, is_through: bool = False, queue_bytes: int = 1 << 25) -> None:
        near, far = memory_pair()
        self.far = RawPeer(far)
        self.split = MuxTransport(near, is_through=is_through, queue_bytes=queue_bytes)
        self.front, self.back = _Taker(self.split.front), _Taker(self.split.back)


class _Taker(RawPeer):
    def __init__(self, side: Any) -> None:
        self.side = side
        super().__init__(side)


async def test_what_is_not_wrapped_is_of_the_front_and_what_is_of_the_back() -> None:
    pipe = Pipe()
    pipe.far.say(NOTE, WRAPPED % b"proxy/successor", WRAPPED % b"_proxy/successor")
    assert await pipe.front.next() == NOTE
    assert [await pipe.back.next(), await pipe.back.next()] == [NOTE, NOTE]


@pytest.mark.requirement("TR-PRX-05", "TR-PRX-06")
@pytest.mark.parametrize("name", ["proxy/successor", "_proxy/successor"])
async def test_what_the_back_sends_is_wrapped_in_the_spelling_that_was_chosen(name: str) -> None:
    pipe = Pipe()
    pipe.split.successor = name
    pipe.split.back.send(NOTE)
    assert await pipe.far.next() == WRAPPED % name.encode()
    pipe.split.back.send(b'{"jsonrpc":"2.0","id":3,"method":"_x","params":{"a":1.0}}')
    assert json.loads(await pipe.far.next()) == {
        "jsonrpc": "2.0", "id": 3, "method": name, "params": {"method": "_x", "params": {"a": 1.0}},
    }  # fmt: skip
    pipe.split.back.send(b'{"jsonrpc":"2.0","method":"_bare"}')
    assert json.loads(await pipe.far.next())["params"] == {"method": "_bare"}
    pipe.split.front.send(NOTE)
    assert await pipe.far.next() == NOTE


async def test_what_begins_as_a_wrapper_or_an_update_is_sorted_by_what_it_is() -> None:
    pipe = Pipe()
    pipe.far.say((WRAPPED % b"proxy/successor")[:-1] + b',"method":"_plain"}')
    pipe.far.say(NOTE[:-1] + b',"method":"proxy/successor","params":{"method":"_x"}}')
    pipe.far.say((WRAPPED % b"proxy/successor")[:-1] + b',"more":{}}')
    pipe.far.say((WRAPPED % b"proxy/successor")[:-2] + b',"_meta":{"a":1}}}')
    assert json.loads(await pipe.front.next())["method"] == "_plain"
    assert json.loads(await pipe.back.next())["method"] == "_x"
    assert json.loads(await pipe.back.next()) == json.loads(NOTE)
    assert json.loads(await pipe.back.next())["params"]["_meta"] == {"a": 1}
    assert await pipe.front.is_silent()
    assert await pipe.back.is_silent()


async def test_half_a_character_in_what_is_wrapped_does_no_harm() -> None:
    pipe = Pipe()
    cut = b'"params":{"method":"%b","params":{"sessionId":"s","text":"\\ud83d"}}}'
    pipe.far.say(b'{"jsonrpc":"2.0","method":"proxy/successor",' + cut % b"session/update")
    pipe.far.say(b'{"jsonrpc":"2.0","id":1,"method":"proxy/successor",' + cut % b"session/prompt")
    for method in ("session/update", "session/prompt"):
        message = json.loads(await pipe.back.next())
        assert message["method"] == method
        assert message["params"] == {"sessionId": "s", "text": "\ufffd"}


async def test_a_wrapper_is_one_level_more_than_a_message_may_have() -> None:
    pipe = Pipe()
    deep = b"[" * 126 + b"]" * 126
    request = b'{"jsonrpc":"2.0","id":2,"method":"_x","params":{"a":%b}}' % deep
    pipe.split.back.send(request)
    pipe.far.say(await pipe.far.next())
    assert await pipe.back.next() == request


async def test_an_outer_id_makes_a_request_of_any_shape() -> None:
    pipe = Pipe()
    pipe.far.say(
        b'{"id":"q \\u00e9", "params" : {"params":{"z": 1.0},"method":"_x"},'
        b'"method":"proxy\\/successor","jsonrpc":"2.0"}'
    )
    assert await pipe.back.next() == (
        b'{"jsonrpc":"2.0","id":"q \\u00e9","method":"_x","params":{"z": 1.0}}'
    )


async def test_answers_are_told_apart_by_their_ids_and_are_never_wrapped() -> None:
    pipe = Pipe()
    front, back = ids_for(pipe.split.front), ids_for(pipe.split.back)
    assert [front.take(), front.take(), back.take(), back.take()] == [0, 2, 1, 3]
    pipe.far.say(b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":2,"result":{}}')
    pipe.far.say(b'{"jsonrpc":"2.0","id":3,"error":7}', b'{"jsonrpc":"2.0","id":"a","result":1}')
    assert [json.loads(await pipe.back.next())["id"] for _ in range(2)] == [1, 3]
    assert [json.loads(await pipe.front.next())["id"] for _ in range(2)] == [2, "a"]
    pipe.split.back.send(b'{"jsonrpc":"2.0","id":"q","result":1}')
    assert await pipe.far.next() == b'{"jsonrpc":"2.0","id":"q","result":1}'


async def test_a_cancel_is_heard_on_both_sides_and_goes_out_plain() -> None:
    pipe = Pipe()
    plain = notification("$/cancel_request", {"requestId": 7})
    inside = {"method": "$/cancel_request", "params": {"requestId": 7}}
    pipe.far.say(plain, notification("_proxy/successor", inside))
    assert json.loads(await pipe.front.next())["params"] == {"requestId": 7}
    for _ in range(2):
        assert json.loads(await pipe.back.next())["params"] == {"requestId": 7}
    pipe.split.back.send(plain)
    assert json.loads(await pipe.far.next()) == json.loads(plain)


@pytest.mark.requirement("TR-PRX-05", "TR-PRX-10")
@pytest.mark.parametrize("key", ["_meta", "meta"])
async def test_what_is_beside_the_params_goes_into_their_meta(key: str) -> None:
    pipe = Pipe()
    inside = {"method": "_x", "params": {"_meta": {"a": 1}}, key: {"a": 2, "traceparent": "t"}}
    pipe.far.say(notification("proxy/successor", inside))
    assert json.loads(await pipe.back.next())["params"]["_meta"] == {"a": 1, "traceparent": "t"}


@pytest.mark.requirement("TR-PRX-32")
async def test_a_peer_that_nobody_knows_is_refused_and_does_no_harm() -> None:
    pipe = Pipe()
    inside: dict[str, Any] = {"method": "_x", "params": {}, "peer": "another"}
    pipe.far.say(request(5, "proxy/successor", inside), notification("proxy/successor", inside))
    refused = json.loads(await pipe.far.next())
    assert (refused["id"], refused["error"]["code"]) == (5, -32602)
    pipe.far.say(notification("proxy/successor", inside | {"peer": None}))
    assert json.loads(await pipe.back.next())["method"] == "_x"


@pytest.mark.parametrize(
    "params", [None, [], {}, {"method": 3}, {"method": "proxy/successor", "params": {}}]
)
async def test_what_is_wrapped_and_is_no_message_is_refused(params: object) -> None:
    pipe = Pipe()
    pipe.far.say(request(5, "_proxy/successor", params))
    refused = json.loads(await pipe.far.next())
    assert (refused["id"], refused["error"]["code"]) == (5, -32602)
    assert await pipe.back.is_silent()
    assert await pipe.front.is_silent()


async def test_nonsense_is_of_the_front_and_ends_nothing() -> None:
    pipe = Pipe()
    pipe.far.say(b"{oops", b"[", b"7", NOTE)
    assert [await pipe.front.next() for _ in range(4)] == [b"{oops", b"[", b"7", NOTE]


@pytest.mark.requirement("TR-PRX-30")
async def test_an_array_is_an_array_on_each_side() -> None:
    pipe = Pipe()
    wrap = {"jsonrpc": "2.0", "id": 4, "method": "proxy/successor", "params": {"method": "_b"}}
    plain = {"jsonrpc": "2.0", "id": 5, "method": "_a"}
    answer = {"jsonrpc": "2.0", "id": 1, "result": 1}
    pipe.far.say(json.dumps([plain, wrap, plain, answer]).encode())
    assert [each["method"] for each in json.loads(await pipe.front.next())] == ["_a", "_a"]
    of_back = json.loads(await pipe.back.next())
    assert [each.get("method") for each in of_back] == ["_b", None]
    pipe.split.back.send(json.dumps([plain, answer]).encode())
    sent = json.loads(await pipe.far.next())
    assert sent[0]["params"] == {"method": "_a"}
    assert sent[1] == answer


async def test_a_side_that_is_not_read_does_not_dam_the_other() -> None:
    pipe = Pipe()
    pipe.split.front.pause_reading()
    for number in range(100):
        pipe.far.say(notification("_up", {"n": number}))
    pipe.far.say(WRAPPED % b"proxy/successor", b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert await pipe.back.next() == NOTE
    assert json.loads(await pipe.back.next())["id"] == 1
    assert pipe.front.frames == []
    pipe.split.front.resume_reading()
    got = [json.loads(await pipe.front.next())["params"]["n"] for _ in range(100)]
    assert got == list(range(100))
    assert pipe.split.front.waiting_bytes == 0


async def test_the_source_is_stopped_while_much_waits_behind_a_component() -> None:
    pipe = Pipe(is_through=True)
    pipe.split.front.pause_reading()
    while pipe.split.back.drained() is None:
        pipe.far.say(notification("_up", {"text": "x" * 10_000}))
        await pipe.far.is_silent()
    assert pipe.split.front.waiting_bytes < 2 * HIGH_WATER_BYTES
    assert pipe.split.front.drained() is None, "the other direction is free"
    waiting = pipe.split.back.drained()
    assert waiting is not None
    pipe.split.front.resume_reading()
    await waiting
    assert pipe.split.back.drained() is None


async def test_a_flood_that_nobody_can_stop_at_its_source_is_stopped_by_the_pipe() -> None:
    pipe = Pipe(queue_bytes=100_000)
    pipe.split.front.pause_reading()
    while pipe.far.transport.drained() is None:
        pipe.far.say(notification("_up", {"text": "x" * 10_000}))
        await pipe.far.is_silent()
    assert pipe.split.is_full
    assert pipe.split.front.waiting_bytes < 100_000 + 2 * HIGH_WATER_BYTES
    pipe.split.front.resume_reading()
    await pipe.far.is_silent()
    while pipe.far.transport.drained() is not None:
        await pipe.far.is_silent()
    assert not pipe.split.is_full


async def test_both_sides_take_what_is_left_and_learn_the_end() -> None:
    pipe = Pipe()
    pipe.split.front.pause_reading()
    pipe.far.say(NOTE)
    await pipe.far.is_silent()
    await pipe.far.transport.aclose()
    await pipe.front.until(lambda: pipe.front.lost is not None)
    assert pipe.front.frames == [NOTE]
    assert isinstance(pipe.back.lost, ConnectionClosed)
    with pytest.raises(ConnectionClosed):
        pipe.split.back.send(NOTE)


async def test_who_does_not_read_what_it_is_refused_is_not_read() -> None:
    pipe = Pipe()
    pipe.far.transport.pause_reading()
    wrong = request(1, "proxy/successor", {"method": "_x", "peer": "nobody" * 100})
    said = 0
    while pipe.far.transport.drained() is None:
        pipe.far.say(*[wrong] * 50)
        said += 50
        await pipe.front.is_silent()
        assert said < 100 * HIGH_WATER_BYTES // len(wrong), "all of it is read"
    pipe.far.transport.resume_reading()
    for _ in range(said):
        assert b"The peer is unknown" in await pipe.far.next()
    pipe.far.say(NOTE)
    assert await pipe.front.next() == NOTE
