"""Callbacks that run after the response of a handler has been written."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from parley.errors import InvalidParams
from parley.peer import RequestContext
from parley.schema import v1
from parley.schema.v1 import methods

from .raw_peer import chunk, connected, connected_pair


@pytest.mark.requirement("V2-SDK-01")
async def test_what_is_to_follow_the_response_is_sent_after_it() -> None:
    async def new(params: v1.NewSessionRequest, request: RequestContext) -> v1.NewSessionResponse:
        async def greet() -> None:
            await request.peer.notify(methods.UPDATE_SESSION, chunk("s", "second"))

        request.after_response(lambda: steps.append("first"))
        request.after_response(greet)
        return v1.NewSessionResponse(session_id="s")

    steps: list[str] = []
    async with connected("agent", requests={"session/new": new}) as (_, remote):
        remote.call(1, "session/new", {"cwd": "/", "mcpServers": []})
        assert (await remote.receive())["result"] == {"sessionId": "s"}
        assert (await remote.receive())["method"] == "session/update"
        assert steps == ["first"]


async def test_the_client_sees_what_follows_after_its_response() -> None:
    seen: list[str] = []
    notified = asyncio.Event()

    async def new(params: v1.NewSessionRequest, request: RequestContext) -> v1.NewSessionResponse:
        note = chunk("s", "welcome")
        request.after_response(lambda: request.peer.notify(methods.UPDATE_SESSION, note))
        return v1.NewSessionResponse(session_id="s")

    def update(note: v1.SessionNotification) -> None:
        seen.append("update")
        notified.set()

    async with connected_pair(client={"session/update": update}, agent={"session/new": new}) as (
        client,
        _,
    ):
        where = v1.NewSessionRequest(cwd="/", mcp_servers=[])
        await client.request(
            methods.NEW_SESSION, where, on_result=lambda result: seen.append(result.session_id)
        )
        await notified.wait()
    assert seen == ["s", "update"]


@pytest.mark.parametrize("end", ["refuse", "fail", "cancel"])
async def test_nothing_follows_an_error(end: str) -> None:
    steps: list[str] = []
    begun = asyncio.Event()

    async def give_up(params: Raw, request: RequestContext) -> None:
        request.after_response(lambda: steps.append("done"))
        begun.set()
        if end == "cancel":
            await asyncio.Event().wait()
        raise InvalidParams if end == "refuse" else ZeroDivisionError

    async with connected(requests={"_give_up": give_up}) as (_, remote):
        remote.call(1, "_give_up", {})
        await begun.wait()
        remote.notify("$/cancel_request", {"requestId": 1})
        assert "error" in await remote.receive()
        await remote.wait_until_read()
    assert steps == []


async def test_what_follows_may_fail_without_harm(caplog: pytest.LogCaptureFixture) -> None:
    steps: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    async def give(params: Raw, request: RequestContext) -> None:
        request.after_response(fail)
        request.after_response(lambda: steps.append("done"))

    async with connected(requests={"_give": give}) as (_, remote):
        remote.call(1, "_give", {})
        assert (await remote.receive())["result"] == {}
        await remote.wait_until_read()
    assert steps == ["done"]
    assert "a hook after the response to _give failed" in caplog.text


async def test_what_follows_the_responses_of_an_array_is_done_when_the_array_is_written() -> None:
    steps: list[Any] = []
    may_end = asyncio.Event()

    async def give(params: Raw, request: RequestContext) -> None:
        request.after_response(lambda: steps.append(request.id))
        if request.id == 2:
            await may_end.wait()

    async with connected(requests={"_give": give}) as (_, remote):
        call: dict[str, Any] = {"jsonrpc": "2.0", "method": "_give"}
        remote.send([{**call, "id": 1}, {**call, "id": 2}])
        remote.call(3, "_give", {})
        assert (await remote.receive())["id"] == 3
        await remote.wait_until_read()
        assert steps == [3]
        may_end.set()
        responses: Any = await remote.receive()
        assert {response["id"] for response in responses} == {1, 2}
        await remote.wait_until_read()
    assert steps == [3, 1, 2]
