"""MCP over ACP: servers that live in this process, offered over the connection that is there.

`Provider` serves them, whichever of the two wire forms the other side speaks. `functions.py` makes
a server of plain functions; `prompt` and `resource` mark those that are no tools. Most programs use
this by `new_session(tools=…, mcp_servers=…)` of a client's connection.

What runs a server is the official `mcp` package, the extra `parley-acp[mcp]`. It is loaded when the
first server is added, never before.

Spec: https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

from .marks import prompt, resource
from .provider import Outlet, Provider

__all__ = ["Outlet", "Provider", "prompt", "resource"]
