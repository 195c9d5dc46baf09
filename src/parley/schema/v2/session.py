"""The life of a session: new, list, resume, close, delete, and what drafts add to it.

Spec: https://agentclientprotocol.com/protocol/v2/session-setup
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from parley.schema.base import NO_ITEMS, Lenient, NullDefault, Object, Open, Patch, Strict, Unstable

from .commands import AvailableCommand
from .config import SessionConfigOption
from .content import ContentBlock
from .ids import AbsolutePath, SessionId
from .mcp import McpServer
from .state import StateUpdate

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
    "NewSessionRequest",
    "NewSessionResponse",
    "ReplayFrom",
    "ReplayFromStart",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionArchiveFilter",
    "SessionInfo",
    "SessionInfoUpdate",
    "SessionListCursor",
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

SessionListCursor: TypeAlias = str
"""Where the next page of a list begins; only the agent can read it."""

SessionArchiveFilter: TypeAlias = Literal["exclude", "include", "only"] | str
"""Unstable: what a list does with archived sessions."""

SessionStatus: TypeAlias = Literal["open", "saved"] | str
"""Unstable: whether the agent has a session in memory."""

SystemPromptMode: TypeAlias = Literal["append", "override"] | str
"""Unstable: what a system prompt does to the agent's own; answer an unknown mode with an error."""


class SystemPrompt(Object):
    """Unstable: instructions that stand above the conversation."""

    mode: SystemPromptMode
    content: list[ContentBlock]


class NewSessionRequest(Object):
    """Start a conversation."""

    cwd: AbsolutePath
    additional_directories: NullDefault[list[AbsolutePath]] = NO_ITEMS
    """More roots that the session may work in."""
    mcp_servers: NullDefault[list[McpServer]] = NO_ITEMS
    system_prompt: Unstable[Strict[SystemPrompt | None]] = None


class NewSessionResponse(Object):
    """The conversation exists."""

    session_id: SessionId
    config_options: list[SessionConfigOption] = NO_ITEMS
    available_commands: list[AvailableCommand] = NO_ITEMS


class ListSessionsRequest(Object):
    """Ask for the sessions that the agent knows, page by page."""

    cwd: Strict[AbsolutePath | None] = None
    """Only the sessions of this directory."""
    cursor: Strict[SessionListCursor | None] = None
    """None asks for the first page."""
    archived: Unstable[Strict[SessionArchiveFilter | None]] = None
    """None is `exclude`."""


class SessionInfo(Object):
    """What is known about a session without opening it."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullDefault[list[AbsolutePath]] = NO_ITEMS
    title: str | None = None
    updated_at: str | None = None
    """When something last happened in it, as RFC 3339."""
    archived: Unstable[bool | None] = None


class ListSessionsResponse(Object):
    """One page of sessions."""

    sessions: Lenient[list[SessionInfo]]
    next_cursor: Strict[SessionListCursor | None] = None
    """None: this was the last page."""


class SessionInfoUpdate(Patch, tag_field="sessionUpdate", tag="session_info_update"):
    """What changed about the session itself."""

    title: str | UnsetType | None = UNSET
    updated_at: str | UnsetType | None = UNSET
    """When something last happened in it, as RFC 3339."""


class ReplayFromStart(Object, tag_field="type", tag="start"):
    """Replay everything that was kept."""


ReplayFrom: TypeAlias = Open[ReplayFromStart]
"""Where a replay begins, that place included; answer one that is not known with -32602."""


class ResumeSessionRequest(Object):
    """Go on with a session."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullDefault[list[AbsolutePath]] = NO_ITEMS
    """All roots besides `cwd` that the session may work in from now on."""
    mcp_servers: NullDefault[list[McpServer]] = NO_ITEMS
    """All the client's servers; none is remembered from before."""
    replay_from: Strict[ReplayFrom | None] = None
    """None: no replay."""
    system_prompt: Unstable[Strict[SystemPrompt | None]] = None


class ResumeSessionResponse(Object):
    """The session is open, and everything asked for has been replayed."""

    config_options: list[SessionConfigOption] = NO_ITEMS
    available_commands: list[AvailableCommand] = NO_ITEMS


class CloseSessionRequest(Object):
    """Stop all work of a session and free what it holds."""

    session_id: SessionId


class CloseSessionResponse(Object):
    """The session is closed."""


class DeleteSessionRequest(Object):
    """Take a session off the list."""

    session_id: SessionId


class DeleteSessionResponse(Object):
    """The session is off the list."""


class ForkSessionRequest(Object):
    """Unstable: start a new session with the history of another."""

    session_id: SessionId
    """The session to fork."""
    cwd: AbsolutePath
    additional_directories: NullDefault[list[AbsolutePath]] = NO_ITEMS
    """All roots besides `cwd` that the new session may work in."""
    mcp_servers: NullDefault[list[McpServer]] = NO_ITEMS
    system_prompt: Strict[SystemPrompt | None] = None


class ForkSessionResponse(Object):
    """Unstable: the new session exists and is open."""

    session_id: SessionId
    """The new session."""
    config_options: list[SessionConfigOption] = NO_ITEMS
    available_commands: list[AvailableCommand] = NO_ITEMS


class ArchiveSessionRequest(Object):
    """Unstable: hide a session from lists."""

    session_id: SessionId


class ArchiveSessionResponse(Object):
    """Unstable: the session is archived."""


class UnarchiveSessionRequest(Object):
    """Unstable: show an archived session in lists again."""

    session_id: SessionId


class UnarchiveSessionResponse(Object):
    """Unstable: the session is no longer archived."""


class SessionStatusRequest(Object):
    """Unstable: ask whether a session is in memory, without touching it."""

    session_id: SessionId


class SessionStatusResponse(Object):
    """Unstable: whether the session is in memory, and what it is doing."""

    status: SessionStatus
    state: StateUpdate | None = None
    """None says nothing about the state, not that it is idle."""


class SetSessionTitleRequest(Object):
    """Unstable: give a session a title."""

    session_id: SessionId
    title: str


class SetSessionTitleResponse(Object):
    """Unstable: the title as the agent keeps it."""

    title: str
