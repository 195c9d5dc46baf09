"""What the user has given a name: agents and how they are started, MCP servers."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from parley.transport.http.tokens import read_token

from .references import resolve

__all__ = ["AgentEntry", "Kind", "ServerEntry"]

Kind: TypeAlias = Literal["stdio", "http", "sse"]
"""How an agent reaches an MCP server: it starts it, or it goes to an address."""


class AgentEntry(Struct, frozen=True, kw_only=True):
    """A named agent."""

    name: str
    command: list[str] = []
    """The program and its arguments; empty for one that is elsewhere."""
    url: str = ""
    """Where a remote agent is."""
    token: str = ""
    """What it wants to see, as it is written down: `$NAME` refers to a variable of ours."""
    token_file: str = ""
    """The file that has it instead."""
    ca_file: str = ""
    """The certificates that it is known by, instead of the system's."""
    env: dict[str, str] = {}
    """Variables for it as they are written down: `$NAME` refers to one of ours."""
    inherit: list[str] = []
    """Names of variables of ours that it gets, where they are set."""
    description: str = ""
    protocol: int | None = None
    """The only version of the protocol to speak with it; None: the newest that both know."""

    @property
    def target(self) -> str | list[str]:
        """How it is reached: its address, or the command that starts it."""
        return self.url or self.command

    @property
    def shown(self) -> str:
        """The same on a line, without what people hide in addresses."""
        return self.url.partition("?")[0] or shlex.join(self.command)

    def resolve_token(self, environ: Mapping[str, str] | None = None) -> str | None:
        """Return the token for a remote agent; None if it has none.

        Raises:
            ConfigError: The variable is not set, or the file cannot be used.
        """
        if self.token_file:
            return read_token(Path(self.token_file).expanduser())
        if not self.token:
            return None
        ours = os.environ if environ is None else environ
        return resolve({"token": self.token}, ours, f"agents.{self.name}")["token"]

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
