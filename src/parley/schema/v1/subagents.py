"""Subagents: sessions that belong to another session, and messages between sessions. Unstable.

Only for clients that offer `subagents`. Spec: https://agentclientprotocol.com/rfds/subagents
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from parley.schema.base import Object, Open, Patch, Strict

from .content import ContentBlock
from .errors import Error
from .ids import MessageId, SessionId
from .prompt import Usage

__all__ = [
    "IdleStateUpdate",
    "IdleStopReason",
    "RequiresActionStateUpdate",
    "RunningStateUpdate",
    "SessionCancelCapabilities",
    "SessionMessage",
    "SessionMessageChunk",
    "StateUpdate",
    "SubagentSessionCapabilities",
    "SubagentUpdate",
    "UnknownStateUpdate",
]


class SessionCancelCapabilities(Object):
    """The client may stop what the subagent is doing."""


class SubagentSessionCapabilities(Object):
    """What the client may do with the session of a subagent; nothing, if nothing is said."""

    cancel: SessionCancelCapabilities | None = None


class RunningStateUpdate(Object, tag_field="state", tag="running"):
    """The subagent is at work."""


IdleStopReason: TypeAlias = (
    Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"] | str
)
"""Why a subagent stopped; unlike the stop reasons of a turn these are open."""


class IdleStateUpdate(Object, tag_field="state", tag="idle"):
    """The subagent has nothing to do and can be given more."""

    stop_reason: IdleStopReason | None = None
    error: Error | None = None
    """What failed, where the stop reason is `error`."""
    usage: Usage | None = None
    """The tokens that the work took."""


class RequiresActionStateUpdate(Object, tag_field="state", tag="requires_action"):
    """The subagent waits for the user."""


class UnknownStateUpdate(Object, tag_field="state", tag="unknown"):
    """The agent cannot tell at the moment what the subagent does."""


StateUpdate: TypeAlias = Open[
    RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | UnknownStateUpdate
]
"""What a subagent is doing, whole; it replaces what was known before."""


class SubagentUpdate(Patch, tag_field="sessionUpdate", tag="subagent_update"):
    """This session has a subagent, or something about it changed."""

    session_id: SessionId
    """The session of the subagent."""
    title: str | None | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    """What the subagent is for."""
    capabilities: SubagentSessionCapabilities | None | UnsetType = UNSET
    state: StateUpdate | None | UnsetType = UNSET
    cwd: Strict[str | None | UnsetType] = UNSET
    """Absolute; the parent's own where it is not set."""
    additional_directories: Strict[list[str] | None | UnsetType] = UNSET
    """Absolute; the parent's own where they are not set."""


class SessionMessage(Patch, tag_field="sessionUpdate", tag="session_message"):
    """A message between two sessions, or what changed about it."""

    message_id: MessageId
    sender_session_id: SessionId | None | UnsetType = UNSET
    recipient_session_id: SessionId | None | UnsetType = UNSET
    sender_message_id: MessageId | None | UnsetType = UNSET
    """The same message as the sender's session shows it."""
    recipient_message_id: MessageId | None | UnsetType = UNSET
    """The same message as the recipient's session shows it."""
    content: list[ContentBlock] | None | UnsetType = UNSET
    """Replaces all content that was there."""


class SessionMessageChunk(Object, tag_field="sessionUpdate", tag="session_message_chunk"):
    """One more piece of a message between two sessions."""

    message_id: MessageId
    content: ContentBlock
