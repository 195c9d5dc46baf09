from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent, AgentSession, Turn
from parley.client import Connection, Session
from parley.client._connection import MAX_EMPTY_PAGES
from parley.errors import (
    LocalProtocolError,
    OptionRefused,
    RemoteProtocolError,
    ResourceNotFound,
    Unsupported,
)
from parley.schema import v2
from parley.testing import pair

from .scripted_agent import Message, ScriptedAgent, connected, open_session, opened

EVERYTHING: Message = {
    "session": {
        "additionalDirectories": {},
        "archive": {},
        "delete": {},
        "fork": {},
        "mcp": {"stdio": {}},
        "status": {},
        "systemPrompt": {},
        "title": {},
    },
    "auth": {"status": {}},
    "providers": {},
}
OPTION: Message = {"configId": "fast", "name": "Fast", "type": "boolean", "currentValue": False}
COMMAND: Message = {"type": "command", "name": "plan", "description": "Plan it"}


async def exchange(
    remote: ScriptedAgent, call: Awaitable[Any], method: str, result: object
) -> tuple[Message, Any]:
    """Respond to the one request that a call sends; return its params and the call's result."""
    task = asyncio.ensure_future(call)
    request = await remote.take(method)
    remote.respond(request, result)
    return request["params"], await task


@pytest.mark.requirement("V2-SESS-03")
async def test_a_new_session_says_all_there_is_to_say(tmp_path: Path) -> None:
    server = v2.McpServerStdio(name="files", command="/bin/files")
    async with connected({"capabilities": EVERYTHING}, versions=(2,)) as (connection, remote):
        connection._state.cwd = tmp_path
        params, session = await exchange(
            remote,
            connection.new_session(
                "work",
                additional_directories=["/more", "below"],
                mcp_servers=[server],
                system_prompt="Be brief.",
                meta={"x": 1},
            ),
            "session/new",
            {"sessionId": "s", "configOptions": [OPTION], "availableCommands": [COMMAND]},
        )
    assert params == {
        "cwd": str(tmp_path / "work"),
        "additionalDirectories": ["/more", str(tmp_path / "work" / "below")],
        "mcpServers": [{"type": "stdio", "name": "files", "command": "/bin/files"}],
        "systemPrompt": {"mode": "append", "content": [{"type": "text", "text": "Be brief."}]},
        "_meta": {"x": 1},
    }
    assert isinstance(session, Session)
    assert (session.id, session.cwd) == ("s", str(tmp_path / "work"))
    assert len(session.transcript.commands) == 1
    assert len(session.transcript.config_options) == 1


REFUSED: dict[str, Callable[[Connection], Awaitable[Any]]] = {
    "additional directories": lambda agent: agent.new_session(additional_directories=["/more"]),
    "MCP servers over stdio": lambda agent: agent.new_session(
        mcp_servers=[v2.McpServerStdio(name="x", command="/x")]
    ),
    "system prompt": lambda agent: agent.new_session(system_prompt="Be brief."),
    "session/fork": lambda agent: agent.fork_session("s"),
    "session/delete": lambda agent: agent.delete_session("s"),
    "session/archive": lambda agent: agent.archive_session("s"),
    "session/unarchive": lambda agent: agent.unarchive_session("s"),
    "session/status": lambda agent: agent.session_status("s"),
    "session/set_title": lambda agent: agent.set_session_title("s", "New"),
    "auth/status": lambda agent: agent.auth_status(),
    "not offer any login": lambda agent: agent.login("x"),
    "not offer a logout": lambda agent: agent.logout(),
    "providers/list": lambda agent: agent.list_providers(),
    "capability providers": lambda agent: agent.disable_provider("x"),
}


@pytest.mark.requirement("V2-SESS-06", "V2-SESS-11", "V2-SESS-32", "V2-AUTH-02")
@pytest.mark.parametrize(("what", "call"), REFUSED.items(), ids=REFUSED.keys())
async def test_what_the_agent_does_not_offer_is_not_sent(
    what: str, call: Callable[[Connection], Awaitable[Any]]
) -> None:
    async with connected() as (connection, remote):
        with pytest.raises(Unsupported, match=what):
            await call(connection)
        await remote.is_read()


