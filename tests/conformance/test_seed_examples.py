"""The messages that the protocol's documents print, sent to a live peer, and what comes back.

The values are ours; the shapes are those of the documents, including shapes of earlier drafts.
`docs/reference/versions.md` lists which of those are read and which are refused.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import structs

from parley.agent import Agent, Turn
from parley.client import Session
from parley.errors import AuthRequired, MethodNotFound
from parley.schema import v2

from .nes_agent import ScriptedEngine, serve_engine
from .raw_agent import RawAgent, connected, opened
from .raw_client import RawClient, initialized, talking, talking_to
from .raw_connection import ErrorResponse

DIRECTORIES = ["/home/user/library", "/home/user/documents"]
PROJECT = {"cwd": "/home/user/project", "additionalDirectories": DIRECTORIES, "mcpServers": []}
INFO = {"name": "my-client", "title": "My Client", "version": "1.0.0"}
ELICITATION: dict[str, Any] = {"form": {}, "url": {}}


# initialize

HELLOS: dict[str, tuple[dict[str, Any], int]] = {
    "v1": (
        {
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": True,
            },
            "clientInfo": INFO,
        },
        1,
    ),
    "v1-terminal-login": (
        {"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": True}}},
        1,
    ),
    "v1-elicitation": (
        {"protocolVersion": 1, "clientCapabilities": {"elicitation": ELICITATION}},
        1,
    ),
    "v1-elicitation-form": (
        {"protocolVersion": 1, "clientCapabilities": {"elicitation": {"form": {}}}},
        1,
    ),
    "v1-elicitation-url": (
        {"protocolVersion": 1, "clientCapabilities": {"elicitation": {"url": {}}}},
        1,
    ),
    "v1-editor": (
        {
            "protocolVersion": 1,
            "clientCapabilities": {
                "workspace": {"openDocuments": {}, "recentDocuments": {}, "activeDocument": {}}
            },
        },
        1,
    ),
    "v2-client-info": ({"protocolVersion": 2, "capabilities": {}, "clientInfo": INFO}, 2),
    "v2-no-info": ({"protocolVersion": 2, "capabilities": {}}, 2),
}


@pytest.mark.parametrize("name", HELLOS)
async def test_an_agent_accepts_each_initialize_request(name: str) -> None:
    params, version = HELLOS[name]
    async with talking() as client:
        result = await client.call("initialize", params)
        assert result["protocolVersion"] == version


async def test_an_agent_refuses_a_date_as_protocol_version_and_says_why() -> None:
    async with talking() as client:
        params = {"protocolVersion": "2025-11-25", "clientInfo": INFO}
        error = (await client.ask("initialize", params))["error"]
        assert error["code"] == -32602
        assert "protocolVersion" in str(error["data"])
        assert (await client.call("initialize", HELLOS["v1"][0]))["protocolVersion"] == 1


CAPABILITIES = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
}
LOGIN = {"id": "agent-login", "name": "Agent login", "description": "Sign in with the agent"}
RESPONSES: dict[str, tuple[dict[str, Any], int, dict[str, bool]]] = {
    "v1": (
        {
            "protocolVersion": 1,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": {"name": "my-agent", "title": "My Agent", "version": "1.0.0"},
            "authMethods": [],
        },
        1,
        {"load": True, "image": True, "audio": True, "embedded_context": True, "mcp_http": True},
    ),
    "v1-providers": (
        {
            "protocolVersion": 1,
            "agentInfo": {"name": "MyAgent", "version": "2.0.0"},
            "agentCapabilities": {"providers": {}, "sessionCapabilities": {}},
        },
        1,
        {"providers": True, "load": False},
    ),
    "v1-logout": (
        {
            "protocolVersion": 1,
            "agentCapabilities": {"auth": {"logout": {}}},
            "authMethods": [LOGIN],
        },
        1,
        {"logout": True},
    ),
    "v2-agent-info": (
        {"protocolVersion": 2, "capabilities": {}, "agentInfo": {"name": "a", "version": "1"}},
        2,
        {"load": False},
    ),
    "v2-custom-capabilities": (
        {
            "protocolVersion": 2,
            "capabilities": {
                "session": {"load": {}},
                "_meta": {"zed.dev": {"workspace": True, "fileNotifications": True}},
            },
        },
        2,
        {},
    ),
    "v1-echoes-2": ({"protocolVersion": 2, "agentCapabilities": CAPABILITIES}, 1, {"load": True}),
}


@pytest.mark.parametrize("name", RESPONSES)
async def test_a_client_reads_each_initialize_response(name: str) -> None:
    hello, version, features = RESPONSES[name]
    agent = RawAgent(version)
    agent.hello = hello
    async with connected(agent) as connection:
        offered = structs.asdict(connection.features)
        assert {name: offered[name] for name in features} == features
        if name == "v2-custom-capabilities":
            assert connection.features.meta == hello["capabilities"]["_meta"]
        if name == "v1-logout":
            assert [each.method_id for each in connection.auth_methods] == ["agent-login"]  # type: ignore[union-attr]


# Sessions


async def _begun(client: RawClient) -> str:
    return (await client.call("session/new", PROJECT))["sessionId"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("version", "method"),
    [
        (1, "session/load"),
        (1, "session/resume"),
        (1, "session/fork"),
        (2, "session/load"),
        (2, "session/resume"),
        (2, "session/fork"),
    ],
)
async def test_an_agent_opens_a_session_with_additional_directories(
    version: int, method: str
) -> None:
    async with initialized(version) as client:
        session = await _begun(client)
        result = await client.call(method, {"sessionId": session, **PROJECT})
        opened_again = result.get("sessionId", session)
        assert (opened_again != session) is (method == "session/fork")
        turn = await client.turn(opened_again, "where")
        assert all(each in turn.text for each in DIRECTORIES)


@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_applies_the_filters_of_session_list(version: int) -> None:
    async with initialized(version) as client:
        session = await _begun(client)
        await client.turn(session, "say Hello")

        async def listed(**filters: str) -> list[str]:
            params = {"cwd": PROJECT["cwd"], **filters}
            found = (await client.call("session/list", params))["sessions"]
            return [each["sessionId"] for each in found]

        assert await listed() == [session]
        assert await listed(createdAfter="2025-10-20T00:00:00Z") == [session]
        assert await listed(createdAfter="2999-01-01T00:00:00Z") == []
        assert await listed(search="nothing has this title") == []
        assert await client.refusal("session/list", {"cursor": "eyJwYWdlIjogMn0="}) == -32602


OPTION = {
    "name": "Session Mode",
    "description": "Controls how the agent asks for permission",
    "category": "mode",
    "currentValue": "ask",
}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("kind", ["select", "enum"])
async def test_a_client_reads_config_options_of_either_name(version: int, kind: str) -> None:
    label = "name" if kind == "select" else "label"
    values = [{"value": "ask", label: "Ask"}, {"value": "code", label: "Code"}]
    option = {"id": "mode", **OPTION, "type": kind, "options": values}
    agent = RawAgent(version)
    agent.answers["session/new"] = lambda params: {"sessionId": "s", "configOptions": [option]}
    async with opened(agent) as session:
        (read,) = session.transcript.config_options
        assert isinstance(read, v2.SessionConfigSelect)
        assert (read.config_id, read.current_value) == ("mode", "ask")
        assert [each.name for each in read.options] == ["Ask", "Code"]


async def test_a_login_that_is_required_is_an_error_of_its_own() -> None:
    error = {"code": -32000, "message": "Authentication required", "data": {"reason": "auth"}}

    class Locked(RawAgent):
        def received(self, message: Any) -> None:
            if message.get("method") == "session/new":
                self.send(id=message["id"], error=error)

    locked = Locked(1)
    locked.answers.pop("session/new")
    async with connected(locked) as connection:
        with pytest.raises(AuthRequired) as caught:
            await connection.new_session()
        assert caught.value.data == error["data"]


# Providers


@pytest.mark.parametrize("version", [1, 2])
async def test_providers_are_read_with_their_older_id(version: int) -> None:
    async with initialized(version) as client:
        assert (await client.call("providers/list", {}))["providers"]
        assert await client.call("providers/disable", {"id": "spare"}) == {}
    current = {"apiType": "anthropic", "baseUrl": "http://localhost/anthropic"}
    main = {"id": "main", "supported": ["bedrock", "anthropic"], "required": True}
    agent = RawAgent(version, {"providers": {}})
    agent.answers["providers/list"] = lambda params: {"providers": [{**main, "current": current}]}
    async with connected(agent) as connection:
        (provider,) = await connection.list_providers()
        assert (provider.provider_id, provider.required) == ("main", True)
        assert provider.current is not None
        assert provider.current.base_url == current["baseUrl"]


# Terminals


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"exitCode": 0, "signal": None}, (0, None)),
        ({"exitCode": None, "signal": 9}, (None, "SIGKILL")),
    ],
    ids=["code", "number"],
)
async def test_an_agent_reads_the_output_of_a_terminal(
    status: dict[str, Any], expected: tuple[int | None, str | None]
) -> None:
    seen: list[Any] = []
    agent = Agent("runner")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.run("pytest") as terminal:
            seen.append(await terminal.output())

    async with talking_to(agent) as client:
        await client.initialize(1, {"terminal": True})
        session = await client.new_session()
        client.answers |= {
            "terminal/create": lambda params: {"terminalId": "t"},
            "terminal/output": lambda params: {
                "output": "✓ All tests passed\n",
                "truncated": False,
                "exitStatus": status,
            },
            "terminal/release": lambda params: {},
        }
        await client.turn(session, "go")
    (output,) = seen
    assert output.output == "✓ All tests passed\n"
    assert (output.exit_status.exit_code, output.exit_status.signal) == expected


# Elicitation


async def test_a_client_answers_a_form_that_belongs_to_a_request() -> None:
    schema = {
        "type": "object",
        "properties": {"workspaceName": {"type": "string", "title": "Workspace Name"}},
        "required": ["workspaceName"],
    }

    class Asking(RawAgent):
        def received(self, message: Any) -> None:
            if message.get("method") == "session/new":
                self.opening = message["id"]
                params = {"requestId": self.opening, "mode": "form", "message": "Which one?"}
                self.request("elicitation/create", {**params, "requestedSchema": schema})
            elif "result" in message:
                self.send(id=self.opening, result={"sessionId": "s"})

    agent = Asking(1)
    agent.answers.pop("session/new")

    def fill_in(form: v2.ElicitationFormMode, session: Session | None) -> dict[str, str]:
        return {"workspaceName": "mine"}

    async with opened(agent, elicit=fill_in):
        (response,) = [each["result"] for each in agent.log if "result" in each]
    assert response == {"action": "accept", "content": {"workspaceName": "mine"}}


@pytest.mark.requirement("V1-ELIC-44")
@pytest.mark.parametrize("version", [1, 2])
async def test_a_client_hears_when_what_a_web_page_was_for_is_done(version: int) -> None:
    ended: asyncio.Queue[str] = asyncio.Queue()
    agent = RawAgent(version)

    def visit(
        request: v2.ElicitationUrlMode, session: Session | None
    ) -> v2.CreateElicitationResponse:
        return v2.ElicitationAcceptAction()

    async with opened(agent, elicit_url=visit, on_elicitation_complete=ended.put_nowait):
        page = {"mode": "url", "message": "Log in", "url": "https://example.org/login"}
        params = {"sessionId": "s", "elicitationId": "oauth-1", **page}
        assert await agent.call("elicitation/create", params) == {"action": "accept"}
        agent.send(method="elicitation/complete", params={"elicitationId": "other"})
        agent.send(method="elicitation/complete", params={"elicitationId": "oauth-1"})
        assert await ended.get() == "oauth-1"


# Editor state

CLIENT_RS = v2.WorkspaceDocument(uri="file:///home/alice/src/client.rs", language_id="rust")
RPC_RS = v2.WorkspaceDocument(uri="file:///home/alice/src/rpc.rs", language_id="rust")


class Editor:
    """An editor with two documents."""

    def open_documents(self, session: Session) -> list[v2.WorkspaceDocument]:
        return [CLIENT_RS, RPC_RS]

    def recent_documents(self, limit: int | None, session: Session) -> list[v2.WorkspaceDocument]:
        return [RPC_RS, CLIENT_RS]

    def active_document(self, session: Session) -> v2.WorkspaceDocument | None:
        return CLIENT_RS


@pytest.mark.parametrize("version", [1, 2])
async def test_a_client_answers_questions_about_its_editor(version: int) -> None:
    client = {"uri": CLIENT_RS.uri, "languageId": "rust"}
    rpc = {"uri": RPC_RS.uri, "languageId": "rust"}
    agent = RawAgent(version)
    async with opened(agent, editor=Editor()):
        known = {"sessionId": "s"}
        assert await agent.call("workspace/open_documents", known) == {"documents": [client, rpc]}
        recent = await agent.call("workspace/recent_documents", {**known, "limit": 50})
        assert recent == {"documents": [rpc, client]}
        assert await agent.call("workspace/active_document", known) == {"document": client}


# Extensibility

TRACE = {
    "traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01",
    "zed.dev/debugMode": True,
}


@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_sees_the_meta_of_a_prompt(version: int) -> None:
    async with initialized(version) as client:
        turn = await client.turn(await client.new_session(), "where", _meta=TRACE)
        assert all(each in turn.text for each in TRACE)


@pytest.mark.parametrize("version", [1, 2])
async def test_a_client_answers_an_extension_request_and_hears_a_notification(version: int) -> None:
    buffers = {"buffers": [{"id": 0, "path": "/home/user/project/src/main.rs"}]}
    requests: list[Any] = []

    async def list_buffers(params: dict[str, Any]) -> Any:
        requests.append(params)
        return buffers

    agent = RawAgent(version)
    extensions = {"_zed.dev/workspace/buffers": list_buffers}
    async with opened(agent, extensions=extensions) as session:
        rust = {"language": "rust"}
        assert await agent.call("_zed.dev/workspace/buffers", rust) == buffers
        agent.send(method="_zed.dev/file_opened", params={"path": "/home/user/a.rs"})
        assert await agent.refusal("_zed.dev/unknown", {}) == -32601
        assert await session.ask("Still here?") == ""
    assert requests == [rust]


@pytest.mark.parametrize("version", [1, 2])
async def test_an_unknown_extension_request_is_an_error_of_its_own(version: int) -> None:
    agent = RawAgent(version)
    agent.answers["_zed.dev/workspace/buffers"] = _refuse
    async with connected(agent) as connection:
        with pytest.raises(MethodNotFound):
            await connection.request("_zed.dev/workspace/buffers", {"language": "rust"})


def _refuse(params: Any) -> Any:
    raise ErrorResponse(-32601)


# Next edit suggestions


@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_begins_suggestions_with_what_it_hears_of_the_workspace(
    version: int,
) -> None:
    folder = {"uri": "file:///home/alice/projects/my-app", "name": "my-app"}
    repository = {
        "name": "my-app",
        "owner": "alice",
        "remoteUrl": "https://github.com/alice/my-app.git",
    }
    params = {
        "workspaceUri": folder["uri"],
        "workspaceFolders": [folder],
        "repository": repository,
    }
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        await client.begin(params)
    workspace = engine.predictor.workspace
    assert workspace.repository == "alice/my-app"
    assert workspace.remote_url == repository["remoteUrl"]
    assert workspace.uri == folder["uri"]
    assert [(each.uri, each.name) for each in workspace.named_folders] == [
        (folder["uri"], folder["name"])
    ]
