"""`session/update`, with which an agent reports its progress: messages, notices, compaction.

Updates of another topic are defined in its module and joined into `SessionUpdate` here.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle#3-agent-reports-output
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
from .plan import PlanUpdate
from .prompt import UsageUpdate
from .session import SessionInfoUpdate
from .state import StateUpdated
from .subagents import SessionMessage, SessionMessageChunk, SubagentUpdate
from .terminal import TerminalOutputChunk, TerminalUpdate
from .tools import ToolCallContentChunk, ToolCallUpdated

__all__ = [
    "AgentMessage",
    "AgentMessageChunk",
    "AgentThought",
    "AgentThoughtChunk",
    "CompactionId",
    "CompactionStatus",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "ContentChunk",
    "Notice",
    "NoticeSeverity",
    "SessionUpdate",
    "UpdateSessionNotification",
    "UserMessage",
    "UserMessageChunk",
]

CompactionId: TypeAlias = str
"""The id of a compaction, assigned by the agent."""

CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str
"""The progress of a compaction."""

NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str
"""The severity of a notice."""


class ContentChunk(Object):
    """A chunk of a message; a new id starts a new message."""

    message_id: MessageId
    content: ContentBlock


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """A chunk of a user message."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """A chunk of an agent message."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """A chunk of an agent thought."""


class UserMessage(Patch, tag_field="sessionUpdate", tag="user_message"):
    """A change of a user message; the first one creates it."""

    message_id: MessageId
    content: list[ContentBlock] | UnsetType | None = UNSET
    """Replaces the previous content, including chunks."""


class AgentMessage(Patch, tag_field="sessionUpdate", tag="agent_message"):
    """A change of an agent message; the first one creates it."""

    message_id: MessageId
    content: list[ContentBlock] | UnsetType | None = UNSET
    """Replaces the previous content, including chunks."""


class AgentThought(Patch, tag_field="sessionUpdate", tag="agent_thought"):
    """A change of an agent thought; the first one creates it."""

    message_id: MessageId
    content: list[ContentBlock] | UnsetType | None = UNSET
    """Replaces the previous content, including chunks."""


class CompactionUpdate(Patch, tag_field="sessionUpdate", tag="compaction_update"):
    """A change of a compaction of the context; the first one creates it."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: list[ContentBlock] | UnsetType | None = UNSET
    """The summary, for people; only when completed."""
    error: str | UnsetType | None = UNSET
    """The reason why it failed, for people."""


class CompactionSummaryChunk(Object, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """A chunk of a compaction's summary."""

    compaction_id: CompactionId
    content: ContentBlock


class Notice(Object, tag_field="sessionUpdate", tag="notice"):
    """A message for the user that is not part of the history."""

    severity: NoticeSeverity
    title: Annotated[str, Meta(min_length=1)]
    description: str | None = None


SessionUpdate: TypeAlias = Open[
    UserMessageChunk
    | UserMessage
    | AgentMessageChunk
    | AgentMessage
    | AgentThoughtChunk
    | AgentThought
    | StateUpdated
    | ToolCallContentChunk
    | ToolCallUpdated
    | TerminalUpdate
    | TerminalOutputChunk
    | PlanUpdate
    | PlanRemoved
    | AvailableCommandsUpdate
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
"""A session update."""


class UpdateSessionNotification(Object):
    """A session update, with the id of its session."""

    session_id: SessionId
    update: SessionUpdate
