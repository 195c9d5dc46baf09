"""Unhandled input is bounded, and the limit never causes a deadlock."""

from __future__ import annotations

import asyncio
import logging
import os
import tracemalloc
from collections.abc import Callable

import pytest

from parley.errors import Overloaded
from parley.peer import Limits, Peer, RequestContext
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport import PipeTransport, Transport, memory_pair

from .raw_peer import NOTE, TABLE, WatchedTransport, chunk, connected, mode, permission, text_of

SMALL = Limits(session_bytes=10_000, connection_bytes=100_000)
SOFT, HARD = 50, 200
"""How many updates are more than each of its budgets."""

Ends = Callable[[], tuple[Transport, Transport]]


def pipe_pair() -> tuple[PipeTransport, PipeTransport]:
    (read, their_write), (their_read, write) = os.pipe(), os.pipe()
    return PipeTransport(read, write), PipeTransport(their_read, their_write)


@pytest.mark.parametrize("ends", [memory_pair, pipe_pair])
async def test_20_000_updates_to_a_blocked_handler_stall_the_sender_below_10_mb(ends: Ends) -> None:
    handled: list[int] = []
    may_handle, done = asyncio.Event(), asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_handle.wait()
        handled.append(int(text_of(note)))
        if len(handled) == 20_000:
            done.set()

    async def flood() -> None:
        for number in range(20_000):
            await agent.notify(methods.UPDATE_SESSION, chunk("s", f"{number:060}"))

    local, remote = map(WatchedTransport, ends())
    client, agent = Peer(local, "client"), Peer(remote, "agent")
    client.set_handlers(TABLE, notifications={"session/update": update})
    async with client, agent:
        tracemalloc.start()
        sending = asyncio.create_task(flood())
        await local.paused.wait()
        await remote.full.wait()
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak_bytes < 10_000_000
        assert not sending.done()

        may_handle.set()
        await sending
        await done.wait()
        assert handled == list(range(20_000))


async def test_reading_stops_at_the_budget_of_a_session_and_continues_below_it() -> None:
    handled: list[str] = []
    may_handle = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_handle.wait()
        handled.append(text_of(note))

    async with connected(notifications={"session/update": update}, limits=SMALL) as (_, remote):
        for number in range(SOFT):
            remote.update("s", str(number))
        await remote.near.paused.wait()
        may_handle.set()
        await remote.wait_until_read()
        assert len(handled) > SOFT / 2
        assert not remote.near.paused.is_set()


async def test_reading_stops_when_all_sessions_together_have_too_much() -> None:
    may_handle = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_handle.wait()

    async with connected(
        notifications={"session/update": update},
        limits=Limits(session_bytes=10_000, connection_bytes=20_000),
    ) as (_, remote):
        for number in range(SOFT):
            remote.update(f"s{number}", "1")
        await remote.near.paused.wait()
        may_handle.set()
        await remote.wait_until_read()


async def test_a_flood_of_sessions_that_block_costs_no_more_than_the_budget() -> None:
    limits = Limits(connection_bytes=4_000_000)

    async def update(note: v1.SessionNotification) -> None:
        await asyncio.Event().wait()

    async with connected(notifications={"session/update": update}, limits=limits) as (_, remote):
        tracemalloc.start()
        numbers = iter(range(1_000_000))
        while not remote.near.paused.is_set():
            remote.update(f"s{next(numbers)}", "1")
            await asyncio.sleep(0)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak_bytes < 1.5 * limits.connection_bytes


async def test_reading_continues_for_the_response_that_an_update_handler_waits_for() -> None:
    handled: list[str] = []
    done = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        if text_of(note) == "call":
            await asyncio.wait_for(the_peer.request(methods.SET_SESSION_MODE, mode("s")), 300)
        handled.append(text_of(note))
        if text_of(note) == "last":
            done.set()

    async with connected(notifications={"session/update": update}, limits=SMALL) as (peer, remote):
        the_peer = peer
        remote.update("s", "call")
        question = await remote.receive()
        for _ in range(2):
            for _ in range(SOFT):
                remote.update("s", "more")
            await remote.wait_until_read()
        remote.update("s", "last")
        assert handled == []

        remote.respond(question, {})
        await done.wait()
        assert handled == ["call", *["more"] * 2 * SOFT, "last"]
        assert not remote.near.paused.is_set()


