"""Extensions of ASGI that the server offers to applications, in `scope["extensions"]`.

An application that finds one may call it; under any other server it is absent. How extensions work:
https://asgi.readthedocs.io/en/latest/extensions.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

__all__ = ["ON_DISCONNECT", "SKIP_OVERSIZED", "OnDisconnect", "SkipOversized"]

OnDisconnect: TypeAlias = Callable[[Callable[[], None]], None]
"""Registers a callback that is called when the peer disconnects."""
SkipOversized: TypeAlias = Callable[[int], None]
"""Skips oversized messages instead of closing the connection, except for this many bytes at both
ends."""

ON_DISCONNECT = "parley.on_disconnect"
"""The name of an `OnDisconnect`: a silent stream then needs no task that waits in `receive`."""
SKIP_OVERSIZED = "parley.skip_oversized"
"""The name of a `SkipOversized`, to be called before the WebSocket is accepted.

A text message that is too long then no longer closes the connection. The application receives
`{"type": "websocket.receive", "oversized": {"head": …, "tail": …, "limit_bytes": …}}` instead:
the first and the last bytes of the message, and the limit that it exceeded."""
