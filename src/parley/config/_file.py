"""Reading `config.toml`, and saying what is wrong with it.

A missing file is an empty configuration. What is not known is an error that names the file and the
key, because a setting that is passed over in silence is one that the user believes in.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct

from parley._suggestions import suggest
from parley._user_dirs import config_dir, describe_exposure
from parley.errors import ConfigError
from parley.schema.version import SUPPORTED

from ._chains import read_chain, with_chains
from ._check import NAME, Wrong, check_entry, checked
from ._entries import AgentEntry, ChainEntry, Kind, ServerEntry


class JournalSettings(Struct, frozen=True, kw_only=True):
    """The settings of the journal: whether and for how long sessions are kept on this machine."""

    enabled: bool = True
    max_age_days: int | None = None
    """Sessions that were unused for this long are deleted."""
    max_sessions: int | None = None
    max_bytes: int | None = None


class RecordingSettings(Struct, frozen=True, kw_only=True):
    """How long recordings are kept; 0 is no limit."""

    max_age_days: int = 14
    """Recordings older than this are deleted."""
    max_bytes: int = 1_000_000_000
    """The maximum size of all recordings, and of each one."""


class Config(Struct, frozen=True, kw_only=True):
    """The user's configuration."""

    path: Path
    """The file, which may not exist."""
    default_agent: str | None = None
    agents: dict[str, AgentEntry] = {}
    """By name; a chain is one of them, too."""
    chains: dict[str, ChainEntry] = {}
    """The chains, by name."""
    mcp_servers: dict[str, ServerEntry] = {}
    journal: JournalSettings = JournalSettings()
    recordings: RecordingSettings = RecordingSettings()
    serve: dict[str, Any] = {}
    """The settings of `parley serve`, which checks them."""

    def find(self, name: str) -> AgentEntry | None:
        """Return the agent of a name; None if there is none."""
        return self.agents.get(name)

    def agent(self, name: str) -> AgentEntry:
        """Return the agent of a name.

        Raises:
            ConfigError: There is none.
        """
        if entry := self.find(name):
            return entry
        raise ConfigError(f"there is no agent {name!r} in {self.path}; {self.hint(name)}")

    def hint(self, name: str) -> str:
        """Return what to do about a name that no agent has."""
        otherwise = "" if self.agents else f"add it with `parley agents add {name} -- COMMAND`"
        return suggest(name, self.agents, "{!r}", otherwise)


def config_path() -> Path:
    """Return where the user's configuration is written."""
    return config_dir() / "config.toml"


def load(path: Path | None = None) -> Config:
    """Read the configuration.

    Args:
        path: Where it is; by default `config_path()`.

    Raises:
        ConfigError: It cannot be read, others could have written it, or something in it is wrong.
    """
    path = config_path() if path is None else path
    text = read(path)
    return Config(path=path) if text is None else parse(text, path)


def is_agent_name(word: str) -> bool:
    """Return whether an agent can be configured under this name."""
    return NAME.fullmatch(word) is not None


def read(path: Path, *, is_configuration: bool = True) -> str | None:
    """Return the text of a file of the user's; None if there is none.

    Args:
        path: The file.
        is_configuration: Whether it decides what runs; then only the user may write to it.

    Raises:
        ConfigError: It cannot be read, or others could have written it.
    """
    try:
        data = path.read_bytes()
        if is_configuration and (exposure := describe_exposure(path)):
            raise ConfigError(f"{path} is refused, since it decides what runs as you: {exposure}")
        return data.decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} cannot be read: it is not UTF-8 text") from error


def parse(text: str, path: Path) -> Config:
    """Read the text of a configuration.

    Args:
        text: TOML.
        path: Where it comes from, for errors.

    Raises:
        ConfigError: Something in it is wrong.
    """
    import tomllib  # most who connect have no configuration, and need not wait for it

    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    try:
        return _config(data, path)
    except Wrong as wrong:
        raise ConfigError(f"{path}: {wrong}") from wrong


class _Top(Struct):
    default_agent: str | None = None
    agents: dict[str, Any] = {}
    chains: dict[str, Any] = {}
    mcp_servers: dict[str, Any] = {}
    journal: dict[str, Any] = {}
    recordings: dict[str, Any] = {}
    serve: dict[str, Any] = {}


class _Agent(Struct):
    command: str | list[str] | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    inherit: list[str] = []
    description: str = ""
    protocol: int | None = None
    url: str | None = None
    token: str = ""
    token_file: str = ""
    ca_file: str = ""


