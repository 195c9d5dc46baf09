"""Our client against servers on the official SDKs, over HTTP and WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.peers import Peer

from parley.client import Connection, Session, connect
from parley.errors import MethodNotFound
from parley.schema import v2
from parley.transport.http._client.http_transport import HttpTransport

from .programs import Program, everybody, listening


def allow(request: v2.RequestPermissionRequest, session: Session) -> str:
    return request.options[0].option_id


@asynccontextmanager
async def connected(
    program: Program, scheme: str, find_peer: Callable[[Peer], Path]
) -> AsyncGenerator[Connection]:
    async with listening(program.command(find_peer, "server")) as port:
        url, versions = f"{scheme}://127.0.0.1:{port}/acp", (program.version,)
        async with connect(url, versions=versions, permission=allow) as connection:
            yield connection


async def _streams(connection: Connection) -> None:
    session = await connection.new_session()
    turn = await session.prompt("flood 1000")
    assert turn.stop_reason == "end_turn"
    assert [int(word) for word in turn.text.split()] == list(range(1000))


async def _asks_and_cancels(connection: Connection) -> None:
    session = await connection.new_session()
    assert (await session.prompt("ask")).text == "yes"
    running = session.prompt("wait")
    async for update in running:
        if getattr(update, "content", None):
            await session.cancel()
    assert (await running).stop_reason == "cancelled"
    assert (await session.prompt("flood 3")).text == "0 1 2 "


async def _carries_big_messages(connection: Connection) -> None:
    session = await connection.new_session()
    assert len((await session.prompt("big 1000000")).text) == 1_000_000
    assert (await session.prompt(f"measure {'y' * 999_992}")).text == "1000000"


async def _keeps_sessions_apart(connection: Connection) -> None:
    sessions = [await connection.new_session() for _ in range(5)]
    turns = await asyncio.gather(
        *(each.prompt(f"flood {100 * number}") for number, each in enumerate(sessions))
    )
    assert [len(turn.text.split()) for turn in turns] == [0, 100, 200, 300, 400]
    if connection.features.close:
        await sessions[0].close()


async def _opens_again(connection: Connection) -> None:
    session = await connection.resume_session("old")
    assert "".join(entry.text for entry in session.transcript.messages) == "onetwothree"


async def _is_refused(connection: Connection) -> None:
    with pytest.raises(MethodNotFound):
        await connection.request("_demo/nothing", {})


@everybody
async def test_our_client_talks_to_their_server(
    program: Program, scheme: str, find_peer: Callable[[Peer], Path]
) -> None:
    async with connected(program, scheme, find_peer) as connection:
        await _streams(connection)
        await _asks_and_cancels(connection)
        await _carries_big_messages(connection)
        await _keeps_sessions_apart(connection)
        await _is_refused(connection)
        await _opens_again(connection)


async def test_a_server_that_speaks_http_1_is_spoken_to_so(
    find_peer: Callable[[Peer], Path],
) -> None:
    async with connected(Program("typescript", 1), "http", find_peer) as connection:
        transport = connection.peer._transport
        assert isinstance(transport, HttpTransport)
        assert transport.http_version == "1.1"
        assert not transport.resumes
