"""Trace context in `_meta`, passed on by default and made into spans with OpenTelemetry.

https://agentclientprotocol.com/protocol/v1/extensibility
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from msgspec import UNSET, Raw, Struct
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from parley.errors import ResourceNotFound
from parley.peer import Peer, RequestContext, TraceContext, TypedHandler, current_trace
from parley.peer._tracing import add_trace, read_trace
from parley.peer.telemetry import OpenTelemetryTracer
from parley.schema import v1
from parley.schema.base import Method
from parley.schema.v1 import methods

from .raw_peer import connected, mode, permission, prompt

TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE_ID}-{SPAN_ID}-01"
META = {"traceparent": PARENT, "tracestate": "a=1", "baggage": "user=me"}
WHOLE = TraceContext(traceparent=PARENT, tracestate="a=1", baggage="user=me")
PERMISSION = "session/request_permission"


@pytest.mark.requirement("TR-META-02", "TR-META-04", "V1-EXT-05", "V2-EXT-04")
@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        (META, WHOLE),
        ({**META, "other": 5}, WHOLE),
        ({"traceparent": PARENT}, TraceContext(traceparent=PARENT)),
        ({"traceparent": PARENT, "tracestate": 5}, TraceContext(traceparent=PARENT)),
        ({"traceparent": PARENT + "-more"}, TraceContext(traceparent=PARENT + "-more")),
        ({"tracestate": "a=1"}, None),
        ({"traceparent": 5}, None),
        ({"traceparent": ""}, None),
        ({"traceparent": PARENT.upper()}, None),
        ({"traceparent": f"ff-{TRACE_ID}-{SPAN_ID}-01"}, None),
        ({"traceparent": f"00-{'0' * 32}-{SPAN_ID}-01"}, None),
        ({"traceparent": f"00-{TRACE_ID}-{'0' * 16}-01"}, None),
        (None, None),
    ],
)
async def test_the_trace_of_a_request_is_current_in_its_handler_and_continues_from_there(
    meta: Any, expected: TraceContext | None
) -> None:
    seen: list[TraceContext | None] = []

    async def decide(params: v1.RequestPermissionRequest, request: RequestContext) -> None:
        seen.append(current_trace.get())
        await request.peer.request(methods.SET_SESSION_MODE, mode("s"))

    async def raw(params: Raw, request: RequestContext) -> None:
        seen.append(current_trace.get())

    async with connected(requests={PERMISSION: decide, "_raw": raw}) as (_, remote):
        remote.call(1, PERMISSION, {**permission("s"), "_meta": meta})
        question = await remote.receive()
        remote.respond(question, {})
        await remote.receive()
        remote.call(2, "_raw", {"_meta": meta})
        await remote.receive()
    assert seen == [expected, expected]
    sent = question["params"].get("_meta", {})
    assert sent.get("traceparent") == (None if expected is None else expected.traceparent)
    assert current_trace.get() is None


@pytest.mark.parametrize("params", [Raw(b"[1]"), Raw(b"{"), Raw(b'{"_meta":5}'), Raw(b""), None, 5])
def test_what_has_no_meta_has_no_trace(params: Any) -> None:
    assert read_trace(params) is None


class Own(Struct):
    """Params of an extension; their `meta` is something else."""

    name: str
    meta: str = ""


@pytest.mark.requirement("TR-META-02", "V1-EXT-05", "V2-EXT-04")
@pytest.mark.parametrize("type", [Raw, Any, Own, dict[str, Any]], ids=["raw", "any", "own", "dict"])
async def test_the_trace_is_current_in_the_handler_of_an_extension_whatever_its_params(
    type: Any,
) -> None:
    seen: list[TraceContext | None] = []

    async def handle(params: Any, request: RequestContext) -> None:
        seen.append(current_trace.get())

    async with connected(requests={"_own": TypedHandler(handle, type)}) as (_, remote):
        remote.call(1, "_own", {"name": "Ada", "meta": "x", "_meta": META})
        await remote.receive()
        remote.call(2, "_own", {"name": "Ada"})
        await remote.receive()
    assert seen == [WHOLE, None]


@pytest.mark.requirement("TR-META-02", "V1-EXT-05", "V2-EXT-04")
@pytest.mark.parametrize("type", [Raw, Any, Own, dict[str, Any]], ids=["raw", "any", "own", "dict"])
async def test_the_trace_is_current_in_the_handler_of_an_extension_s_notification(
    type: Any,
) -> None:
    seen: list[TraceContext | None] = []

    async def handle(params: Any) -> None:
        seen.append(current_trace.get())

    def handle_at_once(params: Any) -> None:
        seen.append(current_trace.get())

    async def respond(params: Any, request: RequestContext) -> None:
        seen.append(current_trace.get())

    handlers = {"_own": TypedHandler(handle, type), "_at_once": TypedHandler(handle_at_once, type)}
    async with connected(requests={"_last": respond}, notifications=handlers) as (_, remote):
        for method in handlers:
            remote.notify(method, {"name": "Ada", "meta": "x", "_meta": META})
            remote.notify(method, {"name": "Ada"})
        remote.call(1, "_last", {})
        await remote.receive()
    assert seen == [WHOLE, None, WHOLE, None, None]


@pytest.mark.requirement("TR-META-05", "V1-EXT-06", "V2-EXT-04")
def test_a_trace_that_the_caller_put_there_stays_and_other_meta_is_kept() -> None:
    theirs = {"traceparent": "theirs", "x": 1}
    assert add_trace({"a": 1}, WHOLE) == {"a": 1, "_meta": META}
    assert add_trace({"_meta": {"x": 1}}, WHOLE) == {"_meta": {**META, "x": 1}}
    assert add_trace({"_meta": theirs}, WHOLE) == {"_meta": theirs}
    assert add_trace({"_meta": 5}, WHOLE) == {"_meta": META}
    assert add_trace([1], WHOLE) == [1]
    assert add_trace(None, WHOLE) is None
    assert add_trace(mode("s"), WHOLE).meta == META
    own = v1.SetSessionModeRequest(session_id="s", mode_id="ask", meta=theirs)
    assert add_trace(own, WHOLE).meta == theirs
    assert TraceContext(traceparent=PARENT).tracestate is UNSET


class Noting:
    """A tracer that notes what it encloses."""

    def __init__(self) -> None:
        self.steps: list[Any] = []

    @contextmanager
    def inbound(self, method: str, trace: TraceContext | None) -> Generator[None, None, None]:
        self.steps.append((method, trace))
        yield
        self.steps.append(f"end of {method}")

    @contextmanager
    def outbound(self, method: str) -> Generator[TraceContext | None, None, None]:
        self.steps.append(method)
        yield WHOLE if method == "session/prompt" else None
        self.steps.append(f"end of {method}")


async def test_a_tracer_encloses_requests_both_ways_and_says_what_they_carry() -> None:
    tracer = Noting()

    async def decide(params: v1.RequestPermissionRequest, request: RequestContext) -> None:
        tracer.steps.append("handler")

    async with connected(requests={PERMISSION: decide}, tracer=tracer) as (peer, remote):
        remote.call(1, PERMISSION, {**permission("s"), "_meta": META})
        await remote.receive()
        task = asyncio.create_task(peer.request(methods.PROMPT, prompt("s")))
        question = await remote.receive()
        assert question["params"]["_meta"] == META
        remote.respond(question, {"stopReason": "end_turn"})
        await task
        asked_mode = asyncio.create_task(peer.request(methods.SET_SESSION_MODE, mode("s")))
        question = await remote.receive()
        assert "_meta" not in question["params"]
        remote.respond(question, {})
        await asked_mode
    assert tracer.steps == [
        (PERMISSION, WHOLE),
        "handler",
        f"end of {PERMISSION}",
        "session/prompt",
        "end of session/prompt",
        "session/set_mode",
        "end of session/set_mode",
    ]


class Spans:
    """A tracer with OpenTelemetry, and the spans that it has made."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = OpenTelemetryTracer(provider)

    def take(self) -> list[ReadableSpan]:
        spans = list(self._exporter.get_finished_spans())
        self._exporter.clear()
        return spans


