"""A turn: the prompt that begins it, the notification that stops it, the answer that ends it.

What happens in between arrives as session updates, see `updates.py`.
Spec: https://agentclientprotocol.com/protocol/v1/prompt-turn
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import U64, Object, Unstable

from .content import ContentBlock
from .ids import SessionId

__all__ = [
    "CancelNotification",
    "Cost",
    "PromptRequest",
    "PromptResponse",
    "StopReason",
    "Usage",
    "UsageUpdate",
]

StopReason: TypeAlias = Literal[
    "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"
]
"""Why a turn ended."""


class PromptRequest(Object):
    """What the user says; begins a turn."""

    session_id: SessionId
    prompt: list[ContentBlock]


class Usage(Object):
    """Unstable: the tokens that a turn took."""

    total_tokens: U64
    input_tokens: U64
    output_tokens: U64
    thought_tokens: U64 | None = None
    cached_read_tokens: U64 | None = None
    cached_write_tokens: U64 | None = None


class PromptResponse(Object):
    """The turn has ended."""

    stop_reason: StopReason
    usage: Unstable[Usage | None] = None


class CancelNotification(Object):
    """Stop the turn; it still ends with an answer, whose stop reason is `cancelled`."""

    session_id: SessionId


class Cost(Object):
    """An amount of money."""

    amount: float
    currency: str
    """The three letters of ISO 4217."""


class UsageUpdate(Object, tag_field="sessionUpdate", tag="usage_update"):
    """How full the context is and what the session has cost."""

    used: U64
    """The tokens that are in the context."""
    size: U64
    """The tokens that the context can hold."""
    cost: Cost | None = None
    """What the whole session has cost so far."""
