"""The settings of a gateway: a TOML file, or `[serve]` in the user's configuration.

Both have the same keys. An unknown key is an error with the file and the line. Paths are relative
to the directory of the file. The file contains no secrets: a token is in a file of its own, or only
its SHA-256 is given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct

from parley.config import config_path
from parley.config._check import NAME, Wrong, checked
from parley.config._file import read
from parley.config._lines import line_of
from parley.errors import ConfigError
from parley.schema.version import SUPPORTED

from .limits import GatewayLimits, read_limits

__all__ = [
    "ADDRESS",
    "AgentSettings",
    "LogFormat",
    "PrincipalSettings",
    "Settings",
    "load",
    "parse",
]

ADDRESS = "127.0.0.1:7400"
"""The default address to listen on."""
LogFormat: TypeAlias = Literal["text", "json"]
WhoMeasures: TypeAlias = Literal["token", "loopback", "off"]
_DIGEST = re.compile(r"[0-9a-fA-F]{64}")


class AgentSettings(Struct, frozen=True, kw_only=True):
    """A hosted agent."""

    name: str
    target: str | list[str] | None
    """A configured agent, a command or an address; None: the default agent."""
    is_shared: bool = False
    has_attaching: bool = True
    cwd: Path | None = None
    env: dict[str, str] = {}
    inherit: list[str] = []
    protocol: int | None = None
    """The only version of the protocol to speak with it; None: as it is configured elsewhere."""


class PrincipalSettings(Struct, frozen=True, kw_only=True):
    """A principal and its token."""

    name: str
    token_file: Path | None = None
    digest: bytes = b""
    """The SHA-256 of the token, if there is no file."""


class Settings(Struct, frozen=True, kw_only=True):
    """The settings of a gateway."""

    http: str = ADDRESS
    agents: list[AgentSettings] = []
    principals: list[PrincipalSettings] = []
    has_token: bool = True
    """Whether a token is required; without one, only this machine has access."""
    token_file: Path | None = None
    """The token of the one principal, if there are no others; generated if not given."""
    hosts: list[str] = []
    origins: list[str] = []
    trusted_header: str | None = None
    proxies: list[str] = []
    tls: tuple[Path, Path] | None = None
    """The certificate and its key."""
    limits: GatewayLimits = GatewayLimits()
    has_page: bool = False
    metrics: WhoMeasures = "token"
    log_format: LogFormat = "text"
    drain_after: float = 30.0
    """The seconds that running turns have to end at shutdown."""
    has_telemetry: bool = False
    allow_local_servers: bool = False
    """Whether clients may name local commands and addresses as MCP servers and providers."""


class _Top(Struct):
    http: str = ADDRESS
    agents: dict[str, Any] = {}
    principals: dict[str, Any] = {}
    token: bool = True
    token_file: str | None = None
    hosts: list[str] = []
    origins: list[str] = []
    trusted_header: str | None = None
    proxies: list[str] = []
    tls: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    page: bool = False
    metrics: str = "token"
    log_format: str = "text"
    drain_after: float = 30.0
    telemetry: bool = False
    allow_local_servers: bool = False


class _Agent(Struct):
    target: str | None = None
    command: list[str] | None = None
    shared: bool = False
    attach: bool = True
    cwd: str | None = None
    env: dict[str, str] = {}
    inherit: list[str] = []
    protocol: int | None = None


class _Principal(Struct):
    token_file: str | None = None
    token_sha256: str | None = None


class _Tls(Struct):
    cert: str
    key: str


def load(path: Path | None = None) -> Settings:
    """Read the settings of a gateway.

    Args:
        path: A file of its own; None for `[serve]` of the user's configuration.

    Raises:
        ConfigError: The file is not there, cannot be read, or something in it is wrong.
    """
    text = read(config_path() if path is None else path)
    if path is not None and text is None:
        raise ConfigError(f"there is no file {path}")
    if text is None:
        return Settings()
    return parse(text, path) if path is not None else parse(text, config_path(), "serve")


def parse(text: str, path: Path, table: str = "") -> Settings:
    """Read the text of a file.

    Args:
        text: TOML.
        path: Where it comes from: for errors, and paths are counted from there.
        table: The table that is meant; empty for the whole.

    Raises:
        ConfigError: Something in it is wrong.
    """
    import tomllib

    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error
    found: Any = data.get(table, {}) if table else data
    if not hasattr(found, "keys"):
        raise ConfigError(f"{path}: {table}: expected a table")
    try:
        return _settings(found, path.absolute().parent)
    except Wrong as wrong:
        line = line_of(text, str(wrong), table)
        where = f"{path}:{line}" if line is not None else str(path)
        within = f"{table}." if table else ""
        raise ConfigError(f"{where}: {within}{wrong}") from wrong


def _settings(data: Mapping[str, Any], base: Path) -> Settings:
    top = checked(data, _Top, "")
    if top.drain_after < 0:
        raise Wrong("drain_after: expected a number of seconds, 0 or more")
    if not top.token and (top.token_file or top.principals):
        raise Wrong("token: false cannot be combined with token_file or principals")
    if top.token_file and top.principals:
        raise Wrong("token_file is for a single principal; give each principal its own token")
    return Settings(
        http=top.http,
        agents=[_agent(name, table, base) for name, table in top.agents.items()],
        principals=[_principal(name, table, base) for name, table in top.principals.items()],
        has_token=top.token,
        token_file=None if top.token_file is None else base / top.token_file,
        hosts=top.hosts,
        origins=top.origins,
        trusted_header=top.trusted_header,
        proxies=top.proxies,
        tls=_tls(top.tls, base),
        limits=read_limits(top.limits, "limits"),
        has_page=top.page,
        metrics=_one_of(top.metrics, WhoMeasures, "metrics"),
        log_format=_one_of(top.log_format, LogFormat, "log_format"),
        drain_after=top.drain_after,
        has_telemetry=top.telemetry,
        allow_local_servers=top.allow_local_servers,
    )


def _agent(name: str, table: Any, base: Path) -> AgentSettings:
    place = f"agents.{name}"
    raw = _entry(name, table, place, _Agent)
    if raw.target is not None and raw.command is not None:
        raise Wrong(f"{place}: give either target or command, not both")
    if raw.command == [] or raw.target == "":
        raise Wrong(f"{place}: the command is empty")
    if raw.protocol not in (None, *SUPPORTED):
        raise Wrong(f"{place}.protocol: expected {' or '.join(map(str, SUPPORTED))}")
    return AgentSettings(
        name=name,
        target=raw.command or raw.target or name,
        is_shared=raw.shared,
        has_attaching=raw.attach,
        cwd=None if raw.cwd is None else base / Path(raw.cwd).expanduser(),
        env=raw.env,
        inherit=raw.inherit,
        protocol=raw.protocol,
    )


def _principal(name: str, table: Any, base: Path) -> PrincipalSettings:
    place = f"principals.{name}"
    raw = _entry(name, table, place, _Principal)
    if (raw.token_file is None) is (raw.token_sha256 is None):
        raise Wrong(f"{place}: give either token_file or token_sha256")
    if raw.token_sha256 is None:
        assert raw.token_file is not None
        return PrincipalSettings(name=name, token_file=base / Path(raw.token_file).expanduser())
    if not _DIGEST.fullmatch(raw.token_sha256):
        raise Wrong(f"{place}.token_sha256: expected 64 hexadecimal digits, as `sha256sum` prints")
    return PrincipalSettings(name=name, digest=bytes.fromhex(raw.token_sha256))


def _tls(table: Mapping[str, Any], base: Path) -> tuple[Path, Path] | None:
    if not table:
        return None
    raw = checked(table, _Tls, "tls")
    return base / Path(raw.cert).expanduser(), base / Path(raw.key).expanduser()


def _entry(name: str, table: Any, place: str, kind: Any) -> Any:
    if not NAME.fullmatch(name):
        raise Wrong(
            f"{place}: a name has letters, digits, - and _, and begins with a letter or digit"
        )
    if not hasattr(table, "keys"):
        raise Wrong(f"{place}: expected a table, as in [{place}]")
    return checked(table, kind, place)


def _one_of(word: str, words: Any, place: str) -> Any:
    if word not in get_args(words):
        raise Wrong(f"{place}: expected {', '.join(get_args(words))}")
    return word