async def test_replacing_the_system_prompt_must_be_offered() -> None:
    prompt = v2.SystemPrompt(mode="override", content=[v2.TextContent(text="Obey.")])
    async with connected({"capabilities": EVERYTHING}) as (connection, _):
        with pytest.raises(Unsupported, match="replaced"):
            await connection.new_session(system_prompt=prompt)


@pytest.mark.requirement("V2-SESS-09", "V2-SESS-23")
async def test_a_session_is_resumed_with_its_history() -> None:
    async with connected() as (connection, remote):
        resuming = asyncio.create_task(connection.resume_session("old", "/project"))
        request = await remote.take("session/resume")
        assert request["params"] == {
            "sessionId": "old",
            "cwd": "/project",
            "replayFrom": {"type": "start"},
        }
        remote.update("config_option_update", "old", configOptions=[])
        remote.say("As I said.", "old")
        remote.respond(request, {"configOptions": [OPTION]})
        session = await resuming
        assert session.transcript.text == "As I said."
        assert len(session.transcript.config_options) == 1
        with pytest.raises(LocalProtocolError, match="already open"):
            await connection.resume_session("old")


async def test_a_session_is_resumed_without_its_history() -> None:
    async with connected() as (connection, remote):
        call = connection.resume_session("old", "/project", replay=False)
        params, session = await exchange(remote, call, "session/resume", {})
        assert params == {"sessionId": "old", "cwd": "/project"}
        assert connection.sessions == {"old": session}


async def test_the_given_history_comes_before_new_updates() -> None:
    history = [v2.AgentMessage(message_id="m", content=[v2.TextContent(text="Before. ")])]
    async with connected() as (connection, remote):
        resuming = asyncio.create_task(
            connection.resume_session("old", replay=False, history=history)
        )
        request = await remote.take("session/resume")
        remote.respond(request, {})
        remote.say("After.", "old")
        session = await resuming
        await remote.is_read()
        assert [each.text for each in session.transcript.messages] == ["Before. ", "After."]


async def test_a_replay_ends_with_the_response() -> None:
    received: list[tuple[str, bool]] = []

    def see(session: Session, update: v2.SessionUpdate) -> None:
        if isinstance(update, v2.AgentMessageChunk):
            received.append((getattr(update.content, "text", ""), session.is_replaying))

    async with connected(on_update=see) as (connection, remote):
        resuming = asyncio.create_task(connection.resume_session("old"))
        request = await remote.take("session/resume")
        remote.say("before", "old")
        remote.respond(request, {})
        remote.say("after", "old")
        await resuming
        await remote.is_read()
        assert received == [("before", True), ("after", False)]


async def test_a_session_that_cannot_be_resumed_is_not_there() -> None:
    async with connected() as (connection, remote):
        resuming = asyncio.create_task(connection.resume_session("gone"))
        remote.refuse(await remote.take("session/resume"), -32002, "No such session")
        with pytest.raises(ResourceNotFound):
            await resuming
        assert connection.sessions == {}


async def test_a_fork_is_a_session_of_its_own() -> None:
    async with connected({"capabilities": EVERYTHING}) as (connection, remote):
        source = await open_session(connection, remote)
        call = connection.fork_session(source.id, "/project")
        params, fork = await exchange(remote, call, "session/fork", {"sessionId": "f"})
        assert params == {"sessionId": "s", "cwd": "/project"}
        assert connection.sessions == {"s": source, "f": fork}


@pytest.mark.requirement("V2-SESS-29")
async def test_sessions_are_listed_page_by_page() -> None:
    async with connected() as (connection, remote):

        async def ids() -> list[str]:
            return [info.session_id async for info in connection.list_sessions("/project")]

        listing = asyncio.create_task(ids())
        for cursor, ids_there, next_cursor in (
            (None, "ab", "p2"),
            ("p2", "", "p3"),
            ("p3", "c", None),
        ):
            request = await remote.take("session/list")
            wanted = {"cwd": "/project"} | ({} if cursor is None else {"cursor": cursor})
            assert request["params"] == wanted
            infos = [{"sessionId": each, "cwd": "/project"} for each in ids_there]
            remote.respond(request, {"sessions": infos, "nextCursor": next_cursor})
        assert await listing == ["a", "b", "c"]


