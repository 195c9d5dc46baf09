"""The state of one JSON-RPC connection: pending requests in both directions. No I/O, no clock.

Theory of operation. Each side numbers its own requests, so there are two tables. `_outgoing` holds
our requests by id, each with an object of the caller's (*pending*) that its response is returned
with. A response removes its row; a second response finds nothing and is ignored. `_incoming` holds
the peer's requests until we respond, exactly once to each; responding twice is a bug in our own
program and raises. The responses to requests that arrived in a batch are collected: the frame is
ready when the last one is.

`receive` never raises. It turns a frame into an event: a `Notification`, an `IncomingRequest` to
respond to, a `ResponseEvent` for one of our requests, an `ErrorReply` to send back, an
`IgnoredFrame`, or `BatchEvents` with several of these if the frame was a batch.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct

from parley.errors import (
    InvalidRequest,
    LocalProtocolError,
    ParseError,
    RemoteProtocolError,
    RequestError,
)

from . import _codec as codec
from ._codec import Item
from ._framing import Frame
from ._message import (
    Batch,
    ErrorObject,
    Failure,
    Id,
    Malformed,
    Notification,
    Request,
    Success,
)

PendingT = TypeVar("PendingT")

_SHOWN_CHARACTERS = 200


class EngineConfig(Struct, frozen=True, kw_only=True):
    """Settings that depend on the peer and on the protocol version."""

    allows_null_ids: bool = True
    """Whether the id of a request may be null."""
    skips_noise: bool = False
    """Whether to skip a line that is not JSON instead of sending an error."""
    max_depth: int = codec.MAX_DEPTH
    """Maximum nesting depth of a message."""


class IncomingRequest:
    """A request from the peer that needs a response."""

    __slots__ = ("batch", "id", "method", "params")

    def __init__(self, request: Request, batch: _PendingBatch | None) -> None:
        self.id = request.id
        self.method = request.method
        self.params = request.params
        self.batch = batch


class ResponseEvent(Struct, Generic[PendingT], frozen=True):
    """The outcome of one of our requests."""

    pending: PendingT
    outcome: Raw | RequestError | RemoteProtocolError
    """The result as JSON, the peer's error, or the problem with a malformed response."""


class ErrorReply(Struct, frozen=True):
    """An error response to send back for a frame that is not a valid message."""

    frame: bytes
    problem: str


class IgnoredFrame(Struct, frozen=True):
    """A frame that has no effect, and the reason."""

    problem: str
    is_noise: bool = False
    """Whether it was not JSON at all."""
    is_late: bool = False
    """Whether it was a response to a request that is no longer pending, usually a cancelled one."""


class BatchEvents(Struct, Generic[PendingT], frozen=True):
    """The events of a batch, in its order."""

    events: tuple[
        Notification | IncomingRequest | ResponseEvent[PendingT] | ErrorReply | IgnoredFrame, ...
    ]


Event: TypeAlias = (
    Notification
    | IncomingRequest
    | ResponseEvent[PendingT]
    | ErrorReply
    | IgnoredFrame
    | BatchEvents[PendingT]
)


class _PendingBatch:
    """The responses of an incoming batch, collected until the last one is ready."""

    __slots__ = ("frames", "missing")

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.missing = 0

    def add(self, frame: bytes) -> bytes | None:
        self.frames.append(frame)
        self.missing -= 1
        return None if self.missing else codec.encode_batch(self.frames)


