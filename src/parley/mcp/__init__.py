"""MCP over ACP: servers of this process, offered over the ACP connection that already exists.

`Provider` serves them in both wire forms of the protocol, over a connection that it reaches by an
`Outlet`. Functions are tools unless they are decorated with `prompt` or `resource`. Most programs
use all this with `new_session(tools=…, mcp_servers=…)` of a client's connection.

Servers run on the official `mcp` package, the extra `parley-acp[mcp]`. It is loaded when the first
server is added, never before.

Spec: https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

from ._decorators import prompt, resource
from ._provider import Outlet, Provider

__all__ = ["Outlet", "Provider", "prompt", "resource"]
