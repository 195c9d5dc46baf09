"""What waits for one peer is bounded over all of its streams, and those that are read go on."""

from __future__ import annotations

import asyncio

from tests.unit.transport.http.manual_clock import settle

from parley.asgi_server._h2 import H2Protocol
from parley.asgi_server._request_cycle import RequestResponseCycle
from parley.asgi_server._send_window import SendWindow
from parley.asgi_server.server import Server

from .raw_clients import RawH2Client
from .scripted_app import AppCall, ScriptedApp, running_server

MIB = 1024 * 1024


def test_each_may_hold_less_while_there_is_much_on_all() -> None:
    told: list[int] = []
    room = SendWindow(100, 1000, lambda: told.append(room.allowed))
    room.add(500)
    assert room.allowed == 100
    room.add(1)
    assert room.allowed == 0
    room.remove(250)
    assert (room.allowed, told) == (0, [])
    room.remove(1)
    assert (room.allowed, told) == (100, [100])
    room.remove(250)
    assert (room.bytes, told) == (0, [100])


async def _pour(call: AppCall, pieces: int) -> None:
    for _ in range(pieces):
        await call.send_chunk(b"x" * 12_000)


def cycles_of(server: Server) -> dict[int, RequestResponseCycle]:
    """Return what is under way on the only connection."""
    assert server._state is not None
    (connection,) = server._state.connections
    assert isinstance(connection.protocol, H2Protocol)
    return connection.protocol._cycles


async def test_streams_of_http_2_without_windows_hold_little_together() -> None:
    scripted_app = ScriptedApp()
    async with running_server(scripted_app, connection_unsent_bytes=MIB) as (server, port):
        peer = await RawH2Client.connect(port, window=0)
        calls: list[AppCall] = []
        for _ in range(200):
            peer.open()
            calls.append(await scripted_app.next())
            await calls[-1].start()
        pouring = [asyncio.create_task(_pour(call, 10)) for call in calls]
        await settle()
        cycles = cycles_of(server)
        held = sum(each.unsent_bytes for each in cycles.values())
        assert 200 * 12_000 <= held < 200 * 12_000 + MIB // 2 + 12_000, "one piece each, and half"
        assert not any(task.done() for task in pouring)
        # Those that are read go on, and when there is room again everybody does.
        for id in list(cycles):
            peer.codec.increment_flow_control_window(1_000_000, id)
        peer.codec.increment_flow_control_window(100_000_000)
        peer.flush()
        while not all(task.done() for task in pouring):
            assert await peer.read()
        for call in calls:
            call.end()
        peer.raw.abort()
