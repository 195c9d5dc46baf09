"""What each side of a connection offers, as flags, whichever version says it.

A method or an update that the other side did not offer is not used. The flags are read from and
written as version 2's capabilities here and as version 1's in `features_v1.py`, so that a program
that speaks only version 2 loads only that one. What is not a flag of ours, such as a capability
that somebody added, is in `meta`.

Spec: https://agentclientprotocol.com/protocol/v2/initialization#agent-capabilities
"""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct

from parley.schema import v2
from parley.schema.base import JsonObject
from parley.schema.v2 import unstable

__all__ = ["AgentFeatures", "ClientFeatures", "marker"]

T = TypeVar("T")


def marker(capability: type[T], is_on: bool) -> T | None:
    """Return an empty capability object, which means yes, or None."""
    return capability() if is_on else None


class ClientFeatures(Struct, frozen=True, kw_only=True):
    """What a client offers."""

    read_files: bool = False
    """Serves `fs/read_text_file`; only version 1 has it."""
    write_files: bool = False
    """Serves `fs/write_text_file`; only version 1 has it."""
    terminals: bool = False
    """Serves `terminal/*`; only version 1 has them."""
    form_elicitation: bool = False
    """Shows forms to the user."""
    url_elicitation: bool = False
    """Sends the user to a web page."""
    terminal_login: bool = False
    """Runs the agent's login in a terminal."""
    compaction: bool = False
    """Takes compaction updates; every client of version 2 does."""
    notices: bool = False
    """Takes notices; every client of version 2 does."""
    plans: bool = False
    """Takes several plans, told apart by id; every client of version 2 does."""
    subagents: bool = False
    """Takes subagents and messages between sessions; every client of version 2 does."""
    boolean_options: bool = False
    """Shows options that are on or off; every client of version 2 does."""
    open_documents: bool = False
    """Serves `workspace/open_documents`."""
    recent_documents: bool = False
    """Serves `workspace/recent_documents`."""
    active_document: bool = False
    """Serves `workspace/active_document`."""
    nes: unstable.ClientNesCapabilities | None = None
    """Which next edit suggestions it shows besides edits."""
    nes_actions: tuple[str, ...] = ()
    """Which of them it takes only as an `action`; older clients of version 1 do."""
    position_encodings: tuple[unstable.PositionEncodingKind, ...] = ()
    """What it can count the characters of a position in, best first."""
    meta: JsonObject | None = None
    """The `_meta` of the capabilities; custom capabilities are in it."""

    @classmethod
    def from_v2(cls, capabilities: v2.ClientCapabilities) -> ClientFeatures:
        """Read the capabilities of a version 2 client."""
        elicitation = capabilities.elicitation or v2.ElicitationCapabilities()
        workspace = capabilities.workspace or unstable.WorkspaceCapabilities()
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
        """Write them as the capabilities of a version 2 client."""
        auth = v2.ClientAuthCapabilities(terminal=v2.TerminalAuthCapabilities())
        elicitation = v2.ElicitationCapabilities(
            form=marker(v2.ElicitationFormCapabilities, self.form_elicitation),
            url=marker(v2.ElicitationUrlCapabilities, self.url_elicitation),
        )
        workspace = unstable.WorkspaceCapabilities(
            open_documents=marker(unstable.WorkspaceOpenDocumentsCapabilities, self.open_documents),
            recent_documents=marker(
                unstable.WorkspaceRecentDocumentsCapabilities, self.recent_documents
            ),
            active_document=marker(
                unstable.WorkspaceActiveDocumentCapabilities, self.active_document
            ),
        )
        return v2.ClientCapabilities(
            auth=auth if self.terminal_login else None,
            elicitation=elicitation if self.form_elicitation or self.url_elicitation else None,
            workspace=None if workspace == unstable.WorkspaceCapabilities() else workspace,
            nes=self.nes,
            position_encodings=list(self.position_encodings),
            meta=self.meta,
        )


