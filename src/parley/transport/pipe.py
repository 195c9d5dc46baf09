"""Frames over two file descriptors, one line each: the core of `stdio` and `process`."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from parley.errors import ConnectionClosed
from parley.rpc.framing import FrameSplitter

from .base import MAX_MESSAGE_BYTES, Receiver
from .inlet import Inlet, is_watchable
from .outbox import Outbox

__all__ = ["PipeTransport"]

_FLUSH_TIMEOUT = 2.0


class PipeTransport:
    """One line per frame, read from one descriptor and written to another; owns both."""

    def __init__(
        self, read_fd: int, write_fd: int, *, max_message_bytes: int = MAX_MESSAGE_BYTES
    ) -> None:
        self._inlet = Inlet(read_fd, self._data_received, self._ended)
        self._write_fd = write_fd
        self._splitter = FrameSplitter(max_message_bytes)
        self._receiver: Receiver | None = None
        self._is_lost = False
        is_blocking = not is_watchable(write_fd)
        if not is_blocking:
            os.set_blocking(write_fd, False)
        self._outbox = Outbox(write_fd, self._write_failed, is_blocking=is_blocking)

    def start(self, receiver: Receiver) -> None:
        """Begin to read."""
        self._receiver = receiver
        self._inlet.start()

    def send(self, frame: bytes) -> None:
        """Take a frame to be sent."""
        if self._is_lost:
            raise ConnectionClosed("the connection is closed")
        self._outbox.put(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for before sending more."""
        return self._outbox.drained()

    def pause_reading(self) -> None:
        """Stop reading."""
        self._inlet.pause()

    def resume_reading(self) -> None:
        """Go on reading."""
        self._inlet.resume()

    def read_rest(self) -> None:
        """Take what has arrived already, without waiting for more."""
        self._inlet.read_rest()

    async def flush(self) -> None:
        """Wait until everything is written, but not for ever: the peer may not be reading."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_TIMEOUT):
                await self._outbox.flush()

    def close_writing(self) -> None:
        """Close our end towards the peer, which reads that as the end of the conversation."""
        self._outbox.close()
        if self._write_fd >= 0:
            os.set_blocking(self._write_fd, True)  # the open file may be another process's too
            os.close(self._write_fd)
            self._write_fd = -1

    async def aclose(self) -> None:
        """Write what is left, if the peer takes it, and close."""
        await self.flush()
        self.lose(ConnectionClosed("the connection was closed by us"))

    def lose(self, reason: ConnectionClosed) -> None:
        """Close both ends and tell the receiver, once."""
        if self._is_lost:
            return
        self._is_lost = True
        self._inlet.close()
        self.close_writing()
        if self._receiver is not None:
            self._receiver.connection_lost(reason)

    def _data_received(self, data: bytes) -> None:
        if frames := self._splitter.feed(data):
            assert self._receiver is not None
            self._receiver.frames_received(frames)

    def _ended(self, error: OSError | None) -> None:
        if error is not None:
            self.lose(ConnectionClosed(f"reading failed: {error.strerror}"))
        elif self._splitter.pending_bytes:
            self.lose(ConnectionClosed("the peer closed the connection in the middle of a message"))
        else:
            self.lose(ConnectionClosed("the peer closed the connection"))

    def _write_failed(self, error: OSError) -> None:
        """Take what the peer said last, then close; later, because a sender is on the stack."""
        asyncio.get_running_loop().call_soon(self._lose_after_write, error)

    def _lose_after_write(self, error: OSError) -> None:
        self.read_rest()
        self.lose(ConnectionClosed(f"the peer takes no more messages: {error.strerror}"))
