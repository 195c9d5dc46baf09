"""What a client is written with: `connect` to an agent, sessions, prompts."""

from __future__ import annotations

from .connecting import ConnectOptions, connect
from .connection import Connection
from .login import TerminalLogin, run_login
from .opening import SessionOptions
from .session import Session
from .turn import Turn, TurnResult

__all__ = [
    "ConnectOptions",
    "Connection",
    "Session",
    "SessionOptions",
    "TerminalLogin",
    "Turn",
    "TurnResult",
    "connect",
    "run_login",
]
