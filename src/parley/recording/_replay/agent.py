"""A recording as an agent that behaves as recorded; frames in, frames out, without I/O.

Each session is a queue of steps: to wait for a request of the client, for its response, or for the
end of its input, and to write what the agent wrote. A step is done when all steps of its session
before it are done, so everything that the agent wrote is released when the client has sent what it
had sent by then. Notifications of the client hold nothing up.

A request is matched with the first recorded one of its method that is still free, in its session if
possible. Clients are not deterministic, so two more rules keep a replay from waiting forever:

- A prompt does not wait for other requests that were recorded before it and have not arrived.
- Another request that arrives before its turn gets its recorded response at once.

A request that the recording does not have gets the last recorded response to its method, or an
error.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from parley.recording._format import RecordedEvent, Source
from parley.recording._reader import RecordedLine
from parley.rpc._codec import decode, encode_batch, encode_failure, encode_success
from parley.rpc._message import (
    Batch,
    ErrorObject,
    Failure,
    Id,
    Malformed,
    Notification,
    Request,
    Success,
)

from .script import (
    Entry,
    RecordedRequest,
    Script,
    read_messages,
    rename_sessions,
    session_in,
)

_PROMPT = "session/prompt"
_NOT_FOUND = -32601
_DISCONNECT = -1
"""Stands for the end of the client's input where a step waits for a request or response."""


class Output(Struct, frozen=True):
    """Bytes to write to stdout or stderr."""

    source: Source
    data: bytes


class CloseOutput(Struct, frozen=True):
    """Close stdout."""


class Exit(Struct, frozen=True):
    """End the process with an exit code, or by a signal."""

    code: int = 0
    signal: str | None = None


Action: TypeAlias = Output | CloseOutput | Exit


class _Await(Struct, frozen=True):
    """Wait until the request, or the response to the request, with a number has arrived."""

    index: int
    at: float
    number: int


class _Write(Struct, frozen=True):
    """Do what the agent did."""

    index: int
    at: float
    action: Action
    entry: Entry


_Step: TypeAlias = _Await | _Write


class _Lane:
    """The steps of one session."""

    def __init__(self) -> None:
        self.steps: deque[_Step] = deque()
        self.before: float | None = None
        """When the last step that is done was recorded."""
        self.done_at = 0.0
        """When it was done in the replay."""

    def due_at(self, speed: float | None) -> float:
        """Return when the next step, which waits for nothing, is to be done."""
        if speed is None or self.before is None:
            return self.done_at
        return self.done_at + max(0.0, self.steps[0].at - self.before) / speed

    def finish_step(self, now: float) -> _Step:
        """Take the next step, which is done."""
        step = self.steps.popleft()
        self.before, self.done_at = step.at, max(now, self.done_at)
        return step

    def skip_to_disconnect(self) -> None:
        """Drop what was recorded before the client disconnected."""
        while self.steps and not _is_await_of(self.steps[0], {_DISCONNECT}):
            self.steps.popleft()

    def drop_awaits(self, numbers: set[int]) -> None:
        """Do not wait for these requests."""
        self.steps = deque(each for each in self.steps if not _is_await_of(each, numbers))


