"""Conversion of client and agent features from and to version 1 capabilities.

The flags themselves are in `_capabilities.py`. In version 1 a boolean capability is on when it is
true, and an object capability when it is present and not null.

The early drafts of next edit suggestions had only a list of IDE actions, with renames and
replacements among them; these are kinds of suggestions now. Both forms are read here.

Spec: https://agentclientprotocol.com/protocol/v1/initialization
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from parley.schema import v1, v2
from parley.schema.base import JsonObject

from ._capabilities import AgentFeatures, ClientFeatures, marker
from ._reencode import reencode

WELL_KNOWN_ACTIONS = ("rename", "searchAndReplace")
"""The IDE actions of the older draft that are kinds of suggestions now."""


def client_from_v1(
    capabilities: v1.ClientCapabilities, general: v1.GeneralCapabilities | None = None
) -> ClientFeatures:
    """Return the features of a version 1 client.

    Args:
        capabilities: The capabilities in its `initialize` request.
        general: The `general` capabilities that older clients send next to them.
    """
    session = capabilities.session or v1.ClientSessionCapabilities()
    options = session.config_options or v1.SessionConfigOptionsCapabilities()
    elicitation = capabilities.elicitation or v1.ElicitationCapabilities()
    workspace = capabilities.workspace or v1.WorkspaceCapabilities()
    general = capabilities.general or general or v1.GeneralCapabilities()
    return ClientFeatures(
        read_files=capabilities.fs.read_text_file,
        write_files=capabilities.fs.write_text_file,
        terminals=capabilities.terminal,
        form_elicitation=elicitation.form is not None,
        url_elicitation=elicitation.url is not None,
        terminal_login=capabilities.auth.terminal,
        compaction=session.compaction is not None,
        notices=session.notices is not None,
        plans=capabilities.plan is not None,
        subagents=capabilities.subagents is not None,
        boolean_options=options.boolean is not None,
        open_documents=workspace.open_documents is not None,
        recent_documents=workspace.recent_documents is not None,
        active_document=workspace.active_document is not None,
        nes=_nes_from_v1(capabilities.nes),
        nes_actions=_actions(capabilities.nes),
        position_encodings=tuple(capabilities.position_encodings or general.position_encodings),
        meta=capabilities.meta,
    )


def _nes_from_v1(nes: v1.ClientNesCapabilities | None) -> v2.ClientNesCapabilities | None:
    """Return the kinds of suggestions that a client shows, as version 2 capabilities.

    A client of the older draft lists only actions, and always shows jumps.
    """
    if nes is None:
        return None
    actions = nes.ide_actions
    is_older = all(each is None for each in (nes.jump, nes.rename, nes.search_and_replace))
    old = () if actions is None else (*actions, *(["jump"] if is_older else []))
    return v2.ClientNesCapabilities(
        jump=marker(v2.NesJumpCapabilities, nes.jump is not None or "jump" in old),
        rename=marker(v2.NesRenameCapabilities, nes.rename is not None or "rename" in old),
        search_and_replace=marker(
            v2.NesSearchAndReplaceCapabilities,
            nes.search_and_replace is not None or "searchAndReplace" in old,
        ),
        ide_actions=_other_actions(actions),
        meta=nes.meta,
    )


def _other_actions(
    actions: dict[str, JsonObject] | list[str] | None,
) -> dict[str, JsonObject] | None:
    """Return the IDE actions of a client that are not kinds of suggestions."""
    listed: dict[str, JsonObject] = {each: {} for each in actions or ()}
    if isinstance(actions, dict):
        listed = actions
    return {id: each for id, each in listed.items() if id not in WELL_KNOWN_ACTIONS} or None


def _nes_to_v1(nes: v2.ClientNesCapabilities | None) -> v1.ClientNesCapabilities | None:
    """Return the kinds of suggestions that a client shows, as version 1 capabilities.

    Agents of the older draft look for renames and replacements among the actions, so both are
    listed there as well.
    """
    if nes is None:
        return None
    shown = {"rename": nes.rename, "searchAndReplace": nes.search_and_replace}
    well_known = {id: dict[str, Any]() for id, each in shown.items() if each is not None}
    others = _other_actions(nes.ide_actions) or {}
    written: v1.ClientNesCapabilities = reencode(nes, v1.ClientNesCapabilities)
    return replace(written, ide_actions={**well_known, **others} or None)


def _actions(nes: v1.ClientNesCapabilities | None) -> tuple[str, ...]:
    """Return the suggestions that a client accepts only as actions."""
    if nes is None:
        return ()
    kinds = {"rename": nes.rename, "searchAndReplace": nes.search_and_replace}
    return tuple(each for each in nes.ide_actions or () if kinds.get(each, nes) is None)


def client_to_v1(features: ClientFeatures) -> v1.ClientCapabilities:
    """Return the features of a client as version 1 capabilities."""
    options = v1.SessionConfigOptionsCapabilities(boolean=v1.BooleanConfigOptionCapabilities())
    session = v1.ClientSessionCapabilities(
        compaction=marker(v1.CompactionCapabilities, features.compaction),
        config_options=options if features.boolean_options else None,
        notices=marker(v1.NoticeCapabilities, features.notices),
    )
    elicitation = v1.ElicitationCapabilities(
        form=marker(v1.ElicitationFormCapabilities, features.form_elicitation),
        url=marker(v1.ElicitationUrlCapabilities, features.url_elicitation),
    )
    return v1.ClientCapabilities(
        fs=v1.FileSystemCapabilities(
            read_text_file=features.read_files, write_text_file=features.write_files
        ),
        terminal=features.terminals,
        session=None if session == v1.ClientSessionCapabilities() else session,
        auth=v1.AuthCapabilities(terminal=features.terminal_login),
        elicitation=None if elicitation == v1.ElicitationCapabilities() else elicitation,
        subagents=marker(v1.SubagentCapabilities, features.subagents),
        plan=marker(v1.PlanCapabilities, features.plans),
        workspace=_workspace(features),
        nes=_nes_to_v1(features.nes),
        position_encodings=list(features.position_encodings),
        meta=features.meta,
    )


def _workspace(features: ClientFeatures) -> v1.WorkspaceCapabilities | None:
    workspace = v1.WorkspaceCapabilities(
        open_documents=marker(v1.WorkspaceOpenDocumentsCapabilities, features.open_documents),
        recent_documents=marker(v1.WorkspaceRecentDocumentsCapabilities, features.recent_documents),
        active_document=marker(v1.WorkspaceActiveDocumentCapabilities, features.active_document),
    )
    return None if workspace == v1.WorkspaceCapabilities() else workspace


def agent_from_v1(
    capabilities: v1.AgentCapabilities,
    position_encoding: v1.PositionEncodingKind | None = None,
) -> AgentFeatures:
    """Return the features of a version 1 agent, which always include sessions and stdio MCP.

    Args:
        capabilities: The capabilities in its response to `initialize`.
        position_encoding: The position encoding that older agents send next to them.
    """
    session = capabilities.session_capabilities
    prompt = capabilities.prompt_capabilities
    mcp = capabilities.mcp_capabilities
    system_prompt = session.system_prompt
    mode = None if system_prompt is None else system_prompt.mode
    return AgentFeatures(
        sessions=True,
        load=capabilities.load_session,
        resume=session.resume is not None,
        list=session.list is not None,
        close=session.close is not None,
        delete=session.delete is not None,
        fork=session.fork is not None,
        archive=session.archive is not None,
        status=session.status is not None,
        title=session.title is not None,
        additional_directories=session.additional_directories is not None,
        system_prompt=system_prompt is not None,
        system_prompt_override=mode is not None and mode.override is not None,
        image=prompt.image,
        audio=prompt.audio,
        embedded_context=prompt.embedded_context,
        mcp_stdio=True,
        mcp_http=mcp.http,
        mcp_sse=mcp.sse,
        mcp_acp=mcp.acp,
        logout=capabilities.auth.logout is not None,
        auth_status=capabilities.auth.status is not None,
        providers=capabilities.providers is not None,
        nes=None if capabilities.nes is None else reencode(capabilities.nes, v2.NesCapabilities),
        position_encoding=capabilities.position_encoding or position_encoding,
        meta=capabilities.meta,
    )


def agent_to_v1(features: AgentFeatures) -> v1.AgentCapabilities:
    """Return the features of an agent as version 1 capabilities.

    Version 1 cannot express that an agent has no sessions or does not start MCP servers.
    """
    return v1.AgentCapabilities(
        load_session=bool(features.load),
        prompt_capabilities=v1.PromptCapabilities(
            image=features.image,
            audio=features.audio,
            embedded_context=features.embedded_context,
        ),
        mcp_capabilities=v1.McpCapabilities(
            http=features.mcp_http, sse=features.mcp_sse, acp=features.mcp_acp
        ),
        session_capabilities=_session(features),
        auth=v1.AgentAuthCapabilities(
            logout=marker(v1.LogoutCapabilities, features.logout),
            status=marker(v1.AuthStatusCapabilities, features.auth_status),
        ),
        providers=marker(v1.ProvidersCapabilities, features.providers),
        nes=None if features.nes is None else reencode(features.nes, v1.NesCapabilities),
        position_encoding=features.position_encoding,
        meta=features.meta,
    )


def _session(features: AgentFeatures) -> v1.SessionCapabilities:
    override = v1.SessionSystemPromptModeCapabilities(
        override=v1.SessionSystemPromptOverrideCapabilities()
    )
    system_prompt = v1.SessionSystemPromptCapabilities(
        mode=override if features.system_prompt_override else None
    )
    return v1.SessionCapabilities(
        list=marker(v1.SessionListCapabilities, bool(features.list)),
        delete=marker(v1.SessionDeleteCapabilities, bool(features.delete)),
        additional_directories=marker(
            v1.SessionAdditionalDirectoriesCapabilities, features.additional_directories
        ),
        resume=marker(v1.SessionResumeCapabilities, bool(features.resume)),
        close=marker(v1.SessionCloseCapabilities, bool(features.close)),
        system_prompt=system_prompt if features.system_prompt else None,
        fork=marker(v1.SessionForkCapabilities, features.fork),
        archive=marker(v1.SessionArchiveCapabilities, features.archive),
        status=marker(v1.SessionStatusCapabilities, features.status),
        title=marker(v1.SessionTitleCapabilities, features.title),
    )
