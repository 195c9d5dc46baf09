"""What the two sides can do, as they tell each other when they initialize.

A flag is on when it is true; an object is on when it is there and not null, an empty one too.
Spec: https://agentclientprotocol.com/protocol/v1/initialization
"""

from __future__ import annotations

from parley.schema.base import NO_ITEMS, Bare, Object, Unstable

from .nes_capabilities import (
    ClientNesCapabilities,
    GeneralCapabilities,
    NesCapabilities,
    PositionEncodingKind,
)

__all__ = [
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "AuthCapabilities",
    "AuthStatusCapabilities",
    "BooleanConfigOptionCapabilities",
    "ClientCapabilities",
    "ClientSessionCapabilities",
    "CompactionCapabilities",
    "ElicitationCapabilities",
    "ElicitationFormCapabilities",
    "ElicitationUrlCapabilities",
    "FileSystemCapabilities",
    "LogoutCapabilities",
    "McpCapabilities",
    "NoticeCapabilities",
    "PlanCapabilities",
    "PromptCapabilities",
    "ProvidersCapabilities",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionArchiveCapabilities",
    "SessionCapabilities",
    "SessionCloseCapabilities",
    "SessionConfigOptionsCapabilities",
    "SessionDeleteCapabilities",
    "SessionForkCapabilities",
    "SessionListCapabilities",
    "SessionResumeCapabilities",
    "SessionStatusCapabilities",
    "SessionSystemPromptCapabilities",
    "SessionSystemPromptModeCapabilities",
    "SessionSystemPromptOverrideCapabilities",
    "SessionTitleCapabilities",
    "SubagentCapabilities",
    "WorkspaceActiveDocumentCapabilities",
    "WorkspaceCapabilities",
    "WorkspaceOpenDocumentsCapabilities",
    "WorkspaceRecentDocumentsCapabilities",
]


class FileSystemCapabilities(Object):
    """Which `fs/*` methods the client serves."""

    read_text_file: bool = False
    write_text_file: bool = False


class AuthCapabilities(Object):
    """Which ways to authenticate the client can go."""

    terminal: bool = False
    """Whether it can run the agent's own login in a terminal."""


class BooleanConfigOptionCapabilities(Object):
    """The client can show options that are on or off."""


class SessionConfigOptionsCapabilities(Object):
    """What the client can show beyond options with one value out of several."""

    boolean: BooleanConfigOptionCapabilities | None = None


class CompactionCapabilities(Bare):
    """The client can show how a conversation was shortened."""


class NoticeCapabilities(Bare):
    """The client can show notices."""


class ClientSessionCapabilities(Object):
    """What the client can do within a session."""

    compaction: CompactionCapabilities | None = None
    config_options: SessionConfigOptionsCapabilities | None = None
    notices: NoticeCapabilities | None = None


class SubagentCapabilities(Object):
    """Unstable: the client understands sessions that belong to other sessions."""


class PlanCapabilities(Object):
    """Unstable: the client can show several plans."""


class ElicitationFormCapabilities(Object):
    """The client can show a form."""


class ElicitationUrlCapabilities(Object):
    """The client can send the user to a web page."""


class ElicitationCapabilities(Object):
    """The ways in which the client can ask the user; an empty object offers none."""

    form: ElicitationFormCapabilities | None = None
    url: ElicitationUrlCapabilities | None = None


class WorkspaceOpenDocumentsCapabilities(Object):
    """The client tells which files are open."""


class WorkspaceRecentDocumentsCapabilities(Object):
    """The client tells which files were used lately."""


class WorkspaceActiveDocumentCapabilities(Object):
    """The client tells which file has the focus."""


class WorkspaceCapabilities(Object):
    """What the client tells about its editor; a proposal, see `workspace.py`."""

    open_documents: WorkspaceOpenDocumentsCapabilities | None = None
    recent_documents: WorkspaceRecentDocumentsCapabilities | None = None
    active_document: WorkspaceActiveDocumentCapabilities | None = None


