"""The checks of `parley doctor`: one function for each subject, which yields what it found.

Nothing is changed, and we use no network. Values of variables are never shown.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import metadata
from typing import Literal, TypeAlias

from msgspec import Struct

from parley import __version__
from parley._redaction import is_secret
from parley._user_dirs import config_dir, state_dir
from parley.client import _resolve as named
from parley.config import Config, config_path, load
from parley.config._references import referred
from parley.config._servers import mcp_servers
from parley.errors import AcpError, ConfigError, ConnectFailed, ProcessExited
from parley.gateway import config as gateway_config
from parley.journal._tables import connect_for_reading, has_search
from parley.policy import load_policy

from .failures import failure_of
from .handshake import try_agent

__all__ = ["Finding", "State", "agent", "configuration", "installed", "journal", "places", "policy"]

State: TypeAlias = Literal["ok", "note", "warning", "problem"]


class Finding(Struct, frozen=True):
    """The result of one check."""

    state: State
    subject: str
    """The subject, in a word."""
    text: str
    """The finding, in one sentence."""
    hint: str = ""
    """The remedy."""


def _finding_of_error(state: State, subject: str, message: str) -> Finding:
    """Return an error as a finding; the second half of its text is the remedy."""
    if "\n" in message:
        return Finding(state, subject, message)
    text, *hint = re.split(r"; |\. ", message, maxsplit=1)
    return Finding(state, subject, text, *hint)


_EXTRAS = {
    "textual": "tui",
    "h2": "http",
    "mcp": "mcp",
    "tree-sitter": "nes",
    "pygls": "lsp",
    "uvloop": "speed",
    "opentelemetry-api": "telemetry",
}
_RUNNERS = {
    "npx": "agents from npm need it; it comes with Node.js",
    "uvx": "agents from PyPI need it; it comes with uv",
}


def installed() -> Iterator[Finding]:
    """Look at what Parley runs on, and at what runs agents."""
    yield Finding("ok", "parley", f"{__version__} on Python {platform.python_version()}")
    missing = 0
    for name, extra in _EXTRAS.items():
        try:
            yield Finding("ok", name.removesuffix("-api"), metadata.version(name))
        except metadata.PackageNotFoundError:
            missing += 1
            hint = f"pip install 'parley-acp[{extra}]'"
            yield Finding("note", name.removesuffix("-api"), "not installed; optional", hint)
    if missing > 1:
        hint = "pip install 'parley-acp[all]' installs them"
        yield Finding("note", "extras", f"{missing} are not installed", hint)
    yield _sqlite()
    for name, why in _RUNNERS.items():
        where = shutil.which(name)
        if where is None:
            yield Finding("note", name, f"not on PATH; {why}")
        else:
            yield Finding("ok", name, where)


def _sqlite() -> Finding:
    with closing(sqlite3.connect(":memory:")) as connection:
        if has_search(connection):
            return Finding("ok", "sqlite", f"{sqlite3.sqlite_version}, with full-text search")
    hint = "use a Python whose SQLite has FTS5"
    return Finding("warning", "sqlite", f"{sqlite3.sqlite_version}, without full-text search", hint)


def places() -> Iterator[Finding]:
    """Look at the directories of the user's files: who may enter, who may write."""
    for subject, path in (("config", config_dir()), ("state", state_dir())):
        there = next(each for each in (path, *path.parents) if each.exists())
        if not os.access(there, os.W_OK | os.X_OK) or not there.is_dir():
            hint = f"make {there} a directory of yours, for example with `chown` or `chmod u+rwx`"
            yield Finding("problem", subject, f"{path} cannot be written", hint)
        elif there != path:
            yield Finding("ok", subject, f"{path}, not there yet")
        elif path.stat().st_mode & 0o022:
            hint = f"chmod go-w {path}"
            yield Finding("problem", subject, f"others may write to {path}", hint)
        elif subject == "state" and path.stat().st_mode & 0o055:
            yield Finding("warning", subject, f"others may look into {path}", f"chmod 700 {path}")
        else:
            yield Finding("ok", subject, str(path))


