"""The entries of a plan and their status."""

from __future__ import annotations

from collections.abc import Sequence

from parley.schema import v2
from parley.session._validation import as_list


def plan_entries(entries: Sequence[v2.PlanEntry | str], done: int | None) -> list[v2.PlanEntry]:
    """Return plan entries; of the strings, the first `done` are completed, the next in progress."""
    listed = as_list(entries, "plan", "texts and v2.PlanEntry", str, v2.PlanEntry)
    return [
        v2.PlanEntry(content=entry, priority="medium", status=_status(number, done))
        if isinstance(entry, str)
        else entry
        for number, entry in enumerate(listed)
    ]


def _status(number: int, done: int | None) -> v2.PlanEntryStatus:
    if done is None or number > done:
        return "pending"
    return "in_progress" if number == done else "completed"
