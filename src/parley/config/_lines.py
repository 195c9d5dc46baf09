"""Line numbers and key paths in TOML files, for errors and edits."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

_PLACE = re.compile(r"[\w-]+(?:\.[\w-]+)*")


def line_of(text: str, message: str, table: str = "") -> int | None:
    """Return the line that a message is about, which begins with a place as `agents.one.command`.

    A line that sets the place itself is better than one that begins the table around it.

    Args:
        text: The file.
        message: What is wrong, and where.
        table: Where in the file the place is counted from.
    """
    found = _PLACE.match(message)
    if found is None:
        return None
    wanted = [*(table.split(".") if table else []), *found[0].split(".")]
    best: tuple[int, int] | None = None
    for number, keys in _keys(text):
        if keys == wanted[: len(keys)] and (best is None or len(keys) > best[0]):
            best = (len(keys), number)
    return None if best is None else best[1]


def _keys(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each line that begins a table or sets a key, with the whole path of it."""
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = key_path(stripped) or table
            yield number, table
        elif "=" in stripped and not stripped.startswith("#"):
            path = key_path(f"{stripped.partition('=')[0]}= 0")
            if path is not None:
                yield number, [*table, *path]


def key_path(line: str) -> list[str] | None:
    """Return the keys in a line of TOML; None if it names neither a table nor a value."""
    try:
        inside: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    keys: list[str] = []
    while inside:
        key: str | int = 0 if not hasattr(inside, "keys") else next(iter(inside))
        keys += [key] if isinstance(key, str) else []
        inside = inside[key]
    return keys
