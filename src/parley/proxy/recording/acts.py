"""A recorded session as what its agent does, step by step.

A record is cut at the requests that the conversation waits for: initialize, the one that opens the
session, the prompts. Between them stands what the agent said. Other requests of the client are no
steps, they are answered whenever they come, each from the answers to its method in their order.

What no client would want to see again is left out: a session that could not be opened, and of a
record that goes on over several connections all but the first beginning, with the replays there. A
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

__all__ = [
    "Act",
    "Answer",
    "Await",
    "Break",
    "Key",
    "Play",
    "Put",
    "Reply",
    "Send",
    "Wait",
    "Withdraw",
    "named_session",
]

_PROMPT = "session/prompt"

T = TypeVar("T")

Key: TypeAlias = tuple[int, Id]
"""A request of the record: the number of its connection, and its id there."""
Reply: TypeAlias = Success | Failure


class Wait(Struct, frozen=True):
    """Wait for a request of the client's."""

    key: Key
    method: str


class Answer(Struct, frozen=True):
    """Answer one that was waited for."""

    key: Key
    reply: Reply
    after: float
    """How many seconds it came behind what was before it."""


class Send(Struct, frozen=True):
    """Send a frame as it is."""

    frame: bytes
    after: float


class Put(Struct, frozen=True):
    """Ask the client something."""

    key: Key
    request: Request
    after: float


class Await(Struct, frozen=True):
    """Wait for what the client answers to it."""

    key: Key


class Withdraw(Struct, frozen=True):
    """Take it back."""

    key: Key
    after: float


class Break(Struct, frozen=True):
    """End a turn that has no end in the record."""

    key: Key


Act: TypeAlias = Wait | Answer | Send | Put | Await | Withdraw | Break


_Item: TypeAlias = Request | Notification | Reply | Malformed


class _Passed(Struct, frozen=True):
    """One message of the record."""

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


