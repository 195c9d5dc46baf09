"""Session updates: everything that the agent reports while it works.

Kinds that belong to another topic are defined there. The kinds of plans with an id (`plan.py`) and
of subagents (`subagents.py`) are unstable.
Spec: https://agentclientprotocol.com/protocol/v1/prompt-turn
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from parley.schema.base import Object, Open, Patch

from .commands import AvailableCommandsUpdate
from .config import ConfigOptionUpdate
from .content import ContentBlock
from .ids import MessageId, SessionId
from .modes import CurrentModeUpdate
from .plan import Plan, PlanRemoved, PlanUpdate
from .prompt import UsageUpdate
from .session import SessionInfoUpdate
from .subagents import SessionMessage, SessionMessageChunk, SubagentUpdate
from .tools import ToolCall, ToolCallUpdated

__all__ = [
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "CompactionId",
    "CompactionStatus",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "ContentChunk",
    "Notice",
    "NoticeSeverity",
    "SessionNotification",
    "SessionUpdate",
    "UserMessageChunk",
]


class ContentChunk(Object):
    """One more piece of a message."""

    content: ContentBlock
    message_id: MessageId | None = None
    """The message it belongs to; a new id begins a new message."""


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """What the user said, when a session is replayed."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """What the agent says."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """What the agent thinks."""


NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str
"""How urgent a notice is."""


class Notice(Object, tag_field="sessionUpdate", tag="notice"):
    """Something the user may want to know now; it is no part of the conversation."""

    severity: NoticeSeverity
    title: Annotated[str, Meta(min_length=1)]
    description: str | None = None


CompactionId: TypeAlias = str
"""Names one shortening of a conversation."""

CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str
"""How far a shortening has come."""


class CompactionUpdate(Patch, tag_field="sessionUpdate", tag="compaction_update"):
    """The conversation is being shortened, or was."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: list[ContentBlock] | None | UnsetType = UNSET
    """What is left of the conversation; an empty list clears it as well."""
    error: str | None | UnsetType = UNSET


class CompactionSummaryChunk(Object, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """One more piece of the summary."""

    compaction_id: CompactionId
    content: ContentBlock


SessionUpdate: TypeAlias = Open[
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdated
    | Plan
    | PlanUpdate
    | PlanRemoved
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk
    | SubagentUpdate
    | SessionMessage
    | SessionMessageChunk
]
"""One thing that happened in a session.

The schema closes this union; agents that are ahead of it send other kinds all the same, and a
person should see them, so they are kept as `Unknown`.
"""


class SessionNotification(Object):
    """Something happened in a session."""

    session_id: SessionId
    update: SessionUpdate
