"""Changes to the text of `config.toml` that keep everything else as the user wrote it.

A change is made twice: to the lines and to the data. Only if the new lines mean the new data does
the file get replaced, whole or not at all; else the user has to change it by hand. So lines may
be found in a simple way: what a layout hides from it is refused, not damaged.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parley._atomic_file import write_temporary
from parley._user_dirs import private_dir
from parley.errors import ConfigError

from ._check import NAME
from ._entries import AgentEntry
from ._file import load, parse, read
from ._lines import key_path

_DEFAULT = re.compile(r"\s*default_agent\s*=")
_COMMENT = re.compile(r"\s*#")


def add_agent(path: Path, entry: AgentEntry, *, is_default: bool = False) -> None:
    """Write down an agent.

    Raises:
        ConfigError: There is one of this name, or the file cannot be changed.
    """
    if not NAME.fullmatch(entry.name):
        raise ConfigError(
            f"{entry.name!r} cannot be the name of an agent: use letters, digits, - and _"
        )
    known = load(path)
    if entry.name in known.chains:
        raise ConfigError(f"there is a chain {entry.name!r} in {path}; choose another name")
    if known.find(entry.name) is not None:
        raise ConfigError(
            f"there is an agent {entry.name!r} in {path} already; choose another name, or first "
            f"`parley agents remove {entry.name}`"
        )
    table = _table(entry)

    def meant(data: dict[str, Any]) -> None:
        data.setdefault("agents", {})[entry.name] = table
        if is_default:
            data["default_agent"] = entry.name

    def edit(lines: list[str]) -> list[str]:
        while lines and not lines[-1].strip():
            lines.pop()
        block = [f"[agents.{entry.name}]", *(f"{key} = {_toml(table[key])}" for key in table), ""]
        lines = [*lines, *([""] if lines else []), *block]
        return _with_default(lines, entry.name) if is_default else lines

    _change(path, edit, meant)


def remove_agent(path: Path, name: str) -> None:
    """Take an agent out, also as the default.

    Raises:
        ConfigError: There is none of this name, or the file cannot be changed.
    """
    is_default = load(path).default_agent == name
    load(path).agent(name)
    if name in load(path).chains:
        raise ConfigError(f"{name} is a chain; remove [chains.{name}] from {path} by hand")

    def meant(data: dict[str, Any]) -> None:
        del data["agents"][name]
        if is_default:
            del data["default_agent"]

    def edit(lines: list[str]) -> list[str]:
        lines = _without(lines, name)
        return _with_default(lines, None) if is_default else lines

    _change(path, edit, meant)


def set_default(path: Path, name: str) -> None:
    """Make an agent the default.

    Raises:
        ConfigError: There is none of this name, or the file cannot be changed.
    """
    load(path).agent(name)

    def meant(data: dict[str, Any]) -> None:
        data["default_agent"] = name

    _change(path, lambda lines: _with_default(lines, name), meant)


def _table(entry: AgentEntry) -> dict[str, Any]:
    table: dict[str, Any] = {
        "description": entry.description,
        "command": entry.command,
        "url": entry.url,
        "token": entry.token,
        "token_file": entry.token_file,
        "ca_file": entry.ca_file,
        "env": entry.env,
        "inherit": entry.inherit,
        "protocol": entry.protocol,
    }
    return {key: value for key, value in table.items() if value}


def _toml(value: str | int | list[str] | dict[str, str]) -> str:
    """Return a value as TOML writes it."""
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case dict():
            pairs = (f"{_key(key)} = {_toml(each)}" for key, each in value.items())
            return f"{{ {', '.join(pairs)} }}"
        case _:
            return str(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _toml(key)


def _header(line: str) -> list[str] | None:
    """Return the keys of the header of a table; None if the line is none."""
    return key_path(line) if line.lstrip().startswith("[") else None


def _without(lines: list[str], name: str) -> list[str]:
    """Return the lines without the tables of an agent.

    Comments that follow after a blank line are about what comes next, and stay.
    """
    kept: list[str] = []
    block: list[str] | None = None
    for line in [*lines, "[end]"]:
        header = _header(line)
        if header is not None:
            if block is not None:
                kept += _after(block)
            block = [] if header[:2] == ["agents", name] else None
        if block is None:
            kept.append(line)
        else:
            block.append(line)
    return kept[:-1]


def _after(block: list[str]) -> list[str]:
    """Return what stays of the lines of a table: from the first blank line after its keys."""
    last = max(i for i, line in enumerate(block) if line.strip() and not _COMMENT.match(line))
    blank = next((i for i, line in enumerate(block) if i > last and not line.strip()), len(block))
    return block[blank + 1 :]


def _with_default(lines: list[str], name: str | None) -> list[str]:
    """Return the lines with another default agent; None: with none."""
    top = next((i for i, line in enumerate(lines) if _header(line) is not None), len(lines))
    at = next((i for i, line in enumerate(lines[:top]) if _DEFAULT.match(line)), None)
    wanted = [] if name is None else [f"default_agent = {_toml(name)}"]
    if at is not None:
        comment = re.search(r"\s*#[^\"']*$", lines[at])
        if comment and wanted:
            wanted[0] += comment[0]
        return [*lines[:at], *wanted, *lines[at + 1 :]]
    # A comment that begins the file is about all of it.
    start = next((i for i, line in enumerate(lines) if not _COMMENT.match(line)), len(lines))
    if start == len(lines) or lines[start].strip():
        start = 0
    gap = [""] if start else []
    rest = lines[start + len(gap) :]
    apart = [""] if rest and _header(rest[0]) is not None else []
    return [*lines[: start + len(gap)], *wanted, *apart, *rest]


def _change(
    path: Path,
    edit: Callable[[list[str]], list[str]],
    meant: Callable[[dict[str, Any]], None],
) -> None:
    """Replace the file by one with other lines, if these mean what they should."""
    text = read(path) or ""
    end = "\r\n" if "\r\n" in text else "\n"
    data = tomllib.loads(text)
    meant(data)
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    new = end.join(edit(lines))
    by_hand = f"{path} is written in a way that cannot be changed safely; change it by hand"
    try:
        new.encode()
        if _meaning(tomllib.loads(new)) != _meaning(data):
            raise ConfigError(by_hand)
    except (tomllib.TOMLDecodeError, UnicodeEncodeError) as error:
        raise ConfigError(by_hand) from error
    parse(new, path)
    _replace(path, text, new)


def _meaning(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data; an empty list of agents can be written in two ways."""
    return data if data.get("agents") else {**data, "agents": {}}


def _replace(path: Path, old: str, new: str) -> None:
    """Replace the file; a reader sees the old content or the new one."""
    try:
        path = path.resolve()  # a link, as those who keep such files elsewhere have, stays one
        private_dir(path.parent)
        mode = path.stat().st_mode & 0o7777 if path.exists() else None
        with write_temporary(path, new.encode(), mode) as file:
            if (read(path) or "") != old:
                raise ConfigError(f"{path} was changed by another program; try again")
            file.replace(path)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from error
