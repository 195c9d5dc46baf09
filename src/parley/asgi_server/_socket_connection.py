"""One connection of the server: the socket, and the state that all connections share.

The protocol of a connection is HTTP/1.1, HTTP/2 or WebSocket, each in its own module. The
connection passes received bytes to the protocol and sends the bytes that the protocol writes.
Everything written in one event loop iteration leaves in one write at its end. When an application
has something to send, it only causes a call of `schedule_flush`; the `flush` of the protocol is
then called once to write it. It is not called while the peer does not read (`is_full`).

Closing is graceful: `close` sends the remaining bytes, closes our side, and continues to read for
a moment, because closing a socket with unread bytes would discard the response in transit.
"""

from __future__ import annotations

import asyncio
import logging
import select
import traceback
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Protocol, cast

from ._asgi_types import App
from ._notifier import Notifier
from .limits import ServerLimits

if TYPE_CHECKING:
    from ._tls_handshake import TlsHandshake


logger = logging.getLogger(__name__)

READ_BYTES = 32 * 1024
"""The size of one read; it limits how long one peer occupies the event loop."""
_FLUSH_BYTES = 64 * 1024
_HIGH_WATER_BYTES = 64 * 1024
_LOW_WATER_BYTES = 16 * 1024
_DISCARDED_BYTES = 16 * 1024 * 1024


class HttpProtocol(Protocol):
    """The protocol of one connection, called by `SocketConnection`."""

    def data_received(self, data: memoryview) -> None:
        """Handle received bytes; the buffer is only valid during the call."""

    def flush(self) -> None:
        """Write what is due, as long as the connection is not full."""

    def connection_lost(self) -> None:
        """Called when the connection is lost or closing, perhaps more than once."""

    def tick(self, now: float) -> None:
        """Enforce timeouts; called periodically."""

    def drain(self) -> None:
        """Accept no more requests, and end when the running ones are done."""

    def terminate(self) -> None:
        """End the running requests, as gracefully as the protocol allows."""


class ServerState:
    """The state that all connections of a server share."""

    def __init__(self, app: App, limits: ServerLimits, *, is_tls: bool) -> None:
        self.app = app
        self.limits = limits
        self.is_tls = is_tls
        self.is_draining = False
        self.loop = asyncio.get_running_loop()
        self.buffer = memoryview(bytearray(READ_BYTES))
        """The read buffer of all connections; its content is consumed before the next read."""
        self.connections: set[SocketConnection] = set()
        self.handshakes: set[TlsHandshake] = set()
        """Connections whose TLS handshake is in progress; not yet in `connections`."""
        self.tasks: set[asyncio.Task[None]] = set()
        self.changed = Notifier()
        """Wakes its waiters when a connection or a task has ended."""
        self._ticker: asyncio.TimerHandle | None = None

    @property
    def is_full(self) -> bool:
        """Whether the limit on connections is reached."""
        return len(self.connections) + len(self.handshakes) >= self.limits.connections

    def spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Run a coroutine, such as the application's part of a request, as a task of the server."""
        task = self.loop.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self._task_ended)
        return task

    def add_connection(self, connection: SocketConnection) -> None:
        """Add a connection, and start the periodic tick."""
        self.connections.add(connection)
        if self._ticker is None:
            self._ticker = self.loop.call_later(self.limits.tick_after, self._tick)

    def remove_connection(self, connection: SocketConnection) -> None:
        """Remove a connection."""
        self.connections.discard(connection)
        self.changed.notify_all()

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self.changed.notify_all()

    def _tick(self) -> None:
        self._ticker = None
        now = self.loop.time()
        for connection in list(self.connections):
            if now >= connection.idle_until:
                connection.tick(now)
        if self.connections:
            self._ticker = self.loop.call_later(self.limits.tick_after, self._tick)


