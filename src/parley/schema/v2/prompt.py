"""`session/prompt`, which adds a user message, `session/cancel`, and the usage of tokens and money.

The response only accepts the prompt. The end of the work is a state update, see `state.py`; other
updates are in `updates.py`.

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
    "UsageUpdate",
]


class PromptRequest(Object):
    """Add a user message to the session, and start working on it."""

    session_id: SessionId
    prompt: Annotated[list[ContentBlock], Meta(min_length=1)]


class PromptResponse(Object):
    """The prompt was accepted; a later state update reports the end of the work."""

    message_id: MessageId
    """The id of the user message, which its updates have as well."""


class CancelSessionNotification(Object):
    """Cancel the foreground work of a session."""

    session_id: SessionId


class Cost(Object):
    """An amount of money."""

    amount: float
    currency: str
    """The ISO 4217 currency code, such as `EUR`."""


class UsageUpdate(Object, tag_field="sessionUpdate", tag="usage_update"):
    """The usage of the context window, and the cost of the session so far."""

    used: U64
    """The tokens in the context."""
    size: U64
    """The size of the context, in tokens."""
    cost: Cost | UnsetType | None = UNSET
    """UNSET if unchanged, None if no longer known."""
