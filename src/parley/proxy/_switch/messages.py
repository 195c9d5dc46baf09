"""Messages in a switch: pending requests, notifications, and arrays of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct

from parley.errors import Overloaded, RequestError
from parley.rpc._codec import encode_batch, encode_failure
from parley.rpc._message import ErrorObject, Id
from parley.transport._base import MAX_MESSAGE_BYTES
from parley.transport._frame_head import peek_session

if TYPE_CHECKING:
    from .port import Port


Route: TypeAlias = "Port | DirectResponse | None"
"""Where a message goes: to a port, or back as a response. None: a notification is dropped, and a
request stays with its router, which forwards it or responds to it later."""
OnResponse: TypeAlias = Callable[["PendingRequest", bytes, bool], bool | None]
"""Sees the frame that answers a call, and whether it is a result; True: it has been dealt with."""


class IdSequence:
    """The ids of requests to a peer; two channels of one pipe use every second one each."""

    __slots__ = ("next", "step")

    def __init__(self, first: int = 0, step: int = 1) -> None:
        self.next = first
        self.step = step

    def take(self) -> int:
        """Return an id that was not used before."""
        id = self.next
        self.next = id + self.step
        return id


class DirectResponse(Struct, frozen=True):
    """A response of a router, instead of a destination."""

    outcome: bytes | RequestError
    """The result as JSON, or why there is none."""


class RawNotification:
    """A notification."""

    __slots__ = ("frame", "method", "session_id")

    def __init__(self, method: str, session_id: str, frame: bytes) -> None:
        self.method = method
        self.session_id = session_id
        """The session that it names; empty if it names none."""
        self.frame = frame
        """The bytes as they came."""


class ResponseBatch:
    """The answers that an array waits for."""

    __slots__ = ("_bytes", "frames", "missing", "origin")

    def __init__(self, origin: Port) -> None:
        self.origin = origin
        self.frames: list[bytes] = []
        self._bytes = 0
        self.missing = 1  # the array itself, while it is read

    def has_room(self, frame: bytes) -> bool:
        """Return whether an array with this answer as well is short enough for who reads it."""
        return self._bytes + len(frame) <= MAX_MESSAGE_BYTES // 2

    def add(self, frame: bytes | None) -> None:
        """Take an answer, or None at the end of reading; the last one sends them all."""
        if frame is not None:
            self.frames.append(frame)
            self._bytes += len(frame)
        self.missing -= 1
        if not self.missing and self.frames:
            self.origin.write(encode_batch(self.frames))


class PendingRequest:
    """A pending request: its source, its destination, and its ids there."""

    __slots__ = (
        "destination",
        "destination_id",
        "frame",
        "group",
        "id",
        "is_settled",
        "method",
        "on_cancel",
        "on_response",
        "origin",
        "params",
        "raw_id",
        "session_id",
    )

    def __init__(
        self, origin: Port | None, id: Id, raw_id: bytes, method: str, params: Raw, frame: bytes
    ) -> None:
        self.origin = origin
        """The port of the requester; None for requests of the program itself."""
        self.id = id
        self.raw_id = raw_id
        """The id, as the origin writes it."""
        self.method = method
        self.params = params
        self.session_id = peek_session(params)
        """The session that it names; empty if it names none."""
        self.frame = frame
        """The bytes as they came."""
        self.group: ResponseBatch | None = None
        self.destination: Port | None = None
        """The port that was sent the request, once it was."""
        self.destination_id = -1
        """The id that the destination knows."""
        self.is_settled = False
        self.on_response: OnResponse | None = None
        """Called first with the response of the destination."""
        self.on_cancel: Callable[[PendingRequest], None] | None = None
        """Called when the origin cancels the request or disconnects."""

    def follow(self, destination: Route) -> None:
        """Carry out the decision of a route."""
        if isinstance(destination, DirectResponse):
            if isinstance(destination.outcome, bytes):
                self.respond(destination.outcome)
            else:
                self.refuse(destination.outcome)
        elif destination is not None:
            destination.ask(self)

    def respond(self, result: bytes | Raw) -> None:
        """Answer with a result; a destination is not waited for."""
        self.settle(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (self.raw_id, bytes(result)))

    def refuse(self, error: RequestError) -> None:
        """Answer with an error; a destination is not waited for."""
        self.settle(error_response(self.raw_id, error))

    def settle(self, frame: bytes) -> None:
        """Answer with a frame that has the origin's id; only the first answer counts."""
        if self.is_settled:
            return
        self.withdraw()
        self.is_settled = True
        if self.origin is None:
            return
        if self.group is not None and not self.group.has_room(frame):
            frame = error_response(self.raw_id, Overloaded("The answers to the array are too long"))
        self.origin.record_response(self, frame)
        if self.group is not None:
            self.origin.show(frame, self.session_id)
            self.group.add(frame)
        else:
            self.origin.send(frame, self.session_id)
        if self.destination_id < 0:  # it goes to no other port, so nothing else slows it down
            self.origin.backpressure.check(self.origin)

    def withdraw(self) -> None:
        """Cancel the request at the destination and ignore its response."""
        if self.destination is not None:
            self.destination.withdraw(self)
            self.destination = None


RawMessage: TypeAlias = PendingRequest | RawNotification
"""A message as a port routes it."""


def error_response(raw_id: bytes, error: RequestError) -> bytes:
    """Return the frame that answers with an error."""
    data = UNSET if error.data is UNSET else Raw(msgspec.json.encode(error.data))
    frame = encode_failure(None, ErrorObject(error.code, error.message, data))
    return frame.replace(b'"id":null', b'"id":%b' % raw_id, 1)
