"""An agent with a version 1 client: sessions, options, and requests to the client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.errors import ResourceNotFound, Unsupported
from parley.peer import RequestContext, TypedHandler
from parley.schema import v1, v2
from parley.schema.base import Method, Unknown
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods
from parley.schema.v2.methods import WORKSPACE_ACTIVE_DOCUMENT
from parley.session._adapter import AgentAdapter, HandlerTable
from parley.session._capabilities import AgentFeatures

from .raw_peer import agent

MODE = v2.SessionConfigSelect(
    config_id="m",
    name="Mode",
    category="mode",
    current_value="ask",
    options=[
        v2.SessionConfigSelectOption(value="ask", name="Ask"),
        v2.SessionConfigSelectOption(value="code", name="Code"),
    ],
)
SWITCH = v2.SessionConfigBoolean(config_id="f", name="Fast", current_value=False)
COMMANDS: list[v2.AvailableCommand] = [v2.Command(name="go", description="Go")]
EVERYTHING = AgentFeatures(
    sessions=True, load=True, resume=True, fork=True, list=True, close=True, status=True
)


def message(id: str, text: str) -> list[v2.SessionUpdate]:
    """A message as a replay has it."""
    chunk = v2.AgentMessageChunk(message_id=id, content=v2.TextContent(text=text))
    return [v2.AgentMessage(message_id=id, content=[]), chunk]


class Sessions:
    """A program that opens sessions."""

    def __init__(self) -> None:
        self.adapter: AgentAdapter | None = None
        self.requests: list[Any] = []
        self.options: list[v2.SessionConfigOption] = [MODE, SWITCH]

    def __call__(self, adapter: AgentAdapter) -> HandlerTable:
        self.adapter = adapter
        requests: dict[str, Any] = {
            "session/new": self.new,
            "session/fork": self.fork,
            "session/resume": self.resume,
            "session/set_config_option": self.set_option,
            "session/list": self.list,
            "session/status": self.status,
        }
        return HandlerTable(requests=requests)

    async def send_updates(self, *updates: v2.SessionUpdate) -> None:
        assert self.adapter is not None
        for update in updates:
            note = v2.UpdateSessionNotification(session_id="s", update=update)
            await self.adapter.notify(methods.UPDATE_SESSION, note)

    async def new(self, params: v2.NewSessionRequest, request: RequestContext) -> Any:
        self.requests.append(params)

        async def follow() -> None:
            await self.send_updates(v2.SessionInfoUpdate(title="T"))

        request.after_response(follow)
        return v2.NewSessionResponse(
            session_id="s", config_options=self.options, available_commands=COMMANDS
        )

    async def fork(self, params: v2.ForkSessionRequest, request: RequestContext) -> Any:
        self.requests.append(params)
        return v2.ForkSessionResponse(session_id="f", meta={"k": 1})

    async def resume(self, params: v2.ResumeSessionRequest, request: RequestContext) -> Any:
        self.requests.append(params)
        if params.session_id != "s":
            raise ResourceNotFound("There is no such session")
        if params.replay_from is not None:
            await self.send_updates(*message("m", "Hello"), v2.StateUpdated(state="idle"))
        return v2.ResumeSessionResponse(config_options=self.options, available_commands=COMMANDS)

    async def set_option(
        self, params: v2.SetSessionConfigOptionRequest, request: RequestContext
    ) -> Any:
        self.requests.append(params)
        assert not isinstance(params, Unknown)
        # Setting one option may change others.
        value = str(params.value) if params.config_id == "m" else "code"
        changed = v2.SessionConfigSelect(
            config_id="m",
            name="Mode",
            category="mode",
            current_value=value,
            options=MODE.options,
        )
        return v2.SetSessionConfigOptionResponse(config_options=[changed, SWITCH])

    async def list(self, params: v2.ListSessionsRequest, request: RequestContext) -> Any:
        info = v2.SessionInfo(session_id="s", cwd="/w", title="T")
        return v2.ListSessionsResponse(sessions=[info], next_cursor="2")

    async def status(self, params: v2.SessionStatusRequest, request: RequestContext) -> Any:
        return v2.SessionStatusResponse(status="open", state=v2.RunningStateUpdate())


async def test_options_are_offered_as_modes_besides_and_commands_follow_the_response() -> None:
    sessions = Sessions()
    async with agent(sessions) as (_, raw):
        servers: list[Any] = [
            {"name": "a", "command": "/a", "args": ["-x"], "env": [{"name": "K", "value": "V"}]},
            {"type": "http", "name": "b", "url": "u", "headers": [{"name": "H", "value": "V"}]},
            {"type": "sse", "name": "c", "url": "u", "headers": []},
            {"type": "acp", "name": "d", "serverId": "i"},
        ]
        result = await raw.ask("session/new", {"cwd": "/w", "mcpServers": servers})
        assert result["sessionId"] == "s"
        assert result["modes"] == {
            "currentModeId": "ask",
            "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
        }
        assert [(each["id"], each["type"]) for each in result["configOptions"]] == [
            ("m", "select"),
            ("f", "select"),  # the client does not show switches
        ]
        commands = [{"name": "go", "description": "Go"}]
        assert await raw.next_update() == {
            "sessionUpdate": "available_commands_update",
            "availableCommands": commands,
        }
        assert await raw.next_update() == {"sessionUpdate": "session_info_update", "title": "T"}
    request = sessions.requests[0]
    assert request.mcp_servers[:2] == [
        v2.McpServerStdio(
            name="a", command="/a", args=["-x"], env=[v2.EnvVariable(name="K", value="V")]
        ),
        v2.McpServerHttp(name="b", url="u", headers=[v2.HttpHeader(name="H", value="V")]),
    ]
    assert request.mcp_servers[2].payload == servers[2]
    assert request.mcp_servers[3] == v2.McpServerAcp(name="d", server_id="i")


@pytest.mark.requirement("V1-CONF-03")
async def test_setting_a_mode_sets_the_option_and_the_other_way_round() -> None:
    sessions = Sessions()
    async with agent(sessions) as (_, raw):
        await raw.ask("session/new", {"cwd": "/w", "mcpServers": []})
        for _ in range(2):
            await raw.next_update()
        params = {"sessionId": "s", "modeId": "code"}
        raw.send(id=1, method="session/set_mode", params=params)
        assert (await raw.next_update())["configOptions"][0]["currentValue"] == "code"
        assert (await raw.next_update())["currentModeId"] == "code"
        assert await raw.result(1) == {}
        assert sessions.requests[-1] == v2.SetSessionConfigValueRequest(
            session_id="s", config_id="m", value="code"
        )
        params = {"sessionId": "s", "configId": "m", "value": "ask"}
        raw.send(id=2, method="session/set_config_option", params=params)
        assert await raw.next_update() == {
            "sessionUpdate": "current_mode_update",
            "currentModeId": "ask",
        }
        assert (await raw.result(2))["configOptions"][0]["currentValue"] == "ask"
        await sessions.send_updates(v2.ConfigOptionUpdate(config_options=[MODE, SWITCH]))
        assert (await raw.next_update())["sessionUpdate"] == "config_option_update"
        params = {"sessionId": "s", "configId": "f", "value": "true"}
        raw.send(id=3, method="session/set_config_option", params=params)
        assert (await raw.next_update())["currentModeId"] == "code"
        await raw.result(3)
        assert sessions.requests[-1] == v2.SetSessionConfigBooleanRequest(
            session_id="s", config_id="f", value=True
        )


async def test_a_session_without_modes_has_none_to_set() -> None:
    async with agent(Sessions()) as (_, raw):
        raw.send(id=1, method="session/set_mode", params={"sessionId": "x", "modeId": "code"})
        assert (await raw.error(1))["code"] == -32602


async def test_loading_replays_before_the_response_each_time_again() -> None:
    sessions = Sessions()
    async with agent(sessions, EVERYTHING) as (_, raw):
        for id in (1, 2):
            params: dict[str, Any] = {"sessionId": "s", "cwd": "/w", "mcpServers": []}
            raw.send(id=id, method="session/load", params=params)
            chunk = await raw.next_update()
            assert chunk["sessionUpdate"] == "agent_message_chunk"
            assert (chunk["messageId"], chunk["content"]["text"]) == ("m", "Hello")
            assert (await raw.result(id))["modes"]["currentModeId"] == "ask"
            assert (await raw.next_update())["sessionUpdate"] == "available_commands_update"
        assert sessions.requests[0].replay_from == v2.ReplayFromStart()


async def test_resuming_replays_nothing() -> None:
    sessions = Sessions()
    async with agent(sessions, EVERYTHING) as (_, raw):
        result = await raw.ask("session/resume", {"sessionId": "s", "cwd": "/w"})
        assert result["modes"]["currentModeId"] == "ask"
        assert (await raw.next_update())["sessionUpdate"] == "available_commands_update"
        assert sessions.requests[0].replay_from is None
        raw.send(id=2, method="session/resume", params={"sessionId": "x", "cwd": "/w"})
        assert (await raw.error(2))["code"] == -32002


async def test_a_fork_opens_a_session_of_its_own() -> None:
    sessions = Sessions()
    async with agent(sessions, EVERYTHING) as (_, raw):
        prompt = {"mode": "append", "content": [{"type": "text", "text": "Be brief"}]}
        result = await raw.ask(
            "session/fork", {"sessionId": "s", "cwd": "/w", "systemPrompt": prompt}
        )
        assert result == {"sessionId": "f", "_meta": {"k": 1}}
    assert sessions.requests[0].system_prompt == v2.SystemPrompt(
        mode="append", content=[v2.TextContent(text="Be brief")]
    )


async def test_what_the_agent_has_not_offered_does_not_exist() -> None:
    async with agent(Sessions()) as (_, raw):
        for id, name in enumerate(("session/load", "session/resume", "session/fork")):
            raw.send(id=id, method=name, params={"sessionId": "s", "cwd": "/w", "mcpServers": []})
            assert (await raw.error(id))["code"] == -32601


async def test_responses_have_only_what_version_1_knows() -> None:
    async with agent(Sessions(), EVERYTHING) as (_, raw):
        listed = await raw.ask("session/list", {})
        assert listed == {
            "sessions": [{"sessionId": "s", "cwd": "/w", "title": "T"}],
            "nextCursor": "2",
        }
        assert await raw.ask("session/status", {"sessionId": "s"}) == {"status": "open"}


def asking(**fields: Any) -> v2.RequestPermissionRequest:
    option = v2.PermissionOption(option_id="yes", name="Yes", kind="allow_once")
    return v2.RequestPermissionRequest(session_id="s", title="May I?", options=[option], **fields)


async def test_a_question_that_is_about_no_tool_call_gets_one_that_ends_with_it() -> None:
    async with agent(HandlerTable()) as (adapter, raw):
        for response, status in (
            ({"outcome": "selected", "optionId": "yes"}, "completed"),
            ({"outcome": "cancelled"}, "failed"),
        ):
            received: list[v2.RequestPermissionResponse] = []
            task = asyncio.create_task(
                adapter.request(methods.REQUEST_PERMISSION, asking(), on_result=received.append)
            )
            params = await raw.serve("session/request_permission", {"outcome": response})
            assert params["toolCall"]["title"] == "May I?"
            assert [await task] == received
            update = await raw.next_update()
            assert update["toolCallId"] == params["toolCall"]["toolCallId"]
            assert update["status"] == status


async def test_a_question_that_nobody_waits_for_ends_its_made_up_tool_call() -> None:
    async with agent(HandlerTable()) as (adapter, raw):
        task = asyncio.create_task(adapter.request(methods.REQUEST_PERMISSION, asking()))
        await raw.expect("session/request_permission")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await raw.expect("$/cancel_request")
        assert (await raw.next_update())["status"] == "failed"


async def test_a_terminal_of_the_client_is_shown_as_one_and_the_agents_own_as_text() -> None:
    sessions = Sessions()
    async with agent(sessions, clientCapabilities={"terminal": True}) as (adapter, raw):
        create = v1.CreateTerminalRequest(session_id="s", command="ls")
        received: list[v1.CreateTerminalResponse] = []
        creating = asyncio.create_task(
            adapter.request(methods1.CREATE_TERMINAL, create, on_result=received.append)
        )
        await raw.serve("terminal/create", {"terminalId": "theirs"})
        assert [await creating] == received
        creating = asyncio.create_task(adapter.request(methods1.CREATE_TERMINAL, create))
        await raw.serve("terminal/create", {"terminalId": "other"})
        assert (await creating).terminal_id == "other"
        content: list[v2.ToolCallContent] = [
            v2.Terminal(terminal_id="theirs"),
            v2.Terminal(terminal_id="ours"),
        ]
        await sessions.send_updates(
            v2.TerminalUpdate(terminal_id="ours", command="make"),
            v2.ToolCallUpdated(tool_call_id="t", title="Build", content=content),
        )
        shown = (await raw.next_update())["content"]
        assert shown[0] == {"type": "terminal", "terminalId": "theirs"}
        assert shown[1]["content"]["text"] == "```\n$ make\n```"


async def test_what_the_client_has_not_offered_is_not_asked() -> None:
    read = v1.ReadTextFileRequest(session_id="s", path="/a")
    document = v2.WorkspaceActiveDocumentRequest(session_id="s")
    done = v2.CompleteElicitationNotification(elicitation_id="e")
    async with agent(HandlerTable()) as (adapter, raw):
        with pytest.raises(Unsupported, match=r"fs\.readTextFile"):
            await adapter.request(methods1.READ_TEXT_FILE, read)
        with pytest.raises(Unsupported, match=r"workspace\.activeDocument"):
            await adapter.request(WORKSPACE_ACTIVE_DOCUMENT, document)
        with pytest.raises(Unsupported, match=r"elicitation\.url"):
            await adapter.notify(methods.COMPLETE_ELICITATION, done)
        assert raw.unread == 0


async def test_files_and_the_editor_are_asked_for_where_they_are_offered() -> None:
    capabilities: dict[str, Any] = {
        "fs": {"readTextFile": True},
        "workspace": {"activeDocument": {}},
    }
    async with agent(HandlerTable(), clientCapabilities=capabilities) as (adapter, raw):
        read = v1.ReadTextFileRequest(session_id="s", path="/a", line=2)
        reading = asyncio.create_task(adapter.request(methods1.READ_TEXT_FILE, read))
        params = await raw.serve("fs/read_text_file", {"content": "x"})
        assert params == {"sessionId": "s", "path": "/a", "line": 2}
        assert (await reading).content == "x"
        document = v2.WorkspaceActiveDocumentRequest(session_id="s")
        looking = asyncio.create_task(adapter.request(WORKSPACE_ACTIVE_DOCUMENT, document))
        await raw.serve("workspace/active_document", {"document": None})
        assert await looking == v2.WorkspaceActiveDocumentResponse(document=None)


async def test_logins_and_extensions_are_called_by_their_names() -> None:
    async def login(params: v2.LoginAuthRequest, request: RequestContext) -> None:
        assert params == v2.LoginAuthRequest(method_id="m")

    async def echo(params: dict[str, Any], request: RequestContext) -> Any:
        return params

    program = HandlerTable(
        requests={"auth/login": login, "_x/echo": TypedHandler(echo, dict[str, Any])}
    )
    methods_offered: list[v2.AuthMethod] = [
        v2.AuthMethodAgent(method_id="m", name="M"),
        Unknown("_key", b'{"type":"_key"}'),
    ]
    async with agent(program, auth_methods=methods_offered) as (adapter, raw):
        assert await raw.ask("authenticate", {"methodId": "m"}) == {}
        assert await raw.ask("_x/echo", {"a": [1]}) == {"a": [1]}
        note: Method[Any, None] = Method(
            name="_x/note", to="client", kind="notification", params=dict
        )
        await adapter.notify(note, {"b": 2})
        assert (await raw.expect("_x/note"))["params"] == {"b": 2}
