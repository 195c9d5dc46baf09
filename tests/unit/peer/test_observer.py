"""Observers see each frame as it is on the wire, and cannot break what they watch."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from parley.peer._tracing import Direction, Observers
from parley.peer._update_reader import UpdateGroup
from parley.rpc._framing import Frame, FrameSplitter
from parley.schema import v1
from parley.schema.v1 import methods

from .raw_peer import Notifications, connected, mode, text_of, update


class Seen:
    """A recorder and an observer that write down what they see, in one list."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, Direction, bytes]] = []
        self.texts: list[str] = []

    def observe(self, direction: Direction, frame: Frame) -> None:
        self.frames.append(("recorder", direction, bytes(frame)))

    def observe_updates(self, frames: Sequence[Frame], groups: Sequence[UpdateGroup]) -> None:
        for frame in frames:
            self.observe("inbound", frame)
        self.texts += (text_of(params) for group in groups for params in group.params)

    def see(self, direction: Direction, frame: Frame) -> None:
        self.frames.append(("observer", direction, bytes(frame)))

    def of(self, name: str) -> list[bytes]:
        return [frame for who, _, frame in self.frames if who == name]


class FailingRecorder:
    """A recorder that cannot record."""

    def observe(self, direction: Direction, frame: Frame) -> None:
        raise ZeroDivisionError

    def observe_updates(self, frames: Sequence[Frame], groups: Sequence[UpdateGroup]) -> None:
        raise ZeroDivisionError


def chunk(session: str, text: str) -> bytes:
    params = {"sessionId": session, "update": update(text)}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":")).encode()


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


async def test_a_recorder_gets_a_block_of_updates_decoded_and_before_the_observer() -> None:
    seen, handled = Seen(), list[str]()
    frames = [chunk("s", str(number)) for number in range(50)]

    def handle(note: v1.SessionNotification) -> None:
        assert len(seen.frames) == 100, "handled before all of it was seen"
        handled.append(text_of(note))

    notifications = {"session/update": handle}
    observers = Observers(seen, seen.see)
    async with connected(notifications=notifications, observer=observers) as (peer, far):
        peer.frames_received(FrameSplitter(1 << 20).feed(b"\n".join(frames) + b"\n"))
        await asyncio.sleep(0)  # the lane runs; this handler does not wait
        assert [who for who, _, _ in seen.frames] == ["recorder"] * 50 + ["observer"] * 50
        assert seen.of("recorder") == seen.of("observer") == frames
        assert handled == seen.texts == [str(number) for number in range(50)]
        await far.wait_until_read()


async def test_a_recorder_gets_a_single_update_decoded_too() -> None:
    seen = Seen()
    frame = bytearray(chunk("s", "alone"))
    notifications: Notifications = {"session/update": lambda note: None}
    async with connected(notifications=notifications, observer=Observers(seen, None)) as (peer, _):
        peer.frames_received([frame])
    assert seen.of("recorder") == [bytes(frame)]
    assert seen.texts == ["alone"]


async def test_a_recorder_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    seen, handled = Seen(), list[str]()
    notifications: Notifications = {"session/update": lambda note: handled.append(text_of(note))}
    observers = Observers(FailingRecorder(), seen.see)
    async with connected(notifications=notifications, observer=observers) as (peer, far):
        block = chunk("s", "1") + b"\n" + chunk("s", "2") + b"\n"
        peer.frames_received(FrameSplitter(1 << 20).feed(block))
        await far.wait_until_read()
        await asyncio.sleep(0)  # the lane has begun, and this handler does not wait
    assert handled == ["1", "2"]
    assert seen.of("observer")[:2] == block.splitlines()
    assert "an observer failed on inbound frames" in caplog.text
