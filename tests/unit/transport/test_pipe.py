from __future__ import annotations

import asyncio
import gc
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame, OversizedFrame
from parley.transport import PipeTransport
from parley.transport import _pipe as pipe
from parley.transport._base import HIGH_WATER_BYTES, MAX_MESSAGE_BYTES

from .recorder import Recorder


class Ends:
    """The far ends of the two pipes of a transport, and the near ones for it to own."""

    def __init__(self) -> None:
        self.read_fd, self._into_fd = os.pipe()
        self._from_fd, self.write_fd = os.pipe()
        os.set_blocking(self._from_fd, False)

    def transport(
        self, *, max_message_bytes: int = MAX_MESSAGE_BYTES, detects_hangup: bool = False
    ) -> PipeTransport:
        return PipeTransport(
            self.read_fd,
            self.write_fd,
            max_message_bytes=max_message_bytes,
            detects_hangup=detects_hangup,
        )

    def write(self, data: bytes) -> None:
        os.write(self._into_fd, data)

    def read(self) -> bytes:
        with suppress(BlockingIOError):
            return os.read(self._from_fd, 1 << 20)
        return b""

    def read_to_end(self) -> bytes:
        os.set_blocking(self._from_fd, True)
        data = b""
        while piece := os.read(self._from_fd, 1 << 20):
            data += piece
        return data

    def stop_writing(self) -> None:
        os.close(self._into_fd)
        self._into_fd = -1

    def stop_reading(self) -> None:
        os.close(self._from_fd)
        self._from_fd = -1

    def close(self) -> None:
        for fd in (self._into_fd, self._from_fd):
            if fd >= 0:
                os.close(fd)


def _open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


@pytest.fixture
def ends() -> Iterator[Ends]:
    gc.collect()  # what an earlier test has left would go meanwhile
    before = _open_files()
    ends = Ends()
    yield ends
    ends.close()
    for thread in threading.enumerate():
        if thread.name == "parley-read":
            thread.join(300)
    assert _open_files() == before, "a descriptor was left open"


async def test_lines_become_frames_and_frames_lines(ends: Ends) -> None:
    transport, receiver = ends.transport(), Recorder()
    transport.start(receiver)
    ends.write(b"one\ntwo\nthr")
    assert await receiver.until_frames(2) == [b"one", b"two"]
    ends.write(b"ee\n")
    assert await receiver.until_frames(3) == [b"one", b"two", b"three"]
    transport.send(b"four")
    assert ends.read() == b"four\n"
    await transport.aclose()
    assert receiver.reason == "the connection was closed by us"
    assert ends.read_to_end() == b""


@pytest.mark.requirement("SAFE-LIVE-07")
async def test_a_peer_that_is_gone_is_noticed_while_nothing_is_read(ends: Ends) -> None:
    transport, receiver = ends.transport(detects_hangup=True), Recorder()
    transport.start(receiver)
    transport.pause_reading()
    ends.write(b"the last words\n")
    ends.stop_writing()
    ends.stop_reading()
    async with asyncio.timeout(300):
        await receiver.until_lost()
    assert receiver.frames == [b"the last words"]
    await transport.aclose()


async def test_a_peer_that_only_stops_writing_is_not_gone(ends: Ends) -> None:
    transport, receiver = ends.transport(detects_hangup=True), Recorder()
    ended = asyncio.Event()
    transport.on_end = ended.set
    transport.start(receiver)
    ends.stop_writing()
    async with asyncio.timeout(300):
        await ended.wait()
    transport.send(b"a response")
    assert ends.read() == b"a response\n"
    assert not receiver.lost
    await transport.aclose()


