"""Handlers that raise or return anything: the peer gets a response, and it stays connected."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.errors import InternalError
from parley.peer import RequestContext
from parley.schema import v1
from parley.schema.v1 import methods

from .raw_peer import connected, connected_pair, text_of

ERRORS = [
    SystemExit(1),
    KeyboardInterrupt(),
    BaseException("odd"),
    BaseExceptionGroup("g", [SystemExit()]),
]
IDS = ["exit", "interrupt", "odd", "group"]


@pytest.mark.requirement("SAFE-COST-03")
@pytest.mark.parametrize("error", ERRORS, ids=IDS)
@pytest.mark.parametrize("is_late", [False, True], ids=["at-once", "later"])
async def test_a_request_whose_handler_raises_anything_gets_an_error(
    error: BaseException, is_late: bool
) -> None:
    async def fail(params: Any, request: RequestContext) -> Any:
        if is_late:
            await asyncio.sleep(0)
        raise error

    async def work(params: Any, request: RequestContext) -> Any:
        return {"fine": True}

    async with connected(requests={"_fail": fail, "_work": work}) as (_, remote):
        remote.call(1, "_fail", {})
        assert (await remote.receive())["error"]["code"] == InternalError.code
        remote.call(2, "_work", {})
        assert (await remote.receive())["result"] == {"fine": True}


@pytest.mark.parametrize(
    "value",
    ["\ud800", {"deep": ["\udfff"]}, object(), {1j: 2}, float("nan")],
    ids=["surrogate", "inner", "object", "complex", "nan"],
)
async def test_a_request_whose_handler_returns_anything_gets_a_response(value: object) -> None:
    async def work(params: Any, request: RequestContext) -> Any:
        return value

    async with connected(requests={"_work": work}) as (_, remote):
        remote.call(1, "_work", {})
        response = await remote.receive()
        assert response["id"] == 1
        assert "result" in response or response["error"]["code"] == InternalError.code


@pytest.mark.parametrize("error", ERRORS, ids=IDS)
async def test_updates_after_one_whose_handler_raises_anything_are_handled(
    error: BaseException,
) -> None:
    handled = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        if text_of(note) == "fail":
            raise error
        handled.set()

    async with connected(notifications={"session/update": update}) as (_, remote):
        remote.update("s", "fail")
        remote.update("s", "more")
        await asyncio.wait_for(handled.wait(), 300)


async def test_what_follows_a_response_and_an_observer_can_raise_anything_too() -> None:
    def observe(direction: object, frame: object) -> None:
        raise SystemExit

    def leave() -> None:
        raise SystemExit

    async def work(params: Any, request: RequestContext) -> Any:
        request.after_response(leave)
        return {}

    async with connected(requests={"_work": work}, observer=observe) as (_, remote):
        for number in range(2):
            remote.call(number, "_work", {})
            assert (await remote.receive())["result"] == {}


async def test_the_caller_gets_what_a_callback_of_its_request_raises() -> None:
    async def work(params: v1.CloseSessionRequest, request: RequestContext) -> Any:
        return {}

    def leave(result: object) -> None:
        raise SystemExit(4)

    async with connected_pair(agent={"session/close": work}) as (client, _):
        with pytest.raises(RuntimeError, match="SystemExit was raised: 4"):
            await client.request(
                methods.CLOSE_SESSION, v1.CloseSessionRequest(session_id="s"), on_result=leave
            )
        await client.request(methods.CLOSE_SESSION, v1.CloseSessionRequest(session_id="s"))
