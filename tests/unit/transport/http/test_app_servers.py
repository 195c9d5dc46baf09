"""The same under real servers: ours, uvicorn (HTTP/1.1, WebSocket), anycorn (HTTP/2)."""

from __future__ import annotations

import asyncio
import json

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from parley.transport.http._app.access import Access
from parley.transport.http._app.app import HttpApp
from parley.transport.http._asgi_types import Receive, Scope, Send

from .asgi_client import INITIALIZE
from .asgi_servers import SERVERS, connected_client, running_server
from .manual_clock import ManualClock, settle
from .scripted_agent import ScriptedAgent, request, update_text

WITH_SOCKETS = ["ours", "uvicorn", "anycorn"]


class Watched(HttpApp):
    """Tells when a stream has ended."""

    def __init__(self, host: ScriptedAgent) -> None:
        super().__init__(host)
        self.ended: asyncio.Queue[None] = asyncio.Queue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            if scope.get("method") == "GET":
                self.ended.put_nowait(None)


def _socket(port: int, **headers: str) -> connect:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return connect(f"ws://127.0.0.1:{port}/acp", additional_headers=fields, proxy=None)


async def _message(socket: ClientConnection) -> object:
    while isinstance(data := await socket.recv(), bytes):
        pass
    return json.loads(data)


@pytest.mark.requirement("TR-HTTP-03", "TR-HTTP-16", "TR-HTTP-23", "TR-HTTP-04")
@pytest.mark.parametrize("name", SERVERS)
async def test_a_whole_conversation(name: str) -> None:
    host = ScriptedAgent()
    async with connected_client(name, HttpApp(host)) as (client, _):
        await client.initialize()
        versions = {"uvicorn": "1.1", "ours over HTTP/1.1": "1.1"}
        assert client.client.http_version == versions.get(name, "2")
        own = await client.stream()
        assert (await client.post(request(1, "session/new"))).status == 202
        host.last.respond(1, {"sessionId": "s"})
        assert (await own.next()).data["result"] == {"sessionId": "s"}
        stream = await client.stream("s")
        assert (await client.post(request(2, "session/prompt", "s"), "s")).status == 202
        for number in range(2000):
            host.last.update("s", str(number))
        host.last.respond(2, {"stopReason": "end_turn"})
        for number in range(2000):
            assert update_text((await stream.next()).data) == str(number)
        assert (await stream.next()).data["id"] == 2
        assert (await client.request("DELETE")).status == 202
        for each in (own, stream):
            with pytest.raises(StopAsyncIteration):
                await each.next()
        assert (await client.post(request(3, "session/new"))).status == 404


@pytest.mark.requirement("SAFE-LIVE-05")
@pytest.mark.parametrize("name", SERVERS)
async def test_a_reader_that_goes_is_noticed_and_comes_back(name: str) -> None:
    host = ScriptedAgent()
    app = Watched(host)
    async with connected_client(name, app) as (client, _):
        await client.initialize(parley_resume="1")
        stream = await client.stream("s")
        router = host.last.transport.sink
        event = None
        for number in range(5):
            for each in "ab":
                host.last.update("s", f"{number} {each}")
            event = await stream.next()
            assert update_text(event.data) == f"{number} a"
            await stream.aclose()
            await app.ended.get()
            assert router.sessions["s"].reader is None
            stream = await client.stream("s", after=event.id)
            event = await stream.next()
            assert update_text(event.data) == f"{number} b"
        assert event is not None
        taking = await client.stream("s", after=event.id)
        with pytest.raises(StopAsyncIteration):
            await stream.next()
        host.last.update("s", "the end")
        assert update_text((await taking.next()).data) == "the end"


@pytest.mark.requirement("SAFE-LIVE-04")
@pytest.mark.parametrize("name", SERVERS)
async def test_a_client_that_takes_nothing_holds_the_agent_back(name: str) -> None:
    host = ScriptedAgent()
    async with connected_client(name, HttpApp(host)) as (client, _):
        await client.initialize()
        slow, quick = await client.stream("slow"), await client.stream("quick")
        slow.response.pause()
        sent = 0
        text = "x" * 10_000
        while sent < 3000:
            host.last.update("slow", text)
            sent += 1
            room = host.last.transport.drained()
            if room is not None and not (await asyncio.wait({room}, timeout=0.5))[0]:
                break
        assert sent < 3000
        host.last.update("quick", "is not concerned")
        assert update_text((await quick.next()).data) == "is not concerned"
        slow.response.resume()
        for _ in range(sent):
            assert update_text((await slow.next()).data) == text


@pytest.mark.requirement("SAFE-IN-03", "TR-HTTP-32")
@pytest.mark.parametrize("name", SERVERS)
async def test_refusals_say_why_and_the_connection_lives(name: str) -> None:
    app = HttpApp(ScriptedAgent(), access=Access({"secret": "ada"}))
    async with connected_client(name, app) as (client, _):
        token = {"authorization": "Bearer secret"}
        tries = [
            (await client.post(INITIALIZE), 401),
            (await client.post(INITIALIZE, authorization="Bearer secre"), 401),
            (await client.post(INITIALIZE, origin="http://evil.example", **token), 403),
            (await client.post(INITIALIZE, **token, content_type="text/plain"), 415),
            (await client.post([], **token), 501),
            (await client.request("PUT", token), 405),
        ]
        for response, status in tries:
            assert response.status == status
            assert json.loads(await response.read(10_000))["error"]["message"]
        assert tries[0][0].header(b"www-authenticate") == "Bearer"
        assert (await client.post(INITIALIZE, **token)).status == 200


