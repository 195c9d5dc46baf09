"""The lifecycle of a session: new, resume, list, close, delete, and its title and date.

Fork, archive, status, titles set by the client and system prompts are unstable. Prompts are in
`prompt.py`, the states of a session in `state.py`.

Spec: https://agentclientprotocol.com/protocol/v2/session-setup
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import UNSET, UnsetType

from parley.schema.base import (
    EMPTY_LIST,
    Lenient,
    NullDefault,
    Object,
    Open,
    Patch,
    Strict,
    Unstable,
)
from parley.schema.drafts.sessions import SessionArchiveFilter, SessionStatus, SystemPromptMode

from .commands import AvailableCommand
from .config import SessionConfigOption
from .content import ContentBlock
from .ids import AbsolutePath, SessionId
from .mcp import McpServer
from .state import StateUpdate

__all__ = [
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
    "ReplayFrom",
    "ReplayFromStart",
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionInfo",
    "SessionInfoUpdate",
    "SessionListCursor",
    "SessionStatusResponse",
    "SystemPrompt",
]

SessionListCursor: TypeAlias = str
"""An opaque cursor for the next page of a list."""


class SystemPrompt(Object):
    """Unstable: instructions for the whole conversation."""

    mode: SystemPromptMode
    content: list[ContentBlock]


class NewSessionRequest(Object):
    """Create a session."""

    cwd: AbsolutePath
    additional_directories: NullDefault[list[AbsolutePath]] = EMPTY_LIST
    """More roots that the session may work in."""
    mcp_servers: NullDefault[list[McpServer]] = EMPTY_LIST
    system_prompt: Unstable[Strict[SystemPrompt | None]] = None


class NewSessionResponse(Object):
    """The session was created."""

    session_id: SessionId
    config_options: list[SessionConfigOption] = EMPTY_LIST
    available_commands: list[AvailableCommand] = EMPTY_LIST


class ListSessionsRequest(Object):
    """List the sessions that the agent knows, one page at a time."""

    cwd: Strict[AbsolutePath | None] = None
    """Only the sessions of this directory."""
    cursor: Strict[SessionListCursor | None] = None
    """The cursor from the previous page; None for the first page."""
    archived: Unstable[Strict[SessionArchiveFilter | None]] = None
    """None means `exclude`."""


class SessionInfo(Object):
    """The metadata of a session in a list."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullDefault[list[AbsolutePath]] = EMPTY_LIST
    title: str | None = None
    updated_at: str | None = None
    """The time of the last activity, in RFC 3339."""
    archived: Unstable[bool | None] = None


class ListSessionsResponse(Object):
    """One page of sessions."""

    sessions: Lenient[list[SessionInfo]]
    next_cursor: Strict[SessionListCursor | None] = None
    """The cursor for the next page; None on the last page."""


class SessionInfoUpdate(Patch, tag_field="sessionUpdate", tag="session_info_update"):
    """Changed metadata of a session."""

    title: str | UnsetType | None = UNSET
    updated_at: str | UnsetType | None = UNSET
    """The time of the last activity, in RFC 3339."""


class ReplayFromStart(Object, tag_field="type", tag="start"):
    """Replay from the start of the session."""


ReplayFrom: TypeAlias = Open[ReplayFromStart]
"""The inclusive start of a replay; reject an unknown one with -32602."""


class ResumeSessionRequest(Object):
    """Reopen a session."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullDefault[list[AbsolutePath]] = EMPTY_LIST
    """All roots besides `cwd` that the session may work in from now on."""
    mcp_servers: NullDefault[list[McpServer]] = EMPTY_LIST
    """The complete list of MCP servers; no earlier ones are kept."""
    replay_from: Strict[ReplayFrom | None] = None
    """The start of the replay; None for no replay."""
    system_prompt: Unstable[Strict[SystemPrompt | None]] = None


class ResumeSessionResponse(Object):
    """The session is open, and the requested history was replayed."""

    config_options: list[SessionConfigOption] = EMPTY_LIST
    available_commands: list[AvailableCommand] = EMPTY_LIST


class LoadSessionRequest(Object):
    """Former: resume a session with replay, as an earlier draft of version 2 had it."""

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: NullDefault[list[AbsolutePath]] = EMPTY_LIST
    mcp_servers: NullDefault[list[McpServer]] = EMPTY_LIST


LoadSessionResponse: TypeAlias = ResumeSessionResponse
"""Former: the session is open, and all of it was replayed."""


class CloseSessionRequest(Object):
    """Cancel all work of a session and free its resources."""

    session_id: SessionId


class CloseSessionResponse(Object):
    """The session is closed."""


class DeleteSessionRequest(Object):
    """Delete a session from the list."""

    session_id: SessionId


class DeleteSessionResponse(Object):
    """The session is no longer listed."""


class ForkSessionRequest(Object):
    """Unstable: create a session with the history of another one."""

    session_id: SessionId
    """The session to fork."""
    cwd: AbsolutePath
    additional_directories: NullDefault[list[AbsolutePath]] = EMPTY_LIST
    """All roots besides `cwd` that the new session may work in."""
    mcp_servers: NullDefault[list[McpServer]] = EMPTY_LIST
    system_prompt: Strict[SystemPrompt | None] = None


class ForkSessionResponse(Object):
    """Unstable: the new session was created and is open."""

    session_id: SessionId
    """The new session."""
    config_options: list[SessionConfigOption] = EMPTY_LIST
    available_commands: list[AvailableCommand] = EMPTY_LIST


class SessionStatusResponse(Object):
    """Unstable: whether the session is open, and its state."""

    status: SessionStatus
    state: StateUpdate | None = None
    """The state; None means that it is not reported, not that it is idle."""
