"""Capabilities of clients and agents, exchanged in `initialize`.

Every capability is an object: it is on when it is present, even if empty, and off when it is None.
`initialize` itself is in `initialize.py`, the capabilities of drafts that both versions share in
`parley.schema.drafts`.

Spec: https://agentclientprotocol.com/protocol/v2/initialization#agent-capabilities
"""

from __future__ import annotations

from parley.schema.base import EMPTY_LIST, Object, Unstable
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
    "SessionAdditionalDirectoriesCapabilities",
    "SessionCapabilities",
    "SessionDeleteCapabilities",
    "TerminalAuthCapabilities",
]


class PromptImageCapabilities(Object):
    """Prompts may contain images."""


class PromptAudioCapabilities(Object):
    """Prompts may contain audio."""


class PromptEmbeddedContextCapabilities(Object):
    """Prompts may contain embedded resources."""


class PromptCapabilities(Object):
    """The kinds of content that a prompt may contain besides text and resource links."""

    image: PromptImageCapabilities | None = None
    audio: PromptAudioCapabilities | None = None
    embedded_context: PromptEmbeddedContextCapabilities | None = None


class McpStdioCapabilities(Object):
    """The agent can start MCP servers as processes."""


class McpHttpCapabilities(Object):
    """The agent can connect to MCP servers over HTTP."""


class McpAcpCapabilities(Object):
    """Unstable: the agent can use MCP servers that live in the client."""


class McpCapabilities(Object):
    """The kinds of MCP servers that the agent supports."""

    stdio: McpStdioCapabilities | None = None
    http: McpHttpCapabilities | None = None
    acp: Unstable[McpAcpCapabilities | None] = None


class SessionDeleteCapabilities(Object):
    """Sessions can be deleted."""


class SessionAdditionalDirectoriesCapabilities(Object):
    """Sessions can have more roots than their working directory."""


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


class AgentAuthCapabilities(Object):
    """The agent's capabilities for authentication, besides those implied by its auth methods."""

    status: Unstable[AuthStatusCapabilities | None] = None


class AgentCapabilities(Object):
    """The capabilities of an agent."""

    session: SessionCapabilities | None = None
    auth: AgentAuthCapabilities | None = None
    providers: Unstable[ProvidersCapabilities | None] = None
    nes: Unstable[NesCapabilities | None] = None
    """Next edit suggestions; removed from the schema."""
    position_encoding: Unstable[PositionEncodingKind | None] = None
    """The position encoding that it chose from the client's list; removed from the schema."""


class TerminalAuthCapabilities(Object):
    """The client can run a login in a terminal."""


class ClientAuthCapabilities(Object):
    """The kinds of authentication methods that the client supports."""

    terminal: TerminalAuthCapabilities | None = None


class ElicitationFormCapabilities(Object):
    """The client can show forms."""


class ElicitationUrlCapabilities(Object):
    """The client can open URLs for the user."""


class ElicitationCapabilities(Object):
    """The kinds of elicitation that the client supports."""

    form: ElicitationFormCapabilities | None = None
    url: ElicitationUrlCapabilities | None = None


class ClientCapabilities(Object):
    """The capabilities of a client."""

    auth: ClientAuthCapabilities | None = None
    elicitation: ElicitationCapabilities | None = None
    nes: Unstable[ClientNesCapabilities | None] = None
    """Next edit suggestions; removed from the schema."""
    position_encodings: Unstable[list[PositionEncodingKind]] = EMPTY_LIST
    """The position encodings that it supports, preferred first; removed from the schema."""
    workspace: Unstable[WorkspaceCapabilities | None] = None
    """The state of its editor; a proposal."""
