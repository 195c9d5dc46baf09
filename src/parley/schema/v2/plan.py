"""Plans: what the agent intends to do, step by step.

Spec: https://agentclientprotocol.com/protocol/v2/agent-plan
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import Object, Open, SkipInvalid

__all__ = [
    "PlanEntry",
    "PlanEntryPriority",
    "PlanEntryStatus",
    "PlanFile",
    "PlanId",
    "PlanItems",
    "PlanMarkdown",
    "PlanRemoved",
    "PlanUpdate",
    "PlanUpdateContent",
]

PlanId: TypeAlias = str
"""Names one plan of a session."""

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"] | str
"""How much a step matters."""

PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled"] | str
"""How far a step has come."""


class PlanEntry(Object):
    """One step of a plan."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


class PlanItems(Object, tag_field="type", tag="items"):
    """A plan as a list of steps."""

    plan_id: PlanId
    entries: SkipInvalid[list[PlanEntry]]


class PlanFile(Object, tag_field="type", tag="file"):
    """Unstable: a plan that is in a file."""

    plan_id: PlanId
    uri: str


class PlanMarkdown(Object, tag_field="type", tag="markdown"):
    """Unstable: a plan as Markdown."""

    plan_id: PlanId
    content: str


PlanUpdateContent: TypeAlias = Open[PlanItems | PlanFile | PlanMarkdown]
"""A whole plan; replaces what its id had before. One of an unknown type is kept even without id."""


class PlanUpdate(Object, tag_field="sessionUpdate", tag="plan_update"):
    """A plan is new or has changed."""

    plan: PlanUpdateContent


class PlanRemoved(Object, tag_field="sessionUpdate", tag="plan_removed"):
    """Unstable: a plan is gone."""

    plan_id: PlanId
