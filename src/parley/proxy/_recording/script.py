"""A recorded session as what its agent does, step by step.

A record is cut at the requests that the conversation waits for: initialize, the one that opens the
session, the prompts. Between them are the agent's messages. Other requests of the client are no
steps, they are answered whenever they come, each from the answers to its method in their order.

What no client would want to see again is left out: a session that could not be opened. If a record
continues over several connections, only the first beginning is kept, without later replays. A
prompt that was sent while a turn ran is waited for when that turn is over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct, structs

from parley.errors import AcpError
from parley.peer._initialize import version_of
from parley.rpc._codec import decode as decode_frame
from parley.rpc._codec import encode_notification
from parley.rpc._message import (
    Batch,
    Failure,
    Id,
    Malformed,
    Notification,
    Request,
    Success,
)
from parley.schema import v1, v2
from parley.schema._codec import decode
from parley.schema._session_methods import OPENS
from parley.session._content_blocks import upgrade_blocks
from parley.session.frame_replay import RecordedFrame

_PROMPT = "session/prompt"

T = TypeVar("T")

Key: TypeAlias = tuple[int, Id]
"""A request of the record: the number of its connection, and its id there."""
Response: TypeAlias = Success | Failure


class WaitForRequest(Struct, frozen=True):
    """Wait for a request of the client's."""

    key: Key
    method: str


class Respond(Struct, frozen=True):
    """Answer one that was waited for."""

    key: Key
    response: Response
    after: float
    """The seconds between the message before it and this one."""


class Send(Struct, frozen=True):
    """Send a frame as it is."""

    frame: bytes
    after: float


class SendRequest(Struct, frozen=True):
    """Ask the client something."""

    key: Key
    request: Request
    after: float


class WaitForResponse(Struct, frozen=True):
    """Wait for what the client answers to it."""

    key: Key


class CancelRequest(Struct, frozen=True):
    """Take it back."""

    key: Key
    after: float


class FailTurn(Struct, frozen=True):
    """End a turn that has no end in the record."""

    key: Key


Step: TypeAlias = (
    WaitForRequest | Respond | Send | SendRequest | WaitForResponse | CancelRequest | FailTurn
)


_Item: TypeAlias = Request | Notification | Response | Malformed


class _RecordedMessage(Struct, frozen=True):
    """A message of the record."""

    connection: int
    after: float
    is_to_agent: bool
    item: _Item
    frame: bytes


class _Session(Struct):
    session_id: str | None = msgspec.field(name="sessionId", default=None)


class _Withdrawn(Struct):
    id: int | str | None = msgspec.field(name="requestId")


class _Update(Struct):
    kind: str = msgspec.field(name="sessionUpdate")
    state: str = ""


class _Note(Struct):
    update: _Update


