"""A client with a version 1 agent: sessions and other requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.errors import InvalidParams, Unsupported
from parley.schema import v2
from parley.schema.base import Method
from parley.schema.v2 import methods
from parley.session._adapter import HandlerTable

from .raw_peer import Updates, client

TEXT: list[v2.ContentBlock] = [v2.TextContent(text="Hi")]
PROMPT = v2.PromptRequest(session_id="s", prompt=[*TEXT])
IDLE = v2.StateUpdated(state="idle", stop_reason="end_turn")
RUNNING = v2.StateUpdated(state="running")
OPEN = {"cwd": "/w"}


async def test_modes_of_the_agent_are_an_option_and_stay_in_step() -> None:
    updates = Updates()
    modes: dict[str, Any] = {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
    }
    async with client(updates.program()) as (adapter, raw):
        opening = asyncio.create_task(
            adapter.request(methods.NEW_SESSION, v2.NewSessionRequest(cwd="/w"))
        )
        params = await raw.serve("session/new", {"sessionId": "s", "modes": modes})
        assert params == {"cwd": "/w", "mcpServers": []}
        session = await opening
        (option,) = session.config_options
        assert isinstance(option, v2.SessionConfigSelect)
        assert (option.config_id, option.category, option.current_value) == ("mode", "mode", "ask")

        choice = v2.SetSessionConfigValueRequest(session_id="s", config_id="mode", value="code")
        setting = asyncio.create_task(adapter.request(methods.SET_SESSION_CONFIG_OPTION, choice))
        assert await raw.serve("session/set_mode", {}) == {"sessionId": "s", "modeId": "code"}
        (option,) = (await setting).config_options
        assert isinstance(option, v2.SessionConfigSelect)
        assert option.current_value == "code"

        raw.update("current_mode_update", currentModeId="ask")
        (option,) = (await updates.next()).config_options
        assert option.current_value == "ask"


async def test_an_option_is_set_and_older_news_do_not_undo_it() -> None:
    held, gate = asyncio.Event(), asyncio.Event()
    updates = Updates()

    async def listen(note: v2.UpdateSessionNotification) -> None:
        if isinstance(note.update, v2.AgentMessageChunk):
            held.set()
            await gate.wait()
        updates(note)

    def options(value: str) -> list[dict[str, Any]]:
        values = [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
        return [
            {"type": "select", "id": "m", "name": "M", "currentValue": value, "options": values},
            {"type": "boolean", "id": "f", "name": "F", "currentValue": True},
        ]

    program = HandlerTable(notifications={"session/update": listen})
    async with client(program) as (adapter, raw):
        raw.chunk("wait")
        await held.wait()
        raw.update("config_option_update", configOptions=options("a"))
        choice = v2.SetSessionConfigValueRequest(session_id="s", config_id="m", value="b")
        setting = asyncio.create_task(adapter.request(methods.SET_SESSION_CONFIG_OPTION, choice))
        params = await raw.serve("session/set_config_option", {"configOptions": options("b")})
        assert params == {"sessionId": "s", "configId": "m", "value": "b"}
        gate.set()
        assert [each.current_value for each in (await setting).config_options] == ["b", True]  # type: ignore[union-attr]
        raw.update("current_mode_update", currentModeId="x")
        received = [await updates.next() for _ in range(3)]
        assert [each.current_value for each in received[2].config_options] == ["b", True]


async def test_a_replay_is_loaded_and_each_message_in_it_is_opened_by_an_empty_one() -> None:
    updates = Updates()
    capabilities: dict[str, Any] = {"loadSession": True, "sessionCapabilities": {}}
    async with client(updates.program(), agentCapabilities=capabilities) as (adapter, raw):
        request = v2.ResumeSessionRequest(
            session_id="s", cwd="/w", replay_from=v2.ReplayFromStart()
        )
        results: list[v2.ResumeSessionResponse] = []
        loading = asyncio.create_task(
            adapter.request(methods.RESUME_SESSION, request, on_result=results.append)
        )
        message = await raw.expect("session/load")
        assert message["params"] == {"sessionId": "s", "cwd": "/w", "mcpServers": []}
        raw.update("user_message_chunk", content={"type": "text", "text": "Hi"})
        raw.chunk("Hel")
        raw.chunk("lo")
        raw.send(id=message["id"], result=None)
        raw.chunk("later")
        assert await loading == v2.ResumeSessionResponse()
        assert results == [v2.ResumeSessionResponse()]
        received = [await updates.next() for _ in range(6)]
    assert [type(each).__name__ for each in received] == [
        "UserMessage",
        "UserMessageChunk",
        "AgentMessage",
        "AgentMessageChunk",
        "AgentMessageChunk",
        "AgentMessageChunk",
    ]
    assert received[0].content == received[2].content == []
    assert received[0].message_id == received[1].message_id
    assert received[2].message_id == received[3].message_id == received[4].message_id
    assert received[5].message_id != received[4].message_id


async def test_a_replay_that_fails_is_over() -> None:
    updates = Updates()
    async with client(updates.program(), agentCapabilities={"loadSession": True}) as (adapter, raw):
        request = v2.ResumeSessionRequest(
            session_id="s", cwd="/w", replay_from=v2.ReplayFromStart()
        )
        loading = asyncio.create_task(adapter.request(methods.RESUME_SESSION, request))
        message = await raw.expect("session/load")
        raw.send(id=message["id"], error={"code": -32602, "message": "No"})
        with pytest.raises(InvalidParams):
            await loading
        raw.chunk("Hello")
        assert isinstance(await updates.next(), v2.AgentMessageChunk)


async def test_a_session_is_resumed_without_replay_where_the_agent_can() -> None:
    request = v2.ResumeSessionRequest(session_id="s", cwd="/w")
    capabilities: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
    async with client(agentCapabilities=capabilities) as (adapter, raw):
        resuming = asyncio.create_task(adapter.request(methods.RESUME_SESSION, request))
        assert await raw.serve("session/resume", {}) == {"sessionId": "s", "cwd": "/w"}
        assert await resuming == v2.ResumeSessionResponse()
    async with client() as (adapter, _):
        with pytest.raises(Unsupported, match=r"session/resume .*sessionCapabilities\.resume"):
            await adapter.request(methods.RESUME_SESSION, request)
        with pytest.raises(Unsupported, match="session/load"):
            await adapter.request(
                methods.RESUME_SESSION,
                v2.ResumeSessionRequest(session_id="s", cwd="/w", replay_from=v2.ReplayFromStart()),
            )


async def test_a_fork_has_options_of_its_own() -> None:
    capabilities: dict[str, Any] = {"sessionCapabilities": {"fork": {}}}
    async with client(agentCapabilities=capabilities) as (adapter, raw):
        request = v2.ForkSessionRequest(session_id="s", cwd="/w")
        forking = asyncio.create_task(adapter.request(methods.FORK_SESSION, request))
        modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}
        params = await raw.serve("session/fork", {"sessionId": "f", "modes": modes})
        assert params == {"sessionId": "s", "cwd": "/w"}
        fork = await forking
        assert fork.session_id == "f"
        assert len(fork.config_options) == 1


async def test_an_update_before_the_response_that_opens_its_session_is_reported() -> None:
    updates = Updates()
    async with client(updates.program()) as (adapter, raw):
        opening = asyncio.create_task(
            adapter.request(methods.NEW_SESSION, v2.NewSessionRequest(cwd="/w"))
        )
        message = await raw.expect("session/new")
        commands = [{"name": "go", "description": "Go", "input": {"hint": "where"}}]
        raw.update("available_commands_update", availableCommands=commands)
        raw.send(id=message["id"], result={"sessionId": "s"})
        await opening
        update = await updates.note()
    assert update.session_id == "s"
    assert update.update == v2.AvailableCommandsUpdate(
        available_commands=[
            v2.Command(name="go", description="Go", input=v2.TextCommandInput(hint="where"))
        ]
    )


@pytest.mark.parametrize(
    ("method", "params", "name", "result"),
    [
        (methods.LOGIN_AUTH, v2.LoginAuthRequest(method_id="m"), "authenticate", {}),
        (methods.LOGOUT_AUTH, v2.LogoutAuthRequest(), "logout", {}),
        (methods.AUTH_STATUS, v2.AuthStatusRequest(), "auth/status", {"state": "unknown"}),
        (methods.LIST_SESSIONS, v2.ListSessionsRequest(cwd="/w"), "session/list", {"sessions": []}),
        (methods.CLOSE_SESSION, v2.CloseSessionRequest(session_id="s"), "session/close", {}),
        (methods.DELETE_SESSION, v2.DeleteSessionRequest(session_id="s"), "session/delete", {}),
        (
            methods.ARCHIVE_SESSION,
            v2.ArchiveSessionRequest(session_id="s"),
            "session/archive",
            {},
        ),
        (
            methods.UNARCHIVE_SESSION,
            v2.UnarchiveSessionRequest(session_id="s"),
            "session/unarchive",
            {},
        ),
        (
            methods.SESSION_STATUS,
            v2.SessionStatusRequest(session_id="s"),
            "session/status",
            {"status": "open"},
        ),
        (
            methods.SET_SESSION_TITLE,
            v2.SetSessionTitleRequest(session_id="s", title="T"),
            "session/set_title",
            {"title": "T"},
        ),
        (
            methods.LIST_PROVIDERS,
            v2.ListProvidersRequest(),
            "providers/list",
            {"providers": []},
        ),
        (
            methods.SET_PROVIDER,
            v2.SetProviderRequest(
                provider_id="p", api_type="openai", base_url="u", headers={"K": "V"}
            ),
            "providers/set",
            {},
        ),
        (
            methods.DISABLE_PROVIDER,
            v2.DisableProviderRequest(provider_id="p"),
            "providers/disable",
            {},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_requests_that_need_no_memory_keep_their_json(
    method: Method[Any, Any], params: Any, name: str, result: Any
) -> None:
    session: dict[str, Any] = {
        each: {}
        for each in ("list", "close", "delete", "archive", "status", "title", "resume", "fork")
    }
    offered: dict[str, Any] = {
        "auth": {"logout": {}, "status": {}},
        "providers": {},
        "sessionCapabilities": session,
    }
    async with client(agentCapabilities=offered) as (adapter, raw):
        received: list[Any] = []
        asking = asyncio.create_task(adapter.request(method, params, on_result=received.append))
        sent = await raw.serve(name, result)
        response = await asking
    assert received == [response]
    assert sent == {
        key: value
        for key, value in {
            "methodId": getattr(params, "method_id", None),
            "sessionId": getattr(params, "session_id", None),
            "cwd": getattr(params, "cwd", None),
            "title": getattr(params, "title", None),
            "providerId": getattr(params, "provider_id", None),
            "apiType": getattr(params, "api_type", None),
            "baseUrl": getattr(params, "base_url", None),
            "headers": getattr(params, "headers", None),
        }.items()
        if value is not None
    }
    assert type(response) is method.result
    async with client() as (adapter, raw):
        if method is not methods.LOGIN_AUTH:
            with pytest.raises(Unsupported):
                await adapter.request(method, params)
        assert raw.unread == 0
