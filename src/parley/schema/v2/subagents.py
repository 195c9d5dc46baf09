"""Unstable: subagents, which are child sessions of a session, and messages between sessions.

What a subagent itself does is reported as updates of its own session, see `updates.py`; its state
is defined in `state.py`.

Spec: https://agentclientprotocol.com/protocol/v2/draft/schema
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from parley.schema.base import Object, Patch, Strict
from parley.schema.drafts.sessions import SubagentSessionCapabilities

from .content import ContentBlock
from .ids import AbsolutePath, MessageId, SessionId
from .state import StateUpdate

__all__ = [
    "SessionMessage",
    "SessionMessageChunk",
    "SubagentUpdate",
]


class SubagentUpdate(Patch, tag_field="sessionUpdate", tag="subagent_update"):
    """Unstable: a change of a subagent; the first one announces its session."""

    session_id: SessionId
    """The subagent's session."""
    title: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    """The purpose of the subagent."""
    capabilities: SubagentSessionCapabilities | UnsetType | None = UNSET
    state: StateUpdate | UnsetType | None = UNSET
    """The state; None if no longer known."""
    cwd: Strict[AbsolutePath | UnsetType | None] = UNSET
    """None for the parent session's."""
    additional_directories: Strict[list[AbsolutePath] | UnsetType | None] = UNSET
    """None for the parent session's; an empty list for none."""


class SessionMessage(Patch, tag_field="sessionUpdate", tag="session_message"):
    """Unstable: a message from one session to another; the first one creates it."""

    message_id: MessageId
    sender_session_id: SessionId | UnsetType | None = UNSET
    recipient_session_id: SessionId | UnsetType | None = UNSET
    sender_message_id: MessageId | UnsetType | None = UNSET
    """The id of the message in the sender's session, for the recipient."""
    recipient_message_id: MessageId | UnsetType | None = UNSET
    """The id of the message in the recipient's session, for the sender."""
    content: list[ContentBlock] | UnsetType | None = UNSET
    """Replaces the previous content, including chunks."""


class SessionMessageChunk(Object, tag_field="sessionUpdate", tag="session_message_chunk"):
    """Unstable: a chunk of a message between sessions."""

    message_id: MessageId
    content: ContentBlock
