"""The options that all requests for opening a session have in common.

Spec: https://agentclientprotocol.com/protocol/v2/session-setup
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

from parley.errors import Unsupported
from parley.peer._peer_name import with_article
from parley.schema import v2
from parley.session._capabilities import AgentFeatures

from ._check_options import check_options


class SessionOptions(TypedDict, total=False):
    """The keyword arguments of `new_session`, `resume_session` and `fork_session`."""

    additional_directories: Sequence[str | Path]
    """Further directories that the session may work in, relative to its working directory."""
    tools: Sequence[Callable[..., Any]]
    """Functions of this program that the agent may call; see `parley.mcp._function_server`."""
    mcp_servers: Sequence[object]
    """MCP servers for the agent to use: declarations that say how to reach one (`v2.McpServerHttp`,
    …), or `MCPServer` objects of the `mcp` package, which are used over this connection."""
    system_prompt: str | v2.SystemPrompt | None
    """Unstable: instructions to the agent; a string is appended to its own system prompt."""
    meta: dict[str, Any] | None
    """The `_meta` of the request."""


def session_params(
    cwd: Path, options: SessionOptions, features: AgentFeatures, name: str
) -> dict[str, Any]:
    """Return the params of a request that opens a session.

    Raises:
        Unsupported: The agent does not support one of the options.
        TypeError: There is no such option, or its value has the wrong type.
    """
    check_options(options, SessionOptions)
    directories = options.get("additional_directories", ())
    servers = options.get("mcp_servers", ())
    if directories and not features.additional_directories:
        raise Unsupported(f"{with_article(name)} does not support additional directories")
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
        v2.McpServerAcp: (features.mcp_acp, "ACP"),
    }
    is_offered, kind = offers.get(type(server), (True, ""))
    if not is_offered:
        raise Unsupported(f"{with_article(name)} does not support MCP servers over {kind}")


def _system_prompt(
    prompt: str | v2.SystemPrompt | None, features: AgentFeatures, name: str
) -> v2.SystemPrompt | None:
    if prompt is None:
        return None
    if isinstance(prompt, str):
        prompt = v2.SystemPrompt(mode="append", content=[v2.TextContent(text=prompt)])
    if not features.system_prompt:
        raise Unsupported(f"{with_article(name)} does not accept a system prompt")
    if prompt.mode == "override" and not features.system_prompt_override:
        raise Unsupported(f"{with_article(name)} does not allow its system prompt to be replaced")
    return prompt
