"""Plans: what the agent intends to do, as session updates.

`Plan` is the one plan of a session. The other updates are unstable: they let a session have
several plans, each with an id, and need `clientCapabilities.plan`.
Spec: https://agentclientprotocol.com/protocol/v1/agent-plan
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import Lenient, Object

__all__ = [
    "Plan",
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

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]
"""How much an entry matters."""

PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"]
"""How far an entry has come."""

PlanId: TypeAlias = str
"""Unstable: names a plan within its session."""


class PlanEntry(Object):
    """One thing to do."""

    content: str
    """What is to be done, for people."""
    priority: PlanEntryPriority
    status: PlanEntryStatus


class Plan(Object, tag_field="sessionUpdate", tag="plan"):
    """The whole plan; it replaces the one before."""

    entries: Lenient[list[PlanEntry]]


class PlanItems(Object, tag_field="type", tag="items"):
    """Unstable: a plan as a list of things to do."""

    plan_id: PlanId
    entries: Lenient[list[PlanEntry]]


class PlanFile(Object, tag_field="type", tag="file"):
    """Unstable: a plan that is kept in a file."""

    plan_id: PlanId
    uri: str


class PlanMarkdown(Object, tag_field="type", tag="markdown"):
    """Unstable: a plan as a text."""

    plan_id: PlanId
    content: str


PlanUpdateContent: TypeAlias = PlanItems | PlanFile | PlanMarkdown
"""Unstable: one of several plans."""


class PlanUpdate(Object, tag_field="sessionUpdate", tag="plan_update"):
    """Unstable: one of several plans, whole; it replaces the one with the same id."""

    plan: PlanUpdateContent


class PlanRemoved(Object, tag_field="sessionUpdate", tag="plan_removed"):
    """Unstable: one of several plans is gone."""

    plan_id: PlanId
