"""The state of one JSON-RPC conversation: what was asked and what is owed. No I/O, no clock.

Theory of operation. Both directions number their requests for themselves, so there are two tables.
*Asked* holds our requests by id, each with whatever the caller left there to find itself again (its
ticket). An answer takes its row out; a second one finds nothing and is stray. *Owed* holds the
peer's requests until they are answered, each exactly once; answering twice is our own program's
mistake and raises. A request that came in an array owes its answer to the array: the frame appears
when the last entry is answered.

`receive` never raises. It turns a frame into an event: a `Notification`, a `Call` to be answered,
an `Answer` for one of our requests, a `Refusal` that is to be sent back, something `Ignored`, or
`Several` of these when the frame was an array.
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

from . import codec
from .codec import Item
from .framing import Frame
from .message import (
    Batch,
    ErrorObject,
    Failure,
    Id,
    Malformed,
    Notification,
    Request,
    Success,
)

__all__ = ["Answer", "Call", "Engine", "Event", "Ignored", "Refusal", "Rules", "Several"]

Ticket = TypeVar("Ticket")

_SHOWN_CHARACTERS = 200


class Rules(Struct, frozen=True, kw_only=True):
    """What depends on who speaks, as values."""

    allows_null_ids: bool = True
    """Whether a request may have the id null."""
    skips_noise: bool = False
    """Whether a line that is no JSON is passed over instead of answered."""
    max_depth: int = codec.MAX_DEPTH
    """How deep a message may nest."""


class Call:
    """A request of the peer's that is owed an answer."""

    __slots__ = ("group", "id", "method", "params")

    def __init__(self, request: Request, group: _Group | None) -> None:
        self.id = request.id
        self.method = request.method
        self.params = request.params
        self.group = group


class Answer(Struct, Generic[Ticket], frozen=True):
    """What became of one of our requests."""

    ticket: Ticket
    outcome: Raw | RequestError | RemoteProtocolError
    """The result as JSON, the peer's refusal, or what is wrong with its reply."""


class Refusal(Struct, frozen=True):
    """A frame to send back for something that was no message."""

    frame: bytes
    problem: str


class Ignored(Struct, frozen=True):
    """Something that has no consequence, and why."""

    problem: str
    is_noise: bool = False
    """Whether it was no JSON at all."""
    is_late: bool = False
    """Whether it was a reply that nobody waits for any more: the call was withdrawn, mostly."""


class Several(Struct, Generic[Ticket], frozen=True):
    """The events of an array, in its order."""

    events: tuple[Notification | Call | Answer[Ticket] | Refusal | Ignored, ...]


Event: TypeAlias = Notification | Call | Answer[Ticket] | Refusal | Ignored | Several[Ticket]


class _Group:
    """The answers that an array still waits for."""

    __slots__ = ("frames", "missing")

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.missing = 0

    def add(self, frame: bytes) -> bytes | None:
        self.frames.append(frame)
        self.missing -= 1
        return None if self.missing else codec.encode_batch(self.frames)


