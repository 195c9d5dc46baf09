"""Writing agents: `Agent` and the objects that its handlers receive.

Start with `Agent`: register handlers with its decorators, then call `run`. A prompt handler
receives a `Turn`, whose methods stream the reply; `turn.session` is the `AgentSession`.
"""

from __future__ import annotations

from parley.session._capabilities import AgentFeatures, ClientFeatures

from ._agent import Agent
from ._config_options import ConfigOption
from ._connection import AgentConnection
from ._elicitation import UrlElicitation
from ._login import Login
from ._serve import serve
from ._session import AgentSession
from ._store import MemoryStore, SessionStore, StoredSession
from ._terminal import Terminal
from ._tool_call import ToolCall
from ._turn import Turn

__all__ = [
    "Agent",
    "AgentConnection",
    "AgentFeatures",
    "AgentSession",
    "ClientFeatures",
    "ConfigOption",
    "Login",
    "MemoryStore",
    "SessionStore",
    "StoredSession",
    "Terminal",
    "ToolCall",
    "Turn",
    "UrlElicitation",
    "serve",
]
