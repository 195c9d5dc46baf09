"""Unstable: subagents, which are child sessions of a session, and messages between sessions.

Only for clients with the `subagents` capability. What a subagent itself does is reported as updates
of its own session, see `updates.py`.

Spec: https://agentclientprotocol.com/rfds/subagents
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from parley.schema.base import Object, Open, Patch, Strict
from parley.schema.drafts.sessions import SubagentSessionCapabilities, Usage

from .content import ContentBlock
from .errors import Error
from .ids import MessageId, SessionId

__all__ = [
    "IdleStateUpdate",
    "IdleStopReason",
    "RequiresActionStateUpdate",
    "RunningStateUpdate",
    "SessionMessage",
    "SessionMessageChunk",
    "StateUpdate",
    "SubagentUpdate",
    "UnknownStateUpdate",
]


class RunningStateUpdate(Object, tag_field="state", tag="running"):
    """Unstable: the subagent is working."""


IdleStopReason: TypeAlias = (
    Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"] | str
)
"""Unstable: the reason why a subagent stopped; unlike a turn's, it may be any value."""


class IdleStateUpdate(Object, tag_field="state", tag="idle"):
    """Unstable: the subagent is idle."""

    stop_reason: IdleStopReason | None = None
    error: Error | None = None
    """The error, with the stop reason `error`."""
    usage: Usage | None = None
    """The tokens that the work used."""


class RequiresActionStateUpdate(Object, tag_field="state", tag="requires_action"):
    """Unstable: the subagent waits for the user."""


class UnknownStateUpdate(Object, tag_field="state", tag="unknown"):
    """Unstable: the state of the subagent is currently unknown."""


StateUpdate: TypeAlias = Open[
    RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | UnknownStateUpdate
]
"""Unstable: the state of a subagent, which replaces the previous one."""


class SubagentUpdate(Patch, tag_field="sessionUpdate", tag="subagent_update"):
    """Unstable: a new subagent of this session, or a change of one."""

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
    """Unstable: a message between two sessions, or a change of one."""

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
    """Unstable: a chunk of a message between two sessions."""

    message_id: MessageId
    content: ContentBlock
