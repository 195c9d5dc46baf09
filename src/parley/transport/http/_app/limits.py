"""Limits and timeouts of the application, and its source of time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from parley.transport._base import HIGH_WATER_BYTES

_MIB = 1024 * 1024


class AppLimits(Struct, frozen=True, kw_only=True):
    """The limits of an application: memory, counts, and timeouts in seconds.

    Beyond a limit, a request fails with a response that names it, or backpressure applies. The
    status or close code of the failure follows the semicolon.
    """

    connections: int = 2048
    """Connections in total; 503."""
    connections_per_principal: int = 1024
    """Connections of one principal; 429."""
    sessions_per_principal: int = 16384
    """Sessions that are open on the connections of one principal; 429, on a WebSocket the JSON-RPC
    error -32005."""
    in_flight: int = 1024
    """Requests of one connection that wait for their responses; 429. On a WebSocket, the agent
    itself refuses more."""
    messages: int = 256
    """POSTs of one connection that are in progress; 429."""
    unclaimed: int = 64
    """Streams of one connection that are open for sessions that no message has named yet; 429."""
    body_bytes: int = 16 * _MIB
    """Bytes of one POST or WebSocket message; 413. On a WebSocket, the message is skipped and the
    agent responds with an error; a server other than ours may close it with 1009."""
    bodies_bytes: int = 256 * _MIB
    """Bytes of all POSTs together that are read but not yet delivered; 503."""
    stream_bytes: int = HIGH_WATER_BYTES
    """Bytes that wait on one stream before its writers have to wait."""
    connection_bytes: int = 32 * _MIB
    """Bytes that wait on all streams of a connection together. Beyond half of it, a writer may be
    only one message ahead. Beyond all of it, which takes writers that do not wait, the connection
    ends."""
    log_bytes: int = 4 * _MIB
    """Bytes of sent events that are kept for one connection that can be resumed; up to four times
    as much with many busy streams."""
    log_seconds: float = 300.0
    """The time that sent events are kept."""

    idle: float = 60.0
    """The time that a connection stays open without a stream or a request, if its client did not
    negotiate to resume."""
    grace: float = 60.0
    """The same for a client that negotiated to resume."""
    keep_alive: float = 25.0
    """The silence after which the stream of a connection sends a keep-alive comment."""
    session_keep_alive: float = 50.0
    """The same for the stream of a session; longer, because there are many. Proxies usually wait
    a minute."""
    gap: float = 10.0
    """The time that a numbered message waits for earlier ones; 409."""
    initialize: float = 60.0
    """The time that an agent may take to respond to `initialize`; 504."""
    claim: float = 30.0
    """The time that a stream stays open until a message names its session."""
    leave: float = 5.0
    """The time that the stream of a session stays open after the session was closed."""
    hold: float = 1.0
    """The longest time that a response is held back for earlier events on a session's stream."""
    flush: float = 2.0
    """The time that closing a connection waits for readers to take the remaining events."""


class Timer(Protocol):
    """A scheduled callback; `asyncio.TimerHandle` is one."""

    def cancel(self) -> None:
        """Cancel the callback."""


class Clock(Protocol):
    """A source of time and timers; an event loop is one."""

    def time(self) -> float:
        """Return a monotonic time in seconds."""
        ...

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: Any) -> Timer:
        """Schedule a callback after this many seconds."""
        ...