class ReplayScript:
    """The steps of a replay, in order."""

    def __init__(self, frames: Iterable[RecordedFrame]) -> None:
        """Read a record.

        Raises:
            ValueError: It does not show how a connection and a session were opened.
        """
        self.steps: list[Step] = []
        self.prompts: list[list[v2.ContentBlock]] = []
        """The prompts of the user."""
        self.responses: defaultdict[str, list[Response]] = defaultdict(list)
        """The answers to requests that nothing waits for, by method."""
        self.session_id: str | None = None
        self.is_second = False
        """Whether it is version 2 that was spoken."""
        self._methods: dict[Key, str] = {}
        self._waited: set[Key] = set()
        self._running: Key | None = None
        self._later: dict[Key, list[Step]] = {}
        self._is_reopening = False
        self._fork: str | None = None
        """The id under which a fork of the session continues."""
        passed = list(_messages(frames))
        self._responses: dict[Key, Response] = {
            (each.connection, each.item.id): each.item
            for each in reversed(passed)  # the first answer to a request counts
            if not each.is_to_agent and isinstance(each.item, Success | Failure)
        }
        for each in passed:
            if not self._take(each):
                break
        self._interrupt()
        if self.session_id is None:
            raise ValueError("the record does not show how a session was opened")
        self._check()

    def _check(self) -> None:
        """Refuse a record in which a client would wait for ever."""
        kept = [step for step in self.steps if isinstance(step, WaitForRequest | Respond)]
        begun = [(type(step), self._methods[step.key], step.key) for step in kept[:4]]
        for step, each, methods in (
            ("begin with initialize", begun[:2], {"initialize"}),
            ("continue with the opening of a session", begun[2:], OPENS),
        ):
            kinds = [kind for kind, _, _ in each]
            is_one = len({key for _, _, key in each}) == 1
            if kinds != [WaitForRequest, Respond] or not is_one or each[0][1] not in methods:
                raise ValueError(f"the record does not {step}, and its answer")

    def _take(self, passed: _RecordedMessage) -> bool:
        """Add what a message makes the agent do; return whether the record continues."""
        key = (passed.connection, getattr(passed.item, "id", None))
        match passed:
            case _RecordedMessage(is_to_agent=True, item=Request() as request):
                return self._ask(key, request)
            case _RecordedMessage(is_to_agent=False, item=Success() | Failure() as response):
                self._add_response(key, response, passed.after)
            case _ if self._is_reopening:
                pass  # a replay of what was played already
            case _RecordedMessage(is_to_agent=True, item=Success() | Failure()):
                self.steps.append(WaitForResponse(key))
            case _RecordedMessage(is_to_agent=False, item=Request() as request):
                params = Raw(self._renamed(bytes(request.params)))
                request = structs.replace(request, params=params)
                self.steps.append(SendRequest(key, request, passed.after))
            case _RecordedMessage(is_to_agent=False, item=item):
                self._say(passed, item)
            case _:
                pass  # a notification of the client's
        return True

    def _ask(self, key: Key, request: Request) -> bool:
        self._methods[key] = request.method
        response = self._responses.get(key)
        if request.method == "initialize":
            return self._begin(key, response)
        if request.method in OPENS:
            if self.session_id is None and isinstance(response, Success):
                self._open(key, request, response)
        elif request.method == _PROMPT:
            self._prompt(key, request)
        elif response is not None:
            self.responses[request.method].append(response)
        return True

    def _begin(self, key: Key, response: Response | None) -> bool:
        """Begin, or begin again; a record that continues in another version ends here."""
        is_second = None if response is None else _is_second(response)
        if is_second is None:
            return True
        if self.session_id is None:
            self.is_second = is_second
            self.steps = []
            self._wait(key, "initialize")
            return True
        self._interrupt()
        self._is_reopening = True
        return is_second is self.is_second

    def _open(self, key: Key, request: Request, response: Success) -> None:
        self.session_id = session_in(response.result) or session_in(request.params)
        if self.session_id is not None:
            self._wait(key, request.method)

    def _prompt(self, key: Key, request: Request) -> None:
        self.prompts.append(_blocks(request.params, is_second=self.is_second))
        if self._running is None:
            self._running = key
            self._wait(key, _PROMPT)
        else:
            self._waited.add(key)
            self._later[key] = [WaitForRequest(key, _PROMPT)]

    def _wait(self, key: Key, method: str) -> None:
        self._waited.add(key)
        self.steps.append(WaitForRequest(key, method))

    def _add_response(self, key: Key, response: Response, after: float) -> None:
        if self._is_reopening:
            if self._methods.get(key) in OPENS and isinstance(response, Success):
                self._is_reopening = False
                self._fork = session_in(response.result)
        elif key in self._later:
            self._later[key].append(Respond(key, response, after))
        elif key in self._waited:
            self.steps.append(Respond(key, response, after))
            if key == self._running and (not self.is_second or isinstance(response, Failure)):
                self._end_turn()

    def _say(self, passed: _RecordedMessage, item: Any) -> None:
        method = item.method if isinstance(item, Notification) else None
        if method == "$/cancel_request":
            withdrawn = _read(_Withdrawn, item.params)
            if withdrawn is not None:
                self.steps.append(CancelRequest((passed.connection, withdrawn.id), passed.after))
            return
        self.steps.append(Send(self._renamed(passed.frame), passed.after))
        if self.is_second and method == "session/update":
            note = _read(_Note, item.params)
            if note is not None and (note.update.kind, note.update.state) == _IDLE:
                if self._running is not None and self._running not in self._responses:
                    self.steps.append(FailTurn(self._running))  # its answer was lost
                self._end_turn()

    def _renamed(self, data: bytes) -> bytes:
        """Call a fork by the name that the client knows the session by."""
        if self._fork is None or self._fork == self.session_id:
            return data
        return data.replace(msgspec.json.encode(self._fork), msgspec.json.encode(self.session_id))

    def _end_turn(self) -> None:
        self._running = next(iter(self._later), None)
        if self._running is not None:
            self.steps += self._later.pop(self._running)

    def _interrupt(self) -> None:
        """End what runs when a connection is lost, or the record is over."""
        while self._running is not None:
            self.steps.append(FailTurn(self._running))
            self._end_turn()


_IDLE = ("state_update", "idle")


def _messages(frames: Iterable[RecordedFrame]) -> Iterator[_RecordedMessage]:
    connection = 0
    before: float | None = None
    for frame in frames:
        if frame.kind not in ("to_agent", "to_client"):
            continue
        is_to_agent = frame.kind == "to_agent"
        after = 0.0 if before is None else max(0.0, frame.at - before)
        before = frame.at
        for item, data in _read_frame(bytes(frame.data)):
            if is_to_agent and isinstance(item, Request) and item.method == "initialize":
                connection += 1
            yield _RecordedMessage(connection, after, is_to_agent, item, data)
            after = 0.0


def _read_frame(data: bytes) -> list[tuple[_Item, bytes]]:
    """Return the messages of a frame, each with its bytes; what is broken in a batch is lost."""
    message = decode_frame(data)
    if isinstance(message, Batch):
        read = (each for each in message.items if not isinstance(each, Malformed))
        return [(each, _written(each)) for each in read]
    return [] if message is None else [(message, data)]


def _written(item: object) -> bytes:
    """Write a message of a batch by itself, if it is one that is sent as it is."""
    if not isinstance(item, Notification):
        return b""
    return encode_notification(item.method, bytes(item.params) or None)


def _is_second(response: Response) -> bool | None:
    """Return whether an answer to initialize is version 2's; None if it is none."""
    try:
        return version_of(response.result) == 2 if isinstance(response, Success) else None
    except AcpError:
        return None


def session_in(raw: Raw) -> str | None:
    """Return the id of the session that params or a result name."""
    found = _read(_Session, raw)
    return None if found is None else found.session_id


def _read(tp: type[T], raw: Raw) -> T | None:
    try:
        return decode(tp, raw)
    except AcpError:
        return None


def _blocks(params: Raw, *, is_second: bool) -> list[v2.ContentBlock]:
    """Return a prompt in version 2's words; of one that cannot be read nothing is left."""
    try:
        if is_second:
            return list(decode(v2.PromptRequest, params).prompt)
        return upgrade_blocks(decode(v1.PromptRequest, params).prompt)
    except AcpError:
        return []
