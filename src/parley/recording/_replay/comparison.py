"""What differs between a recording and what an agent does when it is driven with it again.

Two connections are compared that a client has led in the same way. Sessions are paired in the order
in which they were opened, requests of the client by method and order, and turns by the prompts of a
session. A turn lasts until the next prompt. Compared are:

- responses: the error code, or the members of the result and their values;
- turns: the kinds of updates and the agent's requests, in their order, and the text. How a text is
  divided into chunks does not count;
- updates that may come at any time, such as commands: whether there are any of a kind;
- lines that are not JSON, and the exit of an agent that ended by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from parley.recording._format import RecordedEvent
from parley.recording._reader import RecordedLine
from parley.rpc._message import Failure, Notification, Request, Success
from parley.schema._session_methods import BEGINS

from .script import Entry, RecordedRequest, Script, rename_sessions

_PROMPT = "session/prompt"
_ANYTIME = frozenset(
    {
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "usage_update",
    }
)
"""Updates about the state of a session; their place among the others means nothing."""
_OWN = frozenset({"messageId", "sessionId", "updatedAt", "userMessageId"})
"""Members whose value is new in each session."""
_MISSING = "(missing)"


class Difference(Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that differs from the recording."""

    kind: Literal["response", "turn", "text", "updates", "output", "exit"]
    where: str
    """The request or turn, such as `session/prompt 2` or `session 1, turn 2`."""
    what: str
    """What differs there, such as the member of a result."""
    recorded: Any
    live: Any


class Timing(Struct, frozen=True, rename="camel"):
    """How long the responses to a method took on average, in seconds."""

    method: str
    count: int
    recorded: float
    live: float


class Comparison(Struct, frozen=True):
    """The differences, and how long both took."""

    differences: list[Difference]
    timing: list[Timing]


