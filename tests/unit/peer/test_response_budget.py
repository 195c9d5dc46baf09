"""Responses that the peer does not read are bounded, and none of them is lost."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.errors import InvalidParams, Overloaded
from parley.peer import Limits, Peer, RequestContext, reserve_response
from parley.schema import v1
from parley.transport import memory_pair

from .raw_peer import TABLE, Message, RawPeer, WatchedTransport, connected

TEXT = "x" * 100_000
BUDGET = Limits(response_bytes=1_000_000)
"""Room for ten texts."""
FLOOD = 200

Handler = Callable[[Any, RequestContext], Awaitable[Any]]


@asynccontextmanager
async def unread(
    handler: Handler, limits: Limits = BUDGET
) -> AsyncGenerator[tuple[Peer, RawPeer], None]:
    """Join a peer that handles `_text` and a far end that reads only after `transport.start`."""
    inner, transport = memory_pair()
    local = WatchedTransport(inner)
    peer = Peer(local, "client", limits=limits)
    peer.set_handlers(TABLE, requests={"_text": handler})
    async with peer:
        yield peer, RawPeer(transport, local)


def flood(remote: RawPeer, count: int = FLOOD) -> None:
    for number in range(count):
        remote.call(number, "_text", {})


async def settle() -> None:
    """Run every task as far as it gets without the peer; nothing here waits for time."""
    for _ in range(20 * FLOOD):
        await asyncio.sleep(0)


async def read_all(remote: RawPeer, count: int = FLOOD) -> list[Message]:
    remote.transport.start(remote)
    return [await remote.receive() for _ in range(count)]


@pytest.mark.requirement("SAFE-COST-01")
async def test_handlers_begin_only_while_there_is_room_for_their_responses() -> None:
    begun = 0

    async def text(params: Any, request: RequestContext) -> Any:
        nonlocal begun
        begun += 1
        return {"content": TEXT}

    async with unread(text) as (_, remote):
        flood(remote)
        await settle()
        assert 10 <= begun <= 14
        assert remote.near.sent == begun

        responses = await read_all(remote)
        assert [response["id"] for response in responses] == list(range(FLOOD))
        assert all(response["result"] == {"content": TEXT} for response in responses)


async def test_results_of_handlers_that_have_begun_are_encoded_when_there_is_room() -> None:
    may_end = asyncio.Event()
    begun = 0

    async def text(params: Any, request: RequestContext) -> Any:
        nonlocal begun
        begun += 1
        await may_end.wait()
        return {"content": TEXT}

    async with unread(text) as (_, remote):
        flood(remote)
        await settle()
        assert begun == FLOOD
        may_end.set()
        await settle()
        assert 10 <= remote.near.sent <= 14
        assert [response["id"] for response in await read_all(remote)] == list(range(FLOOD))


async def test_a_handler_that_has_ended_goes_before_one_that_has_not_begun() -> None:
    may_end = asyncio.Event()
    begun: list[int] = []

    async def text(params: Any, request: RequestContext) -> Any:
        assert isinstance(request.id, int)
        begun.append(request.id)
        if request.id == 0:
            await may_end.wait()
        return {"content": TEXT}

    async with unread(text) as (_, remote):
        flood(remote, 30)
        await settle()
        last_begun = begun[-1]
        may_end.set()
        await settle()
        ids = [response["id"] for response in await read_all(remote, 30)]
        assert ids.index(0) == last_begun
        assert sorted(ids) == list(range(30))


@pytest.mark.requirement("SAFE-COST-01")
@pytest.mark.parametrize("fails", [False, True], ids=["result", "error"])
async def test_params_of_requests_whose_response_waits_are_not_kept(fails: bool) -> None:
    async def text(params: Any, request: RequestContext) -> Any:
        if request.id == "first":
            return {"content": TEXT * 5}  # more than the transport takes at once
        if fails:
            raise InvalidParams
        return {}

    async with unread(text) as (_, far):
        far.call("first", "_text", {})
        await settle()
        tracemalloc.start()
        try:
            for number in range(FLOOD):
                far.call(number, "_text", {"text": TEXT})
            await settle()
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held < 20 * len(TEXT)
        assert len(await read_all(far, FLOOD + 1)) == FLOOD + 1


@pytest.mark.requirement("SAFE-COST-01")
async def test_values_are_built_only_while_what_is_reserved_fits() -> None:
    building = most = 0

    async def text(params: Any, request: RequestContext) -> Any:
        nonlocal building, most
        await reserve_response(len(TEXT))
        building += 1
        most = max(most, building)
        await asyncio.sleep(0)
        building -= 1
        return {"content": TEXT}

    async with unread(text) as (_, remote):
        flood(remote)
        await settle()
        assert most == 10
        assert 10 <= remote.near.sent <= 13
        ids = [response["id"] for response in await read_all(remote)]
        assert ids == list(range(FLOOD))
        assert most == 10


async def test_a_reservation_larger_than_the_budget_waits_until_half_of_it_is_free() -> None:
    async def text(params: Any, request: RequestContext) -> Any:
        await request.reserve(10 * BUDGET.response_bytes)
        return {"content": TEXT * 20}

    async with unread(text) as (_, remote):
        flood(remote, 5)
        await settle()
        assert 1 <= remote.near.sent <= 2
        responses = await read_all(remote, 5)
        assert [response["id"] for response in responses] == list(range(5))


async def test_a_request_that_waits_for_room_can_be_cancelled() -> None:
    begun: list[object] = []

    async def text(params: Any, request: RequestContext) -> Any:
        begun.append(request.id)
        return {"content": TEXT}

    async with unread(text) as (_, remote):
        flood(remote, 30)
        await settle()
        assert 29 not in begun
        remote.notify("$/cancel_request", {"requestId": 29})
        remote.notify("$/cancel_request", {"requestId": 28})
        await settle()
        responses = {response["id"]: response for response in await read_all(remote, 30)}
        assert responses[29]["error"]["code"] == -32800
        assert responses[28]["error"]["code"] == -32800
        assert sum("result" in response for response in responses.values()) == 28
        assert 29 not in begun


@pytest.mark.parametrize("wait", ["start", "finish", "reserve"])
async def test_what_waits_for_room_ends_with_the_connection(wait: str) -> None:
    may_end = asyncio.Event()

    async def text(params: Any, request: RequestContext) -> Any:
        if wait == "finish":
            await may_end.wait()
        elif wait == "reserve":
            await request.reserve(len(TEXT))
        return {"content": TEXT}

    async with unread(text) as (peer, remote):
        flood(remote)
        await settle()
        may_end.set()
        await settle()
        await remote.transport.aclose()
        await peer.wait_closed()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, "handlers are left that wait for room on a connection that has ended"


async def test_the_responses_to_an_array_are_bounded_together() -> None:
    async def text(params: Any, request: RequestContext) -> Any:
        return {"content": TEXT}

    async with unread(text) as (_, remote):
        remote.send([{"jsonrpc": "2.0", "id": n, "method": "_text"} for n in range(30)])
        responses: Any = (await read_all(remote, 1))[0]
        assert {response["id"] for response in responses} == set(range(30))
        errors = [response["error"] for response in responses if "error" in response]
        assert len(errors) == 26, "four texts are less than half of the budget"
        assert {error["code"] for error in errors} == {Overloaded.code}
        assert "one by one" in errors[0]["message"]

        flood(remote)
        assert [(await remote.receive())["id"] for _ in range(FLOOD)] == list(range(FLOOD))


async def test_a_request_of_an_array_never_waits_for_room() -> None:
    async def text(params: Any, request: RequestContext) -> Any:
        await request.reserve(4 * len(TEXT))
        return {"content": TEXT}

    async with unread(text) as (_, remote):
        flood(remote, 30)
        await settle()
        remote.send([{"jsonrpc": "2.0", "id": 100 + n, "method": "_text"} for n in range(2)])
        await settle()
        responses: list[Any] = await read_all(remote, 31)
        array: Any = next(each for each in responses if "id" not in each)
        assert {response["error"]["code"] for response in array} == {Overloaded.code}


async def test_a_reserved_response_of_an_array_counts_once() -> None:
    async def text(params: Any, request: RequestContext) -> Any:
        await request.reserve(4 * len(TEXT))
        return {"content": TEXT}

    async with unread(text) as (_, remote):
        remote.transport.start(remote)
        for _ in range(10):
            remote.send([{"jsonrpc": "2.0", "id": n, "method": "_text"} for n in range(2)])
            responses: Any = await remote.receive()
            assert all("result" in response for response in responses), responses


async def test_outside_of_a_handler_there_is_nothing_to_reserve() -> None:
    await reserve_response(10**12)


async def test_a_task_that_outlives_its_handler_reserves_nothing() -> None:
    tasks: list[asyncio.Task[None]] = []

    async def reserve_later(request: RequestContext) -> None:
        await may_reserve.wait()
        await reserve_response(BUDGET.response_bytes // 2)
        await request.reserve(BUDGET.response_bytes // 2)

    async def text(params: Any, request: RequestContext) -> Any:
        tasks.append(asyncio.create_task(reserve_later(request)))
        return {}

    may_reserve = asyncio.Event()
    async with connected(requests={"_text": text}, limits=BUDGET) as (_, remote):
        flood(remote, 20)
        for _ in range(20):
            await remote.receive()
        may_reserve.set()
        await asyncio.gather(*tasks)


async def test_a_task_that_is_still_waiting_when_its_handler_ends_gives_back_what_it_gets() -> None:
    tasks: list[asyncio.Task[None]] = []

    async def text(params: Any, request: RequestContext) -> Any:
        if request.id == "helped":
            tasks.append(asyncio.create_task(reserve_response(len(TEXT))))
            return {}
        await request.reserve(5 * len(TEXT))
        return {"content": TEXT * 5}

    async with unread(text) as (_, remote):
        flood(remote, 2)
        await settle()
        remote.call("helped", "_text", {})
        await settle()
        assert not tasks[0].done()
        await read_all(remote, 3)
        await tasks[0]
        flood(remote, 20)
        assert [(await remote.receive())["id"] for _ in range(20)] == list(range(20))


async def test_a_small_request_is_handled_while_large_ones_wait() -> None:
    async def text(params: Any, request: RequestContext) -> Any:
        await request.reserve(5 * len(TEXT))
        return {"content": TEXT * 4}

    async def permit(params: v1.RequestPermissionRequest, request: RequestContext) -> Any:
        permitted.set()
        return {"outcome": {"outcome": "cancelled"}}

    permitted = asyncio.Event()
    async with unread(text) as (peer, remote):
        handlers: Any = {"_text": text, "session/request_permission": permit}
        peer.set_handlers(TABLE, requests=handlers)
        flood(remote, 5)
        await settle()
        remote.call(
            "small",
            "session/request_permission",
            {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": []},
        )
        await settle()
        assert permitted.is_set()
        responses = await read_all(remote, 6)
        assert {response["id"] for response in responses} == {0, 1, 2, 3, 4, "small"}
