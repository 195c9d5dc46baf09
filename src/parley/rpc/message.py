"""JSON-RPC 2.0 messages as values.

`params`, `result` and an error's `data` stay the bytes they came as: whoever knows their type
decodes them. Reading and writing frames is in `codec.py`, the state of a conversation in
`engine.py`.
Spec: https://www.jsonrpc.org/specification
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

__all__ = [
    "ABSENT",
    "Batch",
    "ErrorObject",
    "Failure",
    "Id",
    "Malformed",
    "Message",
    "Notification",
    "Request",
    "Success",
]

ABSENT = Raw(b"")
"""What stands for a member that is not there."""

Id: TypeAlias = int | str | None
"""An id keeps its value and its type: 7 and "7" are two ids."""


class Request(Struct, frozen=True):
    """A call that wants an answer."""

    id: Id
    method: str
    params: Raw = ABSENT
    """The params as JSON; empty when there are none."""


class Notification(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that is never answered.

    Decoding makes it directly from the usual frame, which has these members and no others.
    """

    method: str
    params: Raw = ABSENT
    """The params as JSON; empty when there are none."""
    jsonrpc: Literal["2.0"] = "2.0"


class ErrorObject(Struct, frozen=True):
    """Why a request was refused."""

    code: int
    message: str
    data: Raw | UnsetType = UNSET
    """Anything, as JSON."""


class Success(Struct, frozen=True):
    """The answer to a request that worked."""

    id: Id
    result: Raw


class Failure(Struct, frozen=True):
    """The answer to a request that was refused."""

    id: Id
    error: ErrorObject


class Malformed(Struct, frozen=True):
    """Something that is not a message."""

    role: Literal["call", "reply", "notification", "unclear"]
    """What it would have been: a `call` is answered with an error, a `reply` fails the call that
    waits for it, a `notification` has no consequence at all. `unclear` has an id and nothing else:
    a reply if somebody waits for that id, else a call."""
    problem: str
    """What is wrong, in words of ours; nothing of the input is in it."""
    id: Id = None
    """The id, if one could be read."""
    is_json: bool = True
    """Whether it was JSON at all."""


class Batch(Struct, frozen=True):
    """Several messages in one array."""

    items: tuple[Request | Notification | Success | Failure | Malformed, ...]


Message: TypeAlias = Request | Notification | Success | Failure | Malformed | Batch