class AgentFeatures(Struct, frozen=True, kw_only=True):
    """What an agent offers."""

    sessions: bool = False
    """Has sessions: new ones, prompts, cancelling. Every agent of version 1 has."""
    load: bool = False
    """Opens a session again and replays it."""
    resume: bool = False
    """Opens a session again without replaying it."""
    list: bool = False
    """Lists its sessions."""
    close: bool = False
    """Closes sessions."""
    delete: bool = False
    """Deletes sessions."""
    fork: bool = False
    """Forks sessions."""
    archive: bool = False
    """Archives sessions and brings them back."""
    status: bool = False
    """Tells whether a session is open."""
    title: bool = False
    """Lets the client set a session's title."""
    additional_directories: bool = False
    """Takes more roots than the working directory."""
    system_prompt: bool = False
    """Takes a system prompt to append to its own."""
    system_prompt_override: bool = False
    """Takes a system prompt instead of its own."""
    image: bool = False
    """Takes pictures in prompts."""
    audio: bool = False
    """Takes sound in prompts."""
    embedded_context: bool = False
    """Takes whole resources in prompts."""
    mcp_stdio: bool = False
    """Starts MCP servers as processes. Every agent of version 1 does."""
    mcp_http: bool = False
    """Reaches MCP servers over HTTP."""
    mcp_sse: bool = False
    """Reaches MCP servers over server-sent events; only version 1 has it."""
    mcp_acp: bool = False
    """Reaches MCP servers on the client's side."""
    logout: bool = False
    """Forgets a login."""
    auth_status: bool = False
    """Tells whether it is logged in."""
    providers: bool = False
    """Lets the client choose where its model calls go."""
    nes: unstable.NesCapabilities | None = None
    """What it wants to know for next edit suggestions; None where it makes none."""
    position_encoding: unstable.PositionEncodingKind | None = None
    """What the characters of a position are counted in; `utf-16` where it says nothing."""
    meta: JsonObject | None = None
    """The `_meta` of the capabilities; custom capabilities are in it."""

    @classmethod
    def from_v2(
        cls, capabilities: v2.AgentCapabilities, *, has_auth_methods: bool = False
    ) -> AgentFeatures:
        """Read the capabilities of a version 2 agent.

        Args:
            capabilities: What its answer to initialize says.
            has_auth_methods: Whether that answer offers a way to log in; then one can log out too.
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
        """Write them as the capabilities of a version 2 agent.

        Version 2 has no way to say that only some of load, resume, list and close exist, nor that
        MCP servers are reached over server-sent events; `logout` is said by the auth methods.
        """
        auth = v2.AgentAuthCapabilities(status=unstable.AuthStatusCapabilities())
        return v2.AgentCapabilities(
            session=self._session() if self.sessions else None,
            auth=auth if self.auth_status else None,
            providers=marker(unstable.ProvidersCapabilities, self.providers),
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
            acp=marker(unstable.McpAcpCapabilities, self.mcp_acp),
        )
        return v2.SessionCapabilities(
            prompt=None if prompt == v2.PromptCapabilities() else prompt,
            mcp=None if mcp == v2.McpCapabilities() else mcp,
            delete=marker(v2.SessionDeleteCapabilities, self.delete),
            additional_directories=marker(
                v2.SessionAdditionalDirectoriesCapabilities, self.additional_directories
            ),
            system_prompt=self._system_prompt(),
            fork=marker(unstable.SessionForkCapabilities, self.fork),
            archive=marker(unstable.SessionArchiveCapabilities, self.archive),
            status=marker(unstable.SessionStatusCapabilities, self.status),
            title=marker(unstable.SessionTitleCapabilities, self.title),
        )

    def _system_prompt(self) -> unstable.SessionSystemPromptCapabilities | None:
        override = unstable.SessionSystemPromptModeCapabilities(
            override=unstable.SessionSystemPromptOverrideCapabilities()
        )
        if not self.system_prompt:
            return None
        return unstable.SessionSystemPromptCapabilities(
            mode=override if self.system_prompt_override else None
        )
