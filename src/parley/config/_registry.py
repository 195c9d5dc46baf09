"""The format of the public registry of agents, read from a file.

A file is the index (`registry.json`) or one entry (`agent.json`). Nothing is downloaded here. What
comes from npm or PyPI becomes a command that names one version, so that what runs tomorrow is what
was tried today. An entry that is broken does not hide the others; keys that are not known are
passed over.

Spec: https://agentclientprotocol.com/rfds/acp-agent-registry
"""

from __future__ import annotations

import difflib
import platform
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from parley._env_vars import dangerous_variables
from parley.errors import ConfigError

from ._check import Wrong, checked, converted
from ._entries import AgentEntry
from ._file import read

Platform: TypeAlias = Literal[
    "darwin-aarch64",
    "darwin-x86_64",
    "linux-aarch64",
    "linux-x86_64",
    "windows-aarch64",
    "windows-x86_64",
]

_NO_ID = "(an entry without an id)"
_ID = re.compile(r"[a-z][a-z0-9-]*")
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+[-+.0-9A-Za-z]*")
_NPM = re.compile(
    r"((?:@[a-z0-9~][\w.~-]*/)?[a-z0-9~][\w.~-]*)(?:@(.*))?", re.ASCII | re.IGNORECASE
)
_PYPI = re.compile(r"([a-z0-9][\w.-]*(?:\[[\w.,-]+\])?)(?:(?:==|@)(.*)|[<>~!=].*)?", _NPM.flags)
_PINNED = {"npx": _VERSION, "uvx": re.compile(r"[0-9][\w.+!-]*", re.ASCII)}
"""The form of a single version, not a range or a tag, for each runner."""


class Package(Struct, frozen=True):
    """An agent that a package runner brings."""

    package: str
    args: list[str] = []
    env: dict[str, str] = {}


class Binary(Struct, frozen=True):
    """An agent as an archive for one platform."""

    archive: str
    cmd: str
    args: list[str] = []
    env: dict[str, str] = {}


class Distribution(Struct, frozen=True):
    """The ways to get an agent."""

    binary: dict[Platform, Binary] | None = None
    npx: Package | None = None
    uvx: Package | None = None


class Listed(Struct, frozen=True, kw_only=True):
    """An agent of the registry."""

    id: str
    name: str
    version: str
    description: str
    distribution: Distribution
    repository: str | None = None
    website: str | None = None
    authors: list[str] = []
    license: str | None = None
    icon: str | None = None


class Registry:
    """The agents that a file lists."""

    def __init__(self, path: Path, entries: dict[str, Any]) -> None:
        self.path = path
        self._entries = entries

    @property
    def ids(self) -> list[str]:
        """The ids of the agents, in the order of the file."""
        return list(self._entries)

    def entry(self, id: str) -> Listed:
        """Return the entry of an agent.

        Raises:
            ConfigError: There is none with this id, or it is described wrongly.
        """
        if id not in self._entries:
            near = difflib.get_close_matches(id, self._entries, 3, 0.5)
            listed = ", ".join(near or self.ids[:12])
            raise ConfigError(f"there is no agent {id!r} in {self.path}; choose from {listed}")
        try:
            return _listed(self._entries[id], id)
        except Wrong as wrong:
            raise ConfigError(f"{self.path}: {wrong}") from wrong


def read_registry(path: Path) -> Registry:
    """Read an index, or a file with one entry.

    Raises:
        ConfigError: It cannot be read, or is neither.
    """
    text = read(path, is_configuration=False)
    if text is None:
        raise ConfigError(f"there is no file {path}; download the registry's registry.json first")
    try:
        data = msgspec.json.decode(text, type=dict[str, Any])
        if "agents" not in data and "distribution" in data:
            return Registry(path, {_id(data): data})
        index = converted(data, _Index, "")
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path} is neither a registry.json nor an agent.json") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON: {error}") from error
    except Wrong as wrong:
        raise ConfigError(f"{path} is not a registry: {wrong}") from wrong
    counts = Counter(map(_id, index.agents))
    if twice := [id for id, count in counts.items() if count > 1 and id != _NO_ID]:
        raise ConfigError(
            f"{path} is refused: it lists {', '.join(map(repr, twice))} more than once, and only "
            "one can be meant; download the registry again, or correct the file"
        )
    return Registry(path, {_id(each): each for each in index.agents})


