"""What a client is written with: `connect` to an agent, sessions, prompts."""

from __future__ import annotations

from .connecting import ConnectOptions, connect
from .connection import Connection
from .login import TerminalLogin, run_login
from .opening import SessionOptions
from .permission import Decided, subject_in
from .session import Session
from .turn import Turn, TurnResult
from .workspace import Workspace, WorkspaceOptions

__all__ = [
    "ConnectOptions",
    "Connection",
    "Decided",
    "Session",
    "SessionOptions",
    "TerminalLogin",
    "Turn",
    "TurnResult",
    "Workspace",
    "WorkspaceOptions",
    "connect",
    "run_login",
    "subject_in",
]
