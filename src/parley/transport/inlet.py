"""Bytes read from a file descriptor, by the event loop or, where it cannot, by a thread.

The loop watches pipes and sockets. A regular file cannot be watched; a terminal must not be, since
its blocking mode is shared with the shell; on Windows nothing can: those are read by a thread.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Callable

__all__ = ["Inlet", "is_watchable"]

_READ_BYTES = 32 * 1024
"""What is made of one read stays in the processor's cache; reads of 128 KiB cost a fifth more."""


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
    ) -> None:
        self._fd = fd
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._is_watched = is_watchable(fd)
        self._has_started = False
        self._is_paused = False
        self._is_closed = False
        self._thread_may_read = threading.Event()
        self._thread_may_read.set()
        if self._is_watched:
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
        """Take what has arrived already, without waiting for more."""
        while self._is_watched and not self._is_closed and self._read():
            pass

    def close(self) -> None:
        """Stop for good."""
        if self._is_closed:
            return
        self._is_closed = True
        self._thread_may_read.set()
        if self._is_watched:
            self._loop.remove_reader(self._fd)
            os.set_blocking(self._fd, True)  # the open file may be another process's too
            os.close(self._fd)

    def _read(self) -> bool:
        """Read once; returns whether there was something."""
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return False
        except OSError as error:
            self._take(b"", error)
            return False
        self._take(data, None)
        return bool(data)

    def _take(self, data: bytes, error: OSError | None) -> None:
        if self._is_closed:
            return
        if data:
            self._on_data(data)
        else:
            self.close()
            self._on_end(error)

    def _read_in_thread(self) -> None:
        data, error = b"-", None
        while data and not self._is_closed:
            self._thread_may_read.wait()
            try:
                data = os.read(self._fd, _READ_BYTES)
            except OSError as caught:
                data, error = b"", caught
            try:
                self._loop.call_soon_threadsafe(self._take, data, error)
            except RuntimeError:  # the loop is closed: nobody listens any more
                return