def configuration() -> tuple[Config | None, list[Finding]]:
    """Read the configuration; returns it, if it can be used, and what is wrong with it."""
    path = config_path()
    try:
        configured = load()
    except ConfigError as error:
        return None, [_finding_of_error("problem", "config.toml", str(error))]
    found = list(_complaints(configured))
    try:
        gateway_config.load()
    except ConfigError as error:
        found.append(_finding_of_error("problem", "config.toml", str(error)))
    if not found and path.exists():
        agents, servers = len(configured.agents), len(configured.mcp_servers)
        text = f"{_count(agents, 'agent')}, {_count(servers, 'MCP server')}"
        found.append(Finding("ok", "config.toml", text))
    return configured, found


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _complaints(configured: Config) -> Iterator[Finding]:
    default = configured.default_agent
    if default is not None and configured.find(default) is None:
        hint = configured.hint(default)
        yield Finding("problem", "config.toml", f"the default agent {default!r} is not there", hint)
    tables = [
        *((f"agents.{each.name}.env", each.env) for each in configured.agents.values()),
        *((f"agents.{it.name}", {"token": it.token}) for it in configured.agents.values()),
        *((f"mcp_servers.{each.name}.env", each.env) for each in configured.mcp_servers.values()),
        *((f"mcp_servers.{s.name}.headers", s.headers) for s in configured.mcp_servers.values()),
    ]
    for place, values in tables:
        for name, value in values.items():
            if not referred(value) and is_secret(name, value):
                variable = name.upper().replace("-", "_")
                hint = f'put it into a variable and write {name} = "${variable}"'
                text = f"{place}.{name} looks like a secret that is written out"
                yield Finding("warning", "config.toml", text, hint)
    for server in configured.mcp_servers.values():
        for name in server.agents or ():
            if configured.find(name) is None:
                text = f"mcp_servers.{server.name}.agents names {name!r}, which is not an agent"
                yield Finding("warning", "config.toml", text, configured.hint(name))
        anybody = (server.agents or [""])[0]
        for left in mcp_servers([server], anybody)[1]:
            is_named = left.reason.startswith("mcp_servers.")
            reason = left.reason if is_named else f"mcp_servers.{left.name}: {left.reason}"
            yield _finding_of_error("warning", "config.toml", reason)


def policy() -> Iterator[Finding]:
    """Read the permission policy that holds in this directory."""
    try:
        load_policy(".")
    except ConfigError as error:
        yield _finding_of_error("problem", "policy", str(error))
    else:
        path = config_dir() / "policy.toml"
        yield Finding("ok", "policy", str(path) if path.exists() else "no rules; you are asked")


def journal() -> Iterator[Finding]:
    """Look at the journal, without making one."""
    path = state_dir() / "journal.db"
    if not path.exists():
        yield Finding("ok", "journal", "empty")
        return
    size = sum(
        each.stat().st_size for each in (path, path.with_name("journal.db-wal")) if each.exists()
    )
    try:
        with closing(connect_for_reading(path)) as connection:
            (sessions,) = connection.execute(
                "SELECT count(*) FROM sessions WHERE role = 'client'"
            ).fetchone()
            can_search = has_search(connection)
    except (AcpError, sqlite3.Error, OSError) as error:
        hint = f"move {path} away; a new one is made"
        yield Finding("problem", "journal", f"cannot be read: {error}", hint)
        return
    text = f"{_count(sessions, 'session')}, {size / 1e6:.1f} MB, {path}"
    if can_search:
        yield Finding("ok", "journal", text)
    else:
        yield Finding("warning", "journal", f"{text}; it cannot be searched")


async def agent(configured: Config, name: str, within: float) -> Finding:
    """Ask a configured agent about itself."""
    try:
        entry = configured.agent(name)
        report = await try_agent(named.resolve_entry(entry), give_up_after=within)
    except ConnectFailed as error:
        if isinstance(error.__cause__, TimeoutError):
            return Finding("problem", name, str(error), f"`parley agents test {name}` waits longer")
        return _finding_of_error("problem", name, str(error))
    except ProcessExited as error:
        hint = (
            "" if error.stderr.strip() else "is it the command of an agent? Many need an argument"
        )
        return Finding("problem", name, str(error), hint)
    except AcpError as error:
        return _finding_of_error("problem", name, str(failure_of(error, is_connected=True)))
    ways = _count(len(report.auth_methods), "login")
    text = f"{report.who}: protocol {report.protocol}, {ways}, {report.seconds:.1f} s"
    return Finding("ok", name, text)
