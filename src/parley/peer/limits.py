"""What a connection may hold."""

from __future__ import annotations

from msgspec import Struct

__all__ = ["Limits"]


class Limits(Struct, frozen=True, kw_only=True):
    """What a connection may hold; the length of a message is the transport's limit."""

    depth: int = 128
    """How deep a message may nest."""
    in_flight: int = 1024
    """How many requests may be under way, in each direction."""
    early_updates: int = 1024
    """How many updates may wait for the answer that names their session."""
    session_bytes: int = 1024 * 1024
    """How much of one session may be read and not yet handled before reading stops."""
    connection_bytes: int = 32 * 1024 * 1024
    """How much of all sessions together, even while a handler waits for the peer."""
