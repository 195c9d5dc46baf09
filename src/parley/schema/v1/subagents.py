"""Unstable: subagents, which are child sessions of a session, and messages between sessions.

Only for clients with the `subagents` capability. What a subagent itself does is reported as updates
of its own session, see `updates.py`.

Spec: https://agentclientprotocol.com/rfds/subagents
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
    """The client may cancel the subagent's work."""


class SubagentSessionCapabilities(Object):
    """The operations that the client may request for a subagent's session."""

    cancel: SessionCancelCapabilities | None = None


class RunningStateUpdate(Object, tag_field="state", tag="running"):
    """The subagent is working."""


IdleStopReason: TypeAlias = (
    Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"] | str
)
"""The reason why a subagent stopped; unlike a turn's stop reasons, any value is allowed."""


class IdleStateUpdate(Object, tag_field="state", tag="idle"):
    """The subagent is idle."""

    stop_reason: IdleStopReason | None = None
    error: Error | None = None
    """The error, with the stop reason `error`."""
    usage: Usage | None = None
    """The tokens that the work used."""


class RequiresActionStateUpdate(Object, tag_field="state", tag="requires_action"):
    """The subagent waits for the user."""


class UnknownStateUpdate(Object, tag_field="state", tag="unknown"):
    """The state of the subagent is currently unknown."""


StateUpdate: TypeAlias = Open[
    RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | UnknownStateUpdate
]
"""The state of a subagent, which replaces the previous one."""


class SubagentUpdate(Patch, tag_field="sessionUpdate", tag="subagent_update"):
    """A new subagent of this session, or a change of one."""

    session_id: SessionId
    """The session of the subagent."""
    title: str | None | UnsetType = UNSET
    description: str | None | UnsetType = UNSET
    """The purpose of the subagent."""
    capabilities: SubagentSessionCapabilities | None | UnsetType = UNSET
    state: StateUpdate | None | UnsetType = UNSET
    cwd: Strict[str | None | UnsetType] = UNSET
    """An absolute path; the parent session's if not set."""
    additional_directories: Strict[list[str] | None | UnsetType] = UNSET
    """Absolute paths; the parent session's if not set."""


class SessionMessage(Patch, tag_field="sessionUpdate", tag="session_message"):
    """A message between two sessions, or a change of one."""

    message_id: MessageId
    sender_session_id: SessionId | None | UnsetType = UNSET
    recipient_session_id: SessionId | None | UnsetType = UNSET
    sender_message_id: MessageId | None | UnsetType = UNSET
    """The id of the message in the sender's session."""
    recipient_message_id: MessageId | None | UnsetType = UNSET
    """The id of the message in the recipient's session."""
    content: list[ContentBlock] | None | UnsetType = UNSET
    """Replaces the previous content."""


class SessionMessageChunk(Object, tag_field="sessionUpdate", tag="session_message_chunk"):
    """A chunk of a message between two sessions."""

    message_id: MessageId
    content: ContentBlock
