"""The lifecycle of a session: new, load, resume, list, close, delete, and its title and date.

Fork, archive, status, titles set by the client and system prompts are unstable. Prompts are in
`prompt.py`.

Spec: https://agentclientprotocol.com/protocol/v1/session-setup,
https://agentclientprotocol.com/protocol/v1/session-list and
https://agentclientprotocol.com/protocol/v1/session-delete
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from parley.schema.base import EMPTY_LIST, Lenient, NullDefault, Object, Patch, Strict, Unstable
from parley.schema.drafts.sessions import SessionArchiveFilter, SessionStatus, SystemPromptMode

from .config import SessionConfigOption
from .content import ContentBlock
from .ids import SessionId
from .mcp import McpServer
from .modes import SessionModeState

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
    "ResumeSessionRequest",
    "ResumeSessionResponse",
    "SessionInfo",
    "SessionInfoUpdate",
    "SessionStatusResponse",
    "SystemPrompt",
]


class SystemPrompt(Object):
    """Unstable: instructions for the whole conversation."""

    mode: SystemPromptMode
    content: list[ContentBlock]


class _Setup(Object):
    """The fields that all requests to open a session have."""

    additional_directories: NullDefault[list[str]] = EMPTY_LIST
    """The complete list of additional directories, as absolute paths; no earlier ones are kept."""
    system_prompt: Unstable[Strict[SystemPrompt | None]] = None


class _State(Object):
    """The fields that all responses to such requests have."""

    modes: SessionModeState | None = None
    config_options: list[SessionConfigOption] | None = None


class NewSessionRequest(_Setup):
    """Create a session."""

    cwd: str
    """The working directory, as an absolute path."""
    mcp_servers: NullDefault[list[McpServer]]


class NewSessionResponse(_State):
    """The session was created."""

    session_id: SessionId


class LoadSessionRequest(_Setup):
    """Reopen a session and replay all of it, as session updates before the response."""

    session_id: SessionId
    cwd: str
    """The working directory that the session was created with, as an absolute path."""
    mcp_servers: NullDefault[list[McpServer]]


class LoadSessionResponse(_State):
    """The session was replayed and is open."""


class ResumeSessionRequest(_Setup):
    """Reopen a session without replaying it."""

    session_id: SessionId
    cwd: str
    """The working directory that the session was created with, as an absolute path."""
    mcp_servers: NullDefault[list[McpServer]] = EMPTY_LIST


class ResumeSessionResponse(_State):
    """The session is open."""


class ForkSessionRequest(_Setup):
    """Unstable: create a session with the history of another one."""

    session_id: SessionId
    """The session to fork."""
    cwd: str
    """An absolute path."""
    mcp_servers: NullDefault[list[McpServer]] = EMPTY_LIST


class ForkSessionResponse(_State):
    """Unstable: the new session was created."""

    session_id: SessionId
    """The new session."""


class CloseSessionRequest(Object):
    """Cancel all work of a session and free its resources."""

    session_id: SessionId


class CloseSessionResponse(Object):
    """The session is closed."""


class ListSessionsRequest(Object):
    """List the sessions that the agent knows, one page at a time."""

    cwd: Strict[str | None] = None
    """List only sessions with this working directory."""
    cursor: Strict[str | None] = None
    """The cursor from the previous page."""
    archived: Unstable[Strict[SessionArchiveFilter | None]] = None


class SessionInfo(Object):
    """A session in a list."""

    session_id: SessionId
    cwd: str
    """An absolute path."""
    additional_directories: list[str] = EMPTY_LIST
    title: str | None = None
    updated_at: str | None = None
    """The time of the last activity, in ISO 8601."""
    archived: Unstable[bool | None] = None


class ListSessionsResponse(Object):
    """A page of sessions."""

    sessions: Lenient[list[SessionInfo]]
    next_cursor: str | None = None
    """The cursor for the next page; None on the last page."""


class SessionInfoUpdate(Patch, tag_field="sessionUpdate", tag="session_info_update"):
    """Changed metadata of a session."""

    title: str | None | UnsetType = UNSET
    updated_at: str | None | UnsetType = UNSET
    """The time of the last activity, in ISO 8601."""


class DeleteSessionRequest(Object):
    """Delete a session from the list; an unknown session is not an error."""

    session_id: SessionId


class DeleteSessionResponse(Object):
    """The session is no longer listed."""


class SessionStatusResponse(Object):
    """Unstable: whether the session is open."""

    status: SessionStatus
