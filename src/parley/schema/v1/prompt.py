"""A turn: `session/prompt`, which starts it and whose response ends it, and `session/cancel`.

Updates during the turn are in `updates.py`; only the usage of tokens and money is here.

Spec: https://agentclientprotocol.com/protocol/v1/prompt-turn
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import U64, Object, Unstable
from parley.schema.drafts.sessions import Usage

from .content import ContentBlock
from .ids import SessionId

__all__ = [
    "CancelNotification",
    "Cost",
    "PromptRequest",
    "PromptResponse",
    "StopReason",
    "UsageUpdate",
]

StopReason: TypeAlias = (
    Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"] | str
)
"""The reason why a turn ended. The schema is closed, but an unknown value still ends the turn."""


class PromptRequest(Object):
    """Send a user message, which starts a turn."""

    session_id: SessionId
    prompt: list[ContentBlock]


class PromptResponse(Object):
    """The turn ended."""

    stop_reason: StopReason
    usage: Unstable[Usage | None] = None


class CancelNotification(Object):
    """Cancel the turn; its prompt still gets a response, with the stop reason `cancelled`."""

    session_id: SessionId


class Cost(Object):
    """An amount of money."""

    amount: float
    currency: str
    """The ISO 4217 currency code."""


class UsageUpdate(Object, tag_field="sessionUpdate", tag="usage_update"):
    """The usage of the context window, and the cost of the session."""

    used: U64
    """The tokens in the context."""
    size: U64
    """The size of the context, in tokens."""
    cost: Cost | None = None
    """The total cost of the session so far."""