@pytest.mark.requirement("SAFE-LIVE-07")
@pytest.mark.parametrize("is_closed", [True, False])
async def test_a_socket_distinguishes_a_closed_peer_from_one_that_stopped_writing(
    is_closed: bool,
) -> None:
    (stdin_writer, stdin), (stdout, watched) = socket.socketpair(), socket.socketpair()
    transport = PipeTransport(stdin.detach(), watched.detach(), detects_hangup=True)
    receiver = Recorder()
    transport.start(receiver)
    transport.pause_reading()
    with stdin_writer, stdout:
        if is_closed:
            stdin_writer.close()
            stdout.close()
            async with asyncio.timeout(300):
                await receiver.until_lost()
        else:
            stdout.shutdown(socket.SHUT_WR)
            stdin_writer.sendall(b"I still listen\n")
            transport.resume_reading()
            async with asyncio.timeout(300):
                await receiver.until_frames(1)
            transport.send(b"heard")
            assert stdout.recv(100) == b"heard\n"
    await transport.aclose()


async def test_closing_does_not_wait_for_a_peer_that_goes_meanwhile(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe, "_FLUSH_TIMEOUT", 600.0)
    transport, receiver = ends.transport(detects_hangup=True), Recorder()
    transport.start(receiver)
    transport.send(b"x" * 4 * HIGH_WATER_BYTES)
    transport.lose(ConnectionClosed("enough"))
    closing = asyncio.create_task(transport.aclose())
    ends.stop_reading()
    async with asyncio.timeout(300):
        await closing
    assert receiver.reason == "enough"


async def test_a_line_may_come_byte_by_byte(ends: Ends) -> None:
    transport, receiver = ends.transport(), Recorder()
    transport.start(receiver)
    for byte in b"slow\r\n\nquick":
        ends.write(bytes([byte]))
        transport.read_available()
    assert receiver.frames == [b"slow\r", b""]
    await transport.aclose()


async def test_a_line_over_the_limit_is_passed_on_as_its_head(ends: Ends) -> None:
    transport = ends.transport(max_message_bytes=10)
    seen: list[Frame] = []
    transport.start(receiver := Recorder(seen.extend))
    ends.write(b"x" * 11 + b"\nshort\n")
    await receiver.until_frames(2)
    assert [type(frame) for frame in seen] == [OversizedFrame, bytes]
    await transport.aclose()


async def test_pausing_leaves_the_peer_with_a_full_pipe(ends: Ends) -> None:
    transport = ends.transport()
    receiver = Recorder(lambda _: transport.pause_reading())
    transport.start(receiver)
    ends.write(b"a\n")
    await receiver.until_frames(1)
    ends.write(b"b\n")
    await asyncio.sleep(0)
    assert receiver.frames == [b"a"]
    transport.resume_reading()
    await receiver.until_frames(2)
    await transport.aclose()


async def test_senders_wait_for_a_peer_that_does_not_read(ends: Ends) -> None:
    transport = ends.transport()
    transport.start(Recorder())
    assert transport.drained() is None
    transport.send(bytes(HIGH_WATER_BYTES * 2))
    room = transport.drained()
    assert room is not None
    taken = 0
    while not room.done():
        taken += len(ends.read())
        await asyncio.sleep(0)
    while taken < HIGH_WATER_BYTES * 2 + 1:
        taken += len(ends.read())
        await asyncio.sleep(0)
    await transport.aclose()


async def test_the_end_of_the_stream_ends_the_connection(ends: Ends) -> None:
    transport, receiver = ends.transport(), Recorder()
    transport.start(receiver)
    ends.write(b"last\n")
    ends.stop_writing()
    assert await receiver.until_lost() == "the peer closed the connection"
    assert receiver.frames == [b"last"]
    with pytest.raises(ConnectionClosed):
        transport.send(b"x")
    assert transport.drained() is None
    await transport.aclose()
    assert len(receiver.lost) == 1


async def test_half_a_line_at_the_end_is_not_a_frame(ends: Ends) -> None:
    transport, receiver = ends.transport(), Recorder()
    transport.start(receiver)
    ends.write(b'whole\n{"jsonrpc":')
    ends.stop_writing()
    reason = await receiver.until_lost()
    assert reason == "the peer closed the connection in the middle of a message"
    assert receiver.frames == [b"whole"]


async def test_what_was_sent_before_the_end_still_reaches_a_peer_that_reads(ends: Ends) -> None:
    transport, receiver = ends.transport(), Recorder()
    transport.start(receiver)
    response = b"x" * 1_000_000
    transport.send(response)
    room = transport.drained()
    ends.stop_writing()
    await receiver.until_lost()
    assert room is not None
    assert room.done(), "nobody waits for room on a lost connection"
    closing = asyncio.create_task(transport.aclose())
    assert await asyncio.to_thread(ends.read_to_end) == response + b"\n"
    await closing


