"""Requests that are not wanted any more, in both directions.

https://agentclientprotocol.com/protocol/v1/cancellation
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.errors import InvalidParams, RequestCancelled
from parley.peer import Limits, RequestContext
from parley.schema import v1
from parley.schema.v1 import methods

from .raw_peer import connected, mode, permission, prompt

requirement = pytest.mark.requirement
PERMISSION = "session/request_permission"


class Held:
    """A handler that says when it has begun, and waits until it may end or is cancelled."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.request: RequestContext | None = None
        self.was_cancelled = False

    async def __call__(self, params: Any, request: RequestContext) -> Any:
        self.request = request
        self.begun.set()
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return {"outcome": {"outcome": "cancelled"}}


@requirement("V1-CANCEL-05", "V1-CANCEL-13", "V2-RQC-06")
async def test_who_stops_waiting_cancels_the_request_once_and_a_late_response_is_ignored() -> None:
    async with connected() as (peer, remote):
        task = asyncio.create_task(peer.request(methods.PROMPT, prompt("s")))
        question = await remote.receive()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await remote.receive() == {
            "jsonrpc": "2.0",
            "method": "$/cancel_request",
            "params": {"requestId": question["id"]},
        }
        remote.respond_with_error(question, -32800, "Request cancelled")
        remote.respond(question, {"stopReason": "cancelled"})
        await remote.wait_until_read()
        assert remote.received.empty()


async def test_a_request_with_a_response_is_not_cancelled_any_more() -> None:
    may_handle = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_handle.wait()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        question = await remote.receive()
        remote.update("s", "1")
        remote.respond(question, {})
        await remote.wait_until_read()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        may_handle.set()
        await remote.wait_until_read()
        assert remote.received.empty()


async def test_a_refused_cancellation_arrives_as_such() -> None:
    async with connected() as (peer, remote):
        task = asyncio.create_task(peer.request(methods.PROMPT, prompt("s")))
        remote.respond_with_error(await remote.receive(), -32800, "Request cancelled")
        with pytest.raises(RequestCancelled):
            await task


@requirement("V1-CANCEL-02", "V1-CANCEL-04", "V2-RQC-02")
async def test_a_cancelled_handler_gets_one_response_as_cancelled() -> None:
    held = Held()
    async with connected(requests={PERMISSION: held}) as (_, remote):
        remote.call(5, PERMISSION, permission("s"))
        await held.begun.wait()
        for _ in range(2):
            remote.notify("$/cancel_request", {"requestId": 5})
        assert await remote.receive() == {
            "jsonrpc": "2.0",
            "id": 5,
            "error": {"code": -32800, "message": "Request cancelled"},
        }
        remote.notify("$/cancel_request", {"requestId": 5})
        await remote.wait_until_read()
        assert remote.received.empty()
    assert held.was_cancelled
    assert held.request is not None
    assert (held.request.is_cancelled, held.request.is_withdrawn) == (True, True)


@requirement("V1-CANCEL-02", "V2-RQC-02")
async def test_a_cancelled_handler_may_still_return_what_it_has_or_refuse() -> None:
    begun = asyncio.Event()

    async def partial(params: Any, request: RequestContext) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if request.id == 2:
                raise InvalidParams("too late") from None
            return {"done": "half"}

    async with connected(requests={"_partial": partial}) as (_, remote):
        for id in (1, 2):
            begun.clear()
            remote.call(id, "_partial", {})
            await begun.wait()
            remote.notify("$/cancel_request", {"requestId": id})
        assert (await remote.receive())["result"] == {"done": "half"}
        assert (await remote.receive())["error"] == {"code": -32602, "message": "too late"}


@requirement("V1-CANCEL-08", "V2-RQC-03")
async def test_a_handler_that_cancels_itself_gets_the_response_cancelled() -> None:
    async def give_up(params: Any, request: RequestContext) -> Any:
        raise asyncio.CancelledError

    async with connected(requests={"_give_up": give_up}) as (_, remote):
        remote.call(1, "_give_up", {})
        assert (await remote.receive())["error"]["code"] == -32800
        await remote.wait_until_read()


