"""A transport over two file descriptors, one line per frame: the core of stdio and processes.

Theory of operation. The connection is lost once, for whichever reason comes first: the other side
ends its stream, reading or writing fails, the receiver fails, or we close. From then on nothing is
read and nothing new is sent. Frames that were queued earlier are not dropped if the other side
merely ended its stream: it may still be reading, so `aclose` waits for it, up to a timeout. If
`on_end` is set, the end of the stream does not close the connection: the owner may keep sending,
and closes it.

The end of the other side's stream is not detected while reading is paused. With `detects_hangup`,
the connection is therefore also lost when the other side closes its reading end, as happens when a
client is killed in the middle of a flood.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from parley.errors import ConnectionClosed
from parley.rpc._framing import FrameSplitter

from ._base import MAX_MESSAGE_BYTES, Receiver, deliver_frames
from ._fd_reader import (
    LONG_READ_BYTES,
    READ_BYTES,
    FdReader,
    enlarge_pipe,
    is_watchable,
)
from ._fd_writer import FdWriter
from ._frame_head import FrameHead

_FLUSH_TIMEOUT = 2.0


class PipeTransport:
    """A transport that reads one descriptor and writes another, one line per frame.

    It owns both descriptors and closes them. Use `StdioTransport` for this process's stdin and
    stdout, and `ProcessTransport.spawn` for a child process.
    """

    def __init__(
        self,
        read_fd: int,
        write_fd: int,
        *,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        detects_hangup: bool = False,
    ) -> None:
        self._write_fd = write_fd
        self._is_blocking = not is_watchable(write_fd)
        if not self._is_blocking:
            # Before FdReader changes the mode: both descriptors may refer to one file.
            self._was_blocking = os.get_blocking(write_fd)
            os.set_blocking(write_fd, False)
        enlarge_pipe(read_fd)
        self._reader = FdReader(read_fd, self._data_received, self._ended)
        self._writer = FdWriter(write_fd, self._write_failed, is_blocking=self._is_blocking)
        self._detects_hangup = detects_hangup
        self._splitter = FrameSplitter(max_message_bytes)
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._write_error: OSError | None = None
        self._lost: ConnectionClosed | None = None
        self.on_end: Callable[[], None] | None = None
        """Called when the other side ends its stream, instead of losing the connection.

        Pending responses can then still be sent; the owner calls `aclose` afterwards.
        """

    def start(self, receiver: Receiver) -> None:
        """Begin reading, and deliver frames to the receiver."""
        self._receiver = receiver
        if self._lost is not None:
            self._loop.call_soon(receiver.connection_lost, self._lost)
            return
        self._reader.start()
        if self._detects_hangup:
            self._writer.watch_reader()
        if self._write_error is not None:
            self._loop.call_soon(self._lose_after_write, self._write_error)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Queue a frame to be sent.

        Raises:
            ConnectionClosed: The connection is closed.
        """
        if self._lost is not None:
            raise ConnectionClosed("the connection is closed")
        self._writer.put(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await before sending more; None while there is room."""
        return None if self._lost is not None else self._writer.drained()

    def pause_reading(self) -> None:
        """Stop reading."""
        self._reader.pause()

    def resume_reading(self) -> None:
        """Resume reading."""
        self._reader.resume()

    def read_available(self) -> None:
        """Read and deliver what has already arrived, without waiting for more."""
        self._reader.read_available()

    async def read_to_eof(self, grace_after: float) -> None:
        """Read and deliver everything to the end, once the other side is known to be gone."""
        await self._reader.read_to_eof(grace_after)

    async def flush(self) -> None:
        """Wait until everything is written, up to a timeout: the peer may not be reading."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_TIMEOUT):
                await self._writer.flush()

    def close_writing(self) -> None:
        """Close the writing end, which the peer reads as the end of the stream."""
        self._writer.stop()
        if self._lost is not None:
            self._writer.release()
        if self._write_fd < 0:
            return
        if not self._is_blocking:
            os.set_blocking(self._write_fd, self._was_blocking)  # others may share the file
        os.close(self._write_fd)
        self._write_fd = -1

    async def aclose(self) -> None:
        """Write the queued frames, as far as the peer accepts them, and close."""
        try:
            await self.flush()
        finally:
            self.lose(ConnectionClosed("the connection was closed by us"))
            self.close_writing()

    def lose(self, reason: ConnectionClosed) -> None:
        """End the connection and notify the receiver, once."""
        if self._lost is not None:
            return
        self._lost = reason
        self._reader.close()
        if self._writer.unsent_bytes:  # the peer may still read it; `aclose` waits for that
            self._writer.release()
        else:
            self.close_writing()
        if self._receiver is not None:
            self._receiver.connection_lost(reason)

    def _data_received(self, data: bytes) -> None:
        frames = self._splitter.feed(data)
        is_long = self._splitter.pending_bytes > LONG_READ_BYTES // 4
        self._reader.read_bytes = LONG_READ_BYTES if is_long else READ_BYTES
        if frames:
            assert self._receiver is not None
            deliver_frames(self._receiver, frames, self.lose)

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
        """Schedule the end of the connection after what the peer sent last has been read.

        It is scheduled because the caller of `send` may be on the stack.
        """
        self._write_error = error
        if self._lost is not None:  # the receiver was notified; only `flush` still waits
            self._writer.release()
        elif self._receiver is not None:
            self._loop.call_soon(self._lose_after_write, error)

    def _lose_after_write(self, error: OSError) -> None:
        self.read_available()
        self.lose(ConnectionClosed(f"the peer no longer accepts messages: {error.strerror}"))