@pytest.mark.requirement("TR-HTTP-32")
@pytest.mark.parametrize("name", SERVERS)
async def test_a_long_body_is_taken_and_one_over_the_limit_is_refused(name: str) -> None:
    host = ScriptedAgent()
    async with connected_client(name, HttpApp(host)) as (client, _):
        await client.initialize()
        long = request(1, "session/list", text="x" * 3_000_000)
        assert (await client.post(long)).status == 202
        assert await host.last.next() == long
        headers = {"content-type": "application/json"}
        response = await client.request("POST", headers, b" " * (17 * 1024 * 1024))
        assert response.status == 413


@pytest.mark.requirement("TR-WS-01", "TR-WS-03", "TR-WS-04", "TR-WS-05", "TR-WS-08")
@pytest.mark.parametrize("name", WITH_SOCKETS)
async def test_a_conversation_on_a_socket(name: str) -> None:
    host = ScriptedAgent()
    async with running_server(name, HttpApp(host)) as port:
        async with _socket(port) as socket:
            assert socket.response is not None
            assert socket.response.headers["Acp-Connection-Id"]
            assert "Parley-Resume" not in socket.response.headers
            await socket.send(b"\0" * 8)
            text = json.dumps(INITIALIZE)
            await socket.send([text[:10], text[10:20], text[20:]])  # in fragments
            assert await _message(socket) == {
                "jsonrpc": "2.0",
                "id": 0,
                "result": {"protocolVersion": 1},
            }
            await (await socket.ping())
            for number in range(1000):
                host.last.update("s", str(number))
            for number in range(1000):
                assert update_text(await _message(socket)) == str(number)
        assert "client closed" in str(await host.last.lost)


@pytest.mark.parametrize("name", WITH_SOCKETS)
async def test_a_socket_that_breaks_is_continued(name: str) -> None:
    host = ScriptedAgent()
    async with running_server(name, HttpApp(host)) as port:
        socket = await _socket(port, Parley_Resume="1")
        assert socket.response is not None
        assert socket.response.headers["Parley-Resume"] == "1; grace=60"
        id = socket.response.headers["Acp-Connection-Id"]
        await socket.send(json.dumps(INITIALIZE))
        await _message(socket)
        for each in "abc":
            host.last.update("s", each)
        assert update_text(await _message(socket)) == "a"
        socket.transport.abort()
        headers = {"Acp_Connection_Id": id, "Parley_Resume": "1; received=2"}
        async with _socket(port, **headers) as again:
            assert again.response is not None
            assert again.response.headers["Parley-Resume"] == "1; received=1"
            assert [update_text(await _message(again)) for _ in range(2)] == ["b", "c"]
        await host.last.lost
        with pytest.raises(InvalidStatus) as refused:
            await _socket(port, **headers)
        assert refused.value.response.status_code == 404


@pytest.mark.requirement("SAFE-IN-01", "SAFE-IN-03")
@pytest.mark.parametrize("name", WITH_SOCKETS)
async def test_an_upgrade_is_refused_before_anything_is_started(name: str) -> None:
    host = ScriptedAgent()
    app = HttpApp(host, access=Access({"secret": "ada"}))
    async with running_server(name, app) as port:
        for status, headers in (
            (401, {}),
            (403, {"Authorization": "Bearer secret", "Origin": "http://evil.example"}),
        ):
            with pytest.raises(InvalidStatus) as refused:
                await _socket(port, **headers)
            assert refused.value.response.status_code == status
            assert json.loads(refused.value.response.body)["error"]["code"]
        assert not host.served


@pytest.mark.requirement("TR-HTTP-34")
@pytest.mark.parametrize("name", WITH_SOCKETS)
async def test_the_end_of_the_agent_reaches_a_socket(name: str) -> None:
    host = ScriptedAgent()
    async with running_server(name, HttpApp(host)) as port, _socket(port) as socket:
        await settle()
        host.last.update("s", "the last words")
        host.last.ends.set_exception(RuntimeError("it is broken"))
        assert update_text(await _message(socket)) == "the last words"
        with pytest.raises(ConnectionClosed) as closed:
            await _message(socket)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (1011, "the agent failed")


@pytest.mark.parametrize("name", SERVERS)
async def test_a_silent_stream_is_kept_alive(name: str) -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with connected_client(name, HttpApp(host, clock=clock)) as (client, _):
        await client.initialize()
        stream = await client.stream()
        chunks = stream.response.chunks()
        opening = await anext(chunks)
        assert opening == b":\n\n"
        await clock.advance(25)
        assert await anext(chunks) == b":\n\n"
