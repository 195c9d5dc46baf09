"""A reader of a file descriptor that uses the event loop or, where that is impossible, a thread.

The loop watches pipes and sockets. Regular files cannot be watched, terminals must not be, because
their blocking mode is shared with the shell, and on Windows nothing can: these are read by a
thread. The thread reads a piece and waits until it has been processed, so that a large file does
not pile up in memory. A blocking read cannot be interrupted: after `close`, the thread ends when
that read returns, and only then is the descriptor closed.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

if sys.platform != "win32":
    import fcntl
    import termios


READ_BYTES = 32 * 1024
"""The usual read size: its messages stay in the CPU cache; twice the size takes 20 % longer."""
LONG_READ_BYTES = 1024 * 1024
"""The read size inside a long message, where the number of reads dominates the cost."""

_MIN_READ_BYTES = 1024
_SLOW_SECONDS = 0.05
_DRAIN_SECONDS = 1.0
"""Time limit for delivering what is left at the end; a full pipe of messages takes 0.1."""


def is_watchable(fd: int) -> bool:
    """Return whether the event loop can watch this descriptor."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class FdReader:
    """Reads a descriptor, which it owns, until the end of the file."""

    def __init__(
        self,
        fd: int,
        on_data: Callable[[bytes], None],
        on_end: Callable[[OSError | None], None],
        *,
        is_exclusive: bool = False,
    ) -> None:
        """Create a reader; `start` begins reading.

        Args:
            fd: The descriptor to read.
            on_data: Called with each piece.
            on_end: Called once at the end, with an error if reading failed.
            is_exclusive: Whether nobody else uses the file, so that even a terminal may be watched.
        """
        self.read_bytes = READ_BYTES
        """The number of bytes to read at once, as long as they are processed quickly."""
        self._max_read_bytes = LONG_READ_BYTES
        self._fd = fd
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._is_watched = is_watchable(fd) or (is_exclusive and sys.platform != "win32")
        self._has_started = False
        self._is_paused = False
        self._is_closed = False
        self._has_ended = asyncio.Event()
        self._thread_may_read = threading.Event()
        self._thread_may_read.set()
        if self._is_watched:
            self._was_blocking = os.get_blocking(fd)
            os.set_blocking(fd, False)

    def start(self) -> None:
        """Begin reading."""
        self._has_started = True
        if not self._is_watched:
            threading.Thread(target=self._read_in_thread, name="parley-read", daemon=True).start()
        elif not self._is_paused:
            self._loop.add_reader(self._fd, self._read)

    def pause(self) -> None:
        """Stop reading."""
        if self._is_paused or self._is_closed:
            return
        self._is_paused = True
        self._thread_may_read.clear()
        if self._has_started and self._is_watched:
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        """Resume reading."""
        if not self._is_paused or self._is_closed:
            return
        self._is_paused = False
        self._thread_may_read.set()
        if self._has_started and self._is_watched:
            self._loop.add_reader(self._fd, self._read)

    def read_available(self) -> None:
        """Read what has already arrived, even while paused, but not what is written meanwhile.

        Otherwise a peer that writes faster than we read would keep us here forever. One more read
        follows, to detect the end of the file. Reading stops at a time limit, so that a flood of
        garbage cannot hold us up.
        """
        if self._is_watched and not self._is_closed:
            rest, end = _arrived_bytes(self._fd), monotonic() + _DRAIN_SECONDS
            while rest >= 0 and monotonic() < end and (count := self._read()):
                rest -= count

    async def read_to_eof(self, grace_after: float) -> None:
        """Read the rest once the other end is known to be closed; give the thread time to do so."""
        self.read_available()
        if self._has_started and not self._is_watched:
            self.resume()
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_after):
                    await self._has_ended.wait()

    def close(self) -> None:
        """Stop reading permanently, and close the descriptor."""
        if self._is_closed:
            return
        self._is_closed = True
        self._has_ended.set()
        self._thread_may_read.set()
        if self._is_watched:
            self._loop.remove_reader(self._fd)
            os.set_blocking(self._fd, self._was_blocking)  # other processes may share the file
        if self._is_watched or not self._has_started:
            os.close(self._fd)

    def _read(self) -> int:
        """Read once and return the number of bytes; 0 if there were none or the reader closed."""
        try:
            data = os.read(self._fd, min(self.read_bytes, self._max_read_bytes))
        except BlockingIOError:
            return 0
        except OSError as error:
            self._process(b"", error)
            return 0
        self._process(data, None)
        return 0 if self._is_closed else len(data)

    def _process(self, data: bytes, error: OSError | None) -> None:
        if self._is_closed:
            return
        if data:
            began = monotonic()
            self._on_data(data)
            self._adapt_read_size(len(data), monotonic() - began)
        else:
            self.close()
            self._on_end(error)

    def _adapt_read_size(self, count: int, seconds: float) -> None:
        """Adapt the read size, so that processing one read does not block the event loop long."""
        if seconds > _SLOW_SECONDS:
            self._max_read_bytes = max(_MIN_READ_BYTES, min(count, self._max_read_bytes) // 4)
        elif self._max_read_bytes < LONG_READ_BYTES and seconds < _SLOW_SECONDS / 4:
            self._max_read_bytes *= 2

    def _read_in_thread(self) -> None:
        while self._wait_to_read():
            error = None
            try:
                data = os.read(self._fd, min(self.read_bytes, self._max_read_bytes))
            except OSError as caught:
                data, error = b"", caught
            try:
                self._loop.call_soon_threadsafe(self._process_from_thread, data, error)
            except RuntimeError:  # the loop is closed
                break
            if not data:
                break
        os.close(self._fd)

    def _wait_to_read(self) -> bool:
        """Wait for permission to read once, and return whether the reader is still open.

        The event is cleared before `_is_closed` is checked, so that `close` is never missed.
        """
        self._thread_may_read.wait()
        self._thread_may_read.clear()
        return not self._is_closed

    def _process_from_thread(self, data: bytes, error: OSError | None) -> None:
        self._process(data, error)
        if not self._is_paused:
            self._thread_may_read.set()


def enlarge_pipe(fd: int) -> None:
    """Enlarge a pipe's buffer where the system allows it, which saves context switches."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, LONG_READ_BYTES)


def _arrived_bytes(fd: int) -> int:
    """Return how many bytes can be read now."""
    assert sys.platform != "win32"
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder)
