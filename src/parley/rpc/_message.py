"""JSON-RPC 2.0 messages as values.

`params`, `result` and the `data` of an error stay undecoded bytes; the code that knows their type
decodes them. `_codec.py` reads and writes frames, and `_engine.py` has the state of a connection.
Spec: https://www.jsonrpc.org/specification
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

ABSENT = Raw(b"")
"""The value of a missing member."""

Id: TypeAlias = int | str | None
"""A request id; its type matters: 7 and "7" are different ids."""


class Request(Struct, frozen=True):
    """A call that needs a response."""

    id: Id
    method: str
    params: Raw = ABSENT
    """The params as JSON; empty if there are none."""


class Notification(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that gets no response.

    The usual frame has these members and no others, and is decoded directly into this type.
    """

    method: str
    params: Raw = ABSENT
    """The params as JSON; empty if there are none."""
    jsonrpc: Literal["2.0"] = "2.0"


class ErrorObject(Struct, frozen=True):
    """The error of a failed request."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET
    """Any further information, as JSON."""


class Success(Struct, frozen=True):
    """The response to a successful request."""

    id: Id
    result: Raw


class Failure(Struct, frozen=True):
    """The response to a failed request."""

    id: Id
    error: ErrorObject


class Malformed(Struct, frozen=True):
    """A frame, or an entry of a batch, that is not a valid message."""

    role: Literal["request", "response", "notification", "unclear"]
    """The kind of message it seems to be. A `request` gets an error response, a `response` fails
    the request that it belongs to, and a `notification` is ignored. `unclear` has only an id: it is
    a response if a request with that id is pending, else a request."""
    problem: str
    """A description of the problem; it never quotes the input."""
    id: Id = None
    """The id, if one could be read."""
    is_json: bool = True
    """Whether it was JSON at all."""


class Batch(Struct, frozen=True):
    """Several messages in one JSON array."""

    items: tuple[Request | Notification | Success | Failure | Malformed, ...]


Message: TypeAlias = Request | Notification | Success | Failure | Malformed | Batch
