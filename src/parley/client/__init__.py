"""What a client is written with: `connect` to an agent, sessions, prompts."""

from __future__ import annotations

from .connecting import ConnectOptions, connect
from .connection import Connection
from .opening import SessionOptions
from .session import Session
from .turn import Turn, TurnResult

__all__ = [
    "ConnectOptions",
    "Connection",
    "Session",
    "SessionOptions",
    "Turn",
    "TurnResult",
    "connect",
]
