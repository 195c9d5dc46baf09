"""MCP servers of the user, and what of them a session of an agent gets.

A server that the agent cannot reach, or that cannot be declared because a variable is not set or
its program is not there, is left out with a reason: a tool that is missing is no reason to have no
session. Values are looked up for each session and kept nowhere.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from parley.errors import ConfigError
from parley.schema import v2
from parley.schema.base import Unknown

from ._entries import ServerEntry
from ._references import resolve


class LeftOut(Struct, frozen=True):
    """A server that a session does not get."""

    name: str
    reason: str
    """One sentence; it quotes no value."""


def mcp_servers(
    servers: Iterable[ServerEntry],
    agent: str,
    *,
    reach: Iterable[str] = ("stdio", "http", "sse"),
    environ: Mapping[str, str] | None = None,
) -> tuple[list[v2.McpServer], list[LeftOut]]:
    """Return the servers for a session of an agent, and those it does not get.

    Args:
        servers: Those that are configured, as in `config.mcp_servers.values()`.
        agent: The agent's name in the configuration; empty where it has none.
        reach: The kinds of servers that the agent can reach.
        environ: The variables that references name; by default `os.environ`.
    """
    environment = os.environ if environ is None else environ
    usable: list[v2.McpServer] = []
    left_out: list[LeftOut] = []
    for each in servers:
        if each.agents is not None and agent not in each.agents:
            continue
        try:
            if each.kind not in reach:
                raise ConfigError(f"the agent does not support MCP servers over {_OVER[each.kind]}")
            usable.append(_server(each, environment))
        except ConfigError as error:
            left_out.append(LeftOut(each.name, str(error)))
    return usable, left_out


_OVER = {"stdio": "stdin and stdout", "http": "HTTP", "sse": "server-sent events"}


def _server(entry: ServerEntry, environ: Mapping[str, str]) -> v2.McpServer:
    place = f"mcp_servers.{entry.name}"
    if entry.kind == "stdio":
        env = resolve(entry.env, environ, f"{place}.env")
        return v2.McpServerStdio(
            name=entry.name,
            command=_program(entry.command[0], environ),
            args=entry.command[1:],
            env=[v2.EnvVariable(name=name, value=value) for name, value in env.items()],
        )
    url = resolve({"url": entry.url}, environ, place)["url"]
    named = resolve(entry.headers, environ, f"{place}.headers")
    headers = [v2.HttpHeader(name=name, value=value) for name, value in named.items()]
    if entry.kind == "http":
        return v2.McpServerHttp(name=entry.name, url=url, headers=headers)
    declared = {"type": "sse", "name": entry.name, "url": url, "headers": headers}
    return Unknown("sse", msgspec.json.encode(declared))  # only version 1 has a type for it


def _program(program: str, environ: Mapping[str, str]) -> str:
    """Return the absolute path of a program, as agents require it."""
    found = shutil.which(os.path.expanduser(program), path=environ.get("PATH"))  # noqa: PTH111
    if found is None:
        raise ConfigError(f"there is no program {program!r}; install it, or give its path")
    return os.path.abspath(found)  # noqa: PTH100 - a link stays one
