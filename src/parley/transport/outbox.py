"""The frames that wait to be written to a file descriptor.

A frame after a while of silence is written at once, so that a lone answer does not wait; those that
follow closely leave together at the end of the event loop's turn. What the other end does not take
is kept, and senders are made to wait above the high-water mark. When nothing can be written any
more the outbox stops: frames are let go, because whoever sent them is about to learn why, and
senders wait for that; `release` lets them go.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from time import monotonic

from .base import HIGH_WATER_BYTES, LOW_WATER_BYTES
from .waiters import Waiters

__all__ = ["Outbox"]

_FLUSH_BYTES = 64 * 1024
_SILENCE = 20e-6
"""After so many seconds a frame is not one of a stream; less than a round trip takes."""


class Outbox:
    """Lines on their way into one descriptor."""

    def __init__(self, fd: int, on_error: Callable[[OSError], None], *, is_blocking: bool) -> None:
        self._fd = fd
        self._on_error = on_error
        self._is_blocking = is_blocking
        self._loop = asyncio.get_running_loop()
        self._frames: list[bytes] = []
        self._frames_bytes = 0
        self._rest = memoryview(b"")
        self._wrote_at = 0.0
        self._turn_ends = False
        self._awaits_room = False
        self._waiters = Waiters()
        self._is_stopped = False

    @property
    def unsent_bytes(self) -> int:
        """How much waits to be written."""
        return self._frames_bytes + len(self._rest)

    def put(self, frame: bytes) -> None:
        """Write a frame now, or with the others of this turn."""
        if self._is_stopped:
            return
        if b"\n" in frame:  # white space in JSON that was passed on as it came
            frame = frame.replace(b"\n", b" ")
        self._frames.append(frame)
        self._frames_bytes += len(frame) + 1
        if self._awaits_room:
            return
        if self._turn_ends:
            if self._frames_bytes >= _FLUSH_BYTES:
                self._flush()
        elif (now := monotonic()) - self._wrote_at > _SILENCE:
            self._wrote_at = now
            self._flush()
        else:
            self._turn_ends = True
            self._loop.call_soon(self._end_turn)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for when too much is unsent, or nothing can be sent any more."""
        unsent_bytes = self._frames_bytes + len(self._rest)  # the property, without a call
        has_room = unsent_bytes <= HIGH_WATER_BYTES and not self._is_stopped
        return None if has_room else self._waiters.wait()

    def stop(self) -> None:
        """Forget what is unsent and write no more."""
        if self._awaits_room:
            self._loop.remove_writer(self._fd)
            self._awaits_room = False
        self._is_stopped = True
        self._frames.clear()
        self._frames_bytes = 0
        self._rest = memoryview(b"")

    def release(self) -> None:
        """Let everybody go who waits for room."""
        self._waiters.release()

    async def flush(self) -> None:
        """Wait until everything is written or nothing can be."""
        while self.unsent_bytes:
            self._end_turn()
            if self.unsent_bytes:
                await self._waiters.wait()

    def _end_turn(self) -> None:
        self._turn_ends = False
        self._wrote_at = monotonic()
        if self._frames and not self._awaits_room:
            self._flush()

    def _flush(self) -> None:
        """Write as much as goes."""
        try:
            self._write()
        except BlockingIOError:
            pass
        except OSError as error:
            self.stop()
            self._on_error(error)
            return
        if self._rest and not self._awaits_room:
            self._awaits_room = True
            self._loop.add_writer(self._fd, self._on_writable)
        if self._waiters and self.unsent_bytes <= LOW_WATER_BYTES:
            self.release()

    def _write(self) -> None:
        while True:
            if not self._rest:
                if not self._frames:
                    return
                self._frames.append(b"")
                self._rest = memoryview(b"\n".join(self._frames))
                self._frames.clear()
                self._frames_bytes = 0
            self._rest = self._rest[os.write(self._fd, self._rest) :]
            if self._rest and not self._is_blocking:
                return

    def _on_writable(self) -> None:
        self._flush()
        if not self._rest and self._awaits_room:
            self._loop.remove_writer(self._fd)
            self._awaits_room = False
