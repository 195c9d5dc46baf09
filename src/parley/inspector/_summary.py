"""The essence of a message on one line, for people who look through thousands of them.

The text is from the client or the agent: code that shows it must make it inert.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec
from msgspec import Raw

from parley.recording import RecordedEvent

MAX_CHARS = 200
"""The maximum length of a summary."""
_MAX_PARSED_BYTES = 256 * 1024
"""Larger params and results are not parsed for their summary."""
_TEXTS = ("title", "text", "name", "label", "path", "uri", "url", "message", "status", "state")
"""Members that say most about an object, in order of preference."""
_SPACES = re.compile(r"\s+")
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def cut(text: str) -> str:
    """Return text on one line, with at most `MAX_CHARS` characters."""
    # Cutting first bounds the work; white space may then make it a bit shorter than it could be.
    line = " ".join(text[: 4 * MAX_CHARS].split())
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1]}…"


def cut_chunk(text: str) -> str:
    """Return text as `cut` does, but keep a space at its ends: more text may follow."""
    line = _SPACES.sub(" ", text[: 4 * MAX_CHARS])
    return line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1]}…"


def summarize_params(method: str, params: Raw) -> str:
    """Return the essence of the params of a request or a notification."""
    return _summarize(_PARAMS.get(method, _describe), params)


def summarize_result(method: str, result: Raw) -> str:
    """Return the essence of the result of a request."""
    return _summarize(_RESULTS.get(method, _describe), result)


def summarize_error(error: Raw) -> str:
    """Return the code and the message of an error."""
    return _summarize(lambda value: f"{value.get('code')} {value.get('message')}", error)


def summarize_text(data: bytes) -> str:
    """Return the beginning of a line that is not a message."""
    return cut(data[: 16 * MAX_CHARS].decode(errors="replace"))


def summarize_event(event: RecordedEvent) -> str:
    """Return a sentence about an event of a recording."""
    why = "" if event.reason is None else f": {event.reason}"
    match event.event:
        case "started":
            return f"process {event.pid}"
        case "closed":
            return f"{event.source or 'a stream'} closed its stream{why}"
        case "exited":
            return describe_exit(event)
        case "signal":
            return f"{event.signal} was sent to the agent"
        case "failed":
            return cut(f"the agent could not be started{why}")
        case "masked":
            times = "once" if event.times == 1 else f"{event.times} times"
            return cut(f"{event.what}, masked {times}")
        case "lost":
            return cut(f"{event.size or 0:,} bytes are not in the recording{why}")


def describe_exit(event: RecordedEvent) -> str:
    """Return how the agent ended."""
    return event.signal or f"exit code {event.code}"


def _summarize(describe: Callable[[dict[str, Any]], str], raw: Raw) -> str:
    if len(memoryview(raw)) <= _MAX_PARSED_BYTES:
        try:
            value = msgspec.json.decode(raw)
        except _NOT_JSON:
            value = None
        if isinstance(value, dict):
            return cut(describe(cast(dict[str, Any], value)))
    return summarize_text(bytes(memoryview(raw)[: 16 * MAX_CHARS]))


def _describe(value: Mapping[str, Any]) -> str:
    """Return what most objects say about themselves, else the object itself."""
    for name in _TEXTS:
        if isinstance(text := value.get(name), str) and text:
            return text
    rest = {key: each for key, each in value.items() if key not in ("sessionId", "_meta")}
    return _json(rest) if rest else ""


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode(errors="replace")


def _object(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    items = cast(Sequence[Any], value) if isinstance(value, list) else ()
    return (cast(dict[str, Any], each) for each in items if isinstance(each, dict))


def _block(block: Mapping[str, Any]) -> str:
    """Return the text of a content block, else what kind it is."""
    text = block.get("text")
    return text if isinstance(text, str) else f"[{block.get('type')}] {_describe(block)}"


def _initialize(value: Mapping[str, Any]) -> str:
    infos = [_object(value.get(key)) for key in ("clientInfo", "agentInfo", "info")]
    info = infos[0] or infos[1] or infos[2]
    name = f"{info.get('name', '')} {info.get('version', '')}".strip()
    return f"version {value.get('protocolVersion')}{', ' if name else ''}{name}"


def _prompt(value: Mapping[str, Any]) -> str:
    return " ".join(map(_block, _objects(value.get("prompt"))))


def _terminal(value: Mapping[str, Any]) -> str:
    args = value.get("args")
    words = cast(Sequence[Any], args) if isinstance(args, list) else ()
    return " ".join(map(str, (value.get("command"), *words)))


def _permission(value: Mapping[str, Any]) -> str:
    subject = _object(value.get("subject"))
    call = _object(value.get("toolCall")) or _object(subject.get("toolCall")) or subject
    return _describe(call) if call else _describe(value)


def _outcome(value: Mapping[str, Any]) -> str:
    outcome = _object(value.get("outcome"))
    words = (outcome.get("outcome"), outcome.get("optionId"), value.get("action"))
    return " ".join(str(each) for each in words if each is not None) or _describe(value)


def _stop(value: Mapping[str, Any]) -> str:
    reason = value.get("stopReason")
    return str(reason) if reason is not None else _describe(value)


def _session(value: Mapping[str, Any]) -> str:
    session = value.get("sessionId")
    return str(session) if session is not None else _describe(value)


def _cwd(value: Mapping[str, Any]) -> str:
    return str(value.get("cwd", "")) or _describe(value)


_PARAMS: dict[str, Callable[[dict[str, Any]], str]] = {
    "initialize": _initialize,
    "session/new": _cwd,
    "session/load": _cwd,
    "session/resume": _cwd,
    "session/fork": _cwd,
    "session/prompt": _prompt,
    "session/cancel": lambda value: "",
    "session/request_permission": _permission,
    "terminal/create": _terminal,
    "session/set_mode": lambda value: str(value.get("modeId", "")),
    "$/cancel_request": lambda value: f"request {_json(value.get('requestId'))}",
}
_RESULTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "initialize": _initialize,
    "session/new": _session,
    "session/fork": _session,
    "session/prompt": _stop,
    "session/request_permission": _outcome,
    "elicitation/create": _outcome,
}


def summarize_update(update: Mapping[str, Any]) -> str:
    """Return the essence of a session update that is not a chunk."""
    status = update.get("status")
    state = f" [{status}]" if isinstance(status, str) else ""
    for name in ("title", "state", "stopReason", "currentModeId", "message", "name"):
        if isinstance(text := update.get(name), str) and text:
            return cut(f"{text}{state}")
    if entries := [*_objects(update.get("entries") or _object(update.get("plan")).get("entries"))]:
        return cut(_plan(entries))
    if blocks := [*_objects(update.get("content"))]:
        return cut(f"{' '.join(map(_block, blocks))}{state}")
    hidden = ("sessionUpdate", "status", "_meta")
    rest = {key: each for key, each in update.items() if key not in hidden}
    return cut(f"{_json(rest) if rest else ''}{state}".strip())


def _plan(entries: Sequence[Mapping[str, Any]]) -> str:
    done = sum(each.get("status") == "completed" for each in entries)
    steps = [each.get("content") for each in entries if each.get("status") == "in_progress"]
    return f"{done} of {len(entries)} done{': ' if steps else ''}{', '.join(map(str, steps))}"


def summarize_content(content: Raw) -> str:
    """Return the text of the content of a chunk, else what kind of content it is."""
    return _summarize(_block, content)
