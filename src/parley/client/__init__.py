"""What a client is written with: `connect` to an agent, sessions, prompts."""

from __future__ import annotations

from .connecting import ConnectOptions, connect
from .connection import Connection
from .files import Buffers
from .login import TerminalLogin, run_login
from .opening import SessionOptions
from .permission import Decide, Decided, subject_in
from .session import Session
from .thinking import think
from .turn import Turn, TurnResult
from .workspace import Guard, Workspace, WorkspaceOptions

__all__ = [
    "Buffers",
    "ConnectOptions",
    "Connection",
    "Decide",
    "Decided",
    "Guard",
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
    "think",
]
