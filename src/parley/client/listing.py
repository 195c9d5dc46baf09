"""How a session of the journal is told in a list: its state, how old it is, and where it was."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from parley.journal import Record

__all__ = ["from_home", "state_of", "when"]


def state_of(record: Record) -> str:
    """Return what is special about a session in a word; empty for one that rests."""
    if record.is_interrupted:
        return "interrupted"
    if record.state == "running":
        return "running"
    return "archived" if record.is_archived else ""


def when(at: float) -> str:
    """Return a time as people say it."""
    seconds = int(max(0.0, time.time() - at))
    if seconds >= 48 * 3600:
        return datetime.fromtimestamp(at).strftime("%Y-%m-%d")
    if seconds >= 3600:
        return f"{seconds // 3600} h ago"
    return f"{seconds // 60} min ago" if seconds >= 60 else "just now"


def from_home(path: str) -> str:
    """Return a path with `~` for the user's home."""
    home = str(Path.home())
    return f"~{path.removeprefix(home)}" if path == home or path.startswith(f"{home}/") else path
