from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.transport import MemoryTransport, memory_pair
from parley.transport._base import HIGH_WATER_BYTES

from .recorder import Recorder


async def test_frames_arrive_in_the_order_they_were_sent_in_both_directions() -> None:
    one, other = memory_pair()
    at_one, at_other = Recorder(), Recorder()
    one.start(at_one)
    other.start(at_other)
    for number in range(100):
        one.send(b"to other %d" % number)
        other.send(b"to one %d" % number)
    assert await at_other.until_frames(100) == [b"to other %d" % number for number in range(100)]
    assert await at_one.until_frames(100) == [b"to one %d" % number for number in range(100)]
    assert len(at_other.reads) == 1, "what is sent in one turn is delivered together"


async def test_sending_never_calls_the_receiver_directly() -> None:
    one, other = memory_pair()
    at_other = Recorder()
    other.start(at_other)
    one.send(b"x")
    assert at_other.frames == []
    await at_other.until_frames(1)


async def test_what_is_sent_before_the_other_end_starts_waits_for_it() -> None:
    one, other = memory_pair()
    one.send(b"early")
    at_other = Recorder()
    other.start(at_other)
    assert await at_other.until_frames(1) == [b"early"]


async def test_a_full_inbox_makes_the_sender_wait_until_it_is_read() -> None:
    one, other = memory_pair()
    at_other = Recorder()
    other.start(at_other)
    other.pause_reading()
    one.send(bytes(HIGH_WATER_BYTES))
    assert one.drained() is None, "exactly the mark is still room"
    one.send(b"x")
    room = one.drained()
    assert room is not None
    assert other.drained() is None, "the other direction has room"
    await asyncio.sleep(0)
    assert not room.done()
    assert at_other.frames == []
    other.resume_reading()
    await room
    assert len(await at_other.until_frames(2)) == 2
    assert one.drained() is None


async def test_a_sender_that_stopped_waiting_is_not_called_back() -> None:
    one, other = memory_pair()
    one.send(bytes(HIGH_WATER_BYTES + 1))
    impatient, patient = one.drained(), one.drained()
    assert impatient is not None
    assert patient is not None
    impatient.cancel()
    other.start(Recorder())
    await patient


async def test_reading_paused_after_it_was_scheduled_delivers_nothing() -> None:
    one, other = memory_pair()
    at_other = Recorder()
    other.start(at_other)
    one.send(b"x")
    other.pause_reading()
    await asyncio.sleep(0)
    assert at_other.frames == []
    other.resume_reading()
    await at_other.until_frames(1)


async def test_closing_delivers_what_was_sent_and_then_tells_both_ends_once() -> None:
    one, other = memory_pair()
    at_one, at_other = Recorder(), Recorder()
    one.start(at_one)
    other.start(at_other)
    one.send(b"last words")
    await one.aclose()
    assert at_one.reason == "the connection was closed by us"
    assert await at_other.until_lost() == "the peer closed the connection"
    assert at_other.frames == [b"last words"]
    await one.aclose()
    await other.aclose()
    assert len(at_one.lost) == len(at_other.lost) == 1


async def test_frames_left_at_a_paused_end_are_delivered_before_it_learns_of_the_end() -> None:
    one, other = memory_pair()
    at_other = Recorder()
    other.start(at_other)
    other.pause_reading()
    one.send(b"undelivered")
    await one.aclose()
    await asyncio.sleep(0)
    assert at_other.lost == []
    other.resume_reading()
    await at_other.until_lost()
    assert at_other.frames == [b"undelivered"]


async def test_what_the_other_end_sends_while_it_closes_is_delivered_first() -> None:
    one, other = memory_pair()

    def close_meanwhile(frames: Sequence[Frame]) -> None:
        if frames == [b"first"]:
            one.send(b"second")
            with pytest.raises(StopIteration):
                one.aclose().send(None)  # closes within this very call

    at_other = Recorder(close_meanwhile)
    other.start(at_other)
    one.send(b"first")
    await at_other.until_lost()
    assert at_other.frames == [b"first", b"second"]


async def test_closing_releases_senders_at_both_ends() -> None:
    one, other = memory_pair()
    one.send(bytes(HIGH_WATER_BYTES + 1))
    other.send(bytes(HIGH_WATER_BYTES + 1))
    rooms = one.drained(), other.drained()
    await one.aclose()
    for room in rooms:
        assert room is not None
        await room
    assert one.drained() is None
    assert other.drained() is None


async def test_sending_after_the_end_raises_at_both_ends() -> None:
    one, other = memory_pair()
    await one.aclose()
    for end in (one, other, MemoryTransport()):
        with pytest.raises(ConnectionClosed):
            end.send(b"x")


async def test_an_end_that_starts_after_it_was_closed_learns_of_it() -> None:
    one, other = memory_pair()
    await one.aclose()
    for end in (one, other):
        late = Recorder()
        end.start(late)
        await late.until_lost()
        assert late.frames == []


async def test_an_end_without_another_can_be_closed() -> None:
    alone = MemoryTransport()
    receiver = Recorder()
    alone.start(receiver)
    await asyncio.sleep(0)
    assert alone.drained() is None
    await alone.aclose()
    assert receiver.reason == "the connection was closed by us"


async def test_a_receiver_that_fails_ends_the_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(frames: Sequence[Frame]) -> None:
        raise ZeroDivisionError

    one, other = memory_pair()
    at_one, at_other = Recorder(), Recorder(fail)
    one.start(at_one)
    other.start(at_other)
    one.send(b"x")
    assert (
        await at_other.until_lost()
        == "the connection was closed because we failed to process a message"
    )
    assert await at_one.until_lost() == "the peer closed the connection"
    assert "ZeroDivisionError" in caplog.text
