from __future__ import annotations

import asyncio
import errno
import os
import pty
import socket
import tempfile
import threading
import tty
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from parley.transport._fd_reader import FdReader, is_watchable

WATCHED = ["pipe", "socket"]
BY_THREAD = ["terminal"]


class Source:
    """Something to read from, and the end to write into it; the inlet owns `fd`."""

    def __init__(self, kind: str) -> None:
        if kind == "pipe":
            self.fd, self.writer = os.pipe()
        elif kind == "socket":
            self.fd, self.writer = (end.detach() for end in socket.socketpair())
        else:
            self.writer, self.fd = pty.openpty()
            tty.setraw(self.fd)

    def write(self, data: bytes) -> None:
        os.write(self.writer, data)

    def wake(self) -> None:
        """Unblock a thread that is waiting in a read."""
        with suppress(BrokenPipeError):
            self.write(b"too late")

    def close(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1


class Sink:
    """The data that a reader has delivered so far."""

    def __init__(self, on_data: Callable[[], None] | None = None) -> None:
        self.data = b""
        self.ends: list[OSError | None] = []
        self._on_data = on_data
        self._changed = asyncio.Event()

    def inlet(self, fd: int) -> FdReader:
        return FdReader(fd, self._take, self._end)

    def _take(self, data: bytes) -> None:
        self.data += data
        self._changed.set()
        if self._on_data is not None:
            self._on_data()

    def _end(self, error: OSError | None) -> None:
        self.ends.append(error)
        self._changed.set()

    async def until(self, data: bytes) -> None:
        while self.data != data:
            self._changed.clear()
            await self._changed.wait()

    async def until_end(self) -> OSError | None:
        while not self.ends:
            self._changed.clear()
            await self._changed.wait()
        (end,) = self.ends
        return end


@contextmanager
def source(kind: str) -> Generator[Source]:
    with ExitStack() as stack:
        made = Source(kind)
        stack.callback(made.close)
        yield made


def _is_open(fd: int) -> bool:
    with suppress(OSError):
        os.fstat(fd)
        return True
    return False


async def _until_threads_have_ended() -> None:
    threads = [each for each in threading.enumerate() if each.name == "parley-read"]
    for thread in threads:
        await asyncio.to_thread(thread.join, 10)
        assert not thread.is_alive()


def test_pipes_and_sockets_are_watched_and_nothing_else() -> None:
    for kind, is_watched in [("pipe", True), ("socket", True), ("terminal", False)]:
        with source(kind) as made:
            assert is_watchable(made.fd) is is_watched
            os.close(made.fd)
    with tempfile.TemporaryFile() as file:
        assert not is_watchable(file.fileno())
    with open(os.devnull) as null:  # noqa: PTH123 - a device has no better way
        assert not is_watchable(null.fileno())


@pytest.mark.parametrize("kind", [*WATCHED, *BY_THREAD])
async def test_what_is_written_is_read_piece_by_piece(kind: str) -> None:
    with source(kind) as made:
        sink = Sink()
        inlet = sink.inlet(made.fd)
        inlet.start()
        made.write(b"one")
        await sink.until(b"one")
        made.write(b"two")
        await sink.until(b"onetwo")
        inlet.close()
        inlet.close()
        made.wake()
        await _until_threads_have_ended()
        assert not _is_open(made.fd)
        assert sink.data == b"onetwo"
        assert sink.ends == [], "who closes knows it already"


@pytest.mark.parametrize("kind", WATCHED)
async def test_the_end_of_a_stream_is_reported_once_after_all_data(kind: str) -> None:
    with source(kind) as made:
        sink = Sink()
        sink.inlet(made.fd).start()
        made.write(b"last words, no newline")
        made.close()
        assert await sink.until_end() is None
        assert sink.data == b"last words, no newline"
        assert not _is_open(made.fd)


async def test_a_regular_file_is_read_to_its_end() -> None:
    content = bytes(range(256)) * 1000
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        sink = Sink()
        fd = os.dup(file.fileno())
        sink.inlet(fd).start()
        assert await sink.until_end() is None
        assert sink.data == content
    await _until_threads_have_ended()
    assert not _is_open(fd)


async def test_a_large_file_is_not_read_ahead_of_who_takes_it() -> None:
    with tempfile.TemporaryFile() as file:
        file.truncate(100 * 1024 * 1024)
        sink = Sink(lambda: inlet.pause())
        inlet = sink.inlet(os.dup(file.fileno()))
        inlet.start()
        for round in range(1, 4):
            await sink.until(bytes(round * 32 * 1024))
            assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == round * 32 * 1024
            inlet.resume()
        inlet.close()
        await _until_threads_have_ended()


async def test_a_terminal_that_goes_away_ends_the_stream_with_its_error() -> None:
    master, slave = pty.openpty()
    sink = Sink()
    sink.inlet(master).start()
    os.write(slave, b"bye")
    await sink.until(b"bye")
    os.close(slave)
    error = await sink.until_end()
    assert error is not None
    assert error.errno == errno.EIO
    await _until_threads_have_ended()
    assert not _is_open(master)


async def test_an_error_of_a_watched_descriptor_ends_the_stream() -> None:
    ours, theirs = socket.socketpair()
    ours.send(b"never read")
    sink = Sink()
    sink.inlet(ours.detach()).start()
    theirs.close()
    error = await sink.until_end()
    assert error is not None
    assert error.errno == errno.ECONNRESET


@pytest.mark.parametrize("kind", [*WATCHED, *BY_THREAD])
async def test_a_paused_inlet_leaves_what_comes_until_it_is_resumed(kind: str) -> None:
    with source(kind) as made:
        sink = Sink(lambda: inlet.pause())
        inlet = sink.inlet(made.fd)
        inlet.start()
        made.write(b"a")
        await sink.until(b"a")
        inlet.pause()
        made.write(b"b")
        await asyncio.sleep(0)
        assert sink.data == b"a"
        inlet.resume()
        inlet.resume()
        await sink.until(b"ab")
        inlet.close()
        inlet.pause()
        inlet.resume()
        made.wake()
        await _until_threads_have_ended()
        assert sink.data == b"ab"


@pytest.mark.parametrize("kind", [*WATCHED, *BY_THREAD])
async def test_an_inlet_paused_before_it_starts_begins_when_resumed(kind: str) -> None:
    with source(kind) as made:
        sink = Sink()
        inlet = sink.inlet(made.fd)
        inlet.pause()
        inlet.start()
        made.write(b"x")
        await asyncio.sleep(0)
        assert sink.data == b""
        inlet.resume()
        await sink.until(b"x")
        inlet.close()
        made.wake()
        await _until_threads_have_ended()


@pytest.mark.parametrize("kind", [*WATCHED, *BY_THREAD])
async def test_an_inlet_resumed_before_it_starts_reads_nothing_yet(kind: str) -> None:
    with source(kind) as made:
        sink = Sink()
        inlet = sink.inlet(made.fd)
        inlet.pause()
        inlet.resume()
        made.write(b"x")
        await asyncio.sleep(0)
        assert sink.data == b""
        inlet.close()
        assert not _is_open(made.fd), "no thread is there to close it"


@pytest.mark.parametrize("kind", WATCHED)
async def test_the_rest_is_what_has_arrived_also_while_paused(kind: str) -> None:
    with source(kind) as made:
        sink = Sink()
        inlet = sink.inlet(made.fd)
        inlet.start()
        inlet.pause()
        inlet.read_available()
        assert sink.data == b""
        made.write(bytes(50_000))
        inlet.read_available()
        assert len(sink.data) == 50_000
        assert sink.ends == []
        made.write(b"!")
        made.close()
        inlet.read_available()
        assert sink.data[50_000:] == b"!"
        assert sink.ends == [None], "the end has arrived, too"
        inlet.read_available()
        assert not _is_open(made.fd)


async def test_the_rest_ends_although_somebody_writes_faster_than_we_read() -> None:
    with source("pipe") as made:
        sink = Sink(lambda: made.write(b"more"))
        inlet = sink.inlet(made.fd)
        made.write(b"some")
        inlet.read_available()
        assert sink.data == b"somemore"
        inlet.close()


async def test_the_rest_is_left_when_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("parley.transport._fd_reader.monotonic", lambda: now[0])
    with source("pipe") as made:
        sink = Sink(lambda: now.__setitem__(0, now[0] + 0.6))
        inlet = sink.inlet(made.fd)
        made.write(bytes(60_000))
        inlet.read_available()
        assert len(sink.data) == 32 * 1024 + 8 * 1024, "less at once after the first, and then none"
        inlet.close()


async def test_less_is_read_at_once_while_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now, takes = [0.0], [0.1]
    monkeypatch.setattr("parley.transport._fd_reader.monotonic", lambda: now[0])
    sizes: list[int] = []
    with source("pipe") as made:
        sink = Sink(lambda: now.__setitem__(0, now[0] + takes[0]))
        inlet = sink.inlet(made.fd)
        made.write(bytes(60_000))
        for each in (0.1, 0.1, 0.1, 0.1, 0.02, 0.0, 0.0):
            takes[0] = each
            before = len(sink.data)
            inlet._read()  # pyright: ignore[reportPrivateUsage]
            sizes.append(len(sink.data) - before)
        inlet.close()
    assert sizes == [32768, 8192, 2048, 1024, 1024, 1024, 2048]


async def test_closing_while_the_rest_is_taken_stops_there() -> None:
    with source("pipe") as made:
        sink = Sink(lambda: inlet.close())
        inlet = sink.inlet(made.fd)
        made.write(bytes(60_000))
        inlet.read_available()
        assert len(sink.data) == 32 * 1024


async def test_reading_out_gives_a_thread_time_to_find_the_end() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(bytes(100_000))
        file.seek(0)
        sink = Sink()
        inlet = sink.inlet(os.dup(file.fileno()))
        inlet.start()
        inlet.pause()
        inlet.read_available()
        await inlet.read_to_eof(10)
        assert len(sink.data) == 100_000
        assert sink.ends == [None]
    await _until_threads_have_ended()


async def test_reading_out_waits_no_longer_than_it_may() -> None:
    with source("terminal") as made:
        sink = Sink()
        inlet = sink.inlet(made.fd)
        inlet.start()
        await inlet.read_to_eof(0.01)
        assert sink.ends == []
        inlet.close()
        made.wake()
        await _until_threads_have_ended()


@pytest.mark.parametrize("was_blocking", [True, False])
@pytest.mark.parametrize("kind", WATCHED)
async def test_the_open_file_gets_its_blocking_mode_back(kind: str, was_blocking: bool) -> None:
    with source(kind) as made:
        os.set_blocking(made.fd, was_blocking)
        shared = os.dup(made.fd)
        inlet = Sink().inlet(made.fd)
        assert not os.get_blocking(shared)
        inlet.close()
        assert os.get_blocking(shared) is was_blocking
        os.close(shared)


async def test_on_windows_a_thread_reads_a_pipe_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    with source("pipe") as made:
        sink = Sink()
        sink.inlet(made.fd).start()
        made.write(b"x")
        made.close()
        assert await sink.until_end() is None
        assert sink.data == b"x"
        await _until_threads_have_ended()


def test_a_thread_whose_loop_is_closed_goes_home() -> None:
    with source("terminal") as made:

        async def forget() -> None:
            Sink().inlet(made.fd).start()

        asyncio.run(forget())
        made.write(b"nobody listens")
        asyncio.run(_until_threads_have_ended())
        assert not _is_open(made.fd)