async def test_a_peer_that_reads_no_more_is_read_to_the_end_before_the_end(ends: Ends) -> None:
    transport, receiver = ends.transport(), Recorder()
    transport.start(receiver)
    transport.pause_reading()
    ends.write(b"said before\n")
    ends.stop_reading()
    transport.send(b"x")
    transport.send(b"y")
    assert receiver.lost == [], "a sender is not called back from inside its call"
    assert await receiver.until_lost() == "the peer no longer accepts messages: Broken pipe"
    assert receiver.frames == [b"said before"]


async def test_a_peer_that_left_before_the_start_is_read_to_the_end(
    ends: Ends,
) -> None:
    transport, receiver = ends.transport(), Recorder()
    ends.write(b"said before\n")
    ends.stop_reading()
    transport.send(b"x")
    await asyncio.sleep(0)
    transport.start(receiver)
    assert await receiver.until_lost() == "the peer no longer accepts messages: Broken pipe"
    assert receiver.frames == [b"said before"]


async def test_a_transport_started_after_it_was_closed_says_so(ends: Ends) -> None:
    transport, receiver = ends.transport(), Recorder()
    await transport.aclose()
    transport.start(receiver)
    assert await receiver.until_lost() == "the connection was closed by us"


async def test_closing_does_not_wait_forever_for_a_peer_that_does_not_read(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.transport._pipe._FLUSH_TIMEOUT", 0.01)
    transport, receiver = ends.transport(), Recorder()
    transport.start(receiver)
    transport.send(bytes(1_000_000))
    await transport.aclose()
    assert receiver.reason == "the connection was closed by us"
    assert len(ends.read_to_end()) < 1_000_000


async def test_closing_closes_although_its_caller_loses_patience(ends: Ends) -> None:
    transport, receiver = ends.transport(), Recorder()
    transport.start(receiver)
    transport.send(bytes(1_000_000))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await transport.aclose()
    assert receiver.reason == "the connection was closed by us"


async def test_a_read_error_is_the_reason_of_the_end() -> None:
    ours, theirs = socket.socketpair()
    ours.send(b"never read")
    read_fd, write_fd = os.pipe()
    receiver = Recorder()
    transport = PipeTransport(ours.detach(), write_fd)
    transport.start(receiver)
    theirs.close()
    assert await receiver.until_lost() == "reading failed: Connection reset by peer"
    os.close(read_fd)


async def test_a_receiver_that_fails_ends_the_connection(
    ends: Ends, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(frames: Sequence[Frame]) -> None:
        raise ZeroDivisionError

    transport, receiver = ends.transport(), Recorder(fail)
    transport.start(receiver)
    ends.write(b"x\n")
    assert (
        await receiver.until_lost()
        == "the connection was closed because we failed to process a message"
    )
    assert "ZeroDivisionError" in caplog.text
    assert ends.read_to_end() == b""


@pytest.mark.parametrize("was_blocking", [True, False])
async def test_one_socket_for_both_directions_gets_its_mode_back(was_blocking: bool) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(was_blocking)
    transport, receiver = PipeTransport(os.dup(ours.fileno()), os.dup(ours.fileno())), Recorder()
    transport.start(receiver)
    theirs.send(b"ping\n")
    await receiver.until_frames(1)
    transport.send(b"pong")
    assert theirs.recv(100) == b"pong\n"
    assert not os.get_blocking(ours.fileno())
    await transport.aclose()
    assert os.get_blocking(ours.fileno()) is was_blocking
    ours.close()
    theirs.close()


async def test_on_windows_pipes_are_read_and_written_without_the_loop(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    transport, receiver = ends.transport(), Recorder()
    transport.start(receiver)
    ends.write(b"ping\n")
    await receiver.until_frames(1)
    transport.send(b"pong")
    assert ends.read() == b"pong\n"
    ends.stop_writing()
    await receiver.until_lost()
    await transport.aclose()
