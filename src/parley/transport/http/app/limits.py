"""What the application holds at most and how long it waits, and the clock that it looks at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from parley.transport.base import HIGH_WATER_BYTES

__all__ = ["AppLimits", "Clock", "Timer"]

_MIB = 1024 * 1024


class AppLimits(Struct, frozen=True, kw_only=True):
    """Bounds; each is refused with an answer that names it, or becomes backpressure."""

    connections: int = 2048
    """How many there are at once; a further one gets 503."""
    connections_per_principal: int = 1024
    """Likewise of one principal; 429."""
    sessions_per_principal: int = 16384
    """How many sessions are open on the connections of one principal; 429, on a WebSocket
    -32005."""
    in_flight: int = 1024
    """How many requests of one connection wait for their answers; 429. On a WebSocket it is the
    agent that refuses more."""
    messages: int = 256
    """How many POSTs of one connection are under way; 429."""
    unclaimed: int = 64
    """How many streams of one connection are open for sessions that nobody has named yet; 429."""
    body_bytes: int = 16 * _MIB
    """How long a POST or a message of a WebSocket may be; 413, close code 1009."""
    bodies_bytes: int = 256 * _MIB
    """How much of all POSTs together is read and not yet delivered; 503."""
    stream_bytes: int = HIGH_WATER_BYTES
    """How much waits on one stream before those who write to it wait."""
    connection_bytes: int = 32 * _MIB
    """How much waits on all streams together: beyond half of it nobody writes more than one message
    ahead, beyond it, filled by those who do not wait, the connection ends."""
    log_bytes: int = 4 * _MIB
    """How much of what was sent is kept for one connection that may resume; with many busy streams
    up to four times as much."""
    log_seconds: float = 300.0
    """How long it is kept."""

    idle: float = 60.0
    """How long a connection of a plain peer lives without a stream and without a request."""
    grace: float = 60.0
    """Likewise of a peer that negotiated to resume."""
    keep_alive: float = 25.0
    """After so much silence the stream of a connection says that it is there."""
    session_keep_alive: float = 50.0
    """Likewise that of a session: there are many, and proxies wait a minute."""
    gap: float = 10.0
    """How long a numbered message waits for those before it; 409."""
    initialize: float = 60.0
    """How long an agent may take to answer initialize; 504."""
    claim: float = 30.0
    """How long a stream waits for somebody to name its session."""
    leave: float = 5.0
    """How long the stream of a session stays open after the session was closed."""
    hold: float = 1.0
    """How long an answer waits, at most, for what was sent before it on a session's stream."""
    flush: float = 2.0
    """How long the end of a connection waits for readers to take what is left."""


class Timer(Protocol):
    """Something that will happen."""

    def cancel(self) -> None:
        """Make it not happen."""


class Clock(Protocol):
    """What time it is; an event loop is one."""

    def time(self) -> float:
        """Return the seconds since some moment."""
        ...

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: Any) -> Timer:
        """Have something called after so many seconds."""
        ...
