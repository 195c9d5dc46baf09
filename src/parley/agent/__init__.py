"""Writing agents: `Agent`, and what its functions are given."""

from __future__ import annotations

from parley.session.features import AgentFeatures, ClientFeatures

from .agent import Agent
from .connection import Connection
from .elicitation import UrlElicitation
from .login import Login
from .session import Session
from .store import MemoryStore, SessionStore, StoredSession
from .terminal import Terminal
from .tool import ToolCall
from .turn import Turn

__all__ = [
    "Agent",
    "AgentFeatures",
    "ClientFeatures",
    "Connection",
    "Login",
    "MemoryStore",
    "Session",
    "SessionStore",
    "StoredSession",
    "Terminal",
    "ToolCall",
    "Turn",
    "UrlElicitation",
]
