"""The limits of a connection."""

from __future__ import annotations

from msgspec import Struct


class Limits(Struct, frozen=True, kw_only=True):
    """Limits on what a connection may hold in memory; pass them to `Peer`.

    The transport limits the length of a message.
    """

    depth: int = 128
    """Maximum nesting depth of a message."""
    in_flight: int = 1024
    """Maximum number of pending requests, in each direction."""
    early_updates: int = 1024
    """Maximum number of updates that wait for the response that names their session."""
    session_bytes: int = 1024 * 1024
    """Bytes of one session that may be read but not yet handled before reading pauses."""
    connection_bytes: int = 32 * 1024 * 1024
    """The same for all sessions together, even while a handler waits for the peer.

    Above this, such a wait fails with `Overloaded`.
    """
    response_bytes: int = 32 * 1024 * 1024
    """Bytes of responses that may be under construction or unsent before handlers wait."""
