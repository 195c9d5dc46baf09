"""The end of a connection: every waiter gets the reason, and nothing keeps running."""

from __future__ import annotations

import asyncio
import gc
import itertools
import tracemalloc
from typing import Any

import pytest
from msgspec import Raw

from parley.errors import ConnectionClosed, RemoteProtocolError
from parley.peer import Peer, RequestContext
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport import memory_pair

from .raw_peer import (
    NOTE,
    TABLE,
    Requests,
    connected,
    connected_pair,
    mode,
    permission,
    prompt,
    text_of,
)

BIG = v1.CancelNotification(session_id="s", meta={"text": "x" * 300_000})


@pytest.mark.requirement("V2-SDK-09")
async def test_who_waits_for_a_response_learns_that_there_will_be_none() -> None:
    async with connected() as (peer, remote):
        request = [
            asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode(session)))
            for session in ("a", "b")
        ]
        for _ in request:
            await remote.receive()
        await remote.transport.aclose()
        for each in request:
            with pytest.raises(ConnectionClosed, match="the peer closed the connection"):
                await each
        assert str(await peer.wait_closed()) == "the peer closed the connection"
        with pytest.raises(ConnectionClosed):
            await peer.request(methods.SET_SESSION_MODE, mode("s"))
        with pytest.raises(ConnectionClosed):
            await peer.notify(NOTE, v1.CancelNotification(session_id="s"))


async def test_json_spread_over_several_lines_is_named_to_who_waits_when_the_connection_ends() -> (
    None
):
    async with connected() as (peer, remote):
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        await remote.receive()
        remote.transport.send(b"{")
        refusal = await remote.receive()
        assert refusal["error"]["data"] == {
            "problem": "JSON spread over several lines; each message must be one line"
        }
        await remote.transport.aclose()
        spread = "the peer closed the connection; it sends JSON spread over several lines"
        with pytest.raises(ConnectionClosed, match=spread) as closed:
            await task
        assert closed.value.diagnosis == peer.diagnosis


async def test_a_response_with_the_id_as_text_is_named_in_the_log_and_to_who_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with connected() as (peer, remote):
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        id = (await remote.receive())["id"]
        remote.send({"jsonrpc": "2.0", "id": str(id), "result": {}})
        named = f'the response to request {id} has the string "{id}" as its id'
        with pytest.raises(RemoteProtocolError, match=named):
            await task
        assert f"session/set_mode: {named}" in caplog.text


async def test_what_came_before_the_end_is_handled_before_callers_learn_of_it() -> None:
    handled: list[str] = []

    async def update(note: v1.SessionNotification) -> None:
        await asyncio.sleep(0)
        handled.append(text_of(note))

    async with connected(notifications={"session/update": update}) as (peer, remote):
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        await remote.receive()
        for number in range(5):
            remote.update("s", str(number))
        await remote.transport.aclose()
        with pytest.raises(ConnectionClosed):
            await task
        assert handled == ["0", "1", "2", "3", "4"]


async def test_who_waits_for_room_learns_that_there_will_be_none() -> None:
    async with connected() as (peer, remote):
        remote.transport.pause_reading()
        sending = asyncio.create_task(peer.notify(NOTE, BIG))
        asking = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        await remote.near.full.wait()
        await peer.aclose()
        for each in (sending, asking):
            with pytest.raises(ConnectionClosed):
                await each


async def test_handlers_of_requests_end_with_the_connection() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(params: Raw, request: RequestContext) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with connected(requests={"_wait": wait}) as (_, remote):
        remote.call(1, "_wait", {})
        await begun.wait()
        await remote.transport.aclose()
        await ended.wait()


async def test_a_request_whose_turn_comes_after_the_end_is_not_begun() -> None:
    steps: list[str] = []
    may_handle = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await may_handle.wait()
        steps.append("update")

    async def decide(params: Any, request: RequestContext) -> None:
        steps.append("request")

    async with connected(
        requests={"session/request_permission": decide}, notifications={"session/update": update}
    ) as (peer, remote):
        remote.update("s", "1")
        remote.call(1, "session/request_permission", permission("s"))
        await remote.wait_until_read()
        await remote.transport.aclose()
        await peer.wait_closed()
        may_handle.set()
        await peer.aclose()
    assert steps == ["update"]


async def test_a_response_that_cannot_be_sent_any_more_is_not_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def stubborn(params: Raw, request: RequestContext) -> None:
        begun.set()
        try:
            await may_end.wait()
        except asyncio.CancelledError:
            request.after_response(lambda: steps.append("done"))

    steps: list[str] = []
    async with connected(requests={"_stubborn": stubborn}) as (_, remote):
        remote.call(1, "_stubborn", {})
        await begun.wait()
        await remote.transport.aclose()
    assert steps == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_refusal_that_cannot_be_sent_any_more_is_not_an_error() -> None:
    local, remote = memory_pair()
    peer = Peer(local, "client")
    peer.set_handlers(TABLE)
    async with peer:
        remote.send(b"{bad")
        remote.send(b'{"jsonrpc":"2.0","id":1,"method":"_unknown"}')
        await remote.aclose()
        reason = await peer.wait_closed()
    assert str(reason) == "the peer closed the connection"


