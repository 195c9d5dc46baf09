"""The same with a real agent: `parley.Agent`, served to a client of few lines."""

from __future__ import annotations

import asyncio

import pytest

from parley import Agent
from parley.agent._turn import Turn
from parley.transport.http._app.app import HttpApp
from parley.transport.http._asgi_types import App

from .asgi_client import Client, Exchange, client_of
from .scripted_agent import request
from .ws_client import WebSocket

PROMPT = [{"type": "text", "text": "hello"}]


def _agent() -> Agent:
    agent = Agent("hello")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for number in range(100):
            await turn.say(f"{number} ")

    return agent


def _initialize(version: int) -> dict[str, object]:
    if version == 1:
        return request(0, "initialize", protocolVersion=1, clientCapabilities={})
    info = {"name": "tests", "version": "0"}
    return request(0, "initialize", protocolVersion=2, capabilities={}, info=info)


async def _opened(client: Client, version: int) -> tuple[Exchange, str]:
    response = await client.post(_initialize(version))
    assert response.json["result"]["protocolVersion"] == version
    client.connection = response.headers["acp-connection-id"]
    own = await client.stream()
    await client.post(request(1, "session/new", cwd="/", mcpServers=[]))
    return own, (await own.event()).data["result"]["sessionId"]


async def _turn(client: Client, stream: Exchange, session: str, id: int, version: int) -> str:
    """Prompt, and return what the agent said before its turn ended."""
    await client.post(request(id, "session/prompt", session, prompt=PROMPT), session)
    text, has_response = "", False
    while True:
        data = (await stream.event()).data
        if data.get("id") == id:
            has_response = True
            if version == 1:
                return text
            continue
        update = data["params"]["update"]
        if update["sessionUpdate"] == "agent_message_chunk":
            text += update["content"]["text"]
        elif (
            update["sessionUpdate"] == "state_update" and update["state"] == "idle" and has_response
        ):
            return text


@pytest.mark.requirement("TR-HTTP-16", "TR-HTTP-36")
@pytest.mark.requirement("V1-STDIO-17")
@pytest.mark.parametrize("version", [1, 2])
async def test_a_turn_over_http(version: int) -> None:
    async with client_of(HttpApp(_agent())) as client:
        _, session = await _opened(client, version)
        stream = await client.stream(session)
        output = await _turn(client, stream, session, 2, version)
        assert output.split() == [str(number) for number in range(100)]


@pytest.mark.requirement("TR-HTTP-28", "TR-HTTP-18")
@pytest.mark.parametrize(("version", "load"), [(1, "session/load"), (2, "session/resume")])
async def test_a_session_outlives_its_connection(version: int, load: str) -> None:
    app: App = HttpApp(_agent())
    async with client_of(app) as client:
        _, session = await _opened(client, version)
        stream = await client.stream(session)
        await _turn(client, stream, session, 2, version)
        await client.request("DELETE")
    async with client_of(app) as client:
        response = await client.post(_initialize(version))
        client.connection = response.headers["acp-connection-id"]
        own, stream = await client.stream(), await client.stream(session)
        again: dict[str, object] = {"cwd": "/", "mcpServers": []}
        if version == 2:
            again["replayFrom"] = {"type": "start"}
        await client.post(request(1, load, session, **again), session)
        event = await own.event()
        assert "result" in event.data, event.data
        replayed = ""
        while "99" not in replayed:
            replayed += str((await stream.event()).data)
        assert (await _turn(client, stream, session, 2, version)).startswith("0 1 2")


@pytest.mark.requirement("TR-WS-02", "TR-WS-07")
async def test_on_a_socket_initialize_comes_first_and_batches_get_one_response_frame() -> None:
    async with client_of(HttpApp(_agent())) as client:
        socket = await WebSocket.open(client)
        socket.send(request(0, "session/new", cwd="/", mcpServers=[]))
        assert (await socket.message())["error"]["code"] == -32600
        socket.send(_initialize(2))
        assert (await socket.message())["result"]["protocolVersion"] == 2
        socket.send([request(id, "session/list") for id in (1, 2)])
        assert {each["id"] for each in await socket.message()} == {1, 2}
        socket.disconnect(1000)
        await socket.task


@pytest.mark.requirement("TR-HTTP-34")
async def test_a_client_that_ends_its_connection_ends_the_turn() -> None:
    agent = Agent("slow")
    ends: list[str] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            await turn.say("begun")
            await asyncio.Event().wait()
        finally:
            ends.append("ended")

    app = HttpApp(agent)
    async with client_of(app) as client:
        _, session = await _opened(client, 1)
        stream = await client.stream(session)
        await client.post(request(2, "session/prompt", session, prompt=PROMPT), session)
        await stream.event()
        await client.request("DELETE")
        await app.aclose()
        assert ends == ["ended"]
