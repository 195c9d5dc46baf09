"""Frames over two file descriptors, one line each: the core of `stdio` and `process`.

Theory of operation. The connection is lost once, for whichever reason comes first: the other side
ends its stream, reading or writing fails, the receiver fails, or we close. From then on nothing is
read and nothing new is sent. What was sent before and has not been taken yet is not thrown away
when the other side merely ended its stream: it may still read, and `aclose` waits for it, for a
while. Who has set `on_end` goes on sending to it, and closes by itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress

from parley.errors import ConnectionClosed
from parley.rpc.framing import FrameSplitter

from .base import MAX_MESSAGE_BYTES, Receiver
from .inlet import LONG_READ_BYTES, READ_BYTES, Inlet, is_watchable, widen
from .outbox import Outbox

__all__ = ["PipeTransport"]

logger = logging.getLogger(__name__)

_FLUSH_TIMEOUT = 2.0


class PipeTransport:
    """One line per frame, read from one descriptor and written to another; owns both."""

    def __init__(
        self, read_fd: int, write_fd: int, *, max_message_bytes: int = MAX_MESSAGE_BYTES
    ) -> None:
        self._write_fd = write_fd
        self._is_blocking = not is_watchable(write_fd)
        if not self._is_blocking:
            self._was_blocking = os.get_blocking(write_fd)  # before the inlet: it may be one file
            os.set_blocking(write_fd, False)
        widen(read_fd)
        self._inlet = Inlet(read_fd, self._data_received, self._ended)
        self._outbox = Outbox(write_fd, self._write_failed, is_blocking=self._is_blocking)
        self._splitter = FrameSplitter(max_message_bytes)
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._write_error: OSError | None = None
        self._lost: ConnectionClosed | None = None
        self.on_end: Callable[[], None] | None = None
        """Who wants to know that the other side says no more, and to answer it before `aclose`."""

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        self._receiver = receiver
        if self._lost is not None:
            self._loop.call_soon(receiver.connection_lost, self._lost)
            return
        self._inlet.start()
        if self._write_error is not None:
            self._loop.call_soon(self._lose_after_write, self._write_error)

    def send(self, frame: bytes) -> None:
        """Take a frame to be sent."""
        if self._lost is not None:
            raise ConnectionClosed("the connection is closed")
        self._outbox.put(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for before sending more."""
        return None if self._lost is not None else self._outbox.drained()

    def pause_reading(self) -> None:
        """Stop reading."""
        self._inlet.pause()

    def resume_reading(self) -> None:
        """Go on reading."""
        self._inlet.resume()

    def read_rest(self) -> None:
        """Take what has arrived already, without waiting for more."""
        self._inlet.read_rest()

    async def read_out(self, grace_after: float) -> None:
        """Take everything to the end, when the other side is known to be gone."""
        await self._inlet.read_out(grace_after)

    async def flush(self) -> None:
        """Wait until everything is written, but not for ever: the peer may not be reading."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_TIMEOUT):
                await self._outbox.flush()

    def close_writing(self) -> None:
        """Close our end towards the peer, which reads that as the end of the conversation."""
        self._outbox.stop()
        if self._lost is not None:
            self._outbox.release()
        if self._write_fd < 0:
            return
        if not self._is_blocking:
            os.set_blocking(self._write_fd, self._was_blocking)  # the file may be others' too
        os.close(self._write_fd)
        self._write_fd = -1

    async def aclose(self) -> None:
        """Write what is left, if the peer takes it, and close."""
        try:
            await self.flush()
        finally:
            self.lose(ConnectionClosed("the connection was closed by us"))
            self.close_writing()

    def lose(self, reason: ConnectionClosed) -> None:
        """End the connection and tell the receiver, once."""
        if self._lost is not None:
            return
        self._lost = reason
        self._inlet.close()
        if self._outbox.unsent_bytes:
            self._outbox.release()
        else:
            self.close_writing()
        if self._receiver is not None:
            self._receiver.connection_lost(reason)

    def _data_received(self, data: bytes) -> None:
        frames = self._splitter.feed(data)
        is_long = self._splitter.pending_bytes > LONG_READ_BYTES // 4
        self._inlet.read_bytes = LONG_READ_BYTES if is_long else READ_BYTES
        if frames:
            assert self._receiver is not None
            try:
                self._receiver.frames_received(frames)
            except Exception:  # a defect of the receiver's ends this connection, not the loop
                logger.exception("what was read could not be taken; the connection ends")
                self.lose(ConnectionClosed("we failed to take what the peer sent"))

    def _ended(self, error: OSError | None) -> None:
        if error is not None:
            self.lose(ConnectionClosed(f"reading failed: {error.strerror}"))
        elif self._splitter.pending_bytes:
            self.lose(ConnectionClosed("the peer closed the connection in the middle of a message"))
        elif self.on_end is not None:
            self.on_end()
        else:
            self.lose(ConnectionClosed("the peer closed the connection"))

    def _write_failed(self, error: OSError) -> None:
        """Take what the peer said last, then close; later, because a sender is on the stack."""
        self._write_error = error
        if self._receiver is not None:
            self._loop.call_soon(self._lose_after_write, error)

    def _lose_after_write(self, error: OSError) -> None:
        self.read_rest()
        self.lose(ConnectionClosed(f"the peer takes no more messages: {error.strerror}"))