async def ask(peer: Peer, method: Method[Any, Any] = methods.SET_SESSION_MODE) -> Any:
    return await peer.request(method, mode("s"))


async def test_spans_of_both_directions_are_joined_by_their_parents() -> None:
    spans = Spans()
    seen: list[object] = []

    async def decide(params: v1.RequestPermissionRequest, request: RequestContext) -> None:
        seen.append(baggage.get_baggage("user"))
        await ask(request.peer)

    async with connected(requests={PERMISSION: decide}, tracer=spans.tracer) as (_, remote):
        remote.call(1, PERMISSION, {**permission("s"), "_meta": META})
        question = await remote.receive()
        remote.respond(question, {})
        await remote.receive()
    ours, served = spans.take()
    assert (served.name, served.kind) == (PERMISSION, SpanKind.SERVER)
    assert served.attributes is not None
    assert dict(served.attributes) == {
        "rpc.system": "jsonrpc",
        "rpc.jsonrpc.version": "2.0",
        "rpc.method": PERMISSION,
    }
    assert served.parent is not None
    assert trace.format_span_id(served.parent.span_id) == SPAN_ID
    assert trace.format_trace_id(served.parent.trace_id) == TRACE_ID
    assert (ours.name, ours.kind) == ("session/set_mode", SpanKind.CLIENT)
    assert ours.parent is not None
    assert served.context is not None
    assert ours.parent.span_id == served.context.span_id
    assert seen == ["me"]
    sent = question["params"]["_meta"]
    assert ours.context is not None
    span_id = trace.format_span_id(ours.context.span_id)
    assert sent["traceparent"] == f"00-{TRACE_ID}-{span_id}-01"
    assert (sent["tracestate"], sent["baggage"]) == ("a=1", "user=me")
    assert context.get_current() == context.Context()


