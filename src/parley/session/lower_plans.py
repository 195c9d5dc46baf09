"""Plans of version 2 in version 1's words.

A client that takes several plans gets each by its id. For any other, all plans are one list.

Spec: https://agentclientprotocol.com/protocol/v1/agent-plan
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast, get_args

from parley.schema import v1, v2
from parley.schema.base import Unknown
from parley.schema.v1 import unstable as draft1
from parley.schema.v2 import unstable as draft2

from .features import ClientFeatures

__all__ = ["LoweredPlans"]

_PRIORITIES = frozenset(get_args(v1.PlanEntryPriority))
_STATUSES = frozenset(get_args(v1.PlanEntryStatus))


class LoweredPlans:
    """The plans of one session."""

    def __init__(self, features: ClientFeatures) -> None:
        self._has_ids = features.plans
        self._entries: dict[str, list[v1.PlanEntry]] = {}

    def update(self, update: v2.PlanUpdate) -> list[v1.SessionUpdate]:
        """Return what tells the client of a plan; nothing for one of an unknown type."""
        plan = update.plan
        if isinstance(plan, Unknown):
            return []
        if self._has_ids:
            return [draft1.PlanUpdate(plan=_lower_plan(plan), meta=update.meta)]
        self._entries[plan.plan_id] = _entries(plan)
        return [self._whole(update.meta)]

    def remove(self, update: draft2.PlanRemoved) -> list[v1.SessionUpdate]:
        """Return what tells the client that a plan is gone."""
        if self._has_ids:
            return [draft1.PlanRemoved(plan_id=update.plan_id, meta=update.meta)]
        is_known = self._entries.pop(update.plan_id, None) is not None
        return [self._whole(update.meta)] if is_known else []

    def _whole(self, meta: dict[str, object] | None) -> v1.Plan:
        entries = [entry for each in self._entries.values() for entry in each]
        return v1.Plan(entries=entries, meta=meta)


def _lower_plan(
    plan: v2.PlanItems | draft2.PlanFile | draft2.PlanMarkdown,
) -> draft1.PlanUpdateContent:
    match plan:
        case v2.PlanItems():
            entries = _lower_entries(plan.entries)
            return draft1.PlanItems(plan_id=plan.plan_id, entries=entries, meta=plan.meta)
        case draft2.PlanFile():
            return draft1.PlanFile(plan_id=plan.plan_id, uri=plan.uri, meta=plan.meta)
        case _:
            return draft1.PlanMarkdown(plan_id=plan.plan_id, content=plan.content, meta=plan.meta)


def _entries(plan: v2.PlanItems | draft2.PlanFile | draft2.PlanMarkdown) -> list[v1.PlanEntry]:
    """Return a plan as entries; one that is a text or a file becomes a single one."""
    if isinstance(plan, v2.PlanItems):
        return _lower_entries(plan.entries)
    content = plan.uri if isinstance(plan, draft2.PlanFile) else plan.content
    return [v1.PlanEntry(content=content, priority="medium", status="in_progress")]


def _lower_entries(entries: Iterable[v2.PlanEntry]) -> list[v1.PlanEntry]:
    """Lower entries; a cancelled one is left out, since nothing else that can be said is true."""
    return [
        v1.PlanEntry(
            content=entry.content,
            priority=cast(
                "v1.PlanEntryPriority",
                entry.priority if entry.priority in _PRIORITIES else "medium",
            ),
            status=cast(
                "v1.PlanEntryStatus", entry.status if entry.status in _STATUSES else "pending"
            ),
            meta=entry.meta,
        )
        for entry in entries
        if entry.status != "cancelled"
    ]
