"""What may watch a connection without being part of it: observers and trace context.

An observer sees each frame as it is on the wire, in both directions, before anything else happens
to it; the journal and the tap stand there. Trace context follows W3C's `traceparent`, `tracestate`
and `baggage`, which ACP reserves at the root of `_meta`: what came with a request is current while
its handler runs, and goes out with the requests that the handler makes.
https://agentclientprotocol.com/protocol/v1/extensibility
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from parley.rpc.framing import Frame
from parley.schema.base import Object, Patch

__all__ = [
    "Direction",
    "Observer",
    "TraceContext",
    "Tracer",
    "add_trace",
    "current_trace",
    "read_trace",
]

Direction: TypeAlias = Literal["inbound", "outbound"]
Observer: TypeAlias = Callable[[Direction, Frame], None]
"""Called with each frame; what it raises ends the connection, so it should not."""


class TraceContext(Struct, frozen=True, omit_defaults=True):
    """The trace that a request belongs to, as its headers say."""

    traceparent: str
    tracestate: str | UnsetType = UNSET
    baggage: str | UnsetType = UNSET


current_trace: ContextVar[TraceContext | None] = ContextVar("current_trace", default=None)
"""The trace of the request that is being handled, or one that the program sets."""


class Tracer(Protocol):
    """Takes part in distributed tracing; see `telemetry.py` for OpenTelemetry."""

    def inbound(self, method: str, trace: TraceContext | None) -> AbstractContextManager[None]:
        """Enclose the handling of a request."""
        ...

    def outbound(self, method: str) -> AbstractContextManager[TraceContext | None]:
        """Enclose a request of ours and say what it carries."""
        ...


def read_trace(params: Any) -> TraceContext | None:
    """Return the trace context in the `_meta` of params; what is malformed counts as absent."""
    meta = getattr(params, "meta", None)
    if not isinstance(meta, dict) or "traceparent" not in meta:
        return None
    try:
        return msgspec.convert(meta, TraceContext)
    except msgspec.ValidationError:
        return None


def add_trace(params: Any, trace: TraceContext) -> Any:
    """Return params that carry the trace; a trace which the caller put there itself stays."""
    if not isinstance(params, Object | Patch):
        return params
    meta = params.meta if isinstance(params.meta, dict) else {}
    return msgspec.structs.replace(params, meta={**msgspec.to_builtins(trace), **meta})
