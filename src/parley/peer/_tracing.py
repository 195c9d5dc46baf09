"""Observers and trace context: watching a connection without being part of it.

An observer sees each frame as it is on the wire, in both directions, before it is processed. A
recorder sees the same frames; updates that the connection has already decoded come as groups, so
that nothing is decoded twice. Trace context follows W3C's `traceparent`, `tracestate` and
`baggage`, which ACP reserves at the root of `_meta`. The trace context of a request, or of an
extension notification, is current while its handler runs, and the handler's own requests carry it.
https://agentclientprotocol.com/protocol/v1/extensibility
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Annotated, Any, Literal, Protocol, TypeAlias, cast

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from parley._user_code import reraise_if_ending
from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._framing import Frame
from parley.schema.base import JsonObject, Object, Patch

from ._update_reader import UpdateGroup

logger = logging.getLogger(__name__)

Direction: TypeAlias = Literal["inbound", "outbound"]
Observer: TypeAlias = Callable[[Direction, Frame], None]
"""Called with each frame; its exceptions are logged and have no other effect."""


class UpdateObserver(Protocol):
    """An observer that takes updates as the connection has decoded them, such as a journal's."""

    def observe(self, direction: Direction, frame: Frame) -> None:
        """Take a frame."""
        ...

    def observe_updates(self, frames: Sequence[Frame], groups: Sequence[UpdateGroup]) -> None:
        """Take incoming frames that are all updates.

        Args:
            frames: The frames of the groups, one for each update, in wire order; a `LineBlock` if
                they came in one read.
            groups: What the frames contain.
        """
        ...


# https://www.w3.org/TR/trace-context/#traceparent-header; later versions may add fields.
_Traceparent: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-|$)"
    ),
]


class TraceContext(Struct, frozen=True, omit_defaults=True):
    """The W3C trace context of a request; see `current_trace`."""

    traceparent: _Traceparent
    tracestate: str | UnsetType = UNSET
    baggage: str | UnsetType = UNSET


current_trace: ContextVar[TraceContext | None] = ContextVar("current_trace", default=None)
"""The trace context of the request being handled, or one that the program sets."""


class Tracer(Protocol):
    """A hook for distributed tracing; pass an implementation to `Peer`.

    `parley.peer.telemetry` has one for OpenTelemetry.
    """

    def inbound(self, method: str, trace: TraceContext | None) -> AbstractContextManager[None]:
        """Return a context manager that is active while a request is handled."""
        ...

    def outbound(self, method: str) -> AbstractContextManager[TraceContext | None]:
        """Return a context manager for an outgoing request; it yields the trace context to send."""
        ...


class _MetaParams(Struct):
    meta: Any = msgspec.field(name="_meta", default=None)


class Observers:
    """The recorder and the observer of a connection; logs their exceptions.

    The recorder comes first: the observer sees nothing that is not recorded.
    """

    def __init__(self, recorder: UpdateObserver | None, observer: Observer | None) -> None:
        self._recorder = recorder
        self._observer = observer
        first: Sequence[Observer] = () if recorder is None else (recorder.observe,)
        self._all = (*first, *(() if observer is None else (observer,)))

    def observe(self, direction: Direction, frame: Frame) -> None:
        """Show a frame to all."""
        for observer in self._all:
            _call(observer, direction, frame)

    def observe_updates(self, frames: Sequence[Frame], groups: Sequence[UpdateGroup]) -> None:
        """Show incoming updates to all: as groups to the recorder, one by one to the observer."""
        if self._recorder is not None:
            try:
                self._recorder.observe_updates(frames, groups)
            except BaseException as error:  # as in `_call`
                reraise_if_ending(error)
                logger.exception("an observer failed on inbound frames")
        if self._observer is not None:
            for frame in frames:
                _call(self._observer, "inbound", frame)


def as_observers(observer: Observer | Observers | None) -> Observers | None:
    """Return observers for a single observer; None if there is none."""
    if observer is None or isinstance(observer, Observers):
        return observer
    return Observers(None, observer)


def _call(observer: Observer, direction: Direction, frame: Frame) -> None:
    try:
        observer(direction, frame)
    except BaseException as error:  # user code: an observer must not break the connection
        reraise_if_ending(error)
        logger.exception("an observer failed on an %s frame", direction)


def read_trace(params: Any, raw: Raw | None = None) -> TraceContext | None:
    """Return the trace context in the `_meta` of params; malformed values count as absent.

    Args:
        params: The params that the handler gets.
        raw: The undecoded params, for a handler with its own params type.
    """
    meta = _meta_of(params if raw is None or isinstance(params, Object | Patch) else raw)
    if "traceparent" not in meta:
        return None
    values = {name: meta.get(name) for name in TraceContext.__struct_fields__}
    texts = {name: value for name, value in values.items() if isinstance(value, str)}
    try:
        return msgspec.convert(texts, TraceContext)
    except msgspec.ValidationError:
        return None


def _meta_of(params: Any) -> JsonObject:
    """Return the `_meta` of params; empty if it is missing or unreadable."""
    if not isinstance(params, Raw):
        return _object(getattr(params, "meta", None))
    try:
        return _object(msgspec.json.decode(params, type=_MetaParams).meta)
    except DECODE_ERRORS:
        return {}


def _object(value: Any) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def add_trace(params: Any, trace: TraceContext) -> Any:
    """Return params with the trace context added, unless the caller has set one there."""
    if isinstance(params, dict):
        body = _object(params)
        return {**body, "_meta": _merge_meta(trace, _object(body.get("_meta")))}
    if not isinstance(params, Object | Patch):
        return params
    return msgspec.structs.replace(params, meta=_merge_meta(trace, _object(params.meta)))


def _merge_meta(trace: TraceContext, meta: JsonObject) -> JsonObject:
    return meta if "traceparent" in meta else {**msgspec.to_builtins(trace), **meta}