async def test_a_handler_may_close_the_connection_and_continues() -> None:
    steps: list[str] = []
    done = asyncio.Event()

    async def close(params: Raw, request: RequestContext) -> None:
        await request.peer.aclose()
        steps.append("closed")
        done.set()

    async with connected(requests={"_close": close}) as (peer, remote):
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        await remote.receive()
        remote.call(1, "_close", {})
        with pytest.raises(ConnectionClosed):
            await task
        await done.wait()
    assert steps == ["closed"]


async def test_an_update_handler_may_close_the_connection() -> None:
    done = asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        await the_peer.aclose()
        done.set()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        the_peer = peer
        remote.update("s", "1")
        await done.wait()
        assert (
            str(await peer.wait_closed())
            == "the connection to the agent was closed by this program"
        )


async def test_a_peer_that_was_never_started_can_be_closed() -> None:
    peer = Peer(memory_pair()[0], "client", name="opencode")
    peer.set_handlers(TABLE)
    task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
    await asyncio.sleep(0)
    await peer.aclose()
    with pytest.raises(ConnectionClosed):
        await task
    assert str(await peer.wait_closed()) == "the connection to opencode was closed by this program"
    await peer.aclose()


async def test_closing_does_not_wait_forever_for_an_update_handler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parley.peer._peer._CLOSE_GRACE", 0.01)
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        task = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        question = await remote.receive()
        remote.update("s", "1")
        await begun.wait()
        remote.respond(question, {})
        await remote.wait_until_read()
        assert not task.done()
        await peer.aclose()
        assert cancelled.is_set()
        with pytest.raises(ConnectionClosed):
            await task


async def test_a_handler_that_does_not_end_when_it_is_cancelled_is_reported_and_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("parley.peer._peer._CLOSE_GRACE", 0.01)
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stubborn(params: Raw, request: RequestContext) -> None:
        begun.set()
        while not may_end.is_set():
            try:
                await may_end.wait()
            except asyncio.CancelledError:
                continue
        ended.set()

    async with connected(requests={"_stubborn": stubborn}) as (peer, remote):
        remote.call(1, "_stubborn", {})
        await begun.wait()
        await peer.aclose()
        reported = caplog.text
        may_end.set()
        await ended.wait()
    assert "1 handlers are still running after they were cancelled" in reported


async def test_handlers_end_also_when_who_closes_loses_patience() -> None:
    has_begun, has_ended = asyncio.Event(), asyncio.Event()

    async def update(note: v1.SessionNotification) -> None:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            has_ended.set()

    async with connected(notifications={"session/update": update}) as (peer, remote):
        remote.update("s", "1")
        remote.update("s", "2")
        await has_begun.wait()
        closing = asyncio.create_task(peer.aclose())
        await peer.wait_closed()
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await has_ended.wait()


async def test_neither_side_keeps_anything_of_sessions_that_were_closed() -> None:
    async def new(params: v1.NewSessionRequest, request: RequestContext) -> v1.NewSessionResponse:
        return v1.NewSessionResponse(session_id=f"session {next(numbers)}")

    async def reply(params: v1.PromptRequest, request: RequestContext) -> v1.PromptResponse:
        call = v1.ToolCallUpdate(tool_call_id="call-1")
        ask = v1.RequestPermissionRequest(session_id=params.session_id, tool_call=call, options=[])
        await request.peer.request(methods.REQUEST_PERMISSION, ask)
        return v1.PromptResponse(stop_reason="end_turn")

    async def nothing(params: Any, request: RequestContext) -> Any:
        return {"outcome": {"outcome": "cancelled"}}

    async def live(client: Peer) -> None:
        where = v1.NewSessionRequest(cwd="/", mcp_servers=[])
        session = (await client.request(methods.NEW_SESSION, where)).session_id
        await client.request(methods.PROMPT, prompt(session))
        await client.request(methods.CLOSE_SESSION, v1.CloseSessionRequest(session_id=session))

    numbers = itertools.count()
    handlers: Requests = {"session/new": new, "session/prompt": reply, "session/close": nothing}
    async with connected_pair(agent=handlers) as (client, _):
        client.set_handlers(TABLE, requests={"session/request_permission": nothing})
        for _ in range(50):
            await live(client)
        tracemalloc.start()
        for _ in range(400):
            await live(client)
        gc.collect()
        kept_bytes = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    assert kept_bytes < 18_000, "the name of a session alone has 60 bytes"
