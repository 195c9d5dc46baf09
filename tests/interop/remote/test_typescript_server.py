"""Our client against the official TypeScript SDK's server, over HTTP and WebSocket."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.peers import TYPESCRIPT, WEBSOCKETS, Peer, find_node

from parley.client import Connection, Session, connect
from parley.schema import v2
from parley.transport.http.http import HttpTransport

PROGRAM = Path(__file__).parents[1] / "peers" / "typescript_server.mjs"
everywhere = pytest.mark.parametrize(
    ("scheme", "version"), [("http", 1), ("http", 2), ("ws", 1), ("ws", 2)]
)


@pytest.fixture
def node(find_peer: Callable[[Peer], Path]) -> str:
    find_peer(TYPESCRIPT)
    find_peer(WEBSOCKETS)
    return find_node()


def allow(request: v2.RequestPermissionRequest, session: Session) -> str:
    return request.options[0].option_id


@asynccontextmanager
async def connected(node: str, scheme: str, version: int) -> AsyncGenerator[Connection]:
    program = await asyncio.create_subprocess_exec(
        node, str(PROGRAM), str(version), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert program.stdout is not None
    assert program.stdin is not None
    try:
        url = f"{scheme}://127.0.0.1:{int(await program.stdout.readline())}/acp"
        async with connect(url, versions=(version,), permission=allow) as connection:
            yield connection
    finally:
        program.stdin.close()
        await program.wait()


@everywhere
async def test_a_flood_arrives_whole_and_in_order(node: str, scheme: str, version: int) -> None:
    async with connected(node, scheme, version) as connection:
        session = await connection.new_session()
        turn = await session.prompt("flood 2000")
        assert turn.stop_reason == "end_turn"
        assert [int(word) for word in turn.text.split()] == list(range(2000))


@everywhere
async def test_questions_are_answered_and_turns_cancelled(
    node: str, scheme: str, version: int
) -> None:
    async with connected(node, scheme, version) as connection:
        session = await connection.new_session()
        assert (await session.prompt("ask")).text == "yes"
        running = session.prompt("wait")
        async for update in running:
            if getattr(update, "content", None):
                await session.cancel()
        assert (await running).stop_reason == "cancelled"
        assert (await session.prompt("flood 3")).text == "0 1 2 "


@everywhere
async def test_sessions_on_one_connection_do_not_mix(node: str, scheme: str, version: int) -> None:
    async with connected(node, scheme, version) as connection:
        sessions = [await connection.new_session() for _ in range(5)]
        turns = await asyncio.gather(
            *(each.prompt(f"flood {100 * number}") for number, each in enumerate(sessions))
        )
        counts = [len(turn.text.split()) for turn in turns]
        assert counts == [0, 100, 200, 300, 400]
        await sessions[0].close()


@everywhere
async def test_a_session_is_loaded_with_its_history(node: str, scheme: str, version: int) -> None:
    async with connected(node, scheme, version) as connection:
        session = await connection.resume_session("old")
        texts = [entry.text for entry in session.transcript.messages]
        assert "".join(texts) == "onetwothree"


async def test_its_server_speaks_http_1_and_is_spoken_to_so(node: str) -> None:
    async with connected(node, "http", 1) as connection:
        transport = connection.peer._transport
        assert isinstance(transport, HttpTransport)
        assert transport.http_version == "1.1"
        assert not transport.resumes
