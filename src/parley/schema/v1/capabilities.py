"""Capabilities of clients and agents, exchanged in `initialize`.

A boolean capability is on when it is true. An object capability is on when it is present and not
null, even if it is empty. `initialize` itself is in `initialize.py`, the capabilities of drafts
that both versions share in `parley.schema.drafts`.

Spec: https://agentclientprotocol.com/protocol/v1/initialization
"""

from __future__ import annotations

from parley.schema.base import EMPTY_LIST, BaseStruct, Object, Unstable
from parley.schema.drafts.auth_status import AuthStatusCapabilities
from parley.schema.drafts.nes import ClientNesCapabilities, NesCapabilities, PositionEncodingKind
from parley.schema.drafts.providers import ProvidersCapabilities
from parley.schema.drafts.sessions import (
    SessionArchiveCapabilities,
    SessionForkCapabilities,
    SessionStatusCapabilities,
    SessionSystemPromptCapabilities,
    SessionTitleCapabilities,
)
from parley.schema.drafts.workspace import WorkspaceCapabilities

__all__ = [
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "AuthCapabilities",
    "BooleanConfigOptionCapabilities",
    "ClientCapabilities",
    "ClientSessionCapabilities",
    "CompactionCapabilities",
    "ElicitationCapabilities",
    "ElicitationFormCapabilities",
    "ElicitationUrlCapabilities",
    "FileSystemCapabilities",
    "GeneralCapabilities",
    "LogoutCapabilities",
    "McpCapabilities",
    "NoticeCapabilities",
    "PlanCapabilities",
    "PromptCapabilities",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionCapabilities",
    "SessionCloseCapabilities",
    "SessionConfigOptionsCapabilities",
    "SessionDeleteCapabilities",
    "SessionListCapabilities",
    "SessionResumeCapabilities",
    "SubagentCapabilities",
]


class FileSystemCapabilities(Object):
    """The `fs/*` methods that the client serves."""

    read_text_file: bool = False
    write_text_file: bool = False


class AuthCapabilities(Object):
    """The kinds of authentication methods that the client supports."""

    terminal: bool = False
    """Whether it can run the agent's own login in a terminal."""


class BooleanConfigOptionCapabilities(Object):
    """The client supports boolean config options."""


class SessionConfigOptionsCapabilities(Object):
    """The kinds of config options that the client supports besides select options."""

    boolean: BooleanConfigOptionCapabilities | None = None


class CompactionCapabilities(BaseStruct):
    """The client can show compactions."""


class NoticeCapabilities(BaseStruct):
    """The client can show notices."""


class ClientSessionCapabilities(Object):
    """The client's capabilities within a session."""

    compaction: CompactionCapabilities | None = None
    config_options: SessionConfigOptionsCapabilities | None = None
    notices: NoticeCapabilities | None = None


class SubagentCapabilities(Object):
    """Unstable: the client supports subagents."""


class PlanCapabilities(Object):
    """Unstable: the client can show several plans."""


class ElicitationFormCapabilities(Object):
    """The client can show a form."""


class ElicitationUrlCapabilities(Object):
    """The client can send the user to a web page."""


class ElicitationCapabilities(Object):
    """The kinds of elicitation that the client supports; an empty object offers none."""

    form: ElicitationFormCapabilities | None = None
    url: ElicitationUrlCapabilities | None = None


class GeneralCapabilities(Object):
    """Former: the position encodings of older clients; read, but never written."""

    position_encodings: list[PositionEncodingKind] = EMPTY_LIST


class ClientCapabilities(Object):
    """The capabilities of a client."""

    fs: FileSystemCapabilities = FileSystemCapabilities()
    terminal: bool = False
    """Whether it serves all `terminal/*` methods."""
    session: ClientSessionCapabilities | None = None
    auth: AuthCapabilities = AuthCapabilities()
    elicitation: ElicitationCapabilities | None = None
    subagents: Unstable[SubagentCapabilities | None] = None
    plan: Unstable[PlanCapabilities | None] = None
    nes: Unstable[ClientNesCapabilities | None] = None
    """The kinds of next edit suggestions that it shows; removed from the schema."""
    position_encodings: Unstable[list[PositionEncodingKind]] = EMPTY_LIST
    """The position encodings that it supports, preferred first; removed from the schema."""
    general: Unstable[GeneralCapabilities | None] = None
    """The position encodings of older clients; read, but never written."""
    workspace: Unstable[WorkspaceCapabilities | None] = None
    """The `workspace/*` methods that it serves; a proposal."""


class PromptCapabilities(Object):
    """The kinds of content that a prompt may contain besides text and resource links."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class McpCapabilities(Object):
    """The kinds of MCP servers that the agent can connect to besides stdio servers."""

    http: bool = False
    sse: bool = False
    acp: Unstable[bool] = False


class SessionListCapabilities(Object):
    """The agent can list its sessions."""


class SessionDeleteCapabilities(Object):
    """The agent can delete a session."""


class SessionAdditionalDirectoriesCapabilities(Object):
    """A session can have additional directories."""


class SessionResumeCapabilities(Object):
    """The agent can resume a session without replaying it."""


class SessionCloseCapabilities(Object):
    """The agent can close a session."""


class SessionCapabilities(Object):
    """The session methods that the agent supports besides new sessions and prompts."""

    list: SessionListCapabilities | None = None
    delete: SessionDeleteCapabilities | None = None
    additional_directories: SessionAdditionalDirectoriesCapabilities | None = None
    resume: SessionResumeCapabilities | None = None
    close: SessionCloseCapabilities | None = None
    system_prompt: Unstable[SessionSystemPromptCapabilities | None] = None
    fork: Unstable[SessionForkCapabilities | None] = None
    archive: Unstable[SessionArchiveCapabilities | None] = None
    status: Unstable[SessionStatusCapabilities | None] = None
    title: Unstable[SessionTitleCapabilities | None] = None


class LogoutCapabilities(Object):
    """The agent can log the user out."""


class AgentAuthCapabilities(Object):
    """The authentication methods that the agent serves besides `authenticate`."""

    logout: LogoutCapabilities | None = None
    status: Unstable[AuthStatusCapabilities | None] = None


class AgentCapabilities(Object):
    """The capabilities of an agent."""

    load_session: bool = False
    """Whether it can load a session and replay it."""
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()
    auth: AgentAuthCapabilities = AgentAuthCapabilities()
    providers: Unstable[ProvidersCapabilities | None] = None
    nes: Unstable[NesCapabilities | None] = None
    """The events and context that it wants for next edit suggestions; removed from the schema."""
    position_encoding: Unstable[PositionEncodingKind | None] = None
    """The position encoding that it chose from the client's list; removed from the schema."""
