"""How a session is opened: what the requests for it have in common.

Spec: https://agentclientprotocol.com/protocol/v2/session-setup
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

from parley.errors import Unsupported
from parley.schema import v2
from parley.schema.v2 import unstable
from parley.session.features import AgentFeatures
from parley.session.transcript import first_updates

from .options import check_options

__all__ = ["SessionOptions", "first_updates", "session_params"]


class SessionOptions(TypedDict, total=False):
    """What may be said when a session is opened, besides where it works."""

    additional_directories: Sequence[str | Path]
    """Further directories that it may work in; relative ones are below the working directory."""
    tools: Sequence[Callable[..., Any]]
    """Functions of this program that the agent may call; see `parley.mcp.functions`."""
    mcp_servers: Sequence[object]
    """MCP servers that the agent is to use: how it reaches them (`v2.McpServerHttp`, …), or servers
    of this program, `MCPServer` objects of the `mcp` package, which it uses over the connection."""
    system_prompt: str | unstable.SystemPrompt | None
    """Unstable: instructions to the agent; a string is added to its own."""
    meta: dict[str, Any] | None
    """The `_meta` of the request."""


def session_params(
    cwd: Path, options: SessionOptions, features: AgentFeatures, name: str
) -> dict[str, Any]:
    """Return the params that open a session.

    Raises:
        Unsupported: The agent does not take one of the options.
        TypeError: There is no such option, or it is something else than it should be.
    """
    check_options(options, SessionOptions)
    directories = options.get("additional_directories", ())
    servers = options.get("mcp_servers", ())
    if directories and not features.additional_directories:
        raise Unsupported(f"the {name} takes no additional directories")
    for server in servers:
        _check_mcp_server(server, features, name)
    where = str(cwd.absolute())
    further = dict.fromkeys(str((cwd / each).absolute()) for each in directories)
    return {
        "cwd": where,
        "additional_directories": [each for each in further if each != where],
        "mcp_servers": list(servers),
        "system_prompt": _system_prompt(options.get("system_prompt"), features, name),
        "meta": options.get("meta"),
    }


def _check_mcp_server(server: object, features: AgentFeatures, name: str) -> None:
    offers: dict[type, tuple[bool, str]] = {
        v2.McpServerStdio: (features.mcp_stdio, "stdio"),
        v2.McpServerHttp: (features.mcp_http, "HTTP"),
        unstable.McpServerAcp: (features.mcp_acp, "ACP"),
    }
    is_offered, kind = offers.get(type(server), (True, ""))
    if not is_offered:
        raise Unsupported(f"the {name} does not reach MCP servers over {kind}")


def _system_prompt(
    prompt: str | unstable.SystemPrompt | None, features: AgentFeatures, name: str
) -> unstable.SystemPrompt | None:
    if prompt is None:
        return None
    if isinstance(prompt, str):
        prompt = unstable.SystemPrompt(mode="append", content=[v2.TextContent(text=prompt)])
    if not features.system_prompt:
        raise Unsupported(f"the {name} takes no system prompt")
    if prompt.mode == "override" and not features.system_prompt_override:
        raise Unsupported(f"the {name} does not let its own system prompt be replaced")
    return prompt
