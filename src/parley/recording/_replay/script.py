"""A recording as a list of entries: which messages a line contains, and what belongs together.

A response belongs to the last open request of the other side with its id. Each request gets a
number, since an id may be used again, for example by the next connection in an export of the
journal.

Each entry belongs to a session, so that sessions of one connection do not wait for each other. The
request that opens a session belongs to it already. What names no session that a client has opened,
such as output that is not JSON, belongs to the session of the entry before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct, field

from parley.recording._format import RecordedEvent, Source
from parley.recording._reader import RecordedLine
from parley.rpc._codec import DECODE_ERRORS, decode
from parley.rpc._message import Batch, Failure, Id, Malformed, Notification, Request, Success

Message: TypeAlias = Request | Notification | Success | Failure
Side: TypeAlias = Literal["client", "agent"]
ENDING_SIGNALS = frozenset({"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGKILL"})


class _Place(Struct):
    session_id: str | None = field(name="sessionId", default=None)


class RecordedRequest(Struct, frozen=True):
    """A request of the recording, with its response."""

    number: int
    side: Side
    """Who sent it."""
    message: Request
    session: str
    response: Success | Failure | None
    """None if there was no response."""

    @property
    def method(self) -> str:
        """The method."""
        return self.message.method


class Entry(Struct, frozen=True):
    """A line or an event of a recording, with the requests that it contains or answers."""

    item: RecordedLine | RecordedEvent
    session: str
    """The session that it belongs to; empty if it belongs to the connection."""
    messages: tuple[Message, ...] = ()
    """The messages of a line of the client or the agent; none if it is not JSON-RPC."""
    requests: tuple[int, ...] = ()
    """The numbers of the requests in the line."""
    responses: tuple[int, ...] = ()
    """The numbers of the requests that the line answers."""

    @property
    def source(self) -> Source | None:
        """Who wrote the line; None for an event."""
        return self.item.source if isinstance(self.item, RecordedLine) else None

    @property
    def is_disconnect(self) -> bool:
        """Whether the client ended the connection here, or the agent."""
        if not isinstance(self.item, RecordedEvent):
            return False
        if self.item.event == "signal":
            return self.item.signal in ENDING_SIGNALS
        # With a reason, the stream of the client ended because the agent had closed it.
        is_closed = self.item.event == "closed" and self.item.reason is None
        return is_closed and self.item.source == "client"


class Script:
    """The entries and requests of a recording."""

    def __init__(self, items: Iterable[RecordedLine | RecordedEvent]) -> None:
        """Read a recording."""
        self.entries: list[Entry] = []
        self.requests: list[RecordedRequest] = []
        """All requests of both sides, in order; the index is the number."""
        self._open: dict[tuple[Side, Id], int] = {}
        self._known: set[str] = {""}
        """The sessions that the client has opened or used."""
        self._session = ""
        """The session of the last entry."""
        lines = [(item, _messages(item)) for item in items]
        self._responses = _pair_responses(lines)
        for item, messages in lines:
            self._add(item, messages)

    def _add(self, item: RecordedLine | RecordedEvent, messages: tuple[Message, ...]) -> None:
        requests: list[int] = []
        responses: list[int] = []
        session: str | None = None
        if isinstance(item, RecordedLine) and item.source != "stderr":
            for message in messages:
                if isinstance(message, Request):
                    requests.append(self._add_request(item.source, message))
                    session = self.requests[-1].session
                elif isinstance(message, Notification):
                    session = self._session_of(item.source, message.params)
                else:
                    number = self._open.pop((other_side(item.source), message.id), None)
                    if number is not None:
                        responses.append(number)
                        session = self.requests[number].session
        self._session = self._session if session is None else session
        entry = Entry(item, self._session, messages, tuple(requests), tuple(responses))
        self.entries.append(entry)

    def _add_request(self, side: Side, request: Request) -> int:
        number = len(self.requests)
        response = self._responses.get(number)
        opened = session_in(response.result) if isinstance(response, Success) else None
        if side == "client" and opened is not None and opened not in self._known:
            session = opened
            self._known.add(opened)
        else:
            session = self._session_of(side, request.params)
        self.requests.append(RecordedRequest(number, side, request, session, response))
        self._open[side, request.id] = number
        return number

    def _session_of(self, side: Side, params: Raw) -> str:
        """Return the session that params name; the present one for one that no client opened."""
        named = session_in(params)
        if side == "client":
            self._known.add(named or "")
            return named or ""
        return named if named is not None and named in self._known else self._session


def other_side(side: Side) -> Side:
    """Return the other side of a connection."""
    return "agent" if side == "client" else "client"


def session_in(raw: Raw) -> str | None:
    """Return the session that params or a result name."""
    try:
        return msgspec.json.decode(raw, type=_Place).session_id
    except DECODE_ERRORS:
        return None


def read_messages(line: bytes) -> tuple[Message, ...]:
    """Return the messages of a line; none if it is not JSON-RPC."""
    found = decode(line)
    items = found.items if isinstance(found, Batch) else (found,)
    return tuple(each for each in items if each is not None and not isinstance(each, Malformed))


def rename_sessions(data: bytes, names: dict[str, str]) -> bytes:
    """Replace the ids of sessions, wherever one is a whole JSON string."""
    for old, new in names.items():
        if old != new:
            data = data.replace(msgspec.json.encode(old), msgspec.json.encode(new))
    return data


def _messages(item: RecordedLine | RecordedEvent) -> tuple[Message, ...]:
    if not isinstance(item, RecordedLine) or item.source == "stderr":
        return ()
    return read_messages(item.data)


def _pair_responses(
    lines: Iterable[tuple[RecordedLine | RecordedEvent, tuple[Message, ...]]],
) -> dict[int, Success | Failure]:
    """Return the response to each request that has one, by the number of the request."""
    responses: dict[int, Success | Failure] = {}
    open_requests: dict[tuple[Side, Id], int] = {}
    count = 0
    for item, messages in lines:
        if not isinstance(item, RecordedLine) or item.source == "stderr":
            continue
        for message in messages:
            if isinstance(message, Request):
                open_requests[item.source, message.id] = count
                count += 1
            elif isinstance(message, Success | Failure):
                number = open_requests.pop((other_side(item.source), message.id), None)
                if number is not None:
                    responses[number] = message
    return responses