class SocketConnection(asyncio.BufferedProtocol):
    """The asyncio side of one connection; passes bytes between the socket and the protocol."""

    __slots__ = (
        "_abort_at",
        "_buffer",
        "_buffered_bytes",
        "_discarded_bytes",
        "_is_flush_scheduled",
        "_last_unsent_bytes",
        "_paused_at",
        "_transport",
        "idle_until",
        "is_closing",
        "is_full",
        "is_reading_paused",
        "last_active_at",
        "limits",
        "peername",
        "protocol",
        "server_state",
        "sockname",
        "writable",
    )

    protocol: HttpProtocol
    peername: tuple[str, int] | None
    sockname: tuple[str, int] | None

    def __init__(self, server_state: ServerState) -> None:
        self.server_state = server_state
        self.limits = server_state.limits
        self.last_active_at = server_state.loop.time()
        """The time of the last sign of life from the peer: it sent something, or read something."""
        self.is_full = False
        """Whether the peer does not read fast enough."""
        self.is_reading_paused = False
        """Whether reading from the peer is paused."""
        self.is_closing = False
        """Whether the peer has disconnected, or the connection is being closed."""
        self.writable = Notifier()
        """Wakes its waiters when the connection is no longer full, or is closing."""
        self.idle_until = 0.0
        """The time until which `tick` is skipped while nothing happens: many peers are silent."""
        self._transport: asyncio.Transport | None = None
        self._buffer: list[bytes] = []
        self._buffered_bytes = 0
        self._paused_at = 0.0
        self._is_flush_scheduled = False
        self._last_unsent_bytes = 0
        self._abort_at = 0.0
        self._discarded_bytes = 0

    @property
    def transport(self) -> asyncio.Transport:
        """The asyncio transport; set before the protocol is called."""
        assert self._transport is not None
        return self._transport

    @property
    def unsent_bytes(self) -> int:
        """The number of bytes that are written but not yet sent."""
        return self._buffered_bytes + self.transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        """Queue bytes, to be sent with everything else of this event loop iteration."""
        if self.is_closing:
            return
        self._buffer.append(data)
        self._buffered_bytes += len(data)
        if self._buffered_bytes >= _FLUSH_BYTES:
            self._flush()
        elif not self._is_flush_scheduled:
            self._is_flush_scheduled = True
            self.server_state.loop.call_soon(self._run_scheduled_flush)

    def schedule_flush(self) -> None:
        """Schedule a flush of the protocol for the end of this event loop iteration."""
        if not self._is_flush_scheduled:
            self._is_flush_scheduled = True
            self.server_state.loop.call_soon(self._run_scheduled_flush)

    def pause_reading(self) -> None:
        """Pause reading."""
        if not self.is_reading_paused and not self.is_closing:
            self.is_reading_paused = True
            self.idle_until = 0.0
            self._paused_at = self.server_state.loop.time()
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading."""
        if self.is_reading_paused:
            self.is_reading_paused = False
            self.last_active_at = self.server_state.loop.time()
            if not self.transport.is_closing():
                self.transport.resume_reading()

    def close(self) -> None:
        """Send the remaining bytes, close our side, and give the peer a moment to close its own."""
        if self.is_closing:
            return
        self._flush()
        self.is_closing = True
        self.idle_until = 0.0
        self.resume_reading()
        self.protocol.connection_lost()
        self.writable.notify_all()
        self._abort_at = self.server_state.loop.time() + self.limits.close_timeout
        try:
            if self.transport.can_write_eof() and not self.transport.is_closing():
                self.transport.write_eof()
            else:
                self.transport.close()
        except OSError:  # the peer has closed the connection first
            self.transport.abort()

    def abort(self) -> None:
        """Drop the connection at once."""
        self.is_closing = True
        if self._transport is not None:
            self._transport.abort()

    def tick(self, now: float) -> None:
        """Enforce the timeouts of the connection and its protocol; called periodically."""
        unsent = self.transport.get_write_buffer_size()
        if (
            self.is_reading_paused or unsent < self._last_unsent_bytes
        ):  # we do not listen, or the peer reads
            self.last_active_at = now
            self._abort_at = now + self.limits.close_timeout
        self._last_unsent_bytes = unsent
        if self.is_reading_paused and self._is_peer_closed(now):
            self._disconnected()
            self.transport.abort()
        elif not self.is_closing:
            self.protocol.tick(now)
        elif now >= self._abort_at:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(_HIGH_WATER_BYTES, _LOW_WATER_BYTES)
        self.peername = _address(transport.get_extra_info("peername"))
        self.sockname = _address(transport.get_extra_info("sockname"))
        self.server_state.add_connection(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer that all connections share."""
        return self.server_state.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Pass the received bytes to the protocol."""
        if self.is_closing:
            self._discarded_bytes += nbytes
            if self._discarded_bytes > _DISCARDED_BYTES:
                self.transport.abort()
            return
        self.last_active_at = self.server_state.loop.time()
        self.idle_until = 0.0
        try:
            self.protocol.data_received(self.server_state.buffer[:nbytes])
        except Exception as error:  # noqa: BLE001  boundary: a defect ends only this connection
            log_failure("The HTTP protocol failed", error)
            self.abort()

    def eof_received(self) -> None:
        """Treat EOF as a disconnect of the peer."""
        self._disconnected()

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the protocol, and remove the connection."""
        self._disconnected()
        self.server_state.remove_connection(self)

    def pause_writing(self) -> None:
        """Record that the peer does not read fast enough."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Resume sending."""
        self.is_full = False
        self.last_active_at = self.server_state.loop.time()
        self.writable.notify_all()
        self.schedule_flush()

    def _is_peer_closed(self, now: float) -> bool:
        """Return whether the peer has closed, checked once reading is paused for a long time."""
        limits = self.limits
        if now - self._paused_at < limits.ping_after + limits.ping_timeout:
            return False
        if not hasattr(select, "poll"):
            return False
        looking = select.poll()
        fd = self.transport.get_extra_info("socket").fileno()
        looking.register(fd, getattr(select, "POLLRDHUP", 0))
        return bool(looking.poll(0))

    def _disconnected(self) -> None:
        self.is_closing = True
        self.idle_until = 0.0
        self._buffer.clear()
        self._buffered_bytes = 0
        self._abort_at = self.server_state.loop.time() + self.limits.close_timeout
        self.protocol.connection_lost()
        self.writable.notify_all()

    def _run_scheduled_flush(self) -> None:
        self._is_flush_scheduled = False
        if self.is_closing:
            return
        if not self.is_full:
            try:
                self.protocol.flush()
            except Exception as error:  # noqa: BLE001  boundary, as above
                log_failure("The HTTP protocol failed", error)
                self.abort()
        self._flush()

    def _flush(self) -> None:
        if self._buffer and not self.is_closing:
            data = self._buffer[0] if len(self._buffer) == 1 else b"".join(self._buffer)
            self._buffer.clear()
            self._buffered_bytes = 0
            self.idle_until = 0.0
            self.transport.write(data)


def _address(name: object) -> tuple[str, int] | None:
    if isinstance(name, tuple):
        host, port, *_ = cast("tuple[str, int]", name)
        return host, port
    return None


def log_failure(what: str, error: BaseException) -> None:
    """Log a traceback without the exception's message, which may quote what a peer sent."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s: %s\n%s", what, type(error).__name__, frames)
