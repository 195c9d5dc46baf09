"""`session/update`, with which an agent reports its progress: messages, notices, compaction.

Updates of another topic are defined in its module and joined into `SessionUpdate` here. Plans with
ids (`plan.py`) and subagents (`subagents.py`) are unstable.

Spec: https://agentclientprotocol.com/protocol/v1/prompt-turn
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from parley.schema.base import Object, Open, Patch
from parley.schema.drafts.sessions import PlanRemoved

from .commands import AvailableCommandsUpdate
from .config import ConfigOptionUpdate
from .content import ContentBlock
from .ids import MessageId, SessionId
from .modes import CurrentModeUpdate
from .plan import Plan, PlanUpdate
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
    """A chunk of a message."""

    content: ContentBlock
    message_id: MessageId | None = None
    """The message it belongs to; a new id begins a new message."""


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """A chunk of a user message, in a replay."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """A chunk of an agent message."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """A chunk of an agent thought."""


NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str
"""The severity of a notice."""


class Notice(Object, tag_field="sessionUpdate", tag="notice"):
    """A message for the user that is not part of the conversation."""

    severity: NoticeSeverity
    title: Annotated[str, Meta(min_length=1)]
    description: str | None = None


CompactionId: TypeAlias = str
"""The id of a compaction."""

CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str
"""The progress of a compaction."""


class CompactionUpdate(Patch, tag_field="sessionUpdate", tag="compaction_update"):
    """A compaction of the context, or a change of one."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: list[ContentBlock] | None | UnsetType = UNSET
    """The summary; an empty list clears it, too."""
    error: str | None | UnsetType = UNSET


class CompactionSummaryChunk(Object, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """A chunk of the summary."""

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
    """A session update, with the id of its session."""

    session_id: SessionId
    update: SessionUpdate
