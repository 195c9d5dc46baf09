"""The plans of an agent, as session updates.

A session may have several plans, each with an id. Plans in files or in Markdown, and the removal of
a plan, are unstable.

Spec: https://agentclientprotocol.com/protocol/v2/agent-plan
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import Object, Open, SkipInvalid
from parley.schema.drafts.sessions import PlanFile, PlanMarkdown

__all__ = [
    "PlanEntry",
    "PlanEntryPriority",
    "PlanEntryStatus",
    "PlanId",
    "PlanItems",
    "PlanUpdate",
    "PlanUpdateContent",
]

PlanId: TypeAlias = str
"""The id of a plan within its session."""

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"] | str
"""The priority of a step."""

PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"] | str
"""The progress of a step."""


class PlanEntry(Object):
    """One step of a plan."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


class PlanItems(Object, tag_field="type", tag="items"):
    """A plan as a list of steps."""

    plan_id: PlanId
    entries: SkipInvalid[list[PlanEntry]]


PlanUpdateContent: TypeAlias = Open[PlanItems | PlanFile | PlanMarkdown]
"""A whole plan; replaces what its id had before. One of an unknown type is kept even without id."""


class PlanUpdate(Object, tag_field="sessionUpdate", tag="plan_update"):
    """A new or changed plan."""

    plan: PlanUpdateContent
