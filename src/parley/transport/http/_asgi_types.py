"""Type aliases for ASGI 3, the interface between a server and an application, and our extensions.

Messages are dictionaries; their `type` determines their shape. Specification:
https://asgi.readthedocs.io/en/latest/specs/www.html
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]
OnDisconnect: TypeAlias = Callable[[Callable[[], None]], None]
"""Registers a callback that is called when the peer disconnects."""
SkipOversized: TypeAlias = Callable[[], None]
"""Skips oversized messages instead of closing the connection."""

ON_DISCONNECT = "parley.on_disconnect"
"""Extension of our own server, an `OnDisconnect`: a silent stream needs no task in `receive`."""
SKIP_OVERSIZED = "parley.skip_oversized"
"""Extension of our own server, a `SkipOversized`, to be called before the WebSocket is accepted.

A message that is too long then no longer closes the connection: the application receives an event
whose `oversized` holds the two ends of the message."""