async def test_a_request_that_is_cancelled_before_it_starts_gets_its_response_at_once() -> None:
    held, may_handle = Held(), asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_handle.wait()

    async with connected(requests={PERMISSION: held}, notifications={"session/update": update}) as (
        _,
        remote,
    ):
        remote.update("s", "1")
        remote.call(5, PERMISSION, permission("s"))
        remote.notify("$/cancel_request", {"requestId": 5})
        assert (await remote.receive())["error"]["code"] == -32800
        may_handle.set()
        await remote.wait_until_read()
        assert remote.received.empty()
    assert not held.begun.is_set()


async def test_a_request_that_is_cancelled_in_the_read_that_brought_it_is_not_begun() -> None:
    held = Held()
    async with connected(requests={PERMISSION: held}) as (_, remote):
        remote.call(5, PERMISSION, permission("s"))
        remote.notify("$/cancel_request", {"requestId": 5})
        remote.notify("$/cancel_request", {"requestId": 5})
        assert (await remote.receive())["error"]["code"] == -32800
        await remote.wait_until_read()
    assert not held.begun.is_set()


@requirement("V1-CANCEL-01", "V1-CANCEL-05", "V1-CANCEL-06", "V2-RQC-01", "V2-RQC-04")
@pytest.mark.parametrize(
    "params",
    [
        {"requestId": "5"},
        {"requestId": 99999},
        {"requestId": None},
        {"requestId": [5]},
        {},
        5,
        None,
    ],
)
async def test_what_names_no_request_under_way_cancels_nothing(params: Any) -> None:
    held = Held()
    async with connected(requests={PERMISSION: held}) as (_, remote):
        remote.call(5, PERMISSION, permission("s"))
        await held.begun.wait()
        remote.notify("$/cancel_request", params)
        await remote.wait_until_read()
        held.may_end.set()
        assert (await remote.receive())["result"] == {"outcome": {"outcome": "cancelled"}}
    assert not held.was_cancelled


@requirement("V1-CANCEL-09")
async def test_a_cancelled_session_tells_its_requests_and_no_others() -> None:
    cancelled: list[str] = []
    requests: dict[str, RequestContext] = {}
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def reply(params: v1.PromptRequest, request: RequestContext) -> v1.PromptResponse:
        requests[params.session_id] = request
        if len(requests) == 2:
            begun.set()
        await may_end.wait()
        reason: v1.StopReason = "cancelled" if request.is_cancelled else "end_turn"
        return v1.PromptResponse(stop_reason=reason)

    async with connected(
        "agent",
        requests={"session/prompt": reply},
        notifications={"session/cancel": lambda note: cancelled.append(note.session_id)},
    ) as (_, remote):
        for id in ("a", "b"):
            body = {"sessionId": id, "prompt": [{"type": "text", "text": "Go on."}]}
            remote.call(id, "session/prompt", body)
        await begun.wait()
        remote.notify("session/cancel", {"sessionId": "a"})
        await remote.wait_until_read()
        assert [requests[id].is_cancelled for id in ("a", "b")] == [True, False]
        assert not requests["a"].is_withdrawn
        may_end.set()
        responses = [await remote.receive(), await remote.receive()]
    assert {response["id"]: response["result"]["stopReason"] for response in responses} == {
        "a": "cancelled",
        "b": "end_turn",
    }
    assert cancelled == ["a"]


@requirement("V1-CANCEL-12", "V2-RQC-05")
async def test_a_cancelled_session_and_a_cancelled_request_in_it_lead_to_one_response() -> None:
    held = Held()
    async with connected("agent", requests={"session/prompt": held}) as (_, remote):
        remote.call(1, "session/prompt", {"sessionId": "s", "prompt": []})
        await held.begun.wait()
        remote.notify("session/cancel", {"sessionId": "s"})
        remote.notify("$/cancel_request", {"requestId": 1})
        assert (await remote.receive())["error"]["code"] == -32800
        await remote.wait_until_read()
        assert remote.received.empty()


async def test_cancelling_makes_room_for_another_request() -> None:
    held = Held()
    async with connected(requests={"_held": held}, limits=Limits(in_flight=1)) as (_, remote):
        remote.call(1, "_held", {})
        await held.begun.wait()
        remote.call(2, "_held", {})
        assert (await remote.receive())["error"]["code"] == -32005
        remote.notify("$/cancel_request", {"requestId": 1})
        assert (await remote.receive())["id"] == 1
        held.may_end.set()
        remote.call(3, "_held", {})
        assert "result" in await remote.receive()