async def test_an_agent_that_lists_the_same_page_forever_is_stopped() -> None:
    async with connected() as (connection, remote):
        pages = connection.list_sessions()
        listing = asyncio.ensure_future(anext(pages))
        for _ in range(2):
            remote.respond(await remote.take("session/list"), {"sessions": [], "nextCursor": "x"})
        with pytest.raises(RemoteProtocolError, match="same page"):
            await listing


async def test_an_agent_that_lists_empty_pages_forever_is_stopped() -> None:
    async with connected() as (connection, remote):
        pages = connection.list_sessions()
        listing = asyncio.ensure_future(anext(pages))
        for number in range(MAX_EMPTY_PAGES):
            page: Message = {"sessions": [], "nextCursor": str(number)}
            remote.respond(await remote.take("session/list"), page)
        with pytest.raises(RemoteProtocolError, match="100 pages without a session in a row"):
            await listing


async def test_information_about_a_session_by_its_id() -> None:
    async with connected({"capabilities": EVERYTHING}) as (agent, remote):
        await open_session(agent, remote)
        status = {"status": "open", "state": {"state": "running"}}
        _, response = await exchange(remote, agent.session_status("s"), "session/status", status)
        assert response.status == "open"
        title = agent.set_session_title("s", " T ")
        assert (await exchange(remote, title, "session/set_title", {"title": "T"}))[1] == "T"
        await exchange(remote, agent.unarchive_session("x"), "session/unarchive", {})
        assert list(agent.sessions) == ["s"]
        await exchange(remote, agent.archive_session("s"), "session/archive", {})
        assert not agent.sessions
        await open_session(agent, remote)
        await exchange(remote, agent.delete_session("s"), "session/delete", {})
        assert not agent.sessions


async def test_a_program_is_called_when_an_agent_reports_a_login() -> None:
    reported: asyncio.Queue[str] = asyncio.Queue()

    async def report(note: v2.AuthStatusUpdateNotification) -> None:
        await reported.put(note.state)

    async with connected({"capabilities": EVERYTHING}, on_auth_status=report) as (agent, remote):
        for state in ("authenticated", "unauthenticated"):
            remote.send({"method": "auth/status_update", "params": {"state": state}})
            assert await reported.get() == state
            assert agent.auth_status_update is not None
            assert agent.auth_status_update.state == state


async def test_information_about_login_and_providers() -> None:
    provider = {"providerId": "p", "supported": ["openai"], "required": False}
    async with connected({"capabilities": EVERYTHING}) as (agent, remote):
        state = {"state": "authenticated"}
        assert (await exchange(remote, agent.auth_status(), "auth/status", state))[
            1
        ].state == state["state"]
        remote.send({"method": "auth/status_update", "params": {"state": "unauthenticated"}})
        listing = agent.list_providers()
        _, found = await exchange(remote, listing, "providers/list", {"providers": [provider]})
        assert [each.provider_id for each in found] == ["p"]
        assert agent.auth_status_update is not None
        assert agent.auth_status_update.state == "unauthenticated"
        change = v2.SetProviderRequest(provider_id="p", api_type="openai", base_url="http://x")
        params, _ = await exchange(remote, agent.set_provider(change), "providers/set", {})
        assert params == {"providerId": "p", "apiType": "openai", "baseUrl": "http://x"}
        disabling = asyncio.ensure_future(agent.disable_provider("p"))
        remote.respond(await remote.take("providers/list"), {"providers": [provider]})
        remote.respond(await remote.take("providers/disable"), {})
        await disabling


@pytest.mark.requirement("V2-CFG-04")
async def test_setting_an_option_changes_the_transcript() -> None:
    async with opened() as (session, remote):
        response = {"configOptions": [{**OPTION, "currentValue": True}]}
        method = "session/set_config_option"
        params, options = await exchange(
            remote, session.set_config_option("fast", True), method, response
        )
        assert params == {"type": "boolean", "sessionId": "s", "configId": "fast", "value": True}
        assert session.transcript.config_options == options
        params, _ = await exchange(remote, session.set_config_option("m", "x"), method, response)
        assert params == {"type": "id", "sessionId": "s", "configId": "m", "value": "x"}
        refused = asyncio.create_task(session.set_config_option("m", "y"))
        remote.refuse(await remote.take(method), -32602, "No such value")
        with pytest.raises(OptionRefused, match="m='y': No such value"):
            await refused


