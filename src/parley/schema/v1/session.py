"""Sessions: beginning, finding, continuing and ending conversations.

Forking, archiving, status, titles and system prompts are unstable.
Spec: https://agentclientprotocol.com/protocol/v1/session-setup,
https://agentclientprotocol.com/protocol/v1/session-list
and https://agentclientprotocol.com/protocol/v1/session-delete
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from parley.schema.base import NO_ITEMS, Lenient, NullDefault, Object, Patch, Strict, Unstable

from .config import SessionConfigOption
from .content import ContentBlock
from .ids import SessionId
from .mcp import McpServer
from .modes import SessionModeState

__all__ = [
    "ArchiveSessionRequest",
    "ArchiveSessionResponse",
    "CloseSessionRequest",
    "CloseSessionResponse",
    "DeleteSessionRequest",
    "DeleteSessionResponse",
    "ForkSessionRequest",
    "ForkSessionResponse",
    "ListSessionsRequest",
    "ListSessionsResponse",
    "LoadSessionRequest",
    "LoadSessionResponse",
    "NewSessionRequest",
    "NewSessionResponse",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionArchiveFilter",
    "SessionInfo",
    "SessionInfoUpdate",
    "SessionStatus",
    "SessionStatusRequest",
    "SessionStatusResponse",
    "SetSessionTitleRequest",
    "SetSessionTitleResponse",
    "SystemPrompt",
    "SystemPromptMode",
    "UnarchiveSessionRequest",
    "UnarchiveSessionResponse",
]

SystemPromptMode: TypeAlias = Literal["append", "override"] | str
"""Unstable: whether a system prompt is added to the agent's own or takes its place."""

SessionArchiveFilter: TypeAlias = Literal["exclude", "include", "only"] | str
"""Unstable: which sessions to list: those in use, all, or those put away."""

SessionStatus: TypeAlias = Literal["open", "saved"] | str
"""Unstable: whether a session is open or only kept."""


class SystemPrompt(Object):
    """Unstable: instructions that stand above the conversation."""

    mode: SystemPromptMode
    content: list[ContentBlock]


class _Setup(Object):
    """What every request that opens a session may have."""

    additional_directories: NullDefault[list[str]] = NO_ITEMS
    """More directories to work in, absolute; the complete list, nothing is carried over."""
    system_prompt: Unstable[Strict[SystemPrompt | None]] = None


class _State(Object):
    """What every answer that opens a session may have."""

    modes: SessionModeState | None = None
    config_options: list[SessionConfigOption] | None = None


class NewSessionRequest(_Setup):
    """Begin a conversation."""

    cwd: str
    """Absolute; relative paths start here."""
    mcp_servers: NullDefault[list[McpServer]]


class NewSessionResponse(_State):
    """The conversation can begin."""

    session_id: SessionId


class LoadSessionRequest(_Setup):
    """Continue a conversation, and replay all of it as session updates before the answer."""

    session_id: SessionId
    cwd: str
    """Absolute; the one that the session was begun with."""
    mcp_servers: NullDefault[list[McpServer]]


class LoadSessionResponse(_State):
    """The conversation has been replayed and can continue."""


class ResumeSessionRequest(_Setup):
    """Continue a conversation without replaying it."""

    session_id: SessionId
    cwd: str
    """Absolute; the one that the session was begun with."""
    mcp_servers: NullDefault[list[McpServer]] = NO_ITEMS


class ResumeSessionResponse(_State):
    """The conversation can continue."""


class ForkSessionRequest(_Setup):
    """Unstable: begin a conversation that has the same past as another one."""

    session_id: SessionId
    """The session to fork."""
    cwd: str
    """Absolute."""
    mcp_servers: NullDefault[list[McpServer]] = NO_ITEMS


class ForkSessionResponse(_State):
    """Unstable: the new conversation can begin."""

    session_id: SessionId
    """The new session."""


class CloseSessionRequest(Object):
    """Stop all work of a session and free what it holds."""

    session_id: SessionId


class CloseSessionResponse(Object):
    """The session is closed."""


class ListSessionsRequest(Object):
    """Ask for a page of the sessions that the agent knows."""

    cwd: Strict[str | None] = None
    """Only those in this directory."""
    cursor: Strict[str | None] = None
    """Where the page before this one ended."""
    archived: Unstable[Strict[SessionArchiveFilter | None]] = None


class SessionInfo(Object):
    """A session as it is listed."""

    session_id: SessionId
    cwd: str
    """Absolute."""
    additional_directories: list[str] = NO_ITEMS
    title: str | None = None
    updated_at: str | None = None
    """When it was last used, as an ISO 8601 time."""
    archived: Unstable[bool | None] = None


class ListSessionsResponse(Object):
    """A page of sessions."""

    sessions: Lenient[list[SessionInfo]]
    next_cursor: str | None = None
    """What to ask for the next page with; None on the last page."""


class SessionInfoUpdate(Patch, tag_field="sessionUpdate", tag="session_info_update"):
    """What changed about how a session is listed."""

    title: str | None | UnsetType = UNSET
    updated_at: str | None | UnsetType = UNSET
    """When it was last used, as an ISO 8601 time."""


class DeleteSessionRequest(Object):
    """Take a session off the list; one that is not there is no error."""

    session_id: SessionId


class DeleteSessionResponse(Object):
    """The session is no longer listed."""


class ArchiveSessionRequest(Object):
    """Unstable: put a session away."""

    session_id: SessionId


class ArchiveSessionResponse(Object):
    """Unstable: the session is put away."""


class UnarchiveSessionRequest(Object):
    """Unstable: bring back a session that was put away."""

    session_id: SessionId


class UnarchiveSessionResponse(Object):
    """Unstable: the session is back."""


class SessionStatusRequest(Object):
    """Unstable: is this session open? Asking changes nothing."""

    session_id: SessionId


class SessionStatusResponse(Object):
    """Unstable: whether the session is open."""

    status: SessionStatus


class SetSessionTitleRequest(Object):
    """Unstable: give a session another title."""

    session_id: SessionId
    title: str


class SetSessionTitleResponse(Object):
    """Unstable: the session has another title."""

    title: str
    """As the agent keeps it, which may differ from what was asked."""