async def test_beyond_the_hard_budget_the_waiting_handler_fails_and_everything_is_handled() -> None:
    handled: list[str] = []
    errors: list[Overloaded] = []
    done = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        for _ in range(2 if text_of(note) == "call" else 0):
            with pytest.raises(Overloaded) as caught:
                await the_peer.request(methods.SET_SESSION_MODE, mode("s"))
            errors.append(caught.value)
        handled.append(text_of(note))
        if text_of(note) == "last":
            done.set()

    async with connected(notifications={"session/update": update}, limits=SMALL) as (peer, remote):
        the_peer = peer
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("other")))
        others = await remote.receive()
        remote.update("s", "call")
        question = await remote.receive()
        for _ in range(HARD):
            remote.update("s", "more")
        remote.update("s", "last")
        await done.wait()
        assert handled == ["call", *["more"] * HARD, "last"]

        assert len(errors) == 2  # the second one at once, and without a word to the peer
        assert (await remote.receive())["params"] == {"requestId": question["id"]}
        assert remote.received.empty()

        assert not task.done()  # who is no handler waits on
        remote.respond(others, {})
        await task


async def test_a_handler_that_waits_for_room_to_send_is_treated_alike() -> None:
    sent: list[int] = []
    caught, other, done = asyncio.Event(), asyncio.Event(), asyncio.Event()
    note = v1.CancelNotification(session_id="s", meta={"text": "x" * 300_000})

    async def update(params: v1.SessionNotification) -> None:
        if params.session_id == "other":
            other.set()
        elif text_of(params) == "last":
            done.set()
        elif text_of(params) == "send":
            await the_peer.notify(NOTE, note)
            for _ in range(2):
                with pytest.raises(Overloaded):
                    await the_peer.notify(NOTE, note)
                sent.append(local.sent)
            caught.set()

    async with connected(notifications={"session/update": update}, limits=SMALL) as (peer, remote):
        the_peer, local = peer, remote.near
        remote.transport.pause_reading()
        remote.update("s", "send")
        for _ in range(SOFT):
            remote.update("s", "more")
        await local.full.wait()
        remote.update("other", "still read")
        await other.wait()

        remote.transport.resume_reading()  # the first one goes out
        assert (await remote.receive())["method"] == "_note"
        remote.transport.pause_reading()
        await local.full.wait()
        for _ in range(HARD):
            remote.update("s", "more")
        remote.update("s", "last")
        await caught.wait()
        assert sent == [2, 2]  # the third one failed before it was sent
        await done.wait()


async def test_the_wait_of_a_requests_handler_is_treated_alike() -> None:
    may_handle = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_handle.wait()

    async def decide(params: v1.RequestPermissionRequest, request: RequestContext) -> None:
        await request.peer.request(methods.SET_SESSION_MODE, mode("s"))

    async with connected(
        notifications={"session/update": update},
        requests={"session/request_permission": decide},
        limits=SMALL,
    ) as (_, remote):
        remote.call(1, "session/request_permission", permission("s"))
        await remote.receive()
        for _ in range(SOFT):
            remote.update("s", "more")
        await remote.wait_until_read()
        assert not remote.near.paused.is_set()

        for _ in range(HARD):
            remote.update("s", "more")
        assert (await remote.receive())["method"] == "$/cancel_request"
        response = await remote.receive()
        assert (response["id"], response["error"]["code"]) == (1, -32005)
        may_handle.set()
        await remote.wait_until_read()


async def test_a_session_that_got_on_while_reading_went_on_does_not_stop_it_later() -> None:
    may_go_on, last_begun, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_go_on.wait()
        if text_of(note) == "last":
            last_begun.set()
            await may_end.wait()

    async def decide(params: v1.RequestPermissionRequest, request: RequestContext) -> None:
        await request.peer.request(methods.SET_SESSION_MODE, mode("other"))

    async with connected(
        notifications={"session/update": update},
        requests={"session/request_permission": decide},
        limits=SMALL,
    ) as (_, remote):
        remote.call(1, "session/request_permission", permission("other"))
        question = await remote.receive()
        for _ in range(SOFT):
            remote.update("s", "more")
        remote.update("s", "last")
        await remote.wait_until_read()
        may_go_on.set()
        await last_begun.wait()

        remote.respond(question, {})
        assert (await remote.receive())["id"] == 1
        await remote.wait_until_read()
        assert not remote.near.paused.is_set()
        may_end.set()