async def test_a_wrong_option_and_a_wrong_value_are_the_same_kind_of_error() -> None:
    agent = Agent("painter")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("Hello")

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        values = [v2.SessionConfigSelectOption(value="a", name="A")]
        mode = v2.SessionConfigSelect(
            config_id="mode", name="Mode", current_value="a", options=values
        )
        fast = v2.SessionConfigBoolean(config_id="fast", name="Fast", current_value=False)
        await session.set_config_options([mode, fast])

    async with pair(agent) as connection:
        session = await connection.new_session()
        for config_id, value, problem in (
            ("mode", "b", "mode has no value 'b'; it has 'a'"),
            ("fast", "b", "fast is on or off, not 'b'"),
            ("size", "b", "does not accept size='b': There is no option 'size'"),
        ):
            with pytest.raises(OptionRefused, match=re.escape(problem)):
                await session.set_config_option(config_id, value)


async def test_a_misspelled_option_is_suggested_whatever_the_agent_responds() -> None:
    async with opened() as (session, remote):
        remote.update("config_option_update", configOptions=[OPTION])
        await remote.is_read()
        setting = asyncio.create_task(session.set_config_option("fats", True))
        request = await remote.take("session/set_config_option")
        remote.refuse(request, -32602, "Invalid params")
        with pytest.raises(OptionRefused, match="Invalid params; did you mean fast"):
            await setting


async def test_one_tool_call_or_terminal_is_cancelled() -> None:
    async with opened() as (session, remote):
        for call in (session.cancel_tool_call("c"), session.cancel_terminal("t")):
            with pytest.raises(Unsupported, match="by itself"):
                await call
        remote.update("tool_call_update", toolCallId="c", capabilities={"cancel": {}})
        remote.update("terminal_update", terminalId="t", capabilities={"cancel": {}})
        await remote.is_read()
        params, _ = await exchange(remote, session.cancel_tool_call("c"), "tool_call/cancel", {})
        assert params == {"sessionId": "s", "toolCallId": "c"}
        params, _ = await exchange(remote, session.cancel_terminal("t"), "terminal/cancel", {})
        assert params == {"sessionId": "s", "terminalId": "t"}


async def test_sessions_that_nobody_opened_are_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("parley.client._connection_state.FOREIGN_SESSIONS", 2)
    async with opened() as (session, remote):
        for id in ("one", "two", "three"):
            remote.say("x", id)
        await remote.is_read()
        assert list(session.connection.sessions) == ["s", "one", "two"]
        assert "more unknown sessions" in caplog.text


async def test_the_updates_of_sessions_that_nobody_opened_are_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("parley.client._connection_state.FOREIGN_BYTES", 1200)
    async with opened() as (session, remote):
        for id in ("one", "two", "s"):
            remote.say("x" * 400, id)
        await remote.is_read()
        for id in ("one", "two", "s"):
            remote.say("y" * 400, id)
        await remote.is_read()
        texts = {
            id: each.transcript.messages[0].text
            for id, each in session.connection._state.sessions.items()
        }
        assert texts == {"one": "x" * 400, "two": "x" * 400, "s": "x" * 400 + "y" * 400}
        assert caplog.text.count("ignored updates of sessions that were not opened here") == 1
        session.connection._state.forget_id("one")
        remote.say("z" * 400, "two")
        await remote.is_read()
        assert session.connection._state.sessions["two"].transcript.messages[0].text.endswith("z")


async def test_an_update_that_cannot_be_folded_is_in_the_log_and_in_the_loop(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened() as (session, remote):
        loop = aiter(session.prompt("Hi."))
        event = asyncio.ensure_future(anext(loop))
        await remote.take("session/prompt")
        remote.update("terminal_output_chunk", terminalId="t", data="!")
        assert isinstance(await event, v2.TerminalOutputChunk)
        assert "ignored an invalid update: update.data" in caplog.text
        assert session.transcript.terminals == {}
        assert repr(session) == "Session('s', Transcript(idle, 0 messages, 0 tool calls))"