class _Index(Struct):
    version: str
    agents: list[dict[str, Any]]


def _id(data: dict[str, Any]) -> str:
    id = data.get("id")
    return id if isinstance(id, str) else _NO_ID


def _listed(data: dict[str, Any], id: str) -> Listed:
    listed = converted(data, Listed, id)
    checked(data["distribution"], Distribution, f"{id}.distribution")
    if not _ID.fullmatch(listed.id):
        rule = "an id consists of lowercase letters, digits and -, and starts with a letter"
        raise Wrong(f"{id}: {rule}")
    if not _VERSION.fullmatch(listed.version):
        raise Wrong(f"{id}.version: expected a version such as 1.2.3")
    for name in ("name", "description"):
        if not getattr(listed, name):
            raise Wrong(f"{id}.{name} is empty")
    ways = listed.distribution
    if not (ways.binary or ways.npx or ways.uvx):
        raise Wrong(f"{id}.distribution: expected one of binary, npx and uvx")
    return listed


def agent_of(listed: Listed) -> AgentEntry:
    """Return how a listed agent is started, pinned to one version.

    Raises:
        ConfigError: It cannot be started from here; the text says what to do.
    """
    ways = listed.distribution
    runners = {"npx": ways.npx, "uvx": ways.uvx}
    offered = {runner: package for runner, package in runners.items() if package is not None}
    if not offered:
        raise ConfigError(_by_hand(listed))
    there = [runner for runner in offered if shutil.which(runner) is not None]
    runner = next(iter(there or offered))
    package = offered[runner]
    if refused := dangerous_variables(package.env):
        raise ConfigError(
            f"{listed.id} is refused: it sets {', '.join(map(repr, refused))}, with which it could "
            "run other programs as you; if you trust it, add it by its command and with --env, as "
            f"in `parley agents add {listed.id} --env NAME=VALUE -- COMMAND …`"
        )
    pinned = _pin(listed, package.package, runner)
    return AgentEntry(
        name=listed.id,
        command=[runner, *(["--yes"] if runner == "npx" else []), pinned, *package.args],
        # What others write must not refer to what is in our environment.
        env={name: value.replace("$", "$$") for name, value in package.env.items()},
        description=listed.description,
    )


def _pin(listed: Listed, package: str, runner: str) -> str:
    """Return a package with one version: its own, or the one that is listed."""
    named = (_NPM if runner == "npx" else _PYPI).fullmatch(package)
    if named is None:
        raise ConfigError(f"{listed.id}: {package!r} is not the name of a package for {runner}")
    if named[2] and _PINNED[runner].fullmatch(named[2]):
        return package
    return f"{named[1]}@{listed.version}"


def _by_hand(listed: Listed) -> str:
    """Return how to add an agent that is a program to download."""
    here = f"{platform.system().lower()}-{_MACHINES.get(platform.machine(), platform.machine())}"
    binaries = {str(each): binary for each, binary in (listed.distribution.binary or {}).items()}
    if here not in binaries:
        known = ", ".join(binaries)
        return f"{listed.id} is a program to download, but there is none for {here}; only {known}"
    binary = binaries[here]
    program = binary.cmd.removeprefix("./")
    command = shlex.join([f"/PATH/TO/{program}", *binary.args])
    return (
        f"{listed.id} is a program to download, which Parley does not do: unpack {binary.archive}, "
        f"then `parley agents add {listed.id} -- {command}`"
    )


_MACHINES = {"arm64": "aarch64", "amd64": "x86_64", "AMD64": "x86_64", "ARM64": "aarch64"}
