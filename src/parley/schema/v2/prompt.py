"""Prompting and cancelling, and what it costs.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from parley.schema.base import U64, Object

from .content import ContentBlock
from .ids import MessageId, SessionId

__all__ = [
    "CancelSessionNotification",
    "Cost",
    "PromptRequest",
    "PromptResponse",
    "Usage",
    "UsageUpdate",
]


class PromptRequest(Object):
    """Add a user message to the session and start to work on it."""

    session_id: SessionId
    prompt: Annotated[list[ContentBlock], Meta(min_length=1)]


class PromptResponse(Object):
    """The message is in the session; the work goes on, and its end is a state update."""

    message_id: MessageId
    """The one that the user message's update carries as well."""


class CancelSessionNotification(Object):
    """Stop what the session is doing in the foreground."""

    session_id: SessionId


class Usage(Object):
    """Unstable: the tokens that the work just ended took; not a sum over the session."""

    total_tokens: U64
    input_tokens: U64
    output_tokens: U64
    thought_tokens: U64 | None = None
    cached_read_tokens: U64 | None = None
    cached_write_tokens: U64 | None = None


class Cost(Object):
    """An amount of money."""

    amount: float
    currency: str
    """Three letters of ISO 4217, such as `EUR`."""


class UsageUpdate(Object, tag_field="sessionUpdate", tag="usage_update"):
    """How full the context is, and what the session has cost so far."""

    used: U64
    """Tokens in the context now."""
    size: U64
    """Tokens that the context can hold."""
    cost: Cost | UnsetType | None = UNSET
    """UNSET: as before; None: no longer known."""