@pytest.mark.parametrize("ends", [memory_pair, pipe_pair])
async def test_two_floods_whose_handlers_send_to_each_other_do_not_deadlock(ends: Ends) -> None:
    limits = Limits(session_bytes=20_000, connection_bytes=200_000)
    local, remote = map(WatchedTransport, ends())
    peers = [Peer(local, "client", limits=limits), Peer(remote, "agent", limits=limits)]
    handled, echoes, refused = [0, 0], [0, 0], [0, 0]
    may_handle, changed = asyncio.Event(), asyncio.Condition()

    async def note(me: int, params: v1.CancelNotification) -> None:
        await may_handle.wait()
        if params.session_id == "echo":
            echoes[me] += 1
        else:
            handled[me] += 1
            try:
                await peers[me].notify(NOTE, v1.CancelNotification(session_id="echo", meta=BODY))
            except Overloaded:
                refused[me] += 1
        async with changed:
            changed.notify_all()

    async def flood(peer: Peer) -> None:
        for _ in range(2_000):
            await peer.notify(NOTE, v1.CancelNotification(session_id="flood", meta=BODY))

    peers[0].set_handlers(TABLE, notifications={"_note": lambda params: note(0, params)})
    peers[1].set_handlers(TABLE, notifications={"_note": lambda params: note(1, params)})
    async with peers[0], peers[1]:
        floods = asyncio.gather(*map(flood, peers))
        for end in (local, remote):
            await end.paused.wait()
            await end.full.wait()
        may_handle.set()
        await floods
        async with changed:
            await changed.wait_for(
                lambda: handled == [2_000, 2_000] and sum(echoes) + sum(refused) >= 4_000
            )


BODY = {"text": "x" * 1000}


async def test_a_flood_of_what_passes_every_barrier_is_bounded_too() -> None:
    cancelled: list[str] = []
    may_handle = asyncio.Event()

    async def cancel(params: v1.CancelNotification) -> None:
        await may_handle.wait()
        cancelled.append(params.session_id)

    async with connected("agent", notifications={"session/cancel": cancel}, limits=SMALL) as (
        _,
        remote,
    ):
        for _ in range(SOFT):
            remote.notify("session/cancel", {"sessionId": "s"})
        await remote.near.paused.wait()
        may_handle.set()
        await remote.wait_until_read()
        assert len(cancelled) > SOFT / 2


async def test_refusals_that_nobody_takes_cost_little_to_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR, "parley")  # what is logged is kept by the test runner
    (read, their_write), (their_read, write) = os.pipe(), os.pipe()
    local = WatchedTransport(PipeTransport(read, write))
    async with Peer(local, "client") as peer:
        os.set_blocking(their_write, False)
        tracemalloc.start()
        while not local.paused.is_set():
            os.write(their_write, b"{\n" * 10_000)
            await asyncio.sleep(0)
        os.write(their_write, b"{\n" * 10_000)
        os.close(their_read)
        await peer.wait_closed()
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    os.close(their_write)
    assert peak_bytes < 3_000_000


async def test_long_requests_under_way_are_bounded_by_their_bytes_and_short_ones_are_not() -> None:
    may_respond = asyncio.Event()

    async def decide(params: object, request: RequestContext) -> dict[str, str]:
        await may_respond.wait()
        return {}

    async with connected(requests={"_ask": decide}, limits=Limits(connection_bytes=200_000)) as (
        _,
        remote,
    ):
        remote.call("longer than all may be", "_ask", {"text": "x" * 300_000})
        remote.call("too long", "_ask", {"text": "x" * 100_000})
        refusal = await remote.receive()
        assert (refusal["id"], refusal["error"]["code"]) == ("too long", -32005)
        remote.call("short", "_ask", {"text": "x"})
        may_respond.set()
        responses = [await remote.receive(), await remote.receive()]
        assert {each["id"] for each in responses} == {"longer than all may be", "short"}
        remote.call("again", "_ask", {"text": "x" * 100_000})
        assert (await remote.receive())["result"] == {}
