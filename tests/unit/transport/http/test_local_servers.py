"""Clients on the network choose no commands and no local addresses, unless the operator says so."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from parley import Agent
from parley.agent._turn import Turn
from parley.transport.http._app.access import Access
from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.local_server_guard import SETTING, is_public_address

from .asgi_client import Client, client_of
from .manual_clock import settle
from .scripted_agent import ScriptedAgent, request
from .ws_client import WebSocket

COMMAND: dict[str, Any] = {"name": "files", "command": "/bin/sh", "args": ["-c", "id"], "env": []}
PUBLIC: dict[str, Any] = {
    "type": "http",
    "name": "docs",
    "url": "https://93.184.216.34/mcp",
    "headers": [],
}
OWN: dict[str, Any] = {"type": "acp", "name": "editor", "serverId": "editor-1"}


def _at(url: str, type: str = "http") -> dict[str, Any]:
    return {"type": type, "name": "near", "url": url, "headers": []}


async def _refused_by_http(app: HttpApp, message: dict[str, Any], session: str = "") -> Any:
    async with client_of(app) as client:
        await client.initialize()
        own = await client.stream()
        response = await client.post(message, session)
        assert response.status == 202
        return (await own.event()).data


async def _refused_by_websocket(app: HttpApp, message: dict[str, Any], session: str = "") -> Any:
    del session
    socket = await WebSocket.open(Client(app))
    socket.send(message)
    response = await socket.message()
    socket.disconnect(1000)
    await socket.task
    return response


BOTH = pytest.mark.parametrize(
    "refused", [_refused_by_http, _refused_by_websocket], ids=["http", "ws"]
)


@BOTH
@pytest.mark.requirement("SAFE-IN-09", "V1-MCP-01")
@pytest.mark.parametrize(
    ("method", "session"),
    [
        ("session/new", ""),
        ("session/load", "s"),
        ("session/resume", "s"),
        ("session/fork", "s"),
        ("_vendor/session/open", ""),
    ],
    ids=["new", "load", "resume", "fork", "extension"],
)
async def test_a_command_is_refused_before_the_agent_sees_it(
    refused: Any, method: str, session: str
) -> None:
    host = ScriptedAgent()
    params: dict[str, Any] = {"cwd": "/", "mcpServers": [OWN, PUBLIC, COMMAND]}
    response = await refused(HttpApp(host), request(7, method, session, **params), session)
    assert response["id"] == 7
    assert response["error"]["code"] == -32602
    assert '"files"' in response["error"]["message"]
    assert "--allow-local-servers" in response["error"]["message"]
    assert response["error"]["data"] == {"server": "files", "setting": SETTING}
    await settle()
    assert host.last.inbox.empty()


@pytest.mark.requirement("SAFE-IN-09")
@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/",
        "http://LOCALHOST./mcp",
        "http://a.localhost:80/",
        "http://127.0.0.1:8080/mcp",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://0.0.0.0/",
        "http://127.0.0.1./",
        "http://[::1]/",
        "http://[::]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fe80::1]/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://[fd00::1]/",
        "http://[fec0::1]/",
        "http://[64:ff9b:1::7f00:1]/",
        "http://[::ffff:0:127.0.0.1]/",
        "http://[5f00::1]/",
        "http://224.0.0.1/",
        "http://user@93.184.216.34/",
        "http://93.184.216.34\\@127.0.0.1/",
        "http://93.184.216.34%2f@127.0.0.1/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://127\u30020\u30020\u30021/",
        "http:127.0.0.1/",
        "http:///127.0.0.1/",
        "ht\ntp://127.0.0.1/",
        " http://127.0.0.1/",
        "file:///etc/passwd",
        "unix:///run/docker.sock",
        "",
    ],
    ids=range(39),
)
async def test_a_local_address_is_refused_however_it_is_written(url: str) -> None:
    for type in ("http", "sse"):
        message = request(1, "session/new", cwd="/", mcpServers=[_at(url, type)])
        response = await _refused_by_websocket(HttpApp(ScriptedAgent()), message)
        assert response["error"]["code"] == -32602
        assert '"near"' in response["error"]["message"]


@pytest.mark.requirement("SAFE-IN-09")
@pytest.mark.parametrize(
    "params",
    [
        {"mcpServers": [{**PUBLIC, "type": "stdio"}]},
        {"mcpServers": [{**PUBLIC, "command": "/bin/sh"}]},
        {"mcpServers": [{**PUBLIC, "Command": "/bin/sh"}]},
        {"mcpServers": [{**PUBLIC, "type": "pipe"}]},
        {"mcpServers": [{**OWN, "command": "/bin/sh"}]},
        {"mcpServers": [{"type": "http", "name": "x"}]},
        {"mcpServers": ["/bin/sh"]},
        {"mcpServers": {"x": {"command": "/bin/sh"}}},
        {"mcp_servers": [COMMAND]},
        {"MCPServers": [COMMAND]},
        {"mcpServers": [], "_meta": {"vendor": {"options": {"mcpServers": {"x": COMMAND}}}}},
    ],
    ids=range(11),
)
async def test_what_a_lenient_reader_would_start_is_refused(params: dict[str, Any]) -> None:
    message = request(1, "session/new", cwd="/", **params)
    response = await _refused_by_websocket(HttpApp(ScriptedAgent()), message)
    assert response["error"]["code"] == -32602


@pytest.mark.requirement("SAFE-IN-09")
@pytest.mark.parametrize(
    "text",
    [
        f'{{"mcpServers":[{json.dumps(COMMAND)}],"mcpServers":[]}}',
        f'{{"mcp\\u0053ervers":[{json.dumps(COMMAND)}]}}',
        '{"mcpServers":[{"type":"http","name":"x","url":"http://127.0.0.1",'
        '"url":"https://93.184.216.34"}]}',
        '{"mcpServers":[{"type":"stdio","type":"http","name":"x","url":"https://93.184.216.34"}]}',
        json.dumps({"mcpServers": [], "cwd": "x" * 1_100_000}),
    ],
    ids=["twice", "escaped", "urls", "types", "long"],
)
async def test_what_two_readers_may_read_differently_is_refused(text: str) -> None:
    frame = f'{{"jsonrpc":"2.0","id":1,"method":"session\\/new","params":{text}}}'
    socket = await WebSocket.open(Client(HttpApp(ScriptedAgent())))
    socket.send_text(frame)
    response = await socket.message()
    assert response["error"]["code"] == -32602
    socket.disconnect(1000)
    await socket.task


@pytest.mark.requirement("SAFE-IN-09")
async def test_a_provider_at_a_local_address_is_refused() -> None:
    params: dict[str, Any] = {"providerId": "main", "apiType": "openai", "headers": {}}
    for url in ("http://127.0.0.1:11434/", "http://169.254.169.254/"):
        message = request(1, "providers/set", **params, baseUrl=url)
        response = await _refused_by_http(HttpApp(ScriptedAgent()), message)
        assert response["error"]["code"] == -32602


@pytest.mark.requirement("SAFE-IN-09")
async def test_a_name_that_leads_to_this_machine_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests: list[str] = []

    async def look_up(host: str, *args: Any, **options: Any) -> Any:
        requests.append(host)
        if host == "nowhere.example":
            raise socket.gaierror(socket.EAI_NONAME, "there is no such name")
        address = "127.0.0.1" if host.startswith("near") else "93.184.216.34"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", look_up)
    host = ScriptedAgent()
    opened = await WebSocket.open(Client(HttpApp(host)))
    for id, name in enumerate(["far.example.", "near.example", "nowhere.example"]):
        message = request(id, "session/new", cwd="/", mcpServers=[_at(f"https://{name}/mcp")])
        opened.send(message)
    refused = await opened.message()
    assert refused["id"] == 1
    assert "near.example" in refused["error"]["message"]
    assert [(await host.last.next())["id"], (await host.last.next())["id"]] == [0, 2]
    assert requests == ["far.example", "near.example", "nowhere.example"]
    opened.disconnect(1000)
    await opened.task


async def test_a_request_with_many_names_is_refused_without_a_lookup(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    requests: list[str] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", requests.append)
    servers = [_at(f"https://h{number}.example/") for number in range(40)]
    message = request(1, "session/new", cwd="/", mcpServers=servers)
    response = await _refused_by_websocket(HttpApp(ScriptedAgent()), message)
    assert response["error"]["code"] == -32602
    assert requests == []


@pytest.mark.requirement("SAFE-IN-09")
async def test_of_an_array_only_what_names_a_command_is_refused() -> None:
    host = ScriptedAgent()
    socket = await WebSocket.open(Client(HttpApp(host)))
    socket.send(
        [
            request(1, "session/new", cwd="/", mcpServers=[COMMAND]),
            {"jsonrpc": "2.0", "method": "_vendor/add", "params": {"mcpServers": [COMMAND]}},
            request(2, "session/list"),
        ]
    )
    assert (await socket.message())["id"] == 1
    assert (await host.last.next())["id"] == 2
    socket.disconnect(1000)
    await socket.task


@BOTH
async def test_servers_of_the_client_and_public_ones_reach_the_agent(refused: Any) -> None:
    host = ScriptedAgent()
    message = request(7, "session/new", cwd="/", mcpServers=[OWN, PUBLIC])
    asking = asyncio.create_task(refused(HttpApp(host), message))
    assert await (await host.next_connection()).next() == message
    host.last.respond(7, {"sessionId": "s"})
    assert (await asking)["result"] == {"sessionId": "s"}


@pytest.mark.requirement("SAFE-IN-09")
async def test_the_operator_can_allow_commands() -> None:
    host = ScriptedAgent()
    app = HttpApp(host, access=Access(allow_local_servers=True))
    message = request(7, "session/new", cwd="/", mcpServers=[COMMAND, _at("http://127.0.0.1/")])
    socket = await WebSocket.open(Client(app))
    socket.send(message)
    assert await host.last.next() == message
    socket.disconnect(1000)
    await socket.task


async def test_a_session_that_was_refused_is_counted_no_more() -> None:
    app = HttpApp(ScriptedAgent())
    socket = await WebSocket.open(Client(app))
    socket.send(request(1, "session/new", cwd="/", mcpServers=[COMMAND]))
    await socket.message()
    assert [each.sink.open_sessions for each in app.connections] == [0]
    socket.disconnect(1000)
    await socket.task


async def test_an_agent_of_ours_opens_no_session_with_a_command() -> None:
    agent = Agent("hello")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("hello")

    app = HttpApp(agent)
    async with client_of(app) as client:
        params: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}
        response = await client.post(request(0, "initialize", **params))
        client.connection = response.headers["acp-connection-id"]
        own = await client.stream()
        await client.post(request(1, "session/new", cwd="/", mcpServers=[COMMAND]))
        assert (await own.event()).data["error"]["code"] == -32602
        await client.post(request(2, "session/new", cwd="/", mcpServers=[]))
        assert (await own.event()).data["result"]["sessionId"]


def test_public_addresses_are_distinguished_from_others() -> None:
    assert is_public_address("93.184.216.34")
    assert is_public_address("2606:2800:220:1:248:1893:25c8:1946")
    assert not is_public_address("fe80::1%eth0")
    assert not is_public_address("2001:0:7f00:1::")
    assert not is_public_address("somewhere")
