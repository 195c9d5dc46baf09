"""Requests and notifications that are sent before the call returns."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from parley.errors import AcpError, ConnectionClosed, Overloaded, ResourceNotFound
from parley.peer import Limits, Peer, TraceContext
from parley.rpc._framing import Frame
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport import memory_pair

from .raw_peer import TABLE, WatchedTransport, chunk, connected, prompt, text_of

END = {"stopReason": "end_turn"}
CANCEL = v1.CancelNotification(session_id="s")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_a_begun_request_is_sent_before_the_call_returns() -> None:
    sent: list[str] = []

    def observe(direction: str, frame: Frame) -> None:
        sent.append(msgspec.json.decode(frame)["method"])

    async with connected(observer=observe) as (peer, _):
        peer.begin_request(methods.PROMPT, prompt("s"))
        peer.notify_now(methods.CANCEL_SESSION, CANCEL)
        assert sent == ["session/prompt", "session/cancel"]


async def test_a_begun_request_settles_after_the_earlier_updates_of_its_session() -> None:
    order: list[str] = []
    release = asyncio.Event()

    async def on_update(note: v1.SessionNotification) -> None:
        await release.wait()
        order.append(text_of(note))

    async with connected(notifications={"session/update": on_update}) as (peer, far):
        results: list[v1.PromptResponse] = []
        response = peer.begin_request(methods.PROMPT, prompt("s"), on_result=results.append)
        response.add_done_callback(lambda _: order.append("response"))
        request = await far.receive()
        far.update("s", "one")
        far.respond(request, END)
        await far.wait_until_read()
        assert results == [v1.PromptResponse(stop_reason="end_turn")]
        assert not response.done()
        release.set()
        assert msgspec.json.decode(await response) == END
    assert order == ["one", "response"]


async def test_the_error_response_to_a_begun_request_is_its_outcome() -> None:
    async with connected() as (peer, far):
        errors: list[AcpError] = []
        response = peer.begin_request(methods.PROMPT, prompt("s"), on_error=errors.append)
        far.respond_with_error(await far.receive(), -32002, "gone")
        with pytest.raises(ResourceNotFound, match="gone"):
            await response
        assert [type(error) for error in errors] == [ResourceNotFound]


async def test_cancelling_a_begun_request_cancels_it_at_the_peer() -> None:
    async with connected() as (peer, far):
        response = peer.begin_request(methods.PROMPT, prompt("s"))
        request = await far.receive()
        response.cancel()
        cancel = await far.receive()
        assert cancel["method"] == "$/cancel_request"
        assert cancel["params"] == {"requestId": request["id"]}


async def test_a_request_that_cannot_be_sent_raises_at_once_and_is_not_pending() -> None:
    async with connected() as (peer, _):
        await peer.aclose()
        with pytest.raises(ConnectionClosed):
            peer.begin_request(methods.PROMPT, prompt("s"))
        with pytest.raises(ConnectionClosed):
            peer.notify_now(methods.CANCEL_SESSION, CANCEL)
        assert not peer._outbound._pending


async def test_sending_without_waiting_ends_when_too_much_waits_for_a_peer_that_does_not_read() -> (
    None
):
    inner, _ = memory_pair()
    near = WatchedTransport(inner)
    peer = Peer(near, "agent", limits=Limits(connection_bytes=10_000, in_flight=10_000))
    peer.set_handlers(TABLE)

    def send_requests_and_notifications() -> None:
        for _ in range(10_000):
            peer.begin_request(methods.PROMPT, prompt("s"))
            peer.notify_now(methods.UPDATE_SESSION, chunk("s", "x" * 1000))

    async with peer:
        with pytest.raises(Overloaded, match="wait to be sent"):
            send_requests_and_notifications()
        assert near.full.is_set()


_current: ContextVar[str] = ContextVar("_current", default="")


class SpanRecorder:
    """A tracer that records its spans; the current one is in a context variable."""

    def __init__(self) -> None:
        self.spans: list[str] = []

    @contextmanager
    def inbound(self, method: str, trace: TraceContext | None) -> Generator[None, None, None]:
        yield

    @contextmanager
    def outbound(self, method: str) -> Generator[TraceContext | None, None, None]:
        token = _current.set(method)
        outcome = "result"
        try:
            yield TraceContext(traceparent=PARENT)
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            _current.reset(token)  # raises in a context other than that of `set`
            self.spans.append(outcome)


async def test_the_span_of_a_begun_request_lasts_until_its_response() -> None:
    tracer = SpanRecorder()
    async with connected(tracer=tracer) as (peer, far):

        async def begin() -> tuple[asyncio.Future[Raw], Any]:
            response = peer.begin_request(methods.PROMPT, prompt("s"))
            assert _current.get() == ""
            return response, await far.receive()

        response, request = await begin()
        assert request["params"]["_meta"] == {"traceparent": PARENT}
        assert tracer.spans == []
        far.respond(request, END)
        await response
        response, request = await begin()
        far.respond_with_error(request, -32002, "gone")
        await asyncio.wait({response})
        response, _ = await begin()
        response.cancel()
        await far.receive()
        await peer.aclose()
        with pytest.raises(ConnectionClosed):
            peer.begin_request(methods.PROMPT, prompt("s"))
    assert tracer.spans == ["result", "ResourceNotFound", "CancelledError", "ConnectionClosed"]
