"""Formatting of journal sessions for lists: state, age, and directory."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from parley.journal import Record


def state_of(record: Record) -> str:
    """Return the state of a session as one word; empty for an idle one."""
    if record.is_interrupted:
        return "interrupted"
    if record.state == "running":
        return "running"
    return "archived" if record.is_archived else ""


def when(at: float) -> str:
    """Return a time relative to now, such as `5 min ago`, or a date if it is over two days ago.

    Empty for a time that no calendar has.
    """
    seconds = int(max(0.0, time.time() - at))
    if seconds >= 48 * 3600:
        try:
            return datetime.fromtimestamp(at).strftime("%Y-%m-%d")
        except (OverflowError, OSError, ValueError):  # the file of another program may say anything
            return ""
    if seconds >= 3600:
        return f"{seconds // 3600} h ago"
    return f"{seconds // 60} min ago" if seconds >= 60 else "just now"


def from_home(path: str) -> str:
    """Return a path with the user's home directory abbreviated to `~`."""
    home = str(Path.home())
    return f"~{path.removeprefix(home)}" if path == home or path.startswith(f"{home}/") else path
