"""Recorded frames as one line each: the time, who wrote it, and what it is.

The text of either side is made inert and cut where the terminal ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from parley.recording import RecordedEvent, RecordedLine

from .paint import fitted, painted

__all__ = ["RecordingView"]

_MAX_CHARS = 300
"""The maximum length of a summary that is not written to a terminal."""
_OPEN_REQUESTS = 10_000
"""The number of requests that a response is looked up in."""
_TEXTS = ("text", "title", "stopReason", "state", "name", "currentModeId", "status", "modelId")
"""Members of an update, a request or a result that say most about it."""
_MEMBERS = frozenset({"method", "result", "error"})
"""Each message has at least one of these."""
_COLOURS = {"client": "cyan", "agent": "green", "stderr": "yellow"}


class RecordingView:
    """Describes what was recorded, line by line; remembers requests until their response."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, str], tuple[str, float]] = {}
        """The method and time of each open request, by who sent it and its id."""

    def lines(self, item: RecordedLine | RecordedEvent) -> Iterator[str]:
        """Yield what to print for a line or an event; nothing for an empty line."""
        if isinstance(item, RecordedEvent):
            source, text = item.source or "", painted(_fitted(_describe_event(item)), "dim")
            yield f"{item.at:9.3f}  {source:<6}  {text}"
            return
        if not item.data.strip():
            return
        who = painted(f"{item.source:<6}", _COLOURS[item.source])
        for text in self._describe(item):
            yield f"{item.at:9.3f}  {who}  {_fitted(text)}"

    def _describe(self, line: RecordedLine) -> Iterator[str]:
        text = line.data.decode(errors="replace").rstrip("\r")
        if line.source == "stderr":
            yield text
            return
        message = line.message
        messages = cast(Sequence[Any], message) if isinstance(message, list) else (message,)
        if len(messages) != 1:
            yield f"a batch of {len(messages)}"
        for each in messages:
            members = cast(dict[str, Any], each) if isinstance(each, dict) else {}
            if _MEMBERS.isdisjoint(members):
                yield f"not a message: {text}"
            else:
                yield self._describe_message(line, members)

    def _describe_message(self, line: RecordedLine, message: dict[str, Any]) -> str:
        id = message.get("id")
        if "method" in message:
            method, gist = str(message["method"]), _gist(message.get("params"))
            if id is None:
                return f"{method}  {gist}"
            if len(self._requests) < _OPEN_REQUESTS:
                self._requests[line.source, repr(id)] = (method, line.at)
            return f"{_request(id)} {method}  {gist}"
        other = "agent" if line.source == "client" else "client"
        method, asked = self._requests.pop((other, repr(id)), ("", None))
        took = "" if asked is None else f" ({_duration(line.at - asked)})"
        what = " ".join(filter(None, (_request(id), method)))
        if "error" in message:
            return f"{what} failed{took}: {_problem(message['error'])}"
        return f"{what} responded{took}  {_gist(message['result'])}"


def _request(id: Any) -> str:
    return f"#{id}" if isinstance(id, str) else f"#{_json(id)}"


def _problem(error: Any) -> str:
    if not isinstance(error, dict):
        return _json(error)
    members = cast(dict[str, Any], error)
    return f"{members.get('code')} {members.get('message')}"


def _gist(value: Any) -> str:
    """Return what a person looks for in the params or the result of a message."""
    if not isinstance(value, dict):
        return "" if value is None else _json(value)
    members = cast(dict[str, Any], value)
    update = members.get("update")
    if isinstance(update, dict):
        changes = cast(dict[str, Any], update)
        return f"{changes.get('sessionUpdate', '')}  {_texts(changes)}"
    if prompt := _objects(members.get("prompt")):
        return " ".join(map(_texts, prompt))
    return _json(members)


def _texts(members: Mapping[str, Any]) -> str:
    """Return the members of an object that are texts for people, or all of it."""
    content: Any = members.get("content")
    found = [str(members[name]) for name in _TEXTS if isinstance(members.get(name), str)]
    found += map(_texts, _objects(content if isinstance(content, list) else [content]))
    rest = {key: each for key, each in members.items() if key not in ("sessionUpdate", "type")}
    return "  ".join(found) or _json(rest)


def _objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; none for anything else."""
    items = cast(Sequence[Any], value) if isinstance(value, list) else ()
    return [cast(dict[str, Any], each) for each in items if isinstance(each, dict)]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode(errors="replace")


def _describe_event(event: RecordedEvent) -> str:
    why = "" if event.reason is None else f": {event.reason}"
    match event.event:
        case "started":
            return f"started as process {event.pid}"
        case "closed":
            return f"closed{why}"
        case "exited" if event.signal is not None:
            return f"the agent was ended by {event.signal}"
        case "exited":
            return f"the agent exited with code {event.code}"
        case "signal":
            return f"{event.signal} was received"
        case "failed":
            return f"the agent could not be started{why}"
        case "masked":
            times = "once" if event.times == 1 else f"{event.times} times"
            return f"masked {times}: {event.what}"
        case "lost":
            return f"{event.size:,} bytes are not in the recording{why}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def _fitted(text: str) -> str:
    text = text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]}…"
    return fitted(text, 19)
