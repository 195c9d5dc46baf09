"""The steps of a plan and how far they are."""

from __future__ import annotations

from collections.abc import Sequence

from parley.schema import v2
from parley.session.given import as_list

__all__ = ["plan_entries"]


def plan_entries(entries: Sequence[v2.PlanEntry | str], done: int | None) -> list[v2.PlanEntry]:
    """Return the steps; the first ones are completed, the next one is in progress."""
    listed = as_list(entries, "plan", "texts and v2.PlanEntry", str, v2.PlanEntry)
    return [
        v2.PlanEntry(content=entry, priority="medium", status=_status(place, done))
        if isinstance(entry, str)
        else entry
        for place, entry in enumerate(listed)
    ]


def _status(place: int, done: int | None) -> v2.PlanEntryStatus:
    if done is None or place > done:
        return "pending"
    return "in_progress" if place == done else "completed"
