"""What the user has given a name: agents and how they are started, MCP servers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from .references import resolve

__all__ = ["AgentEntry", "Kind", "ServerEntry"]

Kind: TypeAlias = Literal["stdio", "http", "sse"]
"""How an agent reaches an MCP server: it starts it, or it goes to an address."""


class AgentEntry(Struct, frozen=True, kw_only=True):
    """A named agent."""

    name: str
    command: list[str]
    """The program and its arguments."""
    env: dict[str, str] = {}
    """Variables for it as they are written down: `$NAME` refers to one of ours."""
    inherit: list[str] = []
    """Names of variables of ours that it gets, where they are set."""
    description: str = ""
    protocol: int | None = None
    """The only version of the protocol to speak with it; None: the newest that both know."""

    def resolve_env(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the variables with what their references stand for.

        Args:
            environ: Where references lead; our own environment unless told otherwise.

        Raises:
            ConfigError: A variable is not set; the text names it.
        """
        ours = os.environ if environ is None else environ
        return resolve(self.env, ours, f"agents.{self.name}.env")


class ServerEntry(Struct, frozen=True, kw_only=True):
    """An MCP server as it is configured."""

    name: str
    kind: Kind
    command: list[str] = []
    """The program that the agent starts, and its arguments."""
    env: dict[str, str] = {}
    """Variables for it as they are written down: `$NAME` refers to one of ours."""
    url: str = ""
    headers: dict[str, str] = {}
    """Headers as they are written down, with references."""
    agents: list[str] | None = None
    """The names of the agents that get it; None: all."""