class ClientCapabilities(Object):
    """What the client can do."""

    fs: FileSystemCapabilities = FileSystemCapabilities()
    terminal: bool = False
    """Whether it serves all `terminal/*` methods."""
    session: ClientSessionCapabilities | None = None
    auth: AuthCapabilities = AuthCapabilities()
    elicitation: ElicitationCapabilities | None = None
    subagents: Unstable[SubagentCapabilities | None] = None
    plan: Unstable[PlanCapabilities | None] = None
    nes: Unstable[ClientNesCapabilities | None] = None
    """The kinds of next edit suggestions it takes; left the schema."""
    position_encodings: Unstable[list[PositionEncodingKind]] = NO_ITEMS
    """The encodings it can count in, best first; left the schema."""
    general: Unstable[GeneralCapabilities | None] = None
    """Where older clients listed their encodings. Read, never written."""
    workspace: Unstable[WorkspaceCapabilities | None] = None
    """What it tells about its editor; a proposal."""


class PromptCapabilities(Object):
    """The kinds of content that a prompt may hold besides text and links."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class McpCapabilities(Object):
    """The kinds of MCP servers that the agent can reach besides processes."""

    http: bool = False
    sse: bool = False
    acp: Unstable[bool] = False


class SessionListCapabilities(Object):
    """The agent can list its sessions."""


class SessionDeleteCapabilities(Object):
    """The agent can delete a session."""


class SessionAdditionalDirectoriesCapabilities(Object):
    """A session can have more than one directory."""


class SessionSystemPromptOverrideCapabilities(Object):
    """Unstable: the client's system prompt can take the place of the agent's own."""


class SessionSystemPromptModeCapabilities(Object):
    """Unstable: how a system prompt can be used besides being appended."""

    override: SessionSystemPromptOverrideCapabilities | None = None


class SessionSystemPromptCapabilities(Object):
    """Unstable: the agent takes a system prompt."""

    mode: SessionSystemPromptModeCapabilities | None = None


class SessionForkCapabilities(Object):
    """Unstable: the agent can fork a session."""


class SessionArchiveCapabilities(Object):
    """Unstable: the agent can put a session away and bring it back."""


class SessionStatusCapabilities(Object):
    """Unstable: the agent can tell whether a session is open."""


class SessionTitleCapabilities(Object):
    """Unstable: the client can set the title of a session."""


class SessionResumeCapabilities(Object):
    """The agent can go on with a session without replaying it."""


class SessionCloseCapabilities(Object):
    """The agent can close a session."""


class SessionCapabilities(Object):
    """What the agent can do with sessions beyond new ones and prompts."""

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


class AuthStatusCapabilities(Object):
    """Unstable: the agent can tell whether the user is authenticated."""


class LogoutCapabilities(Object):
    """The agent can log the user out."""


class AgentAuthCapabilities(Object):
    """What the agent can do about authentication beyond `authenticate`."""

    logout: LogoutCapabilities | None = None
    status: Unstable[AuthStatusCapabilities | None] = None


class ProvidersCapabilities(Object):
    """Unstable: the client can choose where the agent's model calls go."""


class AgentCapabilities(Object):
    """What the agent can do."""

    load_session: bool = False
    """Whether it can load a session and replay it."""
    prompt_capabilities: PromptCapabilities = PromptCapabilities()
    mcp_capabilities: McpCapabilities = McpCapabilities()
    session_capabilities: SessionCapabilities = SessionCapabilities()
    auth: AgentAuthCapabilities = AgentAuthCapabilities()
    providers: Unstable[ProvidersCapabilities | None] = None
    nes: Unstable[NesCapabilities | None] = None
    """Whether it makes next edit suggestions, and what it wants for them; left the schema."""
    position_encoding: Unstable[PositionEncodingKind | None] = None
    """The encoding it has chosen from the client's list; left the schema."""
