"""Trying an agent: start it, initialize, see what it says about itself, end it.

Nothing else is asked of it: no session is opened, nothing is sent to a model. A configured agent is
tried in the home directory, because files in a project can change what a command means there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from parley._display_text import sanitize_text
from parley.client import ConnectOptions, connect, run_login
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._capabilities import AgentFeatures

from .targets import Resolved

__all__ = ["Report", "method_line", "try_agent", "working_dir"]

_PARTS = {
    "sessions": ("load", "resume", "list", "close", "delete", "fork", "archive", "status", "title"),
    "prompts": ("image", "audio", "embedded_context"),
    "servers": ("mcp_stdio", "mcp_http", "mcp_sse", "mcp_acp"),
    "more": ("additional_directories", "system_prompt", "logout", "auth_status", "providers"),
}
"""The flags of an agent, in the order they are shown."""
_WORDS = {
    "image": "images",
    "audio": "sound",
    "embedded_context": "embedded files",
    "mcp_stdio": "stdio",
    "mcp_http": "HTTP",
    "mcp_sse": "SSE",
    "mcp_acp": "over ACP",
    "additional_directories": "more directories",
    "system_prompt": "system prompt",
    "auth_status": "login status",
}


class Report(Struct, frozen=True, kw_only=True):
    """The response of an agent to initialize."""

    command: str
    info: v2.Implementation
    protocol: int
    features: AgentFeatures
    auth_methods: list[v2.AuthMethod]
    seconds: float
    """The seconds from the start of the agent to its response."""

    @property
    def who(self) -> str:
        """Which program it is, and its version."""
        name = self.info.title or self.info.name or "an agent without a name"
        return sanitize_text(f"{name} {self.info.version}".strip(), is_line=True)

    def lines(self) -> list[tuple[str, str]]:
        """Return a description of the agent and its features, by heading."""
        lines = [("command", self.command), ("protocol", f"version {self.protocol}")]
        flags = structs.asdict(self.features)
        for heading, names in _PARTS.items():
            words = [_WORDS.get(name, name) for name in names if flags[name]]
            if heading in ("sessions", "prompts"):
                words.insert(0, "new" if heading == "sessions" else "text")
            if words:
                lines.append(("MCP servers" if heading == "servers" else heading, ", ".join(words)))
        lines += [("login", method_line(each)) for each in self.auth_methods]
        if not self.auth_methods:
            lines.append(("login", "none offered"))
        return [(heading, sanitize_text(text, is_line=True)) for heading, text in lines]

    def json(self) -> dict[str, Any]:
        """Return it for a program."""
        flags = structs.asdict(self.features)
        return {
            "agent": {
                "name": self.info.name,
                "title": self.info.title,
                "version": self.info.version,
            },
            "protocol": self.protocol,
            "features": sorted(name for name, value in flags.items() if value is True),
            "authMethods": [_method(each) for each in self.auth_methods],
            "seconds": round(self.seconds, 3),
        }


def method_line(method: v2.AuthMethod) -> str:
    """Return a way to log in, in words."""
    match method:
        case Unknown(tag):
            return f"(a way that is not known here: {tag})"
        case v2.AuthMethodTerminal():
            return f"{method.method_id}: {method.name} (in a terminal)"
        case _:
            return f"{method.method_id}: {method.name}"


def _method(method: v2.AuthMethod) -> dict[str, Any]:
    if isinstance(method, Unknown):
        return {"type": method.tag}
    kind = "terminal" if isinstance(method, v2.AuthMethodTerminal) else "agent"
    method_json = {"type": kind, "id": method.method_id, "name": method.name}
    return (
        method_json
        if method.description is None
        else {**method_json, "description": method.description}
    )


def working_dir(agent: Resolved) -> Path:
    """Return where an agent is started that is only asked about itself."""
    home = Path.home()
    return home if agent.name and home.is_dir() else Path()


async def try_agent(
    agent: Resolved,
    *,
    give_up_after: float | None = None,
    on_stderr: Callable[[bytes], None] | None = None,
) -> Report:
    """Start an agent, initialize, end it.

    Args:
        agent: Which.
        give_up_after: How many seconds it has to answer; by default as long as `connect` waits.
        on_stderr: Called with each piece that it writes to stderr.

    Raises:
        AcpError: It does not start, does not answer, or answers wrongly.
    """
    options: ConnectOptions = {
        **agent.options,
        "process": replace(agent.process, on_stderr=on_stderr),
    }
    options["terminal_login"] = run_login  # so that it names these ways too; none is taken
    if give_up_after is not None:
        options["give_up_after"] = give_up_after
    started = time.monotonic()
    async with connect(agent.target, working_dir(agent), **options) as connection:
        return Report(
            command=agent.command,
            info=connection.info,
            protocol=connection.version,
            features=connection.features,
            auth_methods=connection.auth_methods,
            seconds=time.monotonic() - started,
        )
