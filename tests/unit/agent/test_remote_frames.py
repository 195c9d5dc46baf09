"""Frames of an agent on the network: no transport reads what its own peer has written."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest
from tests.unit.agent.test_asgi import TOKEN, served

from parley.agent import Agent, Turn
from parley.client import Remote, connect
from parley.transport import _frame_head as frame_head

_READERS = {frame_head.peek.__code__, frame_head.peek_params.__code__}


@contextmanager
def frames_read() -> Generator[list[Any]]:
    """Collect the frames whose head is read in the block."""
    read: list[Any] = []

    def see(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in _READERS:
            read.append(next(iter(frame.f_locals.values())))

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        yield read
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_no_transport_reads_the_head_of_a_frame_of_its_own_peer(
    scheme: str, version: int
) -> None:
    sent: list[bytes] = []

    def observe(direction: str, frame: Any) -> None:
        if direction == "outbound":
            sent.append(frame)

    async def allow(request: Any, session: Any) -> str:
        return str(request.options[0].option_id)

    agent = Agent("writer", observer=observe)

    @agent.prompt
    async def write(turn: Turn) -> None:
        await turn.say("one")
        async with turn.tool("Write", kind="edit") as call:
            await turn.ask_permission(tool=call)
        await turn.say("two")

    app = agent.asgi(tokens=[TOKEN])
    with frames_read() as read:
        async with served(app) as base:
            url = f"{scheme}{base.removeprefix('http')}/acp"
            async with connect(
                url,
                "/",
                remote=Remote(token=TOKEN),
                versions=[version],
                permission=allow,
                observer=observe,
            ) as client:
                session = await client.new_session()
                assert await session.ask("Hello") == "one\n\ntwo"
                await session.cancel()
                await session.close()
    assert len(sent) > 10
    assert read, "inbound frames are read"
    assert not [frame for frame in sent if any(each is frame for each in read)]
