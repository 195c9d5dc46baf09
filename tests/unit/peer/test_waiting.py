"""Handlers that wait for a peer which needs them: nobody waits for ever, and order is kept."""

from __future__ import annotations

import asyncio

import pytest

from parley.peer import Peer, RequestContext
from parley.peer._dispatcher import DeferredRequest, Dispatcher, Key
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport import memory_pair

from .raw_peer import TABLE, chunk, connected, mode, permission, prompt, text_of


async def _allow(
    params: v1.RequestPermissionRequest, request: RequestContext
) -> v1.RequestPermissionResponse:
    return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())


async def test_the_peer_may_ask_back_before_it_responds_to_an_update_handler() -> None:
    response_received = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await client.request(methods.SET_SESSION_MODE, mode("s"))
        response_received.set()

    async def set_mode(
        params: v1.SetSessionModeRequest, request: RequestContext
    ) -> v1.SetSessionModeResponse:
        call = v1.ToolCallUpdate(tool_call_id="call-1")
        ask = v1.RequestPermissionRequest(session_id="s", tool_call=call, options=[])
        await request.peer.request(methods.REQUEST_PERMISSION, ask)
        return v1.SetSessionModeResponse()

    local, remote = memory_pair()
    client, agent = Peer(local, "client"), Peer(remote, "agent")
    client.set_handlers(
        TABLE,
        notifications={"session/update": update},
        requests={"session/request_permission": _allow},
    )
    agent.set_handlers(TABLE, requests={"session/set_mode": set_mode})
    async with client, agent:
        await agent.notify(methods.UPDATE_SESSION, chunk("s", "1"))
        await response_received.wait()


async def test_a_request_that_waits_begins_when_the_handler_before_it_begins_to_wait() -> None:
    may_call = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_call.wait()
        await the_peer.request(methods.SET_SESSION_MODE, mode("s"))

    async with connected(
        notifications={"session/update": update}, requests={"session/request_permission": _allow}
    ) as (peer, remote):
        the_peer = peer
        remote.update("s", "1")
        remote.call(1, "session/request_permission", permission("s"))
        await remote.wait_until_read()
        may_call.set()

        messages = [await remote.receive(), await remote.receive()]
        assert {message.get("method", "response") for message in messages} == {
            "session/set_mode",
            "response",
        }
        remote.respond(next(message for message in messages if "method" in message), {})


async def test_a_request_does_not_pass_an_update_whose_handler_has_not_begun() -> None:
    steps: list[str] = []

    async def update(note: v1.SessionNotification) -> None:
        if text_of(note) == "call":
            await the_peer.request(methods.SET_SESSION_MODE, mode("s"))
        steps.append(text_of(note))

    async def decide(
        params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        steps.append("asked")
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())

    async with connected(
        notifications={"session/update": update}, requests={"session/request_permission": decide}
    ) as (peer, remote):
        the_peer = peer
        remote.update("s", "call")
        question = await remote.receive()
        remote.update("s", "tool call")
        remote.call(1, "session/request_permission", permission("s"))
        await remote.wait_until_read()
        assert steps == []

        remote.respond(question, {})
        assert (await remote.receive())["id"] == 1
        assert steps == ["call", "tool call", "asked"]


def watch_patience(monkeypatch: pytest.MonkeyPatch, looks: asyncio.Queue[bool]) -> None:
    """Make patience short, and tell after each look whether the session has a lane left."""
    look = Dispatcher._start_after_timeout

    def watched(self: Dispatcher, key: Key, held: DeferredRequest) -> None:
        look(self, key, held)
        looks.put_nowait(key in self._lanes)

    monkeypatch.setattr("parley.peer._dispatcher.START_TIMEOUT", 0.001)
    monkeypatch.setattr(Dispatcher, "_start_after_timeout", watched)


@pytest.mark.parametrize("way", ["plain", "wait_for"])
@pytest.mark.parametrize("between", ["nothing", "an update", "a response"])
async def test_what_a_handler_waits_for_may_need_a_request_after_something_else(
    between: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.peer._dispatcher.START_TIMEOUT", 0.02)
    done = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        if text_of(note) == "1":
            call = the_peer.request(methods.SET_SESSION_MODE, mode("s"))
            await (call if way == "plain" else asyncio.wait_for(call, 300))
            done.set()

    async with connected(
        notifications={"session/update": update}, requests={"session/request_permission": _allow}
    ) as (peer, remote):
        the_peer = peer
        task = asyncio.create_task(peer.request(methods.PROMPT, prompt("s")))
        question = await remote.receive()
        remote.update("s", "1")
        needs_permission = await remote.receive()
        if between == "an update":
            remote.update("s", "2")
        if between == "a response":
            remote.respond(question, {"stopReason": "end_turn"})
        remote.call(1, "session/request_permission", permission("s"))
        assert (await remote.receive())["id"] == 1
        remote.respond(needs_permission, {})
        await done.wait()
        if between != "a response":
            remote.respond(question, {"stopReason": "end_turn"})
        await task


async def test_a_slow_handler_that_asks_nothing_is_waited_for_however_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[str] = []
    looks: asyncio.Queue[bool] = asyncio.Queue()
    watch_patience(monkeypatch, looks)

    async def update(note: v1.SessionNotification) -> None:
        for _ in range(3):
            assert await looks.get()
        steps.append("handled")

    async def decide(
        params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        steps.append("asked")
        return v1.RequestPermissionResponse(outcome=v1.CancelledPermissionOutcome())

    async with connected(
        notifications={"session/update": update}, requests={"session/request_permission": decide}
    ) as (_, remote):
        remote.update("s", "1")
        remote.call(1, "session/request_permission", permission("s"))
        assert (await remote.receive())["id"] == 1
    assert steps == ["handled", "asked"]


async def test_a_request_that_is_still_held_when_the_connection_closes_is_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, looks = asyncio.Event(), asyncio.Queue[bool]()
    watch_patience(monkeypatch, looks)

    async def update(note: v1.SessionNotification) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with connected(
        notifications={"session/update": update}, requests={"session/request_permission": _allow}
    ) as (_, remote):
        remote.update("s", "1")
        await begun.wait()
        remote.call(1, "session/request_permission", permission("s"))
        await remote.wait_until_read()
    while await looks.get():
        pass
    assert (await remote.receive()) == {"lost": "the peer closed the connection"}
    assert remote.received.empty()