class _Server(Struct):
    type: str | None = None
    command: str | list[str] | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    agents: list[str] | None = None


_SCHEMES = ("https://", "wss://", "http://", "ws://")
_KINDS: dict[str, Kind] = {each: each for each in get_args(Kind)}


def _config(data: dict[str, Any], path: Path) -> Config:
    top = checked(data, _Top, "")
    journal = checked(top.journal, JournalSettings, "journal")
    for name in ("max_age_days", "max_sessions", "max_bytes"):
        limit = getattr(journal, name)
        if limit is not None and limit < 1:
            raise Wrong(f"journal.{name}: must be a positive number; leave it out for no limit")
    recordings = checked(top.recordings, RecordingSettings, "recordings")
    for name in ("max_age_days", "max_bytes"):
        if getattr(recordings, name) < 0:
            raise Wrong(f"recordings.{name}: must be a positive number, or 0 for no limit")
    agents = {name: _agent(name, table) for name, table in top.agents.items()}
    chains = {name: read_chain(name, table) for name, table in top.chains.items()}
    return Config(
        path=path,
        default_agent=top.default_agent,
        agents=with_chains(agents, chains),
        chains=chains,
        mcp_servers={name: _server(name, table) for name, table in top.mcp_servers.items()},
        journal=journal,
        recordings=recordings,
        serve=top.serve,
    )


def _agent(name: str, table: Any) -> AgentEntry:
    place = f"agents.{name}"
    check_entry(name, table, place)
    raw = checked(table, _Agent, place)
    _check_variables(raw.env, f"{place}.env")
    _check_way(raw, place)
    if raw.protocol not in (None, *SUPPORTED):
        raise Wrong(f"{place}.protocol: expected {' or '.join(map(str, SUPPORTED))}")
    return AgentEntry(
        name=name,
        command=[] if raw.command is None else [*_command(raw.command, place), *raw.args],
        url=raw.url or "",
        token=raw.token,
        token_file=raw.token_file,
        ca_file=raw.ca_file,
        env=raw.env,
        inherit=raw.inherit,
        description=raw.description,
        protocol=raw.protocol,
    )


def _check_way(raw: _Agent, place: str) -> None:
    """Refuse an agent that is reached in two ways, or in none."""
    if raw.command is None and raw.url is None:
        raise Wrong(f"{place}.command is missing")
    if raw.command is not None and raw.url is not None:
        raise Wrong(f"{place}: it has either command or url, and not both")
    if raw.url is not None and not raw.url.startswith(_SCHEMES):
        raise Wrong(f"{place}.url: expected an address that begins with https:// or wss://")
    if raw.url is None and (raw.token or raw.token_file or raw.ca_file):
        raise Wrong(f"{place}: token, token_file and ca_file go with url, not with command")
    if raw.token and raw.token_file:
        raise Wrong(f"{place}: it has either token or token_file, and not both")


def _server(name: str, table: Any) -> ServerEntry:
    place = f"mcp_servers.{name}"
    check_entry(name, table, place)
    raw = checked(table, _Server, place)
    _check_variables(raw.env, f"{place}.env")
    if (raw.command is None) is (raw.url is None):
        raise Wrong(f"{place}: it needs either command or url, and not both")
    kind = _KINDS.get(raw.type or ("stdio" if raw.url is None else "http"))
    if kind is None:
        raise Wrong(f"{place}.type: expected {', '.join(_KINDS)}")
    if (kind == "stdio") is (raw.url is not None):
        has = "command" if raw.url is None else "url"
        raise Wrong(f"{place}.type: {kind!r} does not go with {has}; leave it out, or change it")
    if raw.url is not None and not raw.url.startswith(("http://", "https://")):
        raise Wrong(f"{place}.url: expected an address that begins with https:// or http://")
    return ServerEntry(
        name=name,
        kind=kind,
        command=[] if raw.command is None else [*_command(raw.command, place), *raw.args],
        env=raw.env,
        url=raw.url or "",
        headers=raw.headers,
        agents=raw.agents,
    )


def _command(command: str | list[str], place: str) -> list[str]:
    if isinstance(command, str):
        try:
            command = shlex.split(command)
        except ValueError as error:
            raise Wrong(f"{place}.command cannot be read: {str(error).lower()}") from error
    if not command or not command[0]:
        raise Wrong(f'{place}.command is empty; name a program, such as in ["opencode", "acp"]')
    return command


def _check_variables(env: Mapping[str, str], place: str) -> None:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            raise Wrong(f"{place}: {name!r} cannot be a variable with this value")
