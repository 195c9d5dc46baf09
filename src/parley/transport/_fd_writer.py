"""A writer that queues frames for a file descriptor.

The first frame after a pause is written immediately, so that a lone response is not delayed;
frames that follow closely are written together at the end of the event loop's iteration. Frames
that the other end does not accept yet are kept, and above the high-water mark senders wait. When
nothing can be written any more, the writer stops and drops its frames: their senders are about to
be notified of the reason, and wait for that until `release`.

The next write detects that the other end has been closed. `watch_reader` detects it even while
there is nothing to write.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
from collections.abc import Callable
from time import monotonic

from ._base import HIGH_WATER_BYTES, LOW_WATER_BYTES
from ._notifier import Notifier

_FLUSH_BYTES = 64 * 1024
_BURST_GAP = 20e-6
"""After a pause of this many seconds, a frame starts a new burst; shorter than a round trip."""


class FdWriter:
    """A queue of frames to write to one descriptor, one line each."""

    def __init__(self, fd: int, on_error: Callable[[OSError], None], *, is_blocking: bool) -> None:
        self._fd = fd
        self._on_error = on_error
        self._is_blocking = is_blocking
        self._loop = asyncio.get_running_loop()
        self._frames: list[bytes] = []
        self._unwritten = memoryview(b"")
        self.unsent_bytes = 0
        """The number of bytes waiting to be written."""
        self._last_write_at = 0.0
        self._flush_scheduled = False
        self._awaits_room = False
        self._is_watching = False
        self._waiters = Notifier()
        self._is_stopped = False

    def put(self, frame: bytes) -> None:
        """Write a frame now, or with the others of this event loop iteration."""
        if self._is_stopped:
            return
        if b"\n" in frame:  # whitespace in JSON that is forwarded unchanged
            frame = frame.replace(b"\n", b" ")
        self._frames.append(frame)
        self.unsent_bytes += len(frame) + 1
        if self._awaits_room:
            return
        if self._flush_scheduled:
            if self.unsent_bytes >= _FLUSH_BYTES:
                self._flush()
        elif (now := monotonic()) - self._last_write_at > _BURST_GAP:
            self._last_write_at = now
            self._flush()
        else:
            self._flush_scheduled = True
            self._loop.call_soon(self._end_iteration)

    def watch_reader(self) -> None:
        """Stop as soon as the other end is closed, even if nothing is written; not for files."""
        if not self._is_blocking and not self._is_stopped:
            self._is_watching = True
            # The write end of a pipe never has data: it is readable when the other end is closed.
            self._loop.add_reader(self._fd, self._check_reader)

    def _check_reader(self) -> None:
        """Stop if the other end is closed."""
        state = select.poll()
        state.register(self._fd, 0)
        if state.poll(0):  # POLLERR or POLLHUP, which are always reported
            error = OSError(errno.EPIPE, os.strerror(errno.EPIPE))
            self.stop()
            self._on_error(error)
        else:  # data in a socket, or a peer that has only stopped writing: it may still read
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._is_watching:
            self._loop.remove_reader(self._fd)
            self._is_watching = False

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await if too much is unsent or the writer has stopped, else None."""
        has_room = self.unsent_bytes <= HIGH_WATER_BYTES and not self._is_stopped
        return None if has_room else self._waiters.wait()

    def stop(self) -> None:
        """Drop unsent frames and write nothing more."""
        self._stop_watching()
        if self._awaits_room:
            self._loop.remove_writer(self._fd)
            self._awaits_room = False
        self._is_stopped = True
        self._frames.clear()
        self._unwritten = memoryview(b"")
        self.unsent_bytes = 0

    def release(self) -> None:
        """Wake the senders waiting for room."""
        self._waiters.notify_all()

    async def flush(self) -> None:
        """Wait until everything is written, or nothing more can be."""
        while self.unsent_bytes:
            self._end_iteration()
            if self.unsent_bytes:
                await self._waiters.wait()

    def _end_iteration(self) -> None:
        self._flush_scheduled = False
        self._last_write_at = monotonic()
        if self._frames and not self._awaits_room:
            self._flush()

    def _flush(self) -> None:
        """Write as much as the descriptor accepts."""
        try:
            self._write()
        except BlockingIOError:
            pass
        except OSError as error:
            self.stop()
            self._on_error(error)
            return
        if self._unwritten and not self._awaits_room:
            self._awaits_room = True
            self._loop.add_writer(self._fd, self._on_writable)
        if self._waiters and self.unsent_bytes <= LOW_WATER_BYTES:
            self.release()

    def _write(self) -> None:
        while True:
            if not self._unwritten:
                if not self._frames:
                    return
                self._frames.append(b"")  # so that the last frame ends with a newline too
                self._unwritten = memoryview(b"\n".join(self._frames))
                self._frames.clear()
            written = os.write(self._fd, self._unwritten)
            self._unwritten = self._unwritten[written:]
            self.unsent_bytes -= written
            if self._unwritten and not self._is_blocking:
                return

    def _on_writable(self) -> None:
        self._flush()
        if not self._unwritten and self._awaits_room:
            self._loop.remove_writer(self._fd)
            self._awaits_room = False
