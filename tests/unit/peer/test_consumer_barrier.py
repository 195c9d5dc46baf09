"""Updates that a loop handles, and what is done in a session's turn beside updates."""

from __future__ import annotations

import asyncio

import pytest

from parley.errors import AcpError, ConnectionClosed, RequestError
from parley.peer import Peer, RequestContext
from parley.peer._dispatcher import ConsumerBarrier
from parley.schema import v1
from parley.schema.v1 import methods

from .raw_peer import RawPeer, connected, mode, permission, prompt, text_of


class Loop:
    """Somebody's `async for`: the handler hands updates over, a task takes them."""

    def __init__(self) -> None:
        self.barrier: ConsumerBarrier | None = None
        self.queue: asyncio.Queue[str] = asyncio.Queue()

    def update(self, note: v1.SessionNotification) -> None:
        assert self.barrier is not None
        self.barrier.unfinished += 1
        self.queue.put_nowait(text_of(note))

    async def next(self) -> str:
        assert self.barrier is not None
        text = await self.queue.get()
        self.barrier.begin()
        return text


async def begun(
    peer: Peer, remote: RawPeer
) -> tuple[asyncio.Task[v1.PromptResponse], dict[str, int]]:
    task = asyncio.create_task(peer.request(methods.PROMPT, prompt("s")))
    return task, await remote.receive()


async def test_a_response_waits_until_the_loop_has_come_back_for_more() -> None:
    loop = Loop()
    async with connected(notifications={"session/update": loop.update}) as (peer, remote):
        barrier = loop.barrier = peer.consumer_barrier("s")
        task, question = await begun(peer, remote)
        remote.update("s", "1")
        remote.update("s", "2")
        remote.respond(question, {"stopReason": "end_turn"})
        assert await loop.next() == "1"
        await remote.wait_until_read()
        barrier.done()
        assert await loop.next() == "2"
        await remote.wait_until_read()
        assert not task.done()
        barrier.done()
        assert (await task).stop_reason == "end_turn"


async def test_a_response_that_comes_while_the_body_runs_waits_for_it() -> None:
    loop = Loop()
    async with connected(notifications={"session/update": loop.update}) as (peer, remote):
        barrier = loop.barrier = peer.consumer_barrier("s")
        task, question = await begun(peer, remote)
        remote.update("s", "1")
        await loop.next()
        remote.respond(question, {"stopReason": "end_turn"})
        await remote.wait_until_read()
        assert not task.done()
        barrier.done()
        await task


async def test_what_the_body_asks_passes_the_barrier_and_only_there() -> None:
    loop = Loop()
    async with connected(notifications={"session/update": loop.update}) as (peer, remote):
        barrier = loop.barrier = peer.consumer_barrier("s")
        remote.update("s", "1")
        await loop.next()

        async def ask_elsewhere() -> None:
            await peer.request(methods.SET_SESSION_MODE, mode("s"))

        outside = asyncio.create_task(ask_elsewhere())
        remote.respond(await remote.receive(), {})
        inside = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        remote.respond(await remote.receive(), {})
        await inside
        assert not outside.done()
        barrier.done()
        await outside


async def test_a_request_starts_when_the_loop_has_handled_what_came_before() -> None:
    loop, began = Loop(), asyncio.Event()

    async def ask(
        params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        began.set()
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())

    handlers = {"session/request_permission": ask}
    async with connected(requests=handlers, notifications={"session/update": loop.update}) as (
        peer,
        remote,
    ):
        barrier = loop.barrier = peer.consumer_barrier("s")
        remote.update("s", "1")
        await loop.next()
        remote.call(1, "session/request_permission", permission("s"))
        await remote.wait_until_read()
        assert not began.is_set()
        barrier.done()
        await began.wait()


async def test_a_request_passes_a_body_that_waits_for_the_peer() -> None:
    loop = Loop()

    async def ask(
        params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())

    handlers = {"session/request_permission": ask}
    async with connected(requests=handlers, notifications={"session/update": loop.update}) as (
        peer,
        remote,
    ):
        loop.barrier = peer.consumer_barrier("s")

        async def body() -> None:
            await loop.next()
            await peer.request(methods.SET_SESSION_MODE, mode("s"))

        running = asyncio.create_task(body())
        remote.update("s", "1")
        question = await remote.receive()
        remote.call(1, "session/request_permission", permission("s"))
        assert (await remote.receive())["id"] == 1
        remote.respond(question, {})
        await running


