"""One connection of the server: the socket under a front, and what the connections share.

A front speaks a protocol: HTTP/1.1, HTTP/2 or WebSocket, each in a file of its own. The wire gives
it what was read, and takes what it writes. Everything that is written in one turn of the event loop
leaves in one write at its end: applications only say `touch`, and the front is asked once, by
`pump`, for what is to be sent. While the peer does not read (`is_full`), a front is not asked.

Nothing is closed in a peer's face: `finish` sends what is left, closes our side, and reads on for a
moment, because a socket closed over unread bytes takes away the answer that is on its way.
"""

from __future__ import annotations

import asyncio
import logging
import select
import traceback
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Protocol, cast

from parley.transport.http.asgi_types import App
from parley.transport.http.limits import ServerLimits

if TYPE_CHECKING:
    from .handshake import Handshake

__all__ = ["Front", "Service", "Signal", "Wire", "log_failure"]

logger = logging.getLogger(__name__)

READ_BYTES = 32 * 1024
"""What is read at once; it bounds how long one peer holds the event loop."""
_FLUSH_BYTES = 64 * 1024
_HIGH_WATER_BYTES = 64 * 1024
_LOW_WATER_BYTES = 16 * 1024
_DISCARDED_BYTES = 16 * 1024 * 1024


class Front(Protocol):
    """One protocol, spoken on one connection."""

    def received(self, data: memoryview) -> None:
        """Take what was read; it is only there during the call."""

    def pump(self) -> None:
        """Write what is to be sent, as long as the wire is not full."""

    def lost(self) -> None:
        """Learn that the connection is gone; may be told more than once."""

    def tick(self, now: float) -> None:
        """Look at the clock."""

    def drain(self) -> None:
        """Take no more requests, and end when those that run have ended."""

    def cut(self) -> None:
        """End what still runs, as orderly as the protocol can."""


class Signal:
    """Lets those go on who wait for a change."""

    __slots__ = ("_waiters",)

    def __init__(self) -> None:
        self._waiters: list[asyncio.Future[None]] = []

    def __bool__(self) -> bool:
        return bool(self._waiters)

    async def wait(self) -> None:
        """Wait for the next change."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            self._waiters.remove(waiter)

    def wake(self) -> None:
        """Tell everybody."""
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)


class Service:
    """What the connections of a server share."""

    def __init__(self, app: App, limits: ServerLimits, *, is_tls: bool) -> None:
        self.app = app
        self.limits = limits
        self.is_tls = is_tls
        self.is_draining = False
        self.loop = asyncio.get_running_loop()
        self.buffer = memoryview(bytearray(READ_BYTES))
        """Where every connection reads to; what was read is used up before the next read."""
        self.wires: set[Wire] = set()
        self.handshakes: set[Handshake] = set()
        """Connections that are not wires yet."""
        self.tasks: set[asyncio.Task[None]] = set()
        self.changed = Signal()
        """A connection or a task has ended."""
        self._ticker: asyncio.TimerHandle | None = None

    @property
    def is_full(self) -> bool:
        """Whether there are as many connections as may be."""
        return len(self.wires) + len(self.handshakes) >= self.limits.connections

    def spawn(self, coroutine: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Run the application's part of a request."""
        task = self.loop.create_task(coroutine)
        self.tasks.add(task)
        task.add_done_callback(self._task_ended)
        return task

    def joined(self, wire: Wire) -> None:
        """Count a connection, and let the clock run."""
        self.wires.add(wire)
        if self._ticker is None:
            self._ticker = self.loop.call_later(self.limits.tick_after, self._tick)

    def left(self, wire: Wire) -> None:
        """Forget a connection."""
        self.wires.discard(wire)
        self.changed.wake()

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self.changed.wake()

    def _tick(self) -> None:
        self._ticker = None
        now = self.loop.time()
        for wire in list(self.wires):
            if now >= wire.rests_until:
                wire.tick(now)
        if self.wires:
            self._ticker = self.loop.call_later(self.limits.tick_after, self._tick)


