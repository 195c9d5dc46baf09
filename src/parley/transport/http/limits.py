"""What a peer may ask of the server: every bound of the fronts, in one place.

Where a peer goes beyond one, the answer is a status (400, 408, 413, 414, 431, 503), a reset of the
stream, a close code, or the end of the connection; the fronts say which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Budget", "Heartbeat", "Room", "ServerLimits"]

_KIB = 1024
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """The bounds of a `Server`; durations are seconds."""

    connections: int = 4096
    """Connections at once; a further one gets 503."""
    streams: int = 1024
    """Requests at once on an HTTP/2 connection; a further one is refused."""
    header_bytes: int = 64 * _KIB
    """The head of a request: 431, or in HTTP/2 the end of the connection."""
    header_count: int = 128
    """Header fields of a request: 431."""
    target_bytes: int = 8 * _KIB
    """The path of a request with its query: 414."""
    body_bytes: int = 256 * _MIB
    """A body, whatever the application would take: 413."""
    message_bytes: int = 16 * _MIB
    """A message of a WebSocket: close code 1009."""
    unread_bytes: int = 256 * _KIB
    """What is read of one stream and not yet taken by the application; then reading stops."""
    connection_unread_bytes: int = _MIB
    """The same for all streams of an HTTP/2 connection together."""
    unsent_bytes: int = 64 * _KIB
    """What the application has sent on one stream and the peer has not taken; then it waits."""
    connection_unsent_bytes: int = 4 * _MIB
    """The same for all streams of an HTTP/2 connection together; see `Room`."""
    control_bytes: int = _MIB
    """What a peer makes us say about its frames and does not read: the end of the connection."""
    floods: int = 2048
    """Frames that only cost us work (resets, pings, settings …), as many as may come at once."""
    floods_per_second: float = 100.0
    """At which rate it is forgiven."""
    head_timeout: float = 10.0
    """From the first byte of a request's head, or the start of a connection, to its end: 408."""
    body_timeout: float = 30.0
    """Silence in the middle of a body that the application waits for: 408."""
    idle_timeout: float = 75.0
    """A connection on which nothing is under way is closed."""
    leave_timeout: float = 60.0
    """From a peer's word that it asks for nothing more (GOAWAY) to the end of what it asked for."""
    ping_after: float = 20.0
    """After so much silence a peer with open streams is asked whether it is there."""
    ping_timeout: float = 20.0
    """A peer that does not answer that is gone."""
    close_timeout: float = 2.0
    """How long a peer may take to close its side."""

    @property
    def tick_after(self) -> float:
        """How often the clocks are looked at."""
        clocks = (
            self.head_timeout,
            self.body_timeout,
            self.idle_timeout,
            self.leave_timeout,
            self.ping_after,
            self.ping_timeout,
            self.close_timeout,
        )
        return min(1.0, *(seconds / 2 for seconds in clocks))


class Budget:
    """How much useless work a peer may still cause; it fills up again with time."""

    __slots__ = ("_at", "_left", "_most", "_rate")

    def __init__(self, limits: ServerLimits, now: float) -> None:
        self._most = self._left = float(limits.floods)
        self._rate = limits.floods_per_second
        self._at = now

    def spend(self, now: float, count: int = 1) -> bool:
        """Take some away; tell whether they were there."""
        self._left = min(self._most, self._left + (now - self._at) * self._rate) - count
        self._at = now
        return self._left >= 0


class Room:
    """How much waits on the streams of one connection, each and together.

    Each stream may hold so much while there is little on all of them. Beyond half of the most, and
    until it is a quarter again, each may hold one message: so those that are read go on, however
    many others are not.
    """

    __slots__ = ("_each", "_most", "_on_relief", "allowed", "bytes")

    def __init__(self, each: int, most: int, on_relief: Callable[[], None] | None = None) -> None:
        """Begin with nothing.

        Args:
            each: How much may wait on one stream.
            most: How much may wait on all.
            on_relief: Is called when each may hold more again.
        """
        self.bytes = 0
        """How much waits."""
        self.allowed = each
        """How much may wait on a stream before those who write to it wait."""
        self._each = each
        self._most = most
        self._on_relief = on_relief

    def add(self, size: int) -> None:
        """Count what was sent."""
        self.bytes += size
        if self.bytes > self._most // 2:
            self.allowed = 0

    def remove(self, size: int) -> None:
        """Forget what was taken, or will not be."""
        self.bytes -= size
        if not self.allowed and self.bytes <= self._most // 4:
            self.allowed = self._each
            if self._on_relief is not None:
                self._on_relief()


class Heartbeat:
    """Tells when a silent peer is to be asked for a sign of life, and when it is gone."""

    __slots__ = ("_asked_at", "_limits")

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._asked_at = 0.0

    def is_due(self, now: float, heard_at: float) -> bool:
        """Tell whether to ask now."""
        if self._asked_at > heard_at or now - heard_at < self._limits.ping_after:
            return False
        self._asked_at = now
        return True

    def is_missed(self, now: float, heard_at: float) -> bool:
        """Tell whether the peer was asked and has been silent for too long since."""
        return self._asked_at > heard_at and now - self._asked_at >= self._limits.ping_timeout

    def next_at(self, heard_at: float) -> float:
        """Return when one of the two may be so next."""
        if self._asked_at > heard_at:
            return self._asked_at + self._limits.ping_timeout
        return heard_at + self._limits.ping_after
