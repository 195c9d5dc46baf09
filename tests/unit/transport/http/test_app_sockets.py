"""WebSocket: one socket is one connection, and for those who negotiated it several may be."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
from tests.unit.transport.recorder import Recorder

from parley.rpc._framing import Frame, OversizedFrame
from parley.transport._base import Transport
from parley.transport.http._app.app import HttpApp
from parley.transport.http._app.limits import AppLimits

from .asgi_client import EVENTS, INITIALIZE, Client, client_of
from .manual_clock import ManualClock, settle
from .scripted_agent import ScriptedAgent, request, update_text
from .ws_client import WebSocket

RESUME = {"parley-resume": "1"}


class Kept:
    """Serves connections and keeps what comes, as it came."""

    def __init__(self) -> None:
        self.frames: asyncio.Queue[Frame] = asyncio.Queue()

    async def serve(self, transport: Transport, /) -> None:
        recorder = Recorder(self._keep)
        transport.start(recorder)
        await recorder.until_lost()

    def _keep(self, frames: Sequence[Frame]) -> None:
        for each in frames:
            self.frames.put_nowait(each)


@asynccontextmanager
async def opened(
    client: Client, headers: dict[str, str] | None = None
) -> AsyncGenerator[WebSocket]:
    socket = await WebSocket.open(client, headers)
    try:
        yield socket
    finally:
        socket.reads.set()
        socket.disconnect(1000)
        await socket.task


async def _again(client: Client, first: WebSocket, received: int) -> WebSocket:
    fields = {"parley-resume": f"1; received={received}"}
    fields["acp-connection-id"] = first.headers["acp-connection-id"]
    return await WebSocket.open(client, fields)


@pytest.mark.requirement("TR-WS-01")
async def test_an_upgrade_makes_a_connection_with_its_id_in_a_header() -> None:
    host = ScriptedAgent()
    app = HttpApp(host)
    async with client_of(app) as client, opened(client) as one, opened(client) as other:
        assert len(one.headers["acp-connection-id"]) >= 22
        assert one.headers["acp-connection-id"] != other.headers["acp-connection-id"]
        assert "parley-resume" not in one.headers
        await settle()
        assert len(app.connections) == len(host.served) == 2


async def test_a_new_connection_has_seen_nothing_whatever_its_client_says() -> None:
    app = HttpApp(ScriptedAgent())
    async with client_of(app) as client:
        async with opened(client, {"parley-resume": "1; received=5"}) as socket:
            assert socket.headers["acp-connection-id"]
        assert len(app.connections) == 0


@pytest.mark.requirement("TR-WS-03", "TR-WS-07")
async def test_one_message_is_one_text_frame_both_ways_also_an_array() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client, opened(client) as socket:
        socket.send(INITIALIZE)
        assert (await socket.message())["result"] == {"protocolVersion": 1}
        socket.send(request(1, "session/prompt", "s", text="ü\n"))
        assert (await host.last.next())["params"]["text"] == "ü\n"
        host.last.update("s", "ä\n")
        host.last.respond(1, {})
        assert update_text(await socket.message()) == "ä\n"
        assert (await socket.message())["id"] == 1
        host.last.transport.send(b'[{"jsonrpc":"2.0","id":1,"result":{}}]')
        assert len(await socket.message()) == 1


@pytest.mark.requirement("TR-WS-04")
async def test_binary_frames_are_ignored() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client, opened(client) as socket:
        for data in (b"", b"\0" * 8, b"\xff" * 8, json.dumps(INITIALIZE).encode()):
            socket.send_bytes(data)
        socket.send(request(1, "session/list"))
        assert (await host.last.next())["id"] == 1
        assert host.last.inbox.empty()


@pytest.mark.requirement("TR-WS-05")
@pytest.mark.parametrize("code", [1000, 1001, 1006])
async def test_the_end_of_a_plain_socket_is_the_end_of_its_connection(code: int) -> None:
    host = ScriptedAgent()
    app = HttpApp(host)
    async with client_of(app) as client:
        socket = await WebSocket.open(client)
        await settle()
        socket.disconnect(code)
        assert "client closed" in str(await host.last.lost)
        await socket.task
        assert len(app.connections) == 0


@pytest.mark.parametrize("error", [None, RuntimeError("it is broken")])
async def test_the_end_of_the_agent_closes_the_socket_after_its_last_messages(
    error: Exception | None,
) -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client, opened(client) as socket:
        await settle()
        host.last.update("s", "the last words")
        if error is None:
            host.last.ends.set_result(None)
        else:
            host.last.ends.set_exception(error)
        assert update_text(await socket.message()) == "the last words"
        code, reason = await socket.closed()
        assert code == (1000 if error is None else 1011)
        assert reason
        assert "broken" not in reason


async def test_a_message_over_the_limit_is_skipped_and_reported_as_such() -> None:
    host = Kept()
    app = HttpApp(host, limits=AppLimits(body_bytes=1000))
    async with client_of(app) as client, opened(client) as socket:
        socket.send(request(1, "session/list", text="x" * 1000))
        socket.send(request(2, "session/list"))
        long, short = await host.frames.get(), await host.frames.get()
        assert isinstance(long, OversizedFrame)
        assert long.limit_bytes == 1000
        assert long.startswith(b'{"jsonrpc"')
        assert json.loads(short)["id"] == 2


async def test_delete_ends_a_socket_too_and_other_requests_have_no_business_there() -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client, opened(client) as socket:
        client.connection = socket.headers["acp-connection-id"]
        assert (await client.request("GET", EVENTS)).code == "is_websocket"
        assert (await client.post(request(1, "session/list"))).code == "is_websocket"
        assert (await client.request("DELETE")).status == 202
        assert (await socket.closed())[0] == 1000


async def test_a_server_that_goes_away_says_so() -> None:
    app = HttpApp(ScriptedAgent())
    async with client_of(app) as client, opened(client) as socket:
        await app.aclose()
        code, reason = await socket.closed()
        assert code == 1001
        assert reason.startswith("the server is going away")


@pytest.mark.requirement("SAFE-LIVE-04")
async def test_a_client_that_stops_reading_makes_the_agent_wait() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client, opened(client) as socket:
        await settle()
        socket.reads.clear()

        async def flood() -> None:
            for number in range(20_000):
                host.last.update("s", str(number).ljust(200))
                while (room := host.last.transport.drained()) is not None:
                    await room

        task = asyncio.create_task(flood())
        await settle()
        assert not task.done()
        sink = host.last.transport.sink
        assert sink.unsent_bytes < 300_000
        socket.reads.set()
        for number in range(20_000):
            assert update_text(await socket.message()).strip() == str(number)
        await task


async def test_an_agent_that_reads_nothing_makes_the_client_wait() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client, opened(client) as socket:
        await settle()
        host.last.transport.pause_reading()
        for number in range(6):
            socket.send(request(number, "session/list", _meta="x" * 600_000))
        await settle()
        assert host.last.inbox.empty()
        assert socket._inbox.qsize() == 3, "one waits, and a megabyte is read ahead"
        host.last.transport.resume_reading()
        assert [(await host.last.next())["id"] for _ in range(6)] == list(range(6))


async def test_a_socket_that_is_cut_continues_on_another_without_loss_both_ways() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        socket = await WebSocket.open(client, RESUME)
        assert socket.headers["parley-resume"] == "1; grace=60"
        await settle()
        seen: list[str] = []
        for number in range(20):
            for each in "abc":
                host.last.update("s", f"{number} {each}")
            socket.send(request(number, "session/list"))
            await settle()
            seen.append(update_text(await socket.message()))  # the others are lost on the way
            socket.disconnect()
            await socket.task
            socket = await _again(client, socket, len(seen))
            assert socket.headers["parley-resume"] == f"1; received={number + 1}"
            seen += [update_text(await socket.message()) for _ in range(2)]
            assert (await host.last.next())["id"] == number
        assert seen == [f"{number} {each}" for number in range(20) for each in "abc"]
        assert len(host.served) == 1
        socket.disconnect(1000)
        await host.last.lost
        await socket.task


async def test_a_new_socket_takes_over_from_one_that_is_open_on_one_side() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        old = await WebSocket.open(client, RESUME)
        await settle()
        old.reads.clear()
        host.last.update("s", "a")
        await settle()
        new = await _again(client, old, 0)
        old.send(request(9, "session/list"))  # too late: it will be sent on the new one
        assert update_text(await new.message()) == "a"
        old.reads.set()
        await old.task
        assert host.last.inbox.empty()
        new.send(request(1, "session/list"))
        assert (await host.last.next())["id"] == 1
        new.disconnect(1000)
        await new.task


async def test_what_is_received_is_acknowledged_by_number_bytes_and_time() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock)) as client, opened(client, RESUME) as socket:
        for number in range(64):
            socket.send(request(number, "session/list"))
        await settle()
        socket.send(request(64, "session/list", text="x" * 300_000))
        await settle()
        socket.send(request(65, "session/list"))
        await clock.advance(0.9)
        host.last.update("s", "a")
        assert update_text(await socket.message()) == "a"
        assert socket.acknowledged == [64, 65]
        await clock.advance(0.2)
        host.last.update("s", "b")
        assert update_text(await socket.message()) == "b"
        assert socket.acknowledged == [64, 65, 66]


async def test_what_is_acknowledged_is_not_kept_and_the_rest_is_bounded() -> None:
    host = ScriptedAgent()
    app = HttpApp(host, limits=AppLimits(log_bytes=1000))
    async with client_of(app) as client:
        socket = await WebSocket.open(client, RESUME)
        for number in range(20):
            await settle()
            host.last.update("s", str(number))
            await socket.message()
            if number < 10:
                socket.acknowledge(number + 1)
                socket.acknowledge(10**15)  # nonsense does no harm
                await settle()
        sink = host.last.transport.sink
        assert sink._unacknowledged_bytes <= 1000
        socket.disconnect()
        await socket.task
        fields = {"acp-connection-id": socket.headers["acp-connection-id"]}
        old = await WebSocket.refused(client, {**fields, "parley-resume": "1; received=10"})
        assert (old.status, old.code) == (410, "too_old")
        many = await WebSocket.refused(client, {**fields, "parley-resume": "1; received=21"})
        assert (many.status, many.code) == (400, "bad_cursor")
        again = await _again(client, socket, 19)
        assert update_text(await again.message()) == "19"
        again.disconnect(1000)
        await again.task


async def test_a_connection_that_cannot_be_continued_gets_404() -> None:
    host, clock = ScriptedAgent(), ManualClock()
    async with client_of(HttpApp(host, clock=clock)) as client:
        async with opened(client) as plain:
            fields = {"acp-connection-id": plain.headers["acp-connection-id"]}
            resume = {"parley-resume": "1; received=0"}
            assert (await WebSocket.refused(client, {**fields, **resume})).status == 404
        socket = await WebSocket.open(client, RESUME)
        socket.disconnect()
        await socket.task
        fields = {"acp-connection-id": socket.headers["acp-connection-id"], **resume}
        assert (await WebSocket.refused(client, {**fields, "parley-resume": ""})).status == 404
        await clock.advance(60)
        assert "disconnected for 60 seconds" in str(host.last.lost.result())
        assert (await WebSocket.refused(client, fields)).status == 404
        assert (await WebSocket.refused(client, {**resume, "acp-connection-id": "x"})).status == 404


async def test_a_server_that_can_say_nothing_but_no_says_no() -> None:
    async with client_of(HttpApp(ScriptedAgent()), origin="http://evil.example") as client:
        scope = client.scope("GET", type="websocket")
        del scope["extensions"]
        inbox: asyncio.Queue[dict[str, str]] = asyncio.Queue()
        inbox.put_nowait({"type": "websocket.connect"})
        sent: list[object] = []

        async def send(message: object) -> None:
            sent.append(message)

        await client.app(scope, inbox.get, send)
        assert sent == [{"type": "websocket.close", "code": 1008}]
