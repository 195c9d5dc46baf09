"""What each side can do, as said when the connection starts.

A capability that is an object means yes, `{}` included; None means no.

Spec: https://agentclientprotocol.com/protocol/v2/initialization#agent-capabilities
"""

from __future__ import annotations

from parley.schema.base import NO_ITEMS, Object, Unstable

from .nes_capabilities import ClientNesCapabilities, NesCapabilities, PositionEncodingKind

__all__ = [
    "AgentAuthCapabilities",
    "AgentCapabilities",
    "AuthStatusCapabilities",
    "ClientAuthCapabilities",
    "ClientCapabilities",
    "ElicitationCapabilities",
    "ElicitationFormCapabilities",
    "ElicitationUrlCapabilities",
    "McpAcpCapabilities",
    "McpCapabilities",
    "McpHttpCapabilities",
    "McpStdioCapabilities",
    "PromptAudioCapabilities",
    "PromptCapabilities",
    "PromptEmbeddedContextCapabilities",
    "PromptImageCapabilities",
    "ProvidersCapabilities",
    "SessionAdditionalDirectoriesCapabilities",
    "SessionArchiveCapabilities",
    "SessionCapabilities",
    "SessionDeleteCapabilities",
    "SessionForkCapabilities",
    "SessionStatusCapabilities",
    "SessionSystemPromptCapabilities",
    "SessionSystemPromptModeCapabilities",
    "SessionSystemPromptOverrideCapabilities",
    "SessionTitleCapabilities",
    "TerminalAuthCapabilities",
    "WorkspaceActiveDocumentCapabilities",
    "WorkspaceCapabilities",
    "WorkspaceOpenDocumentsCapabilities",
    "WorkspaceRecentDocumentsCapabilities",
]


class PromptImageCapabilities(Object):
    """Prompts may hold pictures."""


class PromptAudioCapabilities(Object):
    """Prompts may hold sound."""


class PromptEmbeddedContextCapabilities(Object):
    """Prompts may hold whole resources."""


class PromptCapabilities(Object):
    """What prompts may hold besides text and links."""

    image: PromptImageCapabilities | None = None
    audio: PromptAudioCapabilities | None = None
    embedded_context: PromptEmbeddedContextCapabilities | None = None


class McpStdioCapabilities(Object):
    """The agent can start MCP servers as processes."""


class McpHttpCapabilities(Object):
    """The agent can reach MCP servers over HTTP."""


class McpAcpCapabilities(Object):
    """Unstable: the agent can reach MCP servers on the client's side."""


class McpCapabilities(Object):
    """How the agent can reach MCP servers."""

    stdio: McpStdioCapabilities | None = None
    http: McpHttpCapabilities | None = None
    acp: Unstable[McpAcpCapabilities | None] = None


class SessionDeleteCapabilities(Object):
    """Sessions can be deleted."""


class SessionAdditionalDirectoriesCapabilities(Object):
    """Sessions can have more roots than their working directory."""


class SessionSystemPromptOverrideCapabilities(Object):
    """Unstable: a client's system prompt can replace the agent's."""


class SessionSystemPromptModeCapabilities(Object):
    """Unstable: what a client's system prompt can do besides being appended."""

    override: SessionSystemPromptOverrideCapabilities | None = None


class SessionSystemPromptCapabilities(Object):
    """Unstable: sessions can be given a system prompt."""

    mode: SessionSystemPromptModeCapabilities | None = None


class SessionForkCapabilities(Object):
    """Unstable: sessions can be forked."""


class SessionArchiveCapabilities(Object):
    """Unstable: sessions can be archived and taken out again."""


class SessionStatusCapabilities(Object):
    """Unstable: the agent tells whether a session is open."""


class SessionTitleCapabilities(Object):
    """Unstable: clients can set a session's title."""


class SessionCapabilities(Object):
    """The agent has sessions: new, list, resume, close, prompt, cancel and update, and these."""

    prompt: PromptCapabilities | None = None
    mcp: McpCapabilities | None = None
    delete: SessionDeleteCapabilities | None = None
    additional_directories: SessionAdditionalDirectoriesCapabilities | None = None
    system_prompt: Unstable[SessionSystemPromptCapabilities | None] = None
    fork: Unstable[SessionForkCapabilities | None] = None
    archive: Unstable[SessionArchiveCapabilities | None] = None
    status: Unstable[SessionStatusCapabilities | None] = None
    title: Unstable[SessionTitleCapabilities | None] = None


class AuthStatusCapabilities(Object):
    """Unstable: the agent tells whether it is logged in."""


class AgentAuthCapabilities(Object):
    """What the agent can do about logins; that it has any is said by its auth methods."""

    status: Unstable[AuthStatusCapabilities | None] = None


class ProvidersCapabilities(Object):
    """Unstable: clients can point the agent to other model providers."""


class AgentCapabilities(Object):
    """What an agent can do."""

    session: SessionCapabilities | None = None
    auth: AgentAuthCapabilities | None = None
    providers: Unstable[ProvidersCapabilities | None] = None
    nes: Unstable[NesCapabilities | None] = None
    """Next edit suggestions; left the schema."""
    position_encoding: Unstable[PositionEncodingKind | None] = None
    """What it chose of the client's encodings; left the schema."""


class TerminalAuthCapabilities(Object):
    """The client can run a login in a terminal."""


class ClientAuthCapabilities(Object):
    """What the client can do about logins."""

    terminal: TerminalAuthCapabilities | None = None


class ElicitationFormCapabilities(Object):
    """The client can show forms."""


class ElicitationUrlCapabilities(Object):
    """The client can open URLs for the user."""


class ElicitationCapabilities(Object):
    """How the client can ask the user for input."""

    form: ElicitationFormCapabilities | None = None
    url: ElicitationUrlCapabilities | None = None


class WorkspaceOpenDocumentsCapabilities(Object):
    """Proposal: the client tells which documents are open."""


class WorkspaceRecentDocumentsCapabilities(Object):
    """Proposal: the client tells which documents were open lately."""


class WorkspaceActiveDocumentCapabilities(Object):
    """Proposal: the client tells which document is in front."""


class WorkspaceCapabilities(Object):
    """Proposal: what the client tells about its editor."""

    open_documents: WorkspaceOpenDocumentsCapabilities | None = None
    recent_documents: WorkspaceRecentDocumentsCapabilities | None = None
    active_document: WorkspaceActiveDocumentCapabilities | None = None


class ClientCapabilities(Object):
    """What a client can do."""

    auth: ClientAuthCapabilities | None = None
    elicitation: ElicitationCapabilities | None = None
    nes: Unstable[ClientNesCapabilities | None] = None
    """Next edit suggestions; left the schema."""
    position_encodings: Unstable[list[PositionEncodingKind]] = NO_ITEMS
    """The encodings it knows, best first; left the schema."""
    workspace: Unstable[WorkspaceCapabilities | None] = None
    """The state of its editor; a proposal."""
