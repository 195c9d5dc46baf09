"""What may watch a connection without being part of it: observers and trace context.

An observer sees each frame as it is on the wire, in both directions, before anything else happens
to it; a journal or a tap stands there. Trace context follows W3C's `traceparent`, `tracestate`
and `baggage`, which ACP reserves at the root of `_meta`: what came with a request is current while
its handler runs, and goes out with the requests that the handler makes.
https://agentclientprotocol.com/protocol/v1/extensibility
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Annotated, Any, Literal, Protocol, TypeAlias, cast

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from parley.rpc.codec import NOT_FITTING
from parley.rpc.framing import Frame
from parley.schema.base import JsonObject, Object, Patch

__all__ = [
    "Direction",
    "Observer",
    "TraceContext",
    "Tracer",
    "add_trace",
    "current_trace",
    "guarded",
    "read_trace",
]

logger = logging.getLogger(__name__)

Direction: TypeAlias = Literal["inbound", "outbound"]
Observer: TypeAlias = Callable[[Direction, Frame], None]
"""Called with each frame; what it raises is logged and changes nothing."""

# https://www.w3.org/TR/trace-context/#traceparent-header; a later version may have more behind it.
_Traceparent: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-|$)"
    ),
]


class TraceContext(Struct, frozen=True, omit_defaults=True):
    """The trace that a request belongs to, as its headers say."""

    traceparent: _Traceparent
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


class _Traced(Struct):
    meta: Any = msgspec.field(name="_meta", default=None)


def guarded(observer: Observer) -> Observer:
    """Return an observer that cannot break what it watches."""

    def observe(direction: Direction, frame: Frame) -> None:
        try:
            observer(direction, frame)
        except Exception:  # of the program: who only watches breaks nothing
            logger.exception("an observer failed at an %s frame", direction)

    return observe


def read_trace(params: Any) -> TraceContext | None:
    """Return the trace context in the `_meta` of params; what is malformed counts as absent."""
    meta = _meta_of(params)
    if "traceparent" not in meta:
        return None
    words = {name: meta.get(name) for name in TraceContext.__struct_fields__}
    texts = {name: word for name, word in words.items() if isinstance(word, str)}
    try:
        return msgspec.convert(texts, TraceContext)
    except msgspec.ValidationError:
        return None


def _meta_of(params: Any) -> JsonObject:
    """Return the `_meta` of params, empty if there is none that can be read."""
    if not isinstance(params, Raw):
        return _object(getattr(params, "meta", None))
    try:
        return _object(msgspec.json.decode(params, type=_Traced).meta)
    except NOT_FITTING:
        return {}


def _object(value: Any) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def add_trace(params: Any, trace: TraceContext) -> Any:
    """Return params that carry the trace; a trace which the caller put there itself stays."""
    if isinstance(params, dict):
        body = _object(params)
        return {**body, "_meta": _joined(trace, _object(body.get("_meta")))}
    if not isinstance(params, Object | Patch):
        return params
    return msgspec.structs.replace(params, meta=_joined(trace, _object(params.meta)))


def _joined(trace: TraceContext, meta: JsonObject) -> JsonObject:
    return meta if "traceparent" in meta else {**msgspec.to_builtins(trace), **meta}
