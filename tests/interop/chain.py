"""A chain of three built-in proxies, in front of agents that others wrote."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

__all__ = ["conducted", "either_way", "proxies"]

PARLEY = (sys.executable, "-m", "parley")

either_way = pytest.mark.parametrize("way", ["processes", "one-process"])


def proxies(way: str, folder: Path) -> list[str]:
    """Return three proxies that change nothing: as commands that start one, or by their names."""
    journal = str(folder / "journal.db")
    lines = [
        ["log", "--journal", journal],
        ["budget", "--tokens", "9999"],
        ["limits", "--sessions", "9"],
    ]
    if way == "one-process":
        return [shlex.join(line) for line in lines]
    return [shlex.join([*PARLEY, "conduct", shlex.join(line)]) for line in lines]


def conducted(way: str, folder: Path, agent: Sequence[str]) -> list[str]:
    """Return the command of an agent with the proxies before it."""
    return [*PARLEY, "conduct", *proxies(way, folder), "--", *agent]
