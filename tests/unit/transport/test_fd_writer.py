from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.transport._base import HIGH_WATER_BYTES, LOW_WATER_BYTES
from parley.transport._fd_writer import FdWriter


class Pipe:
    """A pipe with an outbox at its writing end."""

    def __init__(self) -> None:
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        os.set_blocking(self.write_fd, False)
        self.errors: list[OSError] = []
        self.has_failed = asyncio.Event()

    def outbox(self, *, is_blocking: bool = False) -> FdWriter:
        return FdWriter(self.write_fd, self._fail, is_blocking=is_blocking)

    def _fail(self, error: OSError) -> None:
        self.errors.append(error)
        self.has_failed.set()

    def read(self) -> bytes:
        """Read the available data."""
        try:
            return os.read(self.read_fd, 1 << 20)
        except BlockingIOError:
            return b""

    async def read_until_flushed(self, outbox: FdWriter) -> bytes:
        """Read beside the outbox until it has written everything."""
        flushing = asyncio.ensure_future(outbox.flush())
        data = b""
        while not flushing.done():
            data += self.read()
            await asyncio.sleep(0)
        return data + self.read()

    def close_reader(self) -> None:
        os.close(self.read_fd)
        self.read_fd = -1


class Clock:
    """Stands still until it is told how much time has passed."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("parley.transport._fd_writer.monotonic", clock)
    return clock


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    os.close(pipe.write_fd)
    if pipe.read_fd >= 0:
        os.close(pipe.read_fd)


async def test_a_frame_after_a_silence_is_written_at_once(pipe: Pipe, clock: Clock) -> None:
    outbox = pipe.outbox()
    for frame in (b"alone", b"later"):
        clock.now += 0.001
        outbox.put(frame)
        assert pipe.read() == frame + b"\n"
        assert outbox.unsent_bytes == 0


async def test_a_frame_is_one_line_whatever_white_space_it_has(pipe: Pipe) -> None:
    outbox = pipe.outbox()
    outbox.put(b'{"a":\n{"jsonrpc":"2.0","method":"not a message"}\n}')
    assert pipe.read() == b'{"a": {"jsonrpc":"2.0","method":"not a message"} }\n'
    assert outbox.unsent_bytes == 0


async def test_frames_that_follow_closely_leave_together_at_the_end_of_the_turn(
    pipe: Pipe, clock: Clock
) -> None:
    outbox = pipe.outbox()
    for frame in (b"a", b"b", b"c"):
        outbox.put(frame)
    assert pipe.read() == b"a\n"
    assert outbox.unsent_bytes == len(b"b\nc\n")
    await asyncio.sleep(0)
    assert pipe.read() == b"b\nc\n"
    outbox.put(b"d")
    assert pipe.read() == b"", "a stream goes on in the next turn"
    await asyncio.sleep(0)
    assert pipe.read() == b"d\n"
    clock.now += 0.001
    outbox.put(b"e")
    assert pipe.read() == b"e\n", "after a silence it begins anew"


async def test_many_bytes_do_not_wait_for_the_end_of_the_turn(pipe: Pipe) -> None:
    outbox = pipe.outbox()
    outbox.put(b"a")
    outbox.put(bytes(20_000))
    assert pipe.read() == b"a\n"
    outbox.put(bytes(45_534))
    assert len(pipe.read()) == 64 * 1024


async def test_a_frame_larger_than_the_pipe_is_written_in_pieces(pipe: Pipe) -> None:
    outbox = pipe.outbox()
    frame = bytes(range(256)).replace(b"\n", b"") * 4000
    outbox.put(frame)
    assert 0 < outbox.unsent_bytes < len(frame)
    outbox.put(b"behind")
    assert await pipe.read_until_flushed(outbox) == frame + b"\nbehind\n"
    outbox.put(b"afterwards")
    await outbox.flush()
    assert pipe.read() == b"afterwards\n"


async def test_a_full_pipe_takes_the_first_frame_later(pipe: Pipe) -> None:
    _fill(pipe)
    outbox = pipe.outbox()
    outbox.put(b"waits")
    assert outbox.unsent_bytes == len(b"waits\n")
    assert (await pipe.read_until_flushed(outbox)).endswith(b"\x00waits\n")


async def test_senders_wait_above_the_high_mark_until_the_low_mark(pipe: Pipe) -> None:
    outbox = pipe.outbox()
    capacity = _fill(pipe)
    outbox.put(bytes(HIGH_WATER_BYTES - 1))
    assert outbox.unsent_bytes == HIGH_WATER_BYTES
    assert outbox.drained() is None
    outbox.put(b"")
    room = outbox.drained()
    assert room is not None
    taken = 0
    while not room.done():
        assert outbox.unsent_bytes > LOW_WATER_BYTES
        taken += len(os.read(pipe.read_fd, 4096))
        await _turns(3)
    assert outbox.unsent_bytes <= LOW_WATER_BYTES
    assert taken >= HIGH_WATER_BYTES - LOW_WATER_BYTES - capacity
    assert outbox.drained() is None
    await pipe.read_until_flushed(outbox)


async def test_a_reader_that_has_gone_is_reported_once_and_everybody_learns_of_it(
    pipe: Pipe,
) -> None:
    outbox = pipe.outbox()
    pipe.close_reader()
    outbox.put(b"nobody reads this")
    assert [type(error) for error in pipe.errors] == [BrokenPipeError]
    outbox.put(b"nor this")
    assert outbox.unsent_bytes == 0
    room = outbox.drained()
    assert room is not None, "a sender in a tight loop must let the others run"
    await asyncio.sleep(0)
    assert not room.done()
    outbox.release()
    await room
    assert len(pipe.errors) == 1


async def test_a_reader_that_goes_while_the_pipe_is_full_is_reported(pipe: Pipe) -> None:
    outbox = pipe.outbox()
    outbox.put(bytes(HIGH_WATER_BYTES * 2))
    room = outbox.drained()
    assert room is not None
    pipe.close_reader()
    await pipe.has_failed.wait()
    assert [type(error) for error in pipe.errors] == [BrokenPipeError]
    assert outbox.unsent_bytes == 0
    outbox.release()
    await room


async def test_stopping_forgets_what_is_unsent_and_those_who_wait_are_released(pipe: Pipe) -> None:
    outbox = pipe.outbox()
    outbox.put(bytes(HIGH_WATER_BYTES * 2))
    impatient, patient = outbox.drained(), outbox.drained()
    assert impatient is not None
    assert patient is not None
    impatient.cancel()
    flushing = asyncio.ensure_future(outbox.flush())
    await asyncio.sleep(0)
    outbox.stop()
    outbox.release()
    await patient
    await flushing
    assert outbox.unsent_bytes == 0
    outbox.put(b"late")
    await outbox.flush()
    assert b"late" not in pipe.read()


async def test_flushing_writes_what_waits_for_the_end_of_the_turn(pipe: Pipe) -> None:
    outbox = pipe.outbox()
    outbox.put(b"a")
    outbox.put(b"b")
    await outbox.flush()
    assert pipe.read() == b"a\nb\n"


async def test_a_descriptor_that_blocks_gets_everything_at_once(pipe: Pipe) -> None:
    """The writer of a terminal or a file waits inside the system call."""
    outbox = pipe.outbox(is_blocking=True)
    os.set_blocking(pipe.write_fd, True)
    os.set_blocking(pipe.read_fd, True)
    frame = bytes(300_000)
    reading = asyncio.create_task(asyncio.to_thread(_read_exactly, pipe.read_fd, len(frame) + 1))
    await asyncio.sleep(0)
    outbox.put(frame)
    assert outbox.unsent_bytes == 0
    assert await reading == frame + b"\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
async def test_a_file_that_cannot_grow_is_reported() -> None:
    errors: list[OSError] = []
    full = os.open(Path("/dev/full"), os.O_WRONLY)
    try:
        outbox = FdWriter(full, errors.append, is_blocking=True)
        outbox.put(b"x")
    finally:
        os.close(full)
    assert [error.strerror for error in errors] == ["No space left on device"]


def _fill(pipe: Pipe) -> int:
    """Fill the pipe and return how much it holds."""
    size = 0
    try:
        while True:
            size += os.write(pipe.write_fd, bytes(4096))
    except BlockingIOError:
        return size


async def _turns(count: int) -> None:
    """Run this many iterations of the event loop."""
    for _ in range(count):
        await asyncio.sleep(0)


def _read_exactly(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += os.read(fd, size - len(data))
    return data
