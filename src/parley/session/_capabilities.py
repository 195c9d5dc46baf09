"""Features of each side of a connection as flags, independent of the protocol version.

Methods and updates that the peer did not offer are not used. This module converts the flags from
and to version 2 capabilities; `_v1_capabilities.py` does the same for version 1, so that a program
that only speaks version 2 does not load it. Capabilities without a flag, such as custom ones, are
in `meta`.

Spec: https://agentclientprotocol.com/protocol/v2/initialization#agent-capabilities
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from parley.schema import v2
from parley.schema.base import JsonObject

T = TypeVar("T")


def marker(capability: type[T], is_on: bool) -> T | None:
    """Return an empty capability object if the feature is on (the object means yes), else None."""
    return capability() if is_on else None


class ClientFeatures(Struct, frozen=True, kw_only=True):
    """The features that a client offers, independent of the protocol version.

    An agent reads them to decide what it may send. They come from the capabilities that the client
    sent in `initialize`; a flag is True if the client supports the feature.
    """

    read_files: bool = False
    """Serves `fs/read_text_file`; version 1 only."""
    write_files: bool = False
    """Serves `fs/write_text_file`; version 1 only."""
    terminals: bool = False
    """Serves `terminal/*`; version 1 only."""
    form_elicitation: bool = False
    """Shows forms to the user."""
    url_elicitation: bool = False
    """Sends the user to a web page."""
    terminal_login: bool = False
    """Runs the agent's login in a terminal."""
    compaction: bool = False
    """Accepts compaction updates; every version 2 client does."""
    notices: bool = False
    """Accepts notices; every version 2 client does."""
    plans: bool = False
    """Accepts several plans, distinguished by id; every version 2 client does."""
    subagents: bool = False
    """Accepts subagents and messages between sessions; every version 2 client does."""
    boolean_options: bool = False
    """Shows options that are on or off; every version 2 client does."""
    open_documents: bool = False
    """Serves `workspace/open_documents`."""
    recent_documents: bool = False
    """Serves `workspace/recent_documents`."""
    active_document: bool = False
    """Serves `workspace/active_document`."""
    nes: v2.ClientNesCapabilities | None = None
    """The kinds of next edit suggestions that it shows besides edits, and the IDE actions that it
    runs besides renames and replacements."""
    nes_actions: tuple[str, ...] = ()
    """The suggestions that it accepts only as an `action`, as older version 1 clients do."""
    position_encodings: tuple[v2.PositionEncodingKind, ...] = ()
    """The units in which it can count the characters of a position, preferred first."""
    meta: JsonObject | None = None
    """The `_meta` of the capabilities, which holds custom capabilities."""

    @classmethod
    def from_v2(cls, capabilities: v2.ClientCapabilities) -> ClientFeatures:
        """Return the features of a version 2 client."""
        elicitation = capabilities.elicitation or v2.ElicitationCapabilities()
        workspace = capabilities.workspace or v2.WorkspaceCapabilities()
        return cls(
            form_elicitation=elicitation.form is not None,
            url_elicitation=elicitation.url is not None,
            terminal_login=(
                capabilities.auth is not None and capabilities.auth.terminal is not None
            ),
            compaction=True,
            notices=True,
            plans=True,
            subagents=True,
            boolean_options=True,
            open_documents=workspace.open_documents is not None,
            recent_documents=workspace.recent_documents is not None,
            active_document=workspace.active_document is not None,
            nes=capabilities.nes,
            position_encodings=tuple(capabilities.position_encodings),
            meta=capabilities.meta,
        )

    def to_v2(self) -> v2.ClientCapabilities:
        """Return the features as version 2 client capabilities."""
        auth = v2.ClientAuthCapabilities(terminal=v2.TerminalAuthCapabilities())
        elicitation = v2.ElicitationCapabilities(
            form=marker(v2.ElicitationFormCapabilities, self.form_elicitation),
            url=marker(v2.ElicitationUrlCapabilities, self.url_elicitation),
        )
        workspace = v2.WorkspaceCapabilities(
            open_documents=marker(v2.WorkspaceOpenDocumentsCapabilities, self.open_documents),
            recent_documents=marker(v2.WorkspaceRecentDocumentsCapabilities, self.recent_documents),
            active_document=marker(v2.WorkspaceActiveDocumentCapabilities, self.active_document),
        )
        return v2.ClientCapabilities(
            auth=auth if self.terminal_login else None,
            elicitation=elicitation if self.form_elicitation or self.url_elicitation else None,
            workspace=None if workspace == v2.WorkspaceCapabilities() else workspace,
            nes=self.nes,
            position_encodings=list(self.position_encodings),
            meta=self.meta,
        )