class Engine(Generic[Ticket]):
    """One conversation: feed a frame, take an event; ask or answer, take a frame."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self._next_id = 0
        self._asked: dict[Id, Ticket] = {}
        self._owed: dict[Call, None] = {}
        self._owed_by_id: dict[Id, Call] = {}

    @property
    def rules(self) -> Rules:
        """What depends on who speaks; replaced when the two sides have agreed on others."""
        return self._rules

    @rules.setter
    def rules(self, rules: Rules) -> None:
        self._rules = rules
        self._shallow = 2 * rules.max_depth  # what is shorter cannot be too deep

    @property
    def asked(self) -> int:
        """How many of our requests have no answer yet."""
        return len(self._asked)

    @property
    def owed(self) -> int:
        """How many of the peer's requests have no answer yet."""
        return len(self._owed)

    def ask(self, method: str, params: bytes | None, ticket: Ticket) -> tuple[int, bytes]:
        """Number a request and return its id and frame; the answer will come with `ticket`."""
        id = self._next_id
        frame = codec.encode_request(id, method, params)
        self._next_id += 1
        self._asked[id] = ticket
        return id, frame

    def forget(self, id: int) -> bool:
        """Stop waiting for an answer; returns whether one was still awaited."""
        is_awaited = id in self._asked
        self._asked.pop(id, None)
        return is_awaited

    def abandon(self) -> Iterable[Ticket]:
        """Return the tickets of all requests without an answer, and forget them."""
        tickets = list(self._asked.values())
        self._asked.clear()
        return tickets

    def find_owed(self, id: Id) -> Call | None:
        """Return the request with this id, of this type, that is still to be answered."""
        return self._owed_by_id.get(id)

    def answer(self, call: Call, result: bytes) -> bytes | None:
        """Return the frame that answers with a result; None when nothing is to be sent now."""
        return self._settle(call, codec.encode_success(call.id, result))

    def refuse(self, call: Call, error: ErrorObject) -> bytes | None:
        """Return the frame that answers with an error; None when nothing is to be sent now."""
        return self._settle(call, codec.encode_failure(call.id, error))

    def _settle(self, call: Call, frame: bytes) -> bytes | None:
        if call not in self._owed:
            raise LocalProtocolError(f"the request {call.method} was answered already")
        del self._owed[call]
        self._owed_by_id.pop(call.id, None)
        return frame if call.group is None else call.group.add(frame)

    def receive(self, frame: Frame) -> Event[Ticket] | None:
        """Take a frame and return what it means; None for a blank one."""
        if frame.startswith(codec.USUAL) and len(frame) <= self._shallow and frame.isascii():
            try:
                return codec.decode_notification(frame)
            except codec.NOT_FITTING:
                pass  # it is something else, or broken: the general way finds out
        message = codec.decode(frame, self._rules.max_depth)
        if message is None:
            return None
        if isinstance(message, Malformed) and self._rules.skips_noise and _is_noise(frame, message):
            return self._behind_noise(frame)
        return self._batch(message) if isinstance(message, Batch) else self._event(message, None)

    def _behind_noise(self, frame: Frame) -> Event[Ticket]:
        """Look for a message at the end of a line that begins with something else."""
        found = codec.find_message(frame, self._rules.max_depth)
        if found is None:
            return Ignored("a line that is not JSON", is_noise=True)
        return Several((Ignored("noise before a message", is_noise=True), self._event(found, None)))

    def _event(
        self, message: Item, group: _Group | None
    ) -> Notification | Call | Answer[Ticket] | Refusal | Ignored:
        match message:
            case Notification():
                return message
            case Request():
                return self._call(message, group)
            case Success(id, result):
                return self._answer(id, result)
            case Failure(id, error):
                return self._answer(id, codec.exception_of(error))
            case malformed:
                return self._malformed(malformed)

    def _call(self, request: Request, group: _Group | None) -> Call | Refusal:
        if request.id is None and not self._rules.allows_null_ids:
            return _refusal(Malformed("call", "the id of a request must not be null"))
        if request.id is not None and request.id in self._owed_by_id:
            return _refusal(Malformed("call", "a request with this id is under way", request.id))
        call = Call(request, group)
        if group is not None:
            group.missing += 1
        self._owed[call] = None
        if request.id is not None:
            self._owed_by_id[request.id] = call
        return call

    def _answer(
        self, id: Id, outcome: Raw | RequestError | RemoteProtocolError
    ) -> Answer[Ticket] | Ignored:
        if id in self._asked:
            return Answer(self._asked.pop(id), outcome)
        if id is None and isinstance(outcome, RequestError):
            problem = f"{str(outcome)[:_SHOWN_CHARACTERS]!r}"  # it is the peer's text
            return Ignored(f"the peer could not read a message of ours: {problem}")
        if isinstance(id, int) and 0 <= id < self._next_id:
            return Ignored("a reply that nobody waits for any more", is_late=True)
        return Ignored("a reply to nothing that was asked")

    def _malformed(self, message: Malformed) -> Answer[Ticket] | Refusal | Ignored:
        is_awaited = message.id in self._asked
        if message.role == "reply" or (message.role == "unclear" and is_awaited):
            problem = RemoteProtocolError(f"the peer answered with {message.problem}")
            return self._answer(message.id, problem)
        if message.role == "notification":
            return Ignored(message.problem)
        return _refusal(message)

    def _batch(self, batch: Batch) -> Several[Ticket] | Refusal:
        group = _Group()
        events: list[Notification | Call | Answer[Ticket] | Refusal | Ignored] = []
        refused: list[bytes] = []
        for item in batch.items:
            event = self._event(item, group)
            if isinstance(event, Refusal):
                refused.append(event.frame)
                event = Ignored(event.problem)
            events.append(event)
        group.frames = refused
        if refused and not group.missing:
            events.append(Refusal(codec.encode_batch(refused), "an array with entries in error"))
        return Several(tuple(events))


_PADDING = codecs.BOM_UTF8 + b" \t\r\n"


def _is_noise(frame: Frame, message: Malformed) -> bool:
    """Tell a stray line, such as a banner, from a message that went wrong."""
    return not message.is_json and not frame.lstrip(_PADDING).startswith(b"{")


def _refusal(message: Malformed) -> Refusal:
    error = InvalidRequest() if message.is_json else ParseError()
    body = ErrorObject(
        error.code, error.message, Raw(msgspec.json.encode({"problem": message.problem}))
    )
    return Refusal(codec.encode_failure(message.id, body), message.problem)
