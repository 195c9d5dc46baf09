"""Session updates: everything an agent reports about a session while it lives.

Messages, compaction and notices are defined here, the other updates with their topics.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle#3-agent-reports-output
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, UnsetType

from parley.schema.base import Object, Open, Patch

from .commands import AvailableCommandsUpdate
from .config import ConfigOptionUpdate
from .content import ContentBlock
from .ids import MessageId, SessionId
from .plan import PlanRemoved, PlanUpdate
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
"""Names one compaction of a session; the agent chooses it."""

CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str
"""How far a compaction has come."""

NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str
"""How loudly a notice should be shown."""


class ContentChunk(Object):
    """One more block of a message; an unseen id begins a message."""

    message_id: MessageId
    content: ContentBlock


class UserMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="user_message_chunk"):
    """More of what the user said."""


class AgentMessageChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """More of what the agent says."""


class AgentThoughtChunk(ContentChunk, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """More of what the agent thinks."""


class UserMessage(Patch, tag_field="sessionUpdate", tag="user_message"):
    """What the user said; the first one creates the message."""

    message_id: MessageId
    content: list[ContentBlock] | UnsetType | None = UNSET
    """Replaces everything that came before, chunks included."""


class AgentMessage(Patch, tag_field="sessionUpdate", tag="agent_message"):
    """What the agent says; the first one creates the message."""

    message_id: MessageId
    content: list[ContentBlock] | UnsetType | None = UNSET
    """Replaces everything that came before, chunks included."""


class AgentThought(Patch, tag_field="sessionUpdate", tag="agent_thought"):
    """What the agent thinks; the first one creates the message."""

    message_id: MessageId
    content: list[ContentBlock] | UnsetType | None = UNSET
    """Replaces everything that came before, chunks included."""


class CompactionUpdate(Patch, tag_field="sessionUpdate", tag="compaction_update"):
    """What changed about a compaction of the context; the first one creates it."""

    compaction_id: CompactionId
    status: CompactionStatus
    summary: list[ContentBlock] | UnsetType | None = UNSET
    """What is left of the conversation, for people; only when completed."""
    error: str | UnsetType | None = UNSET
    """Why it failed, for people."""


class CompactionSummaryChunk(Object, tag_field="sessionUpdate", tag="compaction_summary_chunk"):
    """One more block of a compaction's summary."""

    compaction_id: CompactionId
    content: ContentBlock


class Notice(Object, tag_field="sessionUpdate", tag="notice"):
    """Something for the user to know now; not part of the history."""

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
"""One thing that happened in a session."""


class UpdateSessionNotification(Object):
    """Something happened in a session."""

    session_id: SessionId
    update: SessionUpdate
