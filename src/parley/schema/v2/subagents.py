"""Unstable: sessions that an agent starts below a session, and the messages between them.

Spec: https://agentclientprotocol.com/protocol/v2/draft/schema
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from parley.schema.base import Object, Patch, Strict

from .content import ContentBlock
from .ids import AbsolutePath, MessageId, SessionId
from .state import StateUpdate

__all__ = [
    "SessionCancelCapabilities",
    "SessionMessage",
    "SessionMessageChunk",
    "SubagentSessionCapabilities",
    "SubagentUpdate",
]


class SessionCancelCapabilities(Object):
    """The client may cancel this session's work."""


class SubagentSessionCapabilities(Object):
    """What the client may do with a subagent's session: only what is named here."""

    cancel: SessionCancelCapabilities | None = None


class SubagentUpdate(Patch, tag_field="sessionUpdate", tag="subagent_update"):
    """What changed about a subagent; the first one announces its session."""

    session_id: SessionId
    """The subagent's session."""
    title: str | UnsetType | None = UNSET
    description: str | UnsetType | None = UNSET
    """What it is there for."""
    capabilities: SubagentSessionCapabilities | UnsetType | None = UNSET
    state: StateUpdate | UnsetType | None = UNSET
    """What it is doing; None: not known any more."""
    cwd: Strict[AbsolutePath | UnsetType | None] = UNSET
    """None: the parent's."""
    additional_directories: Strict[list[AbsolutePath] | UnsetType | None] = UNSET
    """None: the parent's; an empty list: none."""


class SessionMessage(Patch, tag_field="sessionUpdate", tag="session_message"):
    """A message from one session to another; the first one creates it."""

    message_id: MessageId
    sender_session_id: SessionId | UnsetType | None = UNSET
    recipient_session_id: SessionId | UnsetType | None = UNSET
    sender_message_id: MessageId | UnsetType | None = UNSET
    """On the receiving side: the same message as the sender's session shows it."""
    recipient_message_id: MessageId | UnsetType | None = UNSET
    """On the sending side: the same message as the recipient's session shows it."""
    content: list[ContentBlock] | UnsetType | None = UNSET
    """Replaces everything that came before, chunks included."""


class SessionMessageChunk(Object, tag_field="sessionUpdate", tag="session_message_chunk"):
    """One more block of a message between sessions."""

    message_id: MessageId
    content: ContentBlock
