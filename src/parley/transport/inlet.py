"""Bytes read from a file descriptor, by the event loop or, where it cannot, by a thread.

The loop watches pipes and sockets. A regular file cannot be watched; a terminal must not be, since
its blocking mode is shared with the shell; on Windows nothing can: those are read by a thread. The
thread reads a piece and waits until it has been taken, so that a large file does not become memory.
It cannot be called away from a read: after `close` it ends when that read returns, and only then
is the descriptor closed.
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

__all__ = ["LONG_READ_BYTES", "READ_BYTES", "Inlet", "is_watchable", "widen"]

READ_BYTES = 32 * 1024
"""What one read becomes stays in the processor's cache; twice the size costs a fifth more time."""
LONG_READ_BYTES = 1024 * 1024
"""In the middle of a long message the number of reads is what costs."""

_LEAST_BYTES = 1024
_SLOW_SECONDS = 0.05
_REST_SECONDS = 1.0
"""How long it may take to hand on what is left at the end; a full pipe of messages takes 0.1."""


def is_watchable(fd: int) -> bool:
    """Tell whether the event loop can wait for this descriptor."""
    if sys.platform == "win32":
        return False
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class Inlet:
    """Reads until the end; owns the descriptor."""

    def __init__(
        self,
        fd: int,
        on_data: Callable[[bytes], None],
        on_end: Callable[[OSError | None], None],
        *,
        is_ours: bool = False,
    ) -> None:
        """Prepare to read.

        Args:
            fd: What to read.
            on_data: Called with each piece.
            on_end: Called once at the end, with the reason if it is none that one expects.
            is_ours: Whether nobody else uses the file, so that even a terminal may be watched.
        """
        self.read_bytes = READ_BYTES
        """How much to read at once, as long as that is taken quickly."""
        self._most_bytes = LONG_READ_BYTES
        self._fd = fd
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._is_watched = is_watchable(fd) or (is_ours and sys.platform != "win32")
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
        """Begin to read."""
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
        """Go on reading."""
        if not self._is_paused or self._is_closed:
            return
        self._is_paused = False
        self._thread_may_read.set()
        if self._has_started and self._is_watched:
            self._loop.add_reader(self._fd, self._read)

    def read_rest(self) -> None:
        """Take what the loop would find now, also while paused, and not what is written meanwhile.

        Who writes faster than we read would keep us here for ever otherwise. One read follows after
        that, to find the end if it is there. A flood of nonsense is left where it is.
        """
        if self._is_watched and not self._is_closed:
            rest, end = _arrived_bytes(self._fd), monotonic() + _REST_SECONDS
            while rest >= 0 and monotonic() < end and (count := self._read()):
                rest -= count

    async def read_out(self, grace_after: float) -> None:
        """Take the rest when the other end is known to be closed; a thread gets time to do it."""
        self.read_rest()
        if self._has_started and not self._is_watched:
            self.resume()
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_after):
                    await self._has_ended.wait()

    def close(self) -> None:
        """Stop for good."""
        if self._is_closed:
            return
        self._is_closed = True
        self._has_ended.set()
        self._thread_may_read.set()
        if self._is_watched:
            self._loop.remove_reader(self._fd)
            os.set_blocking(self._fd, self._was_blocking)  # the file may be another process's too
        if self._is_watched or not self._has_started:
            os.close(self._fd)

    def _read(self) -> int:
        """Read once; returns how much there was, and nothing if that was the end of it."""
        try:
            data = os.read(self._fd, min(self.read_bytes, self._most_bytes))
        except BlockingIOError:
            return 0
        except OSError as error:
            self._take(b"", error)
            return 0
        self._take(data, None)
        return 0 if self._is_closed else len(data)

    def _take(self, data: bytes, error: OSError | None) -> None:
        if self._is_closed:
            return
        if data:
            began = monotonic()
            self._on_data(data)
            self._pace(len(data), monotonic() - began)
        else:
            self.close()
            self._on_end(error)

    def _pace(self, count: int, seconds: float) -> None:
        """Read less at once while that takes long: nobody else has the event loop meanwhile."""
        if seconds > _SLOW_SECONDS:
            self._most_bytes = max(_LEAST_BYTES, min(count, self._most_bytes) // 4)
        elif self._most_bytes < LONG_READ_BYTES and seconds < _SLOW_SECONDS / 4:
            self._most_bytes *= 2

    def _read_in_thread(self) -> None:
        while self._is_my_turn():
            error = None
            try:
                data = os.read(self._fd, min(self.read_bytes, self._most_bytes))
            except OSError as caught:
                data, error = b"", caught
            try:
                self._loop.call_soon_threadsafe(self._take_from_thread, data, error)
            except RuntimeError:  # the loop is closed: nobody listens any more
                break
            if not data:
                break
        os.close(self._fd)

    def _is_my_turn(self) -> bool:
        """Wait for leave to read once; it is taken before the look at what `close` has set."""
        self._thread_may_read.wait()
        self._thread_may_read.clear()
        return not self._is_closed

    def _take_from_thread(self, data: bytes, error: OSError | None) -> None:
        self._take(data, error)
        if not self._is_paused:
            self._thread_may_read.set()


def widen(fd: int) -> None:
    """Ask for a larger pipe, where that can be had: fewer switches between the two processes."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, LONG_READ_BYTES)


def _arrived_bytes(fd: int) -> int:
    """Return how much can be read now."""
    assert sys.platform != "win32"
    return int.from_bytes(fcntl.ioctl(fd, termios.FIONREAD, bytes(4)), sys.byteorder)
