"""From an address to a connection: schemes, tokens, TLS, and servers that know WebSocket alone."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.unit.transport.http.certificate import written
from tests.unit.transport.http.counting_agent import encode_request
from tests.unit.transport.http.scripted_server import ScriptedServer, serve_http2
from tests.unit.transport.recorder import Recorder
from websockets.asyncio.server import ServerConnection, serve

from parley.agent import Agent, Turn
from parley.asgi_server.server import Server
from parley.asgi_server.tls import server_tls
from parley.client import Remote, connect
from parley.errors import ConnectFailed, ConnectionClosed, Unauthorized
from parley.transport._target import command_of, open_target
from parley.transport.http._app.access import Access
from parley.transport.http._app.app import HttpApp
from parley.transport.http._asgi_types import Receive, Scope, Send
from parley.transport.http._client.http_transport import HttpTransport
from parley.transport.http._client.websocket_transport import WebSocketTransport

TOKEN = "t0ps3cret"
both = pytest.mark.parametrize("scheme", ["http", "ws"])
agent = Agent("echo")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


@asynccontextmanager
async def guarded() -> AsyncGenerator[int]:
    access = Access(tokens={TOKEN: "me"})
    async with Server(HttpApp(agent, access=access)) as server:
        yield server.addresses[0][1]


@both
async def test_a_remote_agent_is_a_target_like_any_other(
    scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        guarded() as port,
        connect(f"{scheme}://127.0.0.1:{port}/acp", remote=Remote(token=TOKEN)) as connection,
    ):
        session = await connection.new_session()
        assert (await session.prompt("hello")).text == "You said: hello"
    ours = [record for record in caplog.records if record.name.startswith("parley")]
    assert all(TOKEN not in record.getMessage() for record in ours)


@both
@pytest.mark.parametrize("token", [None, "wrong", TOKEN[:-1]])
async def test_a_wrong_token_is_reported(scheme: str, token: str | None) -> None:
    async with guarded() as port:
        with pytest.raises(Unauthorized, match="requires a token, or a different one") as caught:
            async with connect(f"{scheme}://127.0.0.1:{port}/acp", remote=Remote(token=token)):
                pass
    assert token is None or token not in str(caught.value)


@both
async def test_tls_with_a_certificate_of_ones_own(scheme: str, tmp_path: Path) -> None:
    certificate, key = written(tmp_path)
    access = Access(hosts=["localhost"])
    async with Server(HttpApp(agent, access=access), tls=server_tls(certificate, key)) as server:
        url = f"{scheme}s://localhost:{server.addresses[0][1]}"
        async with connect(url, remote=Remote(ca_file=certificate)) as connection:
            session = await connection.new_session()
            assert (await session.prompt("hello")).text == "You said: hello"
        with pytest.raises(ConnectFailed, match="is not trusted"):
            async with connect(url):
                pass


@pytest.mark.requirement("TR-WS-09")
async def test_the_scheme_says_how_an_agent_is_reached() -> None:
    async with guarded() as port:
        async with open_target(f"HTTP://127.0.0.1:{port}", token=TOKEN) as transport:
            assert isinstance(transport, HttpTransport)
        async with open_target(f"ws://127.0.0.1:{port}", token=TOKEN) as transport:
            assert isinstance(transport, WebSocketTransport)
    assert command_of("https://agent.example/acp") is None
    with pytest.raises(ConnectFailed, match="ftp://"):
        async with open_target("ftp://agent.example"):
            pass


async def nobody(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "websocket.accept", "headers": [(b"acp-connection-id", b"c-1")]})
    while "text" in (message := await receive()):
        request = json.loads(message["text"])
        response = {"jsonrpc": "2.0", "id": request["id"], "result": {"method": request["method"]}}
        await send({"type": "websocket.send", "text": json.dumps(response)})


@pytest.mark.requirement("TR-HTTP-02", "TR-WS-06", "TR-HTTP-25")
@pytest.mark.parametrize("status", [400, 404, 405, 426, 501])
async def test_a_server_that_knows_websocket_alone_is_spoken_to_so(status: int) -> None:
    server = ScriptedServer()
    server.first = (status, [(b"set-cookie", b"node=7")], b"")
    cookies: list[bytes] = []

    async def upgraded(scope: Scope, receive: Receive, send: Send) -> None:
        cookies.append(dict(scope["headers"])[b"cookie"])
        await nobody(scope, receive, send)

    server.websocket = upgraded
    async with serve_http2(server) as url:
        transport = await HttpTransport.open(url)
        seen = Recorder()
        transport.start(seen)
        transport.send(encode_request(0, "initialize"))
        transport.send(encode_request(1, "session/new"))
        frames = await seen.until_frames(2)
        assert [json.loads(each)["result"]["method"] for each in frames] == [
            *("initialize", "session/new")
        ]
        transport.pause_reading()
        transport.resume_reading()
        transport.send(encode_request(2, "session/list"))
        await seen.until_frames(3)
        assert transport.drained() is None
        await transport.aclose()
        assert seen.reason == "the connection was closed by us"
    assert cookies == [b"node=7"]


@pytest.mark.requirement("TR-HTTP-02")
async def test_a_server_that_hangs_up_on_a_post_is_tried_as_a_websocket() -> None:
    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            request = json.loads(message)
            await connection.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {}}))

    async with serve(echo, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        transport = await HttpTransport.open(f"http://127.0.0.1:{port}/acp")
        seen = Recorder()
        transport.start(seen)
        transport.send(encode_request(0, "initialize"))
        assert json.loads((await seen.until_frames(1))[0])["id"] == 0
        await transport.aclose()


async def test_a_server_that_knows_neither_is_reported_by_its_first_response() -> None:
    server = ScriptedServer()
    server.first = (404, [], b"nothing here")
    async with serve_http2(server) as url:
        with pytest.raises(ConnectFailed, match=r"\(404\): nothing here"):
            async with connect(url):
                pass


async def test_a_transport_that_was_never_used_ends_quietly() -> None:
    async with guarded() as port:
        for kind in (HttpTransport, WebSocketTransport):
            scheme = "http" if kind is HttpTransport else "ws"
            transport = await kind.open(f"{scheme}://127.0.0.1:{port}", token=TOKEN)
            await transport.aclose()
            seen = Recorder()
            transport.start(seen)
            assert await seen.until_lost() == "the connection was closed by us"
            with pytest.raises(ConnectionClosed):
                transport.send(b"{}")
