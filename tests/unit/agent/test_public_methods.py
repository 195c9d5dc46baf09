"""The public classes of `parley.agent` show exactly the attributes that programs use."""

from __future__ import annotations

from typing import Any

import pytest

import parley.agent
from parley.agent import (
    Agent,
    AgentConnection,
    AgentFeatures,
    AgentSession,
    ClientFeatures,
    ConfigOption,
    Login,
    MemoryStore,
    SessionStore,
    StoredSession,
    Terminal,
    ToolCall,
    Turn,
    UrlElicitation,
)
from parley.agent._client_methods import ClientTerminal
from parley.agent._compaction import Compaction
from parley.agent._editor import Editor
from parley.agent._subagent import Subagent
from parley.agent.journal_store import JournalStore
from parley.journal import MemoryJournal
from parley.schema import v1, v2

from .agent_clients import connected_client

ACTIVITY = "cancel id is_cancellable is_cancelled"
STORE = "append delete get list put"

EXPECTED: dict[type[Any], str] = {
    Agent: (
        "asgi auth_status close_session command disable_provider features list_providers login "
        "logout name notification open_session option prompt request run serve set_config_option "
        "set_provider store terminal_login title version"
    ),
    AgentConnection: (
        "agent ask_form client client_info elicit elicit_url features name notify "
        "report_auth_status request"
    ),
    AgentSession: (
        "additional_directories ask_form ask_permission client client_info commands compaction "
        "config_options "
        "connection cwd data editor elicit elicit_url forward id mcp mcp_servers message meta "
        "notice option origin plan response_meta say set_commands set_config_options set_title "
        "subagent system_prompt terminal think title tool transcript turn update usage"
    ),
    ClientTerminal: "id kill output release wait",
    Compaction: "add",
    ConfigOption: "default id on_change",
    Editor: "active_document open_documents recent_documents",
    JournalStore: f"agent created journal {STORE}",
    Login: "ask_form connection elicit elicit_url meta method_id",
    MemoryStore: f"created {STORE}",
    SessionStore: STORE,
    StoredSession: (
        "additional_directories created_at cwd data from_json id info is_archived to_json "
        "transcript updated_at updates"
    ),
    Subagent: f"session {ACTIVITY}",
    Terminal: f"exit write {ACTIVITY}",
    ToolCall: f"add details diff result show_terminal title update {ACTIVITY}",
    Turn: (
        "ask_form ask_permission elicit elicit_url forward is_cancelled is_over is_running message "
        "message_id meta option plan prompt read_text_file response_meta run say session stop "
        "terminal text think tool update usage write_text_file"
    ),
    UrlElicitation: "complete id is_accepted response",
}


def public(value: object) -> list[str]:
    return sorted(name for name in dir(value) if not name.startswith("_"))


def test_every_public_class_is_listed() -> None:
    features = {AgentFeatures, ClientFeatures}  # values of `parley.session`
    exported = {getattr(parley.agent, name) for name in parley.agent.__all__}
    assert exported - features - {parley.agent.serve} <= EXPECTED.keys()


async def test_objects_show_only_what_programs_use() -> None:
    agent, seen = Agent("x"), list[object]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        session = turn.session
        state, adapter = session._state, session._state.adapter
        login = v2.LoginAuthRequest(method_id="key")
        command = v1.CreateTerminalRequest(session_id=session.id, command="make")
        seen.extend([agent, turn, session, session.connection, session.compaction()])
        seen.extend([session.editor, ClientTerminal(state, command)])
        async with (
            session.subagent("Explore") as subagent,
            turn.tool("Read") as tool,
            turn.terminal("make") as terminal,
        ):
            seen.extend([subagent, tool, terminal, agent.option("loud", bool)])
        seen.append(Login(session.connection, login))
        seen.append(UrlElicitation(adapter, "id", v2.ElicitationAcceptAction()))

    async with connected_client(agent) as client:
        await client.turn(await client.new())
    stored = StoredSession(id="session", cwd="/project")
    seen.extend([MemoryStore(), JournalStore(MemoryJournal()), stored, SessionStore])
    found = {each if isinstance(each, type) else type(each): public(each) for each in seen}
    assert found == {kind: sorted(names.split()) for kind, names in EXPECTED.items()}
    with pytest.warns(RuntimeWarning, match="created but never shown"):
        seen.clear()
