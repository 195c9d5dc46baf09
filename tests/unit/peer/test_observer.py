"""Observers see each frame as it is on the wire, and cannot break what they watch."""

from __future__ import annotations

import asyncio
import json

import pytest

from parley.peer._tracing import Direction
from parley.rpc._framing import Frame
from parley.schema import v1
from parley.schema.v1 import methods

from .raw_peer import connected, mode


async def test_an_observer_sees_each_frame_in_both_directions_as_it_is() -> None:
    seen: list[tuple[Direction, bytes]] = []

    def observe(direction: Direction, frame: Frame) -> None:
        seen.append((direction, bytes(frame)))

    raw = [b'{"jsonrpc":"2.0","id":1, "method":"_unknown"}', b"{bad", b"  ", b'[{"x":1}]']
    async with connected(observer=observe) as (peer, remote):
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        question = await remote.receive()
        remote.respond(question, {})
        await task
        for frame in raw:
            remote.transport.send(frame)
        for _ in range(3):
            await remote.receive()
        await peer.notify(methods.CANCEL_SESSION, v1.CancelNotification(session_id="s"))
        await remote.receive()
    inbound = [frame for direction, frame in seen if direction == "inbound"]
    outbound = [json.loads(frame) for direction, frame in seen if direction == "outbound"]
    assert inbound == [json.dumps({"jsonrpc": "2.0", "id": 0, "result": {}}).encode(), *raw]
    assert outbound[0] == question
    codes = [each["error"]["code"] for each in (outbound[1], outbound[2], outbound[3][0])]
    assert codes == [-32601, -32700, -32600]
    assert outbound[4]["method"] == "session/cancel"


async def test_an_observer_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(direction: Direction, frame: Frame) -> None:
        raise ZeroDivisionError

    async with connected(observer=fail) as (peer, remote):
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        remote.respond(await remote.receive(), {})
        await task
        await remote.wait_until_read()
    assert "an observer failed on an outbound frame" in caplog.text
    assert "an observer failed on an inbound frame" in caplog.text
