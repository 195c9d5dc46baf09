"""A peer that takes nothing, and senders who do not wait for it."""

from __future__ import annotations

import asyncio

import pytest

from parley.errors import Overloaded
from parley.peer import Limits, Peer
from parley.schema.v1 import methods
from parley.transport import memory_pair

from .raw_peer import TABLE, RawPeer, WatchedTransport, chunk, prompt


@pytest.mark.parametrize("kind", ["request", "update"])
async def test_senders_that_lose_patience_again_and_again_are_refused_in_the_end(kind: str) -> None:
    inner, transport = memory_pair()
    local = WatchedTransport(inner)
    peer = Peer(local, "agent", limits=Limits(connection_bytes=10_000))
    peer.set_handlers(TABLE)

    async def send() -> None:
        if kind == "request":
            await peer.request(methods.PROMPT, prompt("s"))
        else:
            await peer.notify(methods.UPDATE_SESSION, chunk("s", "x" * 1000))

    async def try_to_send() -> bool:
        """Send without waiting for room; returns whether that was refused."""
        before = local.sent
        sending = asyncio.create_task(send())
        while local.sent == before and not sending.done():  # noqa: ASYNC110 - steps of the loop, not time
            await asyncio.sleep(0)  # until it is sent or refused, however many steps that takes
        sending.cancel()
        try:
            await sending
        except Overloaded:
            return True
        except asyncio.CancelledError:
            pass
        return False

    async with peer:
        tries = 0
        while not await try_to_send():
            tries += 1
        sent = local.sent
        for _ in range(10):
            assert await try_to_send()
        assert local.sent == sent
        assert local.full.is_set()
        assert tries > 100

        remote = RawPeer(transport, local)
        transport.start(remote)
        await remote.receive()
        assert not await try_to_send()
