"""The words of ASGI 3, as types: what passes between a server and an application.

The messages are dictionaries whose shape their `type` tells. Specification:
https://asgi.readthedocs.io/en/latest/specs/www.html
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

__all__ = [
    "PASS_OVER",
    "WHEN_GONE",
    "App",
    "Headers",
    "Message",
    "PassOver",
    "Receive",
    "Scope",
    "Send",
    "WhenGone",
]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]
WhenGone: TypeAlias = Callable[[Callable[[], None]], None]
"""Has something called when the peer is gone."""
PassOver: TypeAlias = Callable[[], None]
"""Has messages that are too long passed over."""

WHEN_GONE = "parley.when_gone"
"""An extension of our own server, a `WhenGone`: a silent stream then needs no task in `receive`."""
PASS_OVER = "parley.pass_over"
"""An extension of our own server, a `PassOver`: who calls it before the WebSocket is accepted gets,
in place of a message that is too long and would end it, `oversized` with its ends in the event."""
