"""An OpenTelemetry span for each request of a client; needs the extra `telemetry`.

Frames are passed on unchanged, with their trace context, so the agent's spans have the same parent
as ours. The exporter is configured outside, for example with `opentelemetry-instrument parley serve
…`.
"""

from __future__ import annotations

import time
from typing import Any

from parley.errors import ConfigError

from .events import Event, OnEvent

__all__ = ["span_maker"]


def span_maker(provider: Any = None) -> OnEvent:
    """Return an observer that creates a span for each request.

    Args:
        provider: The `TracerProvider`; the global one if not given.

    Raises:
        ConfigError: OpenTelemetry is not installed.
    """
    try:
        from opentelemetry.trace import SpanKind, StatusCode, get_tracer
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
    except ModuleNotFoundError as error:
        raise ConfigError(
            "telemetry needs more than the rest of Parley: pip install 'parley-acp[telemetry]'"
        ) from error
    tracer = get_tracer("parley.gateway", tracer_provider=provider)
    propagator = TraceContextTextMapPropagator()

    def see(event: Event) -> None:
        if event.event != "request":
            return
        ended = time.time_ns()
        attributes = {
            "rpc.system": "jsonrpc",
            "rpc.method": event.method,
            "parley.agent": event.agent,
        }
        span = tracer.start_span(
            event.method,
            context=propagator.extract({"traceparent": event.trace}),
            kind=SpanKind.SERVER,
            start_time=ended - int(1e9 * (event.seconds or 0.0)),
            attributes=attributes,
        )
        if event.code is not None:
            span.set_attribute("rpc.jsonrpc.error_code", event.code)
            span.set_status(StatusCode.ERROR)
        span.end(ended)

    return see