class AgentFeatures(Struct, frozen=True, kw_only=True):
    """The features that an agent offers, independent of the protocol version.

    On a connection they come from the agent's capabilities, and every flag is True or False. Your
    own program passes one to its `Agent`; there None lets the agent decide, based on its handlers
    and its session store.
    """

    sessions: bool = False
    """Supports sessions: creating, prompting, cancelling. Every version 1 agent does."""
    load: bool | None = None
    """Reopens a session and replays it."""
    resume: bool | None = None
    """Reopens a session without replaying it."""
    list: bool | None = None
    """Lists its sessions."""
    close: bool | None = None
    """Closes sessions."""
    delete: bool | None = None
    """Deletes sessions."""
    fork: bool = False
    """Forks sessions."""
    archive: bool = False
    """Archives and unarchives sessions."""
    status: bool = False
    """Reports whether a session is open."""
    title: bool = False
    """Lets the client set a session's title."""
    additional_directories: bool = False
    """Accepts additional root directories besides the working directory."""
    system_prompt: bool = False
    """Accepts a system prompt to append to its own."""
    system_prompt_override: bool = False
    """Accepts a system prompt that replaces its own."""
    image: bool = False
    """Accepts images in prompts."""
    audio: bool = False
    """Accepts audio in prompts."""
    embedded_context: bool = False
    """Accepts embedded resources in prompts."""
    mcp_stdio: bool = False
    """Starts MCP servers as processes. Every version 1 agent does."""
    mcp_http: bool = False
    """Connects to MCP servers over HTTP."""
    mcp_sse: bool = False
    """Connects to MCP servers over server-sent events; version 1 only."""
    mcp_acp: bool = False
    """Connects to MCP servers that live in the client (MCP over ACP)."""
    logout: bool = False
    """Supports logging out."""
    auth_status: bool = False
    """Reports whether it is logged in."""
    providers: bool = False
    """Lets the client choose the provider for its model calls."""
    nes: v2.NesCapabilities | None = None
    """The events and context that it wants for next edit suggestions; None if it makes none."""
    position_encoding: v2.PositionEncodingKind | None = None
    """The unit in which characters of a position are counted; None means `utf-16`."""
    meta: JsonObject | None = None
    """The `_meta` of the capabilities, which holds custom capabilities."""

    @classmethod
    def from_v2(
        cls, capabilities: v2.AgentCapabilities, *, has_auth_methods: bool = False
    ) -> AgentFeatures:
        """Return the features of a version 2 agent.

        Args:
            capabilities: The capabilities in its response to `initialize`.
            has_auth_methods: Whether that response lists auth methods; version 2 implies logout.
        """
        session = capabilities.session or v2.SessionCapabilities()
        prompt = session.prompt or v2.PromptCapabilities()
        mcp = session.mcp or v2.McpCapabilities()
        auth = capabilities.auth or v2.AgentAuthCapabilities()
        system_prompt = session.system_prompt
        mode = None if system_prompt is None else system_prompt.mode
        has_sessions = capabilities.session is not None
        return cls(
            sessions=has_sessions,
            load=has_sessions,
            resume=has_sessions,
            list=has_sessions,
            close=has_sessions,
            delete=session.delete is not None,
            fork=session.fork is not None,
            archive=session.archive is not None,
            status=session.status is not None,
            title=session.title is not None,
            additional_directories=session.additional_directories is not None,
            system_prompt=system_prompt is not None,
            system_prompt_override=mode is not None and mode.override is not None,
            image=prompt.image is not None,
            audio=prompt.audio is not None,
            embedded_context=prompt.embedded_context is not None,
            mcp_stdio=mcp.stdio is not None,
            mcp_http=mcp.http is not None,
            mcp_acp=mcp.acp is not None,
            logout=has_auth_methods,
            auth_status=auth.status is not None,
            providers=capabilities.providers is not None,
            nes=capabilities.nes,
            position_encoding=capabilities.position_encoding,
            meta=capabilities.meta,
        )

    def to_v2(self) -> v2.AgentCapabilities:
        """Return the features as version 2 agent capabilities.

        Version 2 cannot express that only some of load, resume, list and close are supported, nor
        MCP servers over server-sent events. Support for `logout` is implied by the auth methods.
        """
        auth = v2.AgentAuthCapabilities(status=v2.AuthStatusCapabilities())
        return v2.AgentCapabilities(
            session=self._session() if self.sessions else None,
            auth=auth if self.auth_status else None,
            providers=marker(v2.ProvidersCapabilities, self.providers),
            nes=self.nes,
            position_encoding=self.position_encoding,
            meta=self.meta,
        )

    def _session(self) -> v2.SessionCapabilities:
        prompt = v2.PromptCapabilities(
            image=marker(v2.PromptImageCapabilities, self.image),
            audio=marker(v2.PromptAudioCapabilities, self.audio),
            embedded_context=marker(v2.PromptEmbeddedContextCapabilities, self.embedded_context),
        )
        mcp = v2.McpCapabilities(
            stdio=marker(v2.McpStdioCapabilities, self.mcp_stdio),
            http=marker(v2.McpHttpCapabilities, self.mcp_http),
            acp=marker(v2.McpAcpCapabilities, self.mcp_acp),
        )
        return v2.SessionCapabilities(
            prompt=None if prompt == v2.PromptCapabilities() else prompt,
            mcp=None if mcp == v2.McpCapabilities() else mcp,
            delete=marker(v2.SessionDeleteCapabilities, bool(self.delete)),
            additional_directories=marker(
                v2.SessionAdditionalDirectoriesCapabilities, self.additional_directories
            ),
            system_prompt=self._system_prompt(),
            fork=marker(v2.SessionForkCapabilities, self.fork),
            archive=marker(v2.SessionArchiveCapabilities, self.archive),
            status=marker(v2.SessionStatusCapabilities, self.status),
            title=marker(v2.SessionTitleCapabilities, self.title),
        )

    def _system_prompt(self) -> v2.SessionSystemPromptCapabilities | None:
        override = v2.SessionSystemPromptModeCapabilities(
            override=v2.SessionSystemPromptOverrideCapabilities()
        )
        if not self.system_prompt:
            return None
        return v2.SessionSystemPromptCapabilities(
            mode=override if self.system_prompt_override else None
        )
