"""The named entries of the configuration: agents, MCP servers, chains."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from parley._interpreter import parley_command
from parley._redaction import hide_in_command
from parley.transport.http._tokens import read_token

from ._references import referred, resolve

Kind: TypeAlias = Literal["stdio", "http", "sse"]
"""The transport of an MCP server: a program to start, or an address."""


class AgentEntry(Struct, frozen=True, kw_only=True):
    """A named agent."""

    name: str
    command: list[str] = []
    """The program and its arguments; empty for one that is elsewhere."""
    url: str = ""
    """The URL of a remote agent."""
    token: str = ""
    """Its headers as written in the file: `$NAME` refers to an environment variable."""
    token_file: str = ""
    """The file that has it instead."""
    ca_file: str = ""
    """The certificates that it is known by, instead of the system's."""
    env: dict[str, str] = {}
    """Its variables as written in the file: `$NAME` refers to an environment variable."""
    inherit: list[str] = []
    """Names of environment variables that it inherits, if they are set."""
    description: str = ""
    protocol: int | None = None
    """The only version of the protocol to speak with it; None: the newest that both know."""

    @property
    def target(self) -> str | list[str]:
        """Its URL, or the command that starts it."""
        return self.url or self.command

    @property
    def shown(self) -> str:
        """The same on a line, without secrets."""
        address = self.url.partition("?")[0]
        shown, _ = hide_in_command([address] if address else self.command)
        return shown[0] if address else shlex.join(shown)

    def resolve_token(self, environ: Mapping[str, str] | None = None) -> str | None:
        """Return the token for a remote agent; None if it has none.

        Raises:
            ConfigError: The variable is not set, or the file cannot be used.
        """
        if self.token_file:
            return read_token(Path(self.token_file).expanduser())
        if not self.token:
            return None
        environment = os.environ if environ is None else environ
        return resolve({"token": self.token}, environment, f"agents.{self.name}")["token"]

    @property
    def variables(self) -> list[str]:
        """The environment variables that it needs: those it refers to, and those it inherits."""
        values = [self.token, *self.env.values()]
        return [*(name for value in values for name in referred(value)), *self.inherit]

    def resolve_env(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the variables with what their references stand for.

        Args:
            environ: The variables that references name; by default `os.environ`.

        Raises:
            ConfigError: A variable is not set; the text names it.
        """
        environment = os.environ if environ is None else environ
        return resolve(self.env, environment, f"agents.{self.name}.env")


class ChainEntry(Struct, frozen=True, kw_only=True):
    """A named chain of proxies with an agent at its end."""

    name: str
    proxies: list[str] = []
    """From the client to the agent: built-in proxies with their options, or command lines."""
    agent: str
    """The name of an agent or of another chain, a command line, or an address."""
    inherit: list[str] = []
    """Names of environment variables for its proxies, and for an agent without a name."""
    description: str = ""

    def as_agent(self, inherit: Iterable[str], protocol: int | None) -> AgentEntry:
        """Return what it is to everybody who talks to it: an agent that is started.

        Args:
            inherit: The environment variables that it needs to start everything.
            protocol: The only version to speak with it; None for any.
        """
        return AgentEntry(
            name=self.name,
            command=parley_command("conduct", "--chain", self.name),
            inherit=[*inherit],
            protocol=protocol,
            description=self.description or " → ".join([*self.proxies, self.agent]),
        )


class ServerEntry(Struct, frozen=True, kw_only=True):
    """An MCP server as it is configured."""

    name: str
    kind: Kind
    command: list[str] = []
    """The program that the agent starts, and its arguments."""
    env: dict[str, str] = {}
    """Its variables as written in the file: `$NAME` refers to an environment variable."""
    url: str = ""
    headers: dict[str, str] = {}
    """Headers as they are written down, with references."""
    agents: list[str] | None = None
    """The names of the agents that get it; None: all."""