class AgentReplay:
    """Behaves like the agent of a recording.

    `receive` takes a line of the client and `receive_end` the end of its input. After each, and at
    the time `next_at`, `actions` returns what to do. Times are seconds of any clock.
    """

    def __init__(
        self, items: Iterable[RecordedLine | RecordedEvent], *, speed: float | None = None
    ) -> None:
        """Prepare the replay.

        Args:
            items: The lines and events of a recording.
            speed: 1 takes the time that the agent took, 2 half of it; None waits for nothing.
        """
        self._speed = speed
        self._script = Script(items)
        self._free: dict[str, list[RecordedRequest]] = {}
        """The requests of the client that were not matched yet, by method."""
        self._arrived: set[int] = set()
        self._answered: set[int] = set()
        """The requests of the client whose response was sent before its turn."""
        self._dropped: set[int] = set()
        """The requests of the client that no session waits for any more."""
        self._live_ids: dict[int, Id] = {}
        self._asked: dict[Id, int] = {}
        """The requests of the agent that were sent."""
        self._names: dict[str, str] = {}
        """The live ids of sessions, where they differ from the recorded ones."""
        self._lanes: dict[str, _Lane] = {}
        self._replies: list[Action] = []
        self._exit = Exit()
        self._is_ended = False
        self._is_over = False
        for request in self._script.requests:
            if request.side == "client":
                self._free.setdefault(request.method, []).append(request)
        for index, entry in enumerate(self._script.entries):
            self._plan(index, entry)

    def _plan(self, index: int, entry: Entry) -> None:
        lane = self._lanes.setdefault(entry.session, _Lane())
        at = entry.item.at
        if entry.is_disconnect:
            lane.steps.append(_Await(index, at, _DISCONNECT))
        elif entry.source == "client":
            for number in (*entry.requests, *entry.responses):
                lane.steps.append(_Await(index, at, number))
        elif (action := _action(entry)) is not None:
            if isinstance(action, Exit):
                self._exit = action
            lane.steps.append(_Write(index, at, action, entry))

    def receive(self, line: bytes, now: float) -> None:
        """Take a line that the client has sent."""
        found = decode(line)
        if isinstance(found, Malformed):
            self._refuse_malformed(found)
            return
        for message in read_messages(line):
            match message:
                case Request():
                    self._receive_request(message)
                case Success(id=id) | Failure(id=id):
                    number = self._asked.pop(id, None)
                    if number is not None:
                        self._arrived.add(number)
                case Notification():
                    pass
        self._advance(now)

    def receive_end(self, now: float) -> None:
        """Note that the client has closed its side."""
        self._arrived.add(_DISCONNECT)
        self._is_ended = True
        self._speed = None
        self._advance(now)

    def next_at(self) -> float | None:
        """Return when `actions` has something to do; None if it waits for the client."""
        if self._replies:
            return 0.0
        return min((lane.due_at(self._speed) for lane in self._ready_lanes()), default=None)

    def actions(self, now: float) -> list[Action]:
        """Return what the agent does now; after `Exit` nothing follows."""
        actions, self._replies = self._replies, []
        while not self._is_over and (lane := self._due_lane(now)) is not None:
            step = lane.finish_step(now)
            self._advance(now)
            if isinstance(step, _Write) and (action := self._perform(step)) is not None:
                actions.append(action)
                self._is_over = isinstance(action, Exit)
        if self._is_ended and not self._is_over and not any(self._ready_lanes()):
            self._is_over = True
            actions.append(self._exit)
        return actions

    # Steps

    def _ready_lanes(self) -> list[_Lane]:
        lanes = self._lanes.values()
        return [lane for lane in lanes if lane.steps and isinstance(lane.steps[0], _Write)]

    def _due_lane(self, now: float) -> _Lane | None:
        """Return the session that writes next: of those that are due, the first recorded one."""
        due = [lane for lane in self._ready_lanes() if lane.due_at(self._speed) <= now]
        return min(due, key=lambda lane: lane.steps[0].index, default=None)

    def _advance(self, now: float) -> None:
        """Finish the steps that wait for what has arrived."""
        for lane in self._lanes.values():
            while lane.steps and isinstance(lane.steps[0], _Await):
                if lane.steps[0].number in self._arrived:
                    lane.finish_step(now)
                elif self._is_ended:
                    lane.skip_to_disconnect()
                else:
                    break

    def _perform(self, step: _Write) -> Action | None:
        """Return what a step writes now; None if that was sent already."""
        if not isinstance(step.action, Output) or step.action.source != "agent":
            return step.action
        if not self._to_answer(step.entry.responses):
            return None
        for number in step.entry.requests:
            self._asked[self._script.requests[number].message.id] = number
        data = step.action.data
        if any(self._has_other_id(number) for number in step.entry.responses):
            data = self._renumbered(step.entry) + b"\n"
        return Output("agent", rename_sessions(data, self._names))

    def _to_answer(self, numbers: Sequence[int]) -> bool:
        """Return whether a line is still to be sent: all of the requests it answers are open."""
        return all(each in self._arrived and each not in self._answered for each in numbers)

    def _has_other_id(self, number: int) -> bool:
        return self._live_ids.get(number) != self._script.requests[number].message.id

    def _renumbered(self, entry: Entry) -> bytes:
        """Return a line of the agent with the ids that the live client uses."""
        numbers = iter(entry.responses)
        frames: list[bytes] = []
        for message in entry.messages:
            if isinstance(message, Success | Failure):
                number = next(numbers, None)
                id = message.id if number is None else self._live_ids.get(number, message.id)
                frames.append(_response(id, message))
        is_batch = isinstance(decode(_line_of(entry).data), Batch)
        return encode_batch(frames) if is_batch else frames[0]

    # Requests

    def _receive_request(self, request: Request) -> None:
        found = self._match(request)
        if found is None:
            self._answer_unrecorded(request)
            return
        number = found.number
        lane = self._lanes[found.session]
        self._arrived.add(number)
        self._live_ids[number] = request.id
        before = self._unmet_requests(lane, number)
        if request.method == _PROMPT:
            lane.drop_awaits(before)
            self._dropped |= before
        elif before or number in self._dropped:
            lane.drop_awaits({number})
            self._answered.add(number)
            if found.response is not None:
                self._reply(request.id, found.response)

    def _match(self, request: Request) -> RecordedRequest | None:
        """Take the recorded request that a live one corresponds to."""
        free = self._free.get(request.method, [])
        live = session_in(request.params)
        recorded = next((old for old, new in self._names.items() if new == live), live)
        found = next((each for each in free if session_in(each.message.params) == recorded), None)
        if found is None and free and live is not None and recorded not in self._lanes:
            found = free[0]
            self._names[session_in(found.message.params) or found.session] = live
        if found is not None:
            free.remove(found)
        return found

    def _unmet_requests(self, lane: _Lane, number: int) -> set[int]:
        """Return the requests that a session waits for before the one with this number."""
        unmet: set[int] = set()
        for step in lane.steps:
            if not isinstance(step, _Await) or step.number == _DISCONNECT:
                continue
            if step.number == number:
                break
            request = self._script.requests[step.number]
            if request.side == "client" and step.number not in self._arrived:
                unmet.add(step.number)
        return unmet

    def _answer_unrecorded(self, request: Request) -> None:
        recorded = [
            each.response
            for each in self._script.requests
            if each.side == "client" and each.method == request.method and each.response
        ]
        if recorded:
            self._reply(request.id, recorded[-1])
            return
        text = f"The recording has no response to {request.method}"
        self._reply(request.id, Failure(request.id, ErrorObject(_NOT_FOUND, text)))

    def _refuse_malformed(self, found: Malformed) -> None:
        if found.role in ("request", "unclear"):
            code, text = (-32600, "Invalid request") if found.is_json else (-32700, "Parse error")
            self._reply(found.id, Failure(found.id, ErrorObject(code, text)))

    def _reply(self, id: Id, response: Success | Failure) -> None:
        data = rename_sessions(_response(id, response), self._names)
        self._replies.append(Output("agent", data + b"\n"))


def _action(entry: Entry) -> Action | None:
    item = entry.item
    if isinstance(item, RecordedLine):
        return Output(item.source, item.data + b"\n" * item.has_newline)
    if item.event == "exited":
        return Exit(item.code or 0, item.signal)
    if item.event == "failed":
        return Exit(127)
    return CloseOutput() if item.event == "closed" and item.source == "agent" else None


def _line_of(entry: Entry) -> RecordedLine:
    assert isinstance(entry.item, RecordedLine)
    return entry.item


def _is_await_of(step: _Step, numbers: set[int]) -> bool:
    return isinstance(step, _Await) and step.number in numbers


def _response(id: Id, response: Success | Failure) -> bytes:
    if isinstance(response, Success):
        return encode_success(id, bytes(response.result))
    return encode_failure(id, response.error)
