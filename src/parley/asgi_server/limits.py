"""The limits that the server enforces on its peers, for all protocols in one place.

When a peer exceeds one, it gets an error status (400, 408, 413, 414, 431, 503), a stream reset or a
WebSocket close code, or the connection is closed; `_h1.py`, `_h2.py` and `_ws.py` decide.
The objects that apply a limit have modules of their own:
`_send_window.py` (backpressure), `_token_bucket.py` (rates), `_heartbeat.py` (pings).
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ServerLimits"]

_KIB = 1024
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """The limits of a `Server`; durations are in seconds."""

    connections: int = 4096
    """Concurrent connections; another one gets 503."""
    streams: int = 1024
    """Concurrent requests on an HTTP/2 connection; another one is refused."""
    header_bytes: int = 64 * _KIB
    """Size of a request's headers; beyond it 431, or in HTTP/2 the connection is closed."""
    header_count: int = 128
    """Number of header fields of a request; beyond it 431."""
    target_bytes: int = 8 * _KIB
    """Length of a request's path and query; beyond it 414."""
    body_bytes: int = 256 * _MIB
    """Size of a request body, even if the application would accept more; beyond it 413."""
    message_bytes: int = 16 * _MIB
    """Size of a WebSocket message; beyond it close code 1009."""
    unread_bytes: int = 256 * _KIB
    """Bytes of one stream that the application has not consumed; beyond it reading pauses."""
    connection_unread_bytes: int = _MIB
    """The same for all streams of an HTTP/2 connection together."""
    unsent_bytes: int = 64 * _KIB
    """Bytes of one stream that the peer has not read; beyond it the application waits in `send`."""
    connection_unsent_bytes: int = 4 * _MIB
    """The same for all streams of an HTTP/2 connection together; see `_send_window.py`."""
    control_bytes: int = _MIB
    """Unread replies to control frames; beyond it the connection is closed."""
    floods: int = 2048
    """Burst size for frames that only cost us work (resets, pings, settings …)."""
    floods_per_second: float = 100.0
    """The rate at which the allowance for `floods` refills."""
    head_timeout: float = 10.0
    """Time to receive a request's headers, from its first byte or the connection's start: 408."""
    body_timeout: float = 30.0
    """Silence in the middle of a body that the application is waiting for: 408."""
    idle_timeout: float = 75.0
    """Time after which a connection without a pending request is closed."""
    leave_timeout: float = 60.0
    """Time for the pending requests to complete after the peer sent GOAWAY."""
    ping_after: float = 20.0
    """Silence after which a peer with open streams is pinged."""
    ping_timeout: float = 20.0
    """Time to reply to that ping before the peer counts as disconnected."""
    close_timeout: float = 2.0
    """Time for the peer to close its side of the connection."""

    @property
    def tick_after(self) -> float:
        """The interval at which the timeouts are checked."""
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
