"""The plan of an agent, as session updates.

`Plan` is the only plan of a session. `PlanUpdate` and `PlanRemoved` are unstable: they allow
several plans, each with an id, and are only for clients with the `plan` capability.

Spec: https://agentclientprotocol.com/protocol/v1/agent-plan
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import Lenient, Object
from parley.schema.drafts.sessions import PlanFile, PlanMarkdown

__all__ = [
    "Plan",
    "PlanEntry",
    "PlanEntryPriority",
    "PlanEntryStatus",
    "PlanId",
    "PlanItems",
    "PlanUpdate",
    "PlanUpdateContent",
]

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]
"""The priority of an entry."""

PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"]
"""The progress of an entry."""

PlanId: TypeAlias = str
"""Unstable: the id of a plan within its session."""


class PlanEntry(Object):
    """A step of a plan."""

    content: str
    """A description for people."""
    priority: PlanEntryPriority
    status: PlanEntryStatus


class Plan(Object, tag_field="sessionUpdate", tag="plan"):
    """The complete plan, which replaces the previous one."""

    entries: Lenient[list[PlanEntry]]


class PlanItems(Object, tag_field="type", tag="items"):
    """Unstable: a plan as a list of steps."""

    plan_id: PlanId
    entries: Lenient[list[PlanEntry]]


PlanUpdateContent: TypeAlias = PlanItems | PlanFile | PlanMarkdown
"""Unstable: one of several plans."""


class PlanUpdate(Object, tag_field="sessionUpdate", tag="plan_update"):
    """Unstable: a complete plan, which replaces the one with the same id."""

    plan: PlanUpdateContent