async def test_a_request_that_waits_for_a_body_continues_when_that_waits_for_the_peer() -> None:
    loop, may_ask = Loop(), asyncio.Event()

    async def ask(
        params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())

    handlers = {"session/request_permission": ask}
    async with connected(requests=handlers, notifications={"session/update": loop.update}) as (
        peer,
        remote,
    ):
        loop.barrier = peer.consumer_barrier("s")

        async def body() -> None:
            await loop.next()
            await may_ask.wait()
            await peer.request(methods.SET_SESSION_MODE, mode("s"))

        running = asyncio.create_task(body())
        remote.update("s", "1")
        remote.call(1, "session/request_permission", permission("s"))
        await remote.wait_until_read()
        may_ask.set()
        question = await remote.receive()
        assert question["method"] == "session/set_mode"
        assert (await remote.receive())["id"] == 1
        remote.respond(question, {})
        await running


async def test_leaving_the_loop_counts_as_having_handled_everything() -> None:
    loop = Loop()
    async with connected(notifications={"session/update": loop.update}) as (peer, remote):
        barrier = loop.barrier = peer.consumer_barrier("s")
        task, question = await begun(peer, remote)
        for number in range(3):
            remote.update("s", str(number))
        await loop.next()
        remote.respond(question, {"stopReason": "end_turn"})
        await remote.wait_until_read()
        barrier.close()
        await task


async def test_what_is_posted_takes_its_turn_among_the_updates() -> None:
    seen: list[str] = []
    may_go = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_go.wait()
        seen.append(text_of(note))

    async with connected(notifications={"session/update": update}) as (peer, remote):
        remote.update("s", "1")
        await remote.wait_until_read()
        peer.enqueue("s", seen.append, "posted")
        remote.update("s", "2")
        task, question = await begun(peer, remote)
        may_go.set()
        remote.respond(question, {"stopReason": "end_turn"})
        await task
    assert seen == ["1", "posted", "2"]


async def test_a_refusal_is_reported_before_what_comes_later_is_handled() -> None:
    seen: list[str] = []

    def update(note: v1.SessionNotification) -> None:
        seen.append(text_of(note))

    async with connected(notifications={"session/update": update}) as (peer, remote):

        def on_error(error: AcpError) -> None:
            peer.enqueue("s", seen.append, type(error).__name__)

        task = asyncio.create_task(peer.request(methods.PROMPT, prompt("s"), on_error=on_error))
        question = await remote.receive()
        remote.update("s", "1")
        remote.respond_with_error(question, -32000, "no")
        remote.update("s", "2")
        with pytest.raises(RequestError):
            await task
        await remote.wait_until_read()
        await asyncio.sleep(0)
    assert seen == ["1", "AuthRequired", "2"]


async def test_a_lost_connection_is_reported_too() -> None:
    received: list[AcpError] = []
    async with connected() as (peer, remote):
        task = asyncio.create_task(
            peer.request(methods.PROMPT, prompt("s"), on_error=received.append)
        )
        await remote.receive()
        await remote.transport.aclose()
        with pytest.raises(ConnectionClosed):
            await task
    assert [type(error) for error in received] == [ConnectionClosed]


async def test_what_on_error_raises_is_raised_by_the_call_and_the_connection_lives() -> None:
    def on_error(error: AcpError) -> None:
        raise KeyError("told")

    async with connected() as (peer, remote):
        task = asyncio.create_task(peer.request(methods.PROMPT, prompt("s"), on_error=on_error))
        remote.respond_with_error(await remote.receive(), -32000, "no")
        with pytest.raises(KeyError, match="told"):
            await task
        await remote.wait_until_read()


async def test_a_request_after_a_handler_that_waits_begins_when_the_loop_is_done() -> None:
    loop, has_begun, may_ask = Loop(), asyncio.Event(), asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        if text_of(note) == "for the loop":
            loop.update(note)
            return
        has_begun.set()
        await may_ask.wait()
        await peer.request(methods.SET_SESSION_MODE, mode("s"))

    async def permit(params: object, request: RequestContext) -> dict[str, object]:
        return {"outcome": {"outcome": "cancelled"}}

    async with connected(
        notifications={"session/update": update}, requests={"session/request_permission": permit}
    ) as (peer, remote):
        barrier = loop.barrier = peer.consumer_barrier("s")
        remote.update("s", "for the loop")
        remote.update("s", "for the handler")
        remote.call(7, "session/request_permission", permission("s"))
        await remote.wait_until_read()
        await has_begun.wait()
        may_ask.set()
        question = await remote.receive()
        await loop.next()
        await remote.wait_until_read()
        barrier.done()
        assert (await remote.receive())["id"] == 7
        remote.respond(question, {})


async def test_a_barrier_that_is_closed_leaves_the_next_one_alone() -> None:
    loop = Loop()
    async with connected(notifications={"session/update": loop.update}) as (peer, remote):
        former = peer.consumer_barrier("s")
        barrier = loop.barrier = peer.consumer_barrier("s")
        former.close()
        task, question = await begun(peer, remote)
        remote.update("s", "1")
        remote.respond(question, {"stopReason": "end_turn"})
        await loop.next()
        await remote.wait_until_read()
        assert not task.done()
        barrier.done()
        await task