class Wire(asyncio.BufferedProtocol):
    """The socket of one connection."""

    __slots__ = (
        "_discarded_bytes",
        "_end_at",
        "_is_touched",
        "_last_unsent",
        "_parts",
        "_parts_bytes",
        "_paused_at",
        "_transport",
        "front",
        "heard_at",
        "is_full",
        "is_gone",
        "is_paused",
        "limits",
        "name",
        "peer",
        "rests_until",
        "room",
        "service",
    )

    front: Front
    peer: tuple[str, int] | None
    name: tuple[str, int] | None

    def __init__(self, service: Service) -> None:
        self.service = service
        self.limits = service.limits
        self.heard_at = service.loop.time()
        """When the peer last gave a sign of life."""
        self.is_full = False
        """The peer does not read what is sent."""
        self.is_paused = False
        """Nothing is read from the peer."""
        self.is_gone = False
        """The peer is gone, or is being left."""
        self.room = Signal()
        """The wire is no longer full, or gone."""
        self.rests_until = 0.0
        """Until then no clock is looked at, unless something happens: silent wires are many."""
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self._parts_bytes = 0
        self._paused_at = 0.0
        self._is_touched = False
        self._last_unsent = 0
        self._end_at = 0.0
        self._discarded_bytes = 0

    @property
    def transport(self) -> asyncio.Transport:
        """The transport below; there is one as soon as a front speaks."""
        assert self._transport is not None
        return self._transport

    @property
    def unsent_bytes(self) -> int:
        """How much was written and is still here."""
        return self._parts_bytes + self.transport.get_write_buffer_size()

    def write(self, data: bytes) -> None:
        """Send with everything else of this turn."""
        if self.is_gone:
            return
        self._parts.append(data)
        self._parts_bytes += len(data)
        if self._parts_bytes >= _FLUSH_BYTES:
            self._flush()
        elif not self._is_touched:
            self._is_touched = True
            self.service.loop.call_soon(self._end_turn)

    def touch(self) -> None:
        """Ask the front at the end of this turn what is to be sent."""
        if not self._is_touched:
            self._is_touched = True
            self.service.loop.call_soon(self._end_turn)

    def pause(self) -> None:
        """Read no more."""
        if not self.is_paused and not self.is_gone:
            self.is_paused = True
            self.rests_until = 0.0
            self._paused_at = self.service.loop.time()
            self.transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self.is_paused:
            self.is_paused = False
            self.heard_at = self.service.loop.time()
            if not self.transport.is_closing():
                self.transport.resume_reading()

    def finish(self) -> None:
        """Send what is left, close our side, and wait a moment for the peer to close its own."""
        if self.is_gone:
            return
        self._flush()
        self.is_gone = True
        self.rests_until = 0.0
        self.resume()
        self.front.lost()
        self.room.wake()
        self._end_at = self.service.loop.time() + self.limits.close_timeout
        try:
            if self.transport.can_write_eof() and not self.transport.is_closing():
                self.transport.write_eof()
            else:
                self.transport.close()
        except OSError:  # the peer was faster
            self.transport.abort()

    def abort(self) -> None:
        """Let go of the connection at once."""
        self.is_gone = True
        if self._transport is not None:
            self._transport.abort()

    def tick(self, now: float) -> None:
        """Look at the clock."""
        unsent = self.transport.get_write_buffer_size()
        if self.is_paused or unsent < self._last_unsent:  # it cannot speak, or it reads
            self.heard_at = now
            self._end_at = now + self.limits.close_timeout
        self._last_unsent = unsent
        if self.is_paused and self._has_left(now):
            self._leave()
            self.transport.abort()
        elif not self.is_gone:
            self.front.tick(now)
        elif now >= self._end_at:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket over."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(_HIGH_WATER_BYTES, _LOW_WATER_BYTES)
        self.peer = _address(transport.get_extra_info("peername"))
        self.name = _address(transport.get_extra_info("sockname"))
        self.service.joined(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Offer the buffer that all connections share."""
        return self.service.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Hand what was read to the front."""
        if self.is_gone:
            self._discarded_bytes += nbytes
            if self._discarded_bytes > _DISCARDED_BYTES:
                self.transport.abort()
            return
        self.heard_at = self.service.loop.time()
        self.rests_until = 0.0
        try:
            self.front.received(self.service.buffer[:nbytes])
        except Exception as error:  # noqa: BLE001  the edge: a defect here ends one connection only
            log_failure("A front failed", error)
            self.abort()

    def eof_received(self) -> None:
        """Treat the end of what the peer sends as the end of the peer."""
        self._leave()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the front, and be forgotten."""
        self._leave()
        self.service.left(self)

    def pause_writing(self) -> None:
        """Note that the peer does not read."""
        self.is_full = True

    def resume_writing(self) -> None:
        """Go on with what waits."""
        self.is_full = False
        self.heard_at = self.service.loop.time()
        self.room.wake()
        self.touch()

    def _has_left(self, now: float) -> bool:
        """Tell whether the peer of a wire that is not read for long is gone: nobody else would."""
        limits = self.limits
        if now - self._paused_at < limits.ping_after + limits.ping_timeout:
            return False
        if not hasattr(select, "poll"):
            return False
        looking = select.poll()
        fd = self.transport.get_extra_info("socket").fileno()
        looking.register(fd, getattr(select, "POLLRDHUP", 0))
        return bool(looking.poll(0))

    def _leave(self) -> None:
        self.is_gone = True
        self.rests_until = 0.0
        self._parts.clear()
        self._parts_bytes = 0
        self._end_at = self.service.loop.time() + self.limits.close_timeout
        self.front.lost()
        self.room.wake()

    def _end_turn(self) -> None:
        self._is_touched = False
        if self.is_gone:
            return
        if not self.is_full:
            try:
                self.front.pump()
            except Exception as error:  # noqa: BLE001  the edge, as above
                log_failure("A front failed", error)
                self.abort()
        self._flush()

    def _flush(self) -> None:
        if self._parts and not self.is_gone:
            data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            self._parts_bytes = 0
            self.rests_until = 0.0
            self.transport.write(data)


def _address(name: object) -> tuple[str, int] | None:
    if isinstance(name, tuple):
        host, port, *_ = cast("tuple[str, int]", name)
        return host, port
    return None


def log_failure(what: str, error: BaseException) -> None:
    """Log where something failed, without its words: they may quote what a peer sent."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s: %s\n%s", what, type(error).__name__, frames)