async def test_a_request_without_a_trace_begins_one() -> None:
    spans = Spans()

    async def decide(params: v1.RequestPermissionRequest, request: RequestContext) -> None:
        return None

    async with connected(requests={PERMISSION: decide}, tracer=spans.tracer) as (_, remote):
        remote.call(1, PERMISSION, permission("s"))
        await remote.receive()
    [span] = spans.take()
    assert span.parent is None


async def test_a_span_says_how_its_request_went_wrong() -> None:
    spans = Spans()

    async def decide(params: v1.RequestPermissionRequest, request: RequestContext) -> None:
        raise ResourceNotFound("gone")

    async with connected(requests={PERMISSION: decide}, tracer=spans.tracer) as (peer, remote):
        remote.call(1, PERMISSION, permission("s"))
        await remote.receive()
        [refused] = spans.take()

        task = asyncio.create_task(ask(peer))
        await remote.receive()
        task.cancel()
        await asyncio.wait([task])
        [cancelled] = spans.take()
    assert refused.attributes is not None
    assert refused.attributes["rpc.jsonrpc.error_code"] == -32002
    assert refused.status.status_code is StatusCode.ERROR
    assert cancelled.status.status_code is StatusCode.ERROR
    assert cancelled.status.description == "cancelled"


async def test_a_program_without_telemetry_sends_no_trace() -> None:
    async with connected(tracer=OpenTelemetryTracer()) as (peer, remote):
        task = asyncio.create_task(ask(peer))
        question = await remote.receive()
        remote.respond(question, {})
        await task
    assert "_meta" not in question["params"]


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delitem(sys.modules, "parley.peer.telemetry")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'parley-acp\[telemetry\]'"):
        importlib.import_module("parley.peer.telemetry")
