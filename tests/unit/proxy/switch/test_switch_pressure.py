from __future__ import annotations

import json

import pytest
from tests.unit.proxy.switched_pair import SwitchedPair

from parley.proxy import PortOptions
from parley.transport._base import HIGH_WATER_BYTES, MAX_MESSAGE_BYTES

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":"%b"}}'


async def _flood(pair: SwitchedPair) -> int:
    """Have the agent say things until it would have to wait; returns how many."""
    count = 0
    while count < 100_000:
        for _ in range(50):
            pair.agent.say(UPDATE % (b"%01000d" % count))
            count += 1
        await pair.agent.is_silent()
        if pair.agent.transport.drained() is not None:
            return count
    raise AssertionError("nobody ever had to wait")


async def test_who_sends_to_a_full_port_is_not_read_and_memory_stays_flat() -> None:
    pair = SwitchedPair()
    pair.client.transport.pause_reading()
    count = await _flood(pair)
    assert count * 1000 < 5 * HIGH_WATER_BYTES, "what two full inboxes hold, and a little"
    pair.client.transport.resume_reading()
    got = [await pair.client.next() for _ in range(count)]
    assert got == [UPDATE % (b"%01000d" % number) for number in range(count)]
    assert pair.agent.transport.drained() is None


async def test_what_travels_the_other_way_is_not_dammed() -> None:
    pair = SwitchedPair()
    pair.agent.say(b'{"jsonrpc":"2.0","id":"q","method":"session/request_permission"}')
    await pair.client.next()
    pair.client.transport.pause_reading()
    await _flood(pair)
    pair.client.say(
        b'{"jsonrpc":"2.0","id":0,"result":"yes"}', b'{"jsonrpc":"2.0","method":"session/cancel"}'
    )
    assert json.loads(await pair.agent.next())["result"] == "yes"
    assert json.loads(await pair.agent.next())["method"] == "session/cancel"


async def test_a_port_that_dies_while_it_is_full_dams_nobody() -> None:
    pair = SwitchedPair()
    pair.client.transport.pause_reading()
    await _flood(pair)
    await pair.client.transport.aclose()
    await pair.agent.is_silent()
    assert pair.agent.transport.drained() is None


async def test_a_port_that_takes_nothing_for_too_long_is_given_up() -> None:
    lost: list[str] = []
    options = PortOptions(drain_timeout=0.01, on_lost=lambda _, reason: lost.append(str(reason)))
    pair = SwitchedPair(client_options=options)
    pair.client.transport.pause_reading()
    await _flood(pair)
    while not lost:
        await pair.agent.is_silent()
    assert lost == ["did not read for 0.01 seconds"]
    await pair.agent.is_silent()
    assert pair.agent.transport.drained() is None


async def test_patience_is_with_the_full_one_and_ends_when_it_takes_something() -> None:
    pair = SwitchedPair(client_options=PortOptions(drain_timeout=60))
    pair.client.transport.pause_reading()
    await _flood(pair)
    assert pair.client_port.backpressure._timer is not None
    pair.client.transport.resume_reading()
    await pair.client.next()
    await pair.client.is_silent()
    assert pair.client_port.backpressure._timer is None
    assert pair.client_port.lost is None


@pytest.mark.requirement("SAFE-LIVE-04")
async def test_requests_under_way_are_bounded_by_their_bytes() -> None:
    pair = SwitchedPair(in_flight_bytes=1_000_000)
    for number in range(10):
        pair.client.say(_request(number, b"x" * 300_000))
    for id in range(4, 10):
        refused = json.loads(await pair.client.next())
        assert (refused["id"], refused["error"]["code"]) == (id, -32005)
        assert "more than 1000000 bytes" in refused["error"]["message"]
    assert pair.client_port.pending == 4
    assert pair.client_port.pending_bytes < 1_300_000
    pair.client.say(_request(10, b"short"), b'{"jsonrpc":"2.0","method":"session/cancel"}')
    asked = [json.loads(await pair.agent.next()) for _ in range(6)]
    assert asked[-1]["method"] == "session/cancel", "what is short still passes"
    for each in asked[:5]:
        pair.agent.say(b'{"jsonrpc":"2.0","id":%d,"result":null}' % each["id"])
        await pair.client.next()
    assert pair.client_port.pending_bytes == 0
    pair.client.say(_request(11, b"x" * 300_000))
    assert len(await pair.agent.next()) > 300_000


async def test_a_request_that_is_alone_may_be_longer_than_the_bound() -> None:
    pair = SwitchedPair(in_flight_bytes=1_000)
    pair.client.say(_request(0, b"x" * 300_000))
    assert len(await pair.agent.next()) > 300_000
    await pair.client.transport.aclose()
    await pair.agent.next()
    assert pair.client_port.pending_bytes == 0


async def test_the_answers_to_an_array_fit_into_a_message() -> None:
    pair = SwitchedPair()
    pair.client.say(b"[%b]" % b",".join(_request(number, b"") for number in range(3)))
    long = b"x" * (MAX_MESSAGE_BYTES // 3)
    asked = json.loads(await pair.agent.next())
    for each in asked:
        pair.agent.say(b'{"jsonrpc":"2.0","id":%d,"result":"%b"}' % (each["id"], long))
    first, *others = json.loads(await pair.client.next())
    assert len(first["result"]) == len(long)
    assert [each["error"]["code"] for each in others] == [-32005, -32005]


def _request(id: int, text: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%d,"method":"_ask","params":{"text":"%b"}}' % (id, text)
