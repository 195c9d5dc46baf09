"""Unstable: drafts about sessions: archive, status, title, system prompts, usage, plans, subagents.

Types that refer to content blocks or to the state of a session differ and are in the packages of
the versions.

Spec: https://agentclientprotocol.com/protocol/v2/draft/schema
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import U64, Object
from parley.schema.ids import SessionId

__all__ = [
    "ArchiveSessionRequest",
    "ArchiveSessionResponse",
    "PlanFile",
    "PlanMarkdown",
    "PlanRemoved",
    "SessionArchiveCapabilities",
    "SessionArchiveFilter",
    "SessionCancelCapabilities",
    "SessionForkCapabilities",
    "SessionStatus",
    "SessionStatusCapabilities",
    "SessionStatusRequest",
    "SessionSystemPromptCapabilities",
    "SessionSystemPromptModeCapabilities",
    "SessionSystemPromptOverrideCapabilities",
    "SessionTitleCapabilities",
    "SetSessionTitleRequest",
    "SetSessionTitleResponse",
    "SubagentSessionCapabilities",
    "SystemPromptMode",
    "UnarchiveSessionRequest",
    "UnarchiveSessionResponse",
    "Usage",
]

SessionArchiveFilter: TypeAlias = Literal["exclude", "include", "only"] | str
"""Unstable: whether to list archived sessions: exclude them, include them, or list only them."""

SessionStatus: TypeAlias = Literal["open", "saved"] | str
"""Unstable: whether a session is open or only stored."""

SystemPromptMode: TypeAlias = Literal["append", "override"] | str
"""Unstable: whether a system prompt is appended to the agent's own or replaces it."""


class SessionArchiveCapabilities(Object):
    """Unstable: the agent can archive and unarchive sessions."""


class SessionForkCapabilities(Object):
    """Unstable: the agent can fork a session."""


class SessionStatusCapabilities(Object):
    """Unstable: the agent reports whether a session is open."""


class SessionTitleCapabilities(Object):
    """Unstable: the client can set the title of a session."""


class SessionSystemPromptOverrideCapabilities(Object):
    """Unstable: the client's system prompt can replace the agent's own."""


class SessionSystemPromptModeCapabilities(Object):
    """Unstable: the modes of a system prompt besides appending."""

    override: SessionSystemPromptOverrideCapabilities | None = None


class SessionSystemPromptCapabilities(Object):
    """Unstable: the agent accepts a system prompt."""

    mode: SessionSystemPromptModeCapabilities | None = None


class SessionCancelCapabilities(Object):
    """Unstable: the client may cancel the subagent's work."""


class SubagentSessionCapabilities(Object):
    """Unstable: the operations that the client may request for a subagent's session."""

    cancel: SessionCancelCapabilities | None = None


class ArchiveSessionRequest(Object):
    """Unstable: archive a session."""

    session_id: SessionId


class ArchiveSessionResponse(Object):
    """Unstable: the session is archived."""


class UnarchiveSessionRequest(Object):
    """Unstable: unarchive a session."""

    session_id: SessionId


class UnarchiveSessionResponse(Object):
    """Unstable: the session is no longer archived."""


class SessionStatusRequest(Object):
    """Unstable: ask whether a session is open, without opening it."""

    session_id: SessionId


class SetSessionTitleRequest(Object):
    """Unstable: set the title of a session."""

    session_id: SessionId
    title: str


class SetSessionTitleResponse(Object):
    """Unstable: the title was set."""

    title: str
    """The title that the agent stored, which may differ from the requested one."""


class Usage(Object):
    """Unstable: the tokens that a turn used, not the total of the session."""

    total_tokens: U64
    input_tokens: U64
    output_tokens: U64
    thought_tokens: U64 | None = None
    cached_read_tokens: U64 | None = None
    cached_write_tokens: U64 | None = None


class PlanFile(Object, tag_field="type", tag="file"):
    """Unstable: a plan in a file."""

    plan_id: str
    uri: str


class PlanMarkdown(Object, tag_field="type", tag="markdown"):
    """Unstable: a plan as Markdown text."""

    plan_id: str
    content: str


class PlanRemoved(Object, tag_field="sessionUpdate", tag="plan_removed"):
    """Unstable: a plan was removed."""

    plan_id: str
