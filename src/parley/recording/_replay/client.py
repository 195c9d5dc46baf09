"""A recording as a client that sends what the recorded one sent; frames in, frames out, no I/O.

What the client sent is sent in order. Each line waits until the agent has responded to all requests
whose response was recorded before it, and until as many turns have ended. Requests of the agent get
the recorded response of the first recorded request of their method that is still free, or an error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct, field

from parley.recording._format import RecordedEvent
from parley.recording._reader import RecordedLine
from parley.rpc._codec import DECODE_ERRORS, encode_failure, encode_success
from parley.rpc._message import ErrorObject, Failure, Notification, Request, Success

from .script import (
    Entry,
    Message,
    RecordedRequest,
    Script,
    read_messages,
    rename_sessions,
    session_in,
)

_NOT_FOUND = -32601


class _Update(Struct, frozen=True):
    kind: str = field(name="sessionUpdate", default="")
    state: str = ""


class _Params(Struct, frozen=True):
    update: _Update = _Update()


class _Step(Struct, frozen=True):
    """A line to send, after the responses to the requests with these numbers."""

    after: float
    """The seconds since the entry before it in the recording."""
    data: bytes
    needs: frozenset[int]
    needed_idles: int
    """How many turns of version 2 must have ended."""
    requests: tuple[int, ...]


class ClientReplay:
    """Behaves like the client of a recording.

    `receive` takes a line of the agent. After it, and at the time `next_at`, `lines` returns what
    to send. Times are seconds of any clock.
    """

    def __init__(
        self, items: Iterable[RecordedLine | RecordedEvent], *, speed: float | None = None
    ) -> None:
        """Prepare the replay.

        Args:
            items: The lines and events of a recording.
            speed: 1 takes the time that the client took, 2 half of it; None waits for nothing.
        """
        self._speed = speed
        self._script = Script(items)
        self._steps: deque[_Step] = deque()
        self._replies: list[bytes] = []
        self._free: dict[str, list[RecordedRequest]] = {}
        """The requests of the agent that were not matched yet, by method."""
        self._open: dict[Any, RecordedRequest] = {}
        """The requests that were sent and have no response yet, by id."""
        self._answered: set[int] = set()
        self._idles = 0
        self._names: dict[str, str] = {}
        """The live ids of sessions, by the recorded ones."""
        self._done_at = 0.0
        """When the last line was sent or received."""
        for request in self._script.requests:
            if request.side == "agent":
                self._free.setdefault(request.method, []).append(request)
        self._plan(self._script.entries)

    def _plan(self, entries: Iterable[Entry]) -> None:
        needs: set[int] = set()
        idles = 0
        before = 0.0
        for entry in entries:
            after, before = max(0.0, entry.item.at - before), entry.item.at
            if entry.source == "agent":
                needs.update(entry.responses)
                idles += sum(map(is_idle, entry.messages))
            elif entry.source == "client" and not entry.responses:
                assert isinstance(entry.item, RecordedLine)
                data = entry.item.data
                self._steps.append(_Step(after, data, frozenset(needs), idles, entry.requests))
        self._last_needs = frozenset(needs)
        self._last_idles = idles

    @property
    def is_done(self) -> bool:
        """Whether everything is sent, and the agent has responded as often as it did."""
        return not self._steps and self._is_met(self._last_needs, self._last_idles)

    @property
    def waits_for(self) -> list[str]:
        """The methods of the requests that the agent has not responded to."""
        return [each.method for each in self._open.values()]

    def receive(self, line: bytes, now: float) -> None:
        """Take a line that the agent has sent."""
        for message in read_messages(line):
            match message:
                case Request():
                    self._respond(message)
                case Success(id=id) | Failure(id=id):
                    self._take_response(id, message)
                case Notification():
                    self._idles += is_idle(message)
        self._done_at = max(self._done_at, now)

    def next_at(self) -> float | None:
        """Return when `lines` has something to send; None if it waits for the agent."""
        if self._replies:
            return 0.0
        if not self._steps or not self._is_met(self._steps[0].needs, self._steps[0].needed_idles):
            return None
        pause = 0.0 if self._speed is None else self._steps[0].after / self._speed
        return self._done_at + pause

    def lines(self, now: float) -> list[bytes]:
        """Return the lines to send now, without newlines."""
        lines, self._replies = self._replies, []
        while (at := self.next_at()) is not None and at <= now:
            step = self._steps.popleft()
            self._done_at = max(now, self._done_at)
            for number in step.requests:
                request = self._script.requests[number]
                self._open[request.message.id] = request
            lines.append(rename_sessions(step.data, self._names))
        return lines

    def _is_met(self, needs: frozenset[int], idles: int) -> bool:
        return needs <= self._answered and self._idles >= idles

    def _take_response(self, id: Any, response: Success | Failure) -> None:
        request = self._open.pop(id, None)
        if request is None:
            return
        self._answered.add(request.number)
        if isinstance(response, Success) and isinstance(request.response, Success):
            recorded, live = session_in(request.response.result), session_in(response.result)
            if recorded is not None and live is not None:
                self._names[recorded] = live
        if isinstance(response, Failure) and not isinstance(request.response, Failure):
            self._idles = max(self._idles, self._idles_before(request))

    def _idles_before(self, request: RecordedRequest) -> int:
        """Return how many turns had ended when the client sent its next line.

        An agent that refuses a prompt does not end its turn.
        """
        waiting = [each.needed_idles for each in self._steps if request.number in each.needs]
        return min(waiting, default=self._last_idles)

    def _respond(self, request: Request) -> None:
        free = self._free.get(request.method, [])
        live = session_in(request.params)
        recorded = next((old for old, new in self._names.items() if new == live), live)
        found = next((each for each in free if session_in(each.message.params) == recorded), None)
        if found is None:
            text = f"The recording has no further {request.method}"
            failure = ErrorObject(_NOT_FOUND, text)
            self._replies.append(encode_failure(request.id, failure))
            return
        free.remove(found)
        if isinstance(found.response, Success):
            result = rename_sessions(bytes(found.response.result), self._names)
            self._replies.append(encode_success(request.id, result))
        elif isinstance(found.response, Failure):
            self._replies.append(encode_failure(request.id, found.response.error))


def is_idle(message: Message) -> bool:
    """Return whether a message ends a turn of version 2."""
    if not isinstance(message, Notification) or message.method != "session/update":
        return False
    try:
        update = msgspec.json.decode(message.params, type=_Params).update
    except DECODE_ERRORS:
        return False
    return (update.kind, update.state) == ("state_update", "idle")