class Engine(Generic[PendingT]):
    """The JSON-RPC state of one connection.

    `receive` takes a frame and returns an event. `send_request`, `respond` and `respond_with_error`
    return a frame to send.
    """

    def __init__(self, config: EngineConfig | None = None) -> None:
        self.config = config or EngineConfig()
        self._next_id = 0
        self._outgoing: dict[Id, PendingT] = {}
        self.diagnosis = ""
        """The problem with the peer's messages that may explain why a request of ours has no
        response; empty while its responses arrive."""
        self._incoming: dict[IncomingRequest, None] = {}
        self._incoming_by_id: dict[Id, IncomingRequest] = {}

    @property
    def config(self) -> EngineConfig:
        """The current settings; replaced when the protocol version is negotiated."""
        return self._config

    @config.setter
    def config(self, config: EngineConfig) -> None:
        self._config = config
        self._shallow = 2 * config.max_depth  # a shorter frame cannot nest too deep

    @property
    def outgoing_count(self) -> int:
        """The number of our requests without a response."""
        return len(self._outgoing)

    @property
    def incoming_count(self) -> int:
        """The number of the peer's requests without a response."""
        return len(self._incoming)

    def send_request(
        self, method: str, params: bytes | None, pending: PendingT
    ) -> tuple[int, bytes]:
        """Register a request and return its id and frame; its `ResponseEvent` has `pending`."""
        id = self._next_id
        frame = codec.encode_request(id, method, params)
        self._next_id += 1
        self._outgoing[id] = pending
        return id, frame

    def forget(self, id: int) -> bool:
        """Forget a request of ours; return whether it was still pending."""
        is_pending = id in self._outgoing
        self._outgoing.pop(id, None)
        return is_pending

    def abandon(self) -> Iterable[PendingT]:
        """Forget all pending requests of ours and return the caller's object for each."""
        pending = list(self._outgoing.values())
        self._outgoing.clear()
        return pending

    def find_incoming(self, id: Id) -> IncomingRequest | None:
        """Return the peer's pending request with this id; 7 and "7" are different ids."""
        return self._incoming_by_id.get(id)

    def respond(self, request: IncomingRequest, result: bytes) -> bytes | None:
        """Return the response frame for a result; None while the rest of its batch is pending."""
        return self._settle(request, codec.encode_success(request.id, result))

    def respond_with_error(self, request: IncomingRequest, error: ErrorObject) -> bytes | None:
        """Return the response frame for an error; None while the rest of its batch is pending."""
        return self._settle(request, codec.encode_failure(request.id, error))

    def _settle(self, request: IncomingRequest, frame: bytes) -> bytes | None:
        if request not in self._incoming:
            raise LocalProtocolError(f"the request {request.method} already has a response")
        del self._incoming[request]
        self._incoming_by_id.pop(request.id, None)
        return frame if request.batch is None else request.batch.add(frame)

    def receive(self, frame: Frame) -> Event[PendingT] | None:
        """Decode a frame and return its event; None for a blank frame."""
        if (
            frame.startswith(codec.NOTIFICATION_PREFIX)
            and len(frame) <= self._shallow
            and frame.isascii()
        ):
            try:
                return codec.decode_notification(frame)
            except codec.DECODE_ERRORS:
                pass  # something else, or malformed: the general path decides
        message = codec.decode(frame, self._config.max_depth)
        if message is None:
            return None
        if isinstance(message, Malformed):
            if self.diagnosis != _SENDS_SPREAD_JSON and _begins_spread_json(frame, message):
                self.diagnosis = _SENDS_SPREAD_JSON  # reported once, not for each such message
                message = Malformed("request", _SPREAD_JSON, is_json=False)
            elif self._config.skips_noise and _is_noise(frame, message):
                return self._after_noise(frame)
        return (
            self._batch_events(message)
            if isinstance(message, Batch)
            else self._event(message, None)
        )

    def _after_noise(self, frame: Frame) -> Event[PendingT]:
        """Return the event of a message at the end of a line that starts with something else."""
        found = codec.find_message(frame, self._config.max_depth)
        if found is None:
            return IgnoredFrame("a line that is not JSON", is_noise=True)
        return BatchEvents(
            (IgnoredFrame("noise before a message", is_noise=True), self._event(found, None))
        )

    def _event(
        self, message: Item, batch: _PendingBatch | None
    ) -> Notification | IncomingRequest | ResponseEvent[PendingT] | ErrorReply | IgnoredFrame:
        match message:
            case Notification():
                return message
            case Request():
                return self._request(message, batch)
            case Success(id, result):
                return self._response(id, result)
            case Failure(id, error):
                return self._response(id, codec.to_exception(error))
            case malformed:
                return self._malformed(malformed)

    def _request(
        self, request: Request, batch: _PendingBatch | None
    ) -> IncomingRequest | ErrorReply:
        if request.id is None and not self._config.allows_null_ids:
            return _error_reply(Malformed("request", "the id of a request must not be null"))
        if request.id is not None and request.id in self._incoming_by_id:
            return _error_reply(
                Malformed("request", "a request with this id is already pending", request.id)
            )
        incoming = IncomingRequest(request, batch)
        if batch is not None:
            batch.missing += 1
        self._incoming[incoming] = None
        if request.id is not None:
            self._incoming_by_id[request.id] = incoming
        return incoming

    def _response(
        self, id: Id, outcome: Raw | RequestError | RemoteProtocolError
    ) -> ResponseEvent[PendingT] | IgnoredFrame:
        if id in self._outgoing:
            self.diagnosis = ""
            return ResponseEvent(self._outgoing.pop(id), outcome)
        # The peer turned our id into a string: fail the request instead of leaving it pending.
        if isinstance(id, str) and (number := _number_in(id)) in self._outgoing:
            problem = f'the response to request {number} has the string "{number}" as its id'
            mistyped = RemoteProtocolError(f"{problem}; a response repeats the id with its type")
            return ResponseEvent(self._outgoing.pop(number), mistyped)
        if id is None and isinstance(outcome, RequestError):
            problem = f"{str(outcome)[:_SHOWN_CHARACTERS]!r}"  # quoted: it is the peer's text
            self.diagnosis = f"it could not read a message from us: {problem}"
            return IgnoredFrame(f"the peer could not read a message from us: {problem}")
        if isinstance(id, int) and 0 <= id < self._next_id:
            return IgnoredFrame("a response to a request that is no longer pending", is_late=True)
        return IgnoredFrame("a response with an unknown id")

    def _malformed(self, message: Malformed) -> ResponseEvent[PendingT] | ErrorReply | IgnoredFrame:
        is_pending = message.id in self._outgoing
        if message.role == "response" or (message.role == "unclear" and is_pending):
            problem = RemoteProtocolError(f"the peer responded with {message.problem}")
            return self._response(message.id, problem)
        if message.role == "notification":
            return IgnoredFrame(message.problem)
        return _error_reply(message)

    def _batch_events(self, message: Batch) -> BatchEvents[PendingT] | ErrorReply:
        batch = _PendingBatch()
        events: list[
            Notification | IncomingRequest | ResponseEvent[PendingT] | ErrorReply | IgnoredFrame
        ] = []
        errors: list[bytes] = []
        for item in message.items:
            event = self._event(item, batch)
            if isinstance(event, ErrorReply):
                errors.append(event.frame)
                event = IgnoredFrame(event.problem)
            events.append(event)
        batch.frames = errors
        if errors and not batch.missing:
            events.append(ErrorReply(codec.encode_batch(errors), "a batch with invalid entries"))
        return BatchEvents(tuple(events))


