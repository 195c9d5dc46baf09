"""OpenTelemetry: a span for each request, in both directions.

Needs the extra `telemetry`; Parley itself does not import this module. Trace context and baggage
use the W3C format whatever propagators the program has configured, because ACP reserves names for
that format. Span names and attributes follow
https://opentelemetry.io/docs/specs/semconv/rpc/json-rpc/
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from parley.errors import RequestError

from ._tracing import TraceContext

try:
    from opentelemetry import context
    from opentelemetry.baggage.propagation import W3CBaggagePropagator
    from opentelemetry.propagators.composite import CompositePropagator
    from opentelemetry.trace import SpanKind, StatusCode, TracerProvider, get_tracer
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ModuleNotFoundError as error:
    message = "opentelemetry is not installed: pip install 'parley-acp[telemetry]'"
    raise ModuleNotFoundError(message, name=error.name) from error

__all__ = ["OpenTelemetryTracer"]

_W3C = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])


class OpenTelemetryTracer:
    """A `Tracer` that records OpenTelemetry spans; pass it to `Peer` as `tracer`.

    Each request, in both directions, gets a span named after its method.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        """Record spans with this provider, or with the global one."""
        self._tracer = get_tracer("parley", tracer_provider=provider)

    @contextmanager
    def inbound(self, method: str, trace: TraceContext | None) -> Generator[None, None, None]:
        """Record the handling of a request; the caller's span is the parent."""
        headers: dict[str, str] = {} if trace is None else msgspec.to_builtins(trace)
        token = context.attach(_W3C.extract(headers, context.Context()))
        try:
            with self._span(method, SpanKind.SERVER):
                yield
        finally:
            context.detach(token)

    @contextmanager
    def outbound(self, method: str) -> Generator[TraceContext | None, None, None]:
        """Record an outgoing request; its span becomes the parent of the peer's span."""
        with self._span(method, SpanKind.CLIENT):
            headers: dict[str, str] = {}
            _W3C.inject(headers)
            yield TraceContext(**headers) if "traceparent" in headers else None

    @contextmanager
    def _span(self, method: str, kind: SpanKind) -> Generator[None, None, None]:
        attributes = {"rpc.system": "jsonrpc", "rpc.jsonrpc.version": "2.0", "rpc.method": method}
        with self._tracer.start_as_current_span(method, kind=kind, attributes=attributes) as span:
            try:
                yield
            except RequestError as error:
                span.set_attribute("rpc.jsonrpc.error_code", error.code)
                raise
            except asyncio.CancelledError:
                span.set_status(StatusCode.ERROR, "cancelled")
                raise