class _Turn:
    """What the agent sent in a turn."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        """The kinds of updates, without repetitions, and the requests."""
        self.texts: dict[str, str] = {}
        """The text of each kind of update."""

    def add(self, step: str) -> None:
        if not self.steps or self.steps[-1] != step:
            self.steps.append(step)


class _Connection:
    """One of the two connections, in terms that do not depend on its ids."""

    def __init__(self, items: Iterable[RecordedLine | RecordedEvent]) -> None:
        script = Script(items)
        self._labels = {"": ""}
        self.responses: dict[str, RecordedRequest] = {}
        """The requests of the client, by what they are called."""
        self.turns: dict[str, _Turn] = {}
        self.kinds: dict[str, set[str]] = {}
        """The kinds of updates about the state, by session."""
        self.noise = 0
        """The number of lines that are not JSON."""
        self.exit = ""
        self.durations: dict[str, list[float]] = {}
        self._present: dict[str, str] = {}
        """The present turn of each session."""
        self._sent_at: dict[int, float] = {}
        self._requests = script.requests
        self._count: Counter[str] = Counter()
        is_disconnected = False
        for entry in script.entries:
            is_disconnected = is_disconnected or entry.is_disconnect
            if isinstance(entry.item, RecordedEvent):
                if entry.item.event == "exited" and not is_disconnected:
                    self.exit = entry.item.signal or f"exit code {entry.item.code}"
            elif entry.source == "client":
                self._add_client_line(entry)
            elif entry.source == "agent":
                self._add_agent_line(entry)

    def _add_client_line(self, entry: Entry) -> None:
        for number in entry.requests:
            request = self._requests[number]
            label = self._label(request.session)
            is_opening = request.method in BEGINS  # one that fails opens no session
            name = ", ".join(filter(None, ("" if is_opening else label, request.method)))
            self._count[name] += 1
            self.responses[f"{name} {self._count[name]}"] = request
            self._sent_at[number] = entry.item.at
            if request.method == _PROMPT:
                self._present[request.session] = f"{label}, turn {self._count[name]}"

    def _add_agent_line(self, entry: Entry) -> None:
        assert isinstance(entry.item, RecordedLine)
        self.noise += not entry.messages and not entry.item.data.isspace()
        for number in entry.responses:
            took = entry.item.at - self._sent_at.get(number, entry.item.at)
            self.durations.setdefault(self._requests[number].method, []).append(took)
        for message in entry.messages:
            if isinstance(message, Request):
                self._turn(entry.session).add(f"request {message.method}")
            elif isinstance(message, Notification):
                self._add_notification(entry.session, message)

    def _add_notification(self, session: str, message: Notification) -> None:
        update = _update(message)
        kind = update.get("sessionUpdate") or message.method
        if kind in _ANYTIME:
            self.kinds.setdefault(self._label(session), set()).add(kind)
            return
        turn = self._turn(session)
        turn.add(kind)
        if text := _text(update.get("content")):
            turn.texts[kind] = turn.texts.get(kind, "") + text

    def _turn(self, session: str) -> _Turn:
        label = self._label(session) or "the connection"
        return self.turns.setdefault(self._present.get(session, f"{label}, before"), _Turn())

    def _label(self, session: str) -> str:
        return self._labels.setdefault(session, f"session {len(self._labels)}")

    def result(self, response: Success) -> dict[str, Any]:
        """Return the members of a result by their paths, without the ids of sessions."""
        data = rename_sessions(bytes(response.result), self._labels)
        return dict(_members("result", msgspec.json.decode(data)))


def compare(
    recorded: Iterable[RecordedLine | RecordedEvent], live: Iterable[RecordedLine | RecordedEvent]
) -> Comparison:
    """Compare a recording with a connection on which its client was replayed."""
    first, second = _Connection(recorded), _Connection(live)
    differences = [
        *_response_differences(first, second),
        *_turn_differences(first, second),
        *_kind_differences(first.kinds, second.kinds),
    ]
    if first.noise != second.noise:
        what = "lines that are not JSON"
        differences.append(_difference("output", "stdout", what, first.noise, second.noise))
    if first.exit != second.exit:
        ends = (first.exit or "no exit", second.exit or "no exit")
        differences.append(_difference("exit", "the agent", "exit by itself", *ends))
    return Comparison(differences, _timing(first.durations, second.durations))


def _difference(
    kind: Literal["response", "turn", "text", "updates", "output", "exit"],
    where: str,
    what: str,
    recorded: Any,
    live: Any,
) -> Difference:
    return Difference(kind=kind, where=where, what=what, recorded=recorded, live=live)


def _response_differences(first: _Connection, second: _Connection) -> Iterator[Difference]:
    for where in dict.fromkeys((*first.responses, *second.responses)):
        old, new = (each.responses.get(where) for each in (first, second))
        responses = [None if each is None else each.response for each in (old, new)]
        outcomes = [_outcome(each) for each in responses]
        if outcomes[0] != outcomes[1]:
            yield _difference("response", where, "outcome", *map(_described, responses))
        elif isinstance(responses[0], Success) and isinstance(responses[1], Success):
            before, after = first.result(responses[0]), second.result(responses[1])
            for path in dict.fromkeys((*before, *after)):
                values = (before.get(path, _MISSING), after.get(path, _MISSING))
                if values[0] != values[1]:
                    yield _difference("response", where, path, *values)


def _outcome(response: Success | Failure | None) -> str:
    if response is None:
        return "no response"
    return "result" if isinstance(response, Success) else f"error {response.error.code}"


def _described(response: Success | Failure | None) -> str:
    text = f": {response.error.message}" if isinstance(response, Failure) else ""
    return _outcome(response) + text


def _turn_differences(first: _Connection, second: _Connection) -> Iterator[Difference]:
    for where in dict.fromkeys((*first.turns, *second.turns)):
        old, new = (each.turns.get(where, _Turn()) for each in (first, second))
        if old.steps != new.steps:
            yield _difference("turn", where, "updates and requests", old.steps, new.steps)
        for kind in dict.fromkeys((*old.texts, *new.texts)):
            texts = (old.texts.get(kind, ""), new.texts.get(kind, ""))
            if texts[0] != texts[1]:
                yield _difference("text", where, kind, *texts)


def _kind_differences(
    first: Mapping[str, set[str]], second: Mapping[str, set[str]]
) -> Iterator[Difference]:
    for where in dict.fromkeys((*first, *second)):
        old, new = (sorted(each.get(where, ())) for each in (first, second))
        if old != new:
            yield _difference("updates", where, "updates about the state", old, new)


def _timing(first: Mapping[str, list[float]], second: Mapping[str, list[float]]) -> list[Timing]:
    return [
        Timing(method, len(second[method]), _mean(times), _mean(second[method]))
        for method, times in first.items()
        if method in second
    ]


def _mean(times: list[float]) -> float:
    return round(sum(times) / len(times), 6)


def _update(message: Notification) -> dict[str, Any]:
    """Return the update in a notification; empty if it has none."""
    params = msgspec.json.decode(message.params) if message.params else None
    return _object(_object(params).get("update"))


def _text(content: Any) -> str:
    blocks = _array(content) or [content]
    texts = (_object(each).get("text") for each in blocks)
    return "".join(each for each in texts if isinstance(each, str))


def _object(value: Any) -> dict[str, Any]:
    """Return an object; an empty one for other values."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _array(value: Any) -> list[Any]:
    """Return an array; an empty one for other values."""
    is_array = isinstance(value, list)
    return cast(list[Any], value) if is_array else []


def _members(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the plain values in a value with their paths; of what is new each time, the path."""
    items, members = _array(value), _object(value)
    if not items and not members:
        yield path, value
    for place, each in enumerate(items):
        yield from _members(f"{path}[{place}]", each)
    for name, each in members.items():
        if name in _OWN and not isinstance(each, dict | list):
            yield f"{path}.{name}", "(an id or time)"
        else:
            yield from _members(f"{path}.{name}", each)