class Play:
    """What there is to do, in order."""

    def __init__(self, frames: Iterable[RecordedFrame]) -> None:
        """Read a record.

        Raises:
            ValueError: It does not show how a connection and a session were opened.
        """
        self.acts: list[Act] = []
        self.prompts: list[list[v2.ContentBlock]] = []
        """What the user said."""
        self.answers: defaultdict[str, list[Reply]] = defaultdict(list)
        """The answers to requests that nothing waits for, by method."""
        self.session_id: str | None = None
        self.is_second = False
        """Whether it is version 2 that was spoken."""
        self._methods: dict[Key, str] = {}
        self._waited: set[Key] = set()
        self._running: Key | None = None
        self._later: dict[Key, list[Act]] = {}
        self._is_reopening = False
        self._fork: str | None = None
        """The id under which a fork of the session goes on."""
        passed = list(_messages(frames))
        self._replies: dict[Key, Reply] = {
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
        kept = [act for act in self.acts if isinstance(act, Wait | Answer)]
        begun = [(type(act), self._methods[act.key], act.key) for act in kept[:4]]
        for what, each, methods in (
            ("begin with initialize", begun[:2], {"initialize"}),
            ("go on with a session that is opened", begun[2:], OPENS),
        ):
            kinds = [kind for kind, _, _ in each]
            is_one = len({key for _, _, key in each}) == 1
            if kinds != [Wait, Answer] or not is_one or each[0][1] not in methods:
                raise ValueError(f"the record does not {what}, and its answer")

    def _take(self, passed: _Passed) -> bool:
        """Add what a message makes the agent do; return whether the record goes on."""
        key = (passed.connection, getattr(passed.item, "id", None))
        match passed:
            case _Passed(is_to_agent=True, item=Request() as request):
                return self._ask(key, request)
            case _Passed(is_to_agent=False, item=Success() | Failure() as reply):
                self._answer(key, reply, passed.after)
            case _ if self._is_reopening:
                pass  # a replay of what was played already
            case _Passed(is_to_agent=True, item=Success() | Failure()):
                self.acts.append(Await(key))
            case _Passed(is_to_agent=False, item=Request() as request):
                params = Raw(self._renamed(bytes(request.params)))
                request = structs.replace(request, params=params)
                self.acts.append(Put(key, request, passed.after))
            case _Passed(is_to_agent=False, item=item):
                self._say(passed, item)
            case _:
                pass  # a notification of the client's
        return True

    def _ask(self, key: Key, request: Request) -> bool:
        self._methods[key] = request.method
        reply = self._replies.get(key)
        if request.method == "initialize":
            return self._begin(key, reply)
        if request.method in OPENS:
            if self.session_id is None and isinstance(reply, Success):
                self._open(key, request, reply)
        elif request.method == _PROMPT:
            self._prompt(key, request)
        elif reply is not None:
            self.answers[request.method].append(reply)
        return True

    def _begin(self, key: Key, reply: Reply | None) -> bool:
        """Begin, or begin again; a record that goes on in another version ends here."""
        is_second = None if reply is None else _is_second(reply)
        if is_second is None:
            return True
        if self.session_id is None:
            self.is_second = is_second
            self.acts = []
            self._wait(key, "initialize")
            return True
        self._interrupt()
        self._is_reopening = True
        return is_second is self.is_second

    def _open(self, key: Key, request: Request, reply: Success) -> None:
        self.session_id = named_session(reply.result) or named_session(request.params)
        if self.session_id is not None:
            self._wait(key, request.method)

    def _prompt(self, key: Key, request: Request) -> None:
        self.prompts.append(_blocks(request.params, is_second=self.is_second))
        if self._running is None:
            self._running = key
            self._wait(key, _PROMPT)
        else:
            self._waited.add(key)
            self._later[key] = [Wait(key, _PROMPT)]

    def _wait(self, key: Key, method: str) -> None:
        self._waited.add(key)
        self.acts.append(Wait(key, method))

    def _answer(self, key: Key, reply: Reply, after: float) -> None:
        if self._is_reopening:
            if self._methods.get(key) in OPENS and isinstance(reply, Success):
                self._is_reopening = False
                self._fork = named_session(reply.result)
        elif key in self._later:
            self._later[key].append(Answer(key, reply, after))
        elif key in self._waited:
            self.acts.append(Answer(key, reply, after))
            if key == self._running and (not self.is_second or isinstance(reply, Failure)):
                self._end_turn()

    def _say(self, passed: _Passed, item: Any) -> None:
        method = item.method if isinstance(item, Notification) else None
        if method == "$/cancel_request":
            withdrawn = _read(_Withdrawn, item.params)
            if withdrawn is not None:
                self.acts.append(Withdraw((passed.connection, withdrawn.id), passed.after))
            return
        self.acts.append(Send(self._renamed(passed.frame), passed.after))
        if self.is_second and method == "session/update":
            note = _read(_Note, item.params)
            if note is not None and (note.update.kind, note.update.state) == _IDLE:
                if self._running is not None and self._running not in self._replies:
                    self.acts.append(Break(self._running))  # its answer was lost
                self._end_turn()

    def _renamed(self, data: bytes) -> bytes:
        """Call a fork by the name that the client knows the session by."""
        if self._fork is None or self._fork == self.session_id:
            return data
        return data.replace(msgspec.json.encode(self._fork), msgspec.json.encode(self.session_id))

    def _end_turn(self) -> None:
        self._running = next(iter(self._later), None)
        if self._running is not None:
            self.acts += self._later.pop(self._running)

    def _interrupt(self) -> None:
        """End what runs when a connection is lost, or the record is over."""
        while self._running is not None:
            self.acts.append(Break(self._running))
            self._end_turn()


_IDLE = ("state_update", "idle")


def _messages(frames: Iterable[RecordedFrame]) -> Iterator[_Passed]:
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
            yield _Passed(connection, after, is_to_agent, item, data)
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


def _is_second(reply: Reply) -> bool | None:
    """Return whether an answer to initialize is version 2's; None if it is none."""
    try:
        return version_of(reply.result) == 2 if isinstance(reply, Success) else None
    except AcpError:
        return None


def named_session(raw: Raw) -> str | None:
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