_PADDING = codecs.BOM_UTF8 + b" \t\r\n"
_SPREAD_JSON = "JSON spread over several lines; each message must be one line"
_SENDS_SPREAD_JSON = f"it sends {_SPREAD_JSON}"


def _number_in(id: str) -> int | None:
    """Return the integer that a string id spells in canonical form; None if it does not."""
    is_number = id.isascii() and id.isdecimal() and len(id) < 16
    return int(id) if is_number and str(int(id)) == id else None


def _begins_spread_json(frame: Frame, message: Malformed) -> bool:
    """Return whether a line looks like the first line of a pretty-printed message."""
    if message.is_json:
        return False
    line = frame.strip(_PADDING)
    return line in (b"{", b"[") or (line.startswith((b'{"', b"{ ")) and line.endswith(b","))


def _is_noise(frame: Frame, message: Malformed) -> bool:
    """Return whether a line is stray output, such as a banner, and not a malformed message."""
    return not message.is_json and not frame.lstrip(_PADDING).startswith(b"{")


def _error_reply(message: Malformed) -> ErrorReply:
    error = InvalidRequest() if message.is_json else ParseError()
    body = ErrorObject(
        error.code, error.message, Raw(msgspec.json.encode({"problem": message.problem}))
    )
    return ErrorReply(codec.encode_failure(message.id, body), message.problem)
