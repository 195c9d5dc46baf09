"""The steps of a script, their JSON form, and how messages are matched.

A script is a list of steps: in Python the objects below, in JSON objects whose `do` names the step:

    [{"do": "expect", "message": {"method": "initialize"}},
     {"do": "respond", "result": {"protocolVersion": 1}},
     {"do": "expect", "message": {"method": "session/new"}, "name": "new"},
     {"do": "exit", "code": 3}]

An expected message may be partial: members that it does not name can have any value, but lists must
match completely. In a message to send, `{"$from": "new.params.cwd"}` stands for that member of the
message that was remembered as `new`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct


class Expect(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="expect"):
    """Wait for the next frame, which must match."""

    message: Any
    """The members that the frame must have."""
    name: str = ""
    """The name to remember it by; the most recently expected one needs no name."""
    skips: bool = False
    """Whether to skip frames until one matches."""


class Send(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="send"):
    """Send a message; `jsonrpc` is added to an object that has none."""

    message: Any
    times: int = 1
    piece_bytes: int = 0
    """Write it in separate pieces of this size; 0: all at once. It makes no difference on a memory
    transport, which carries whole frames."""


class Respond(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="respond"):
    """Respond to an expected request with a result."""

    result: Any
    to: str = ""
    """The request's name; empty: the most recently expected one."""


class RespondWithError(
    Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="respond_with_error"
):
    """Respond to an expected request with an error."""

    error: Any
    to: str = ""
    """The request's name; empty: the most recently expected one."""


class SendBytes(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="bytes"):
    """Send raw bytes, given as base64 in JSON; a newline ends a frame."""

    data: bytes


class Delay(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="delay"):
    """Pause for some seconds, without reading."""

    seconds: float


class Stderr(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="stderr"):
    """Write a line to this process's stderr."""

    text: str


class HangUp(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="hang_up"):
    """Close the connection; a child process closes its stdout and keeps running."""


class Exit(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="exit"):
    """End the process; in memory this closes the connection."""

    code: int = 0


class Die(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="die"):
    """End the process by a signal; in memory this closes the connection."""

    signal: int = 9


Step: TypeAlias = (
    Expect | Send | Respond | RespondWithError | SendBytes | Delay | Stderr | HangUp | Exit | Die
)


def read_script(text: str | bytes) -> list[Step]:
    """Read a script from JSON.

    Raises:
        ValueError: It is not a valid script; the message says where and why.
    """
    return msgspec.json.decode(text, type=list[Step])


def matches(part: Any, whole: Any) -> bool:
    """Return whether `whole` contains everything in `part`."""
    if isinstance(part, Mapping):
        if not isinstance(whole, Mapping):
            return False
        members, found = cast(Mapping[str, Any], part), cast(Mapping[str, Any], whole)
        return all(key in found and matches(each, found[key]) for key, each in members.items())
    if isinstance(part, list | tuple):
        items, others = cast(list[Any], part), cast(list[Any], whole)
        return (
            isinstance(whole, list)
            and len(items) == len(others)
            and all(map(matches, items, others))
        )
    # True equals 1 in Python, but not in JSON.
    return isinstance(part, bool) == isinstance(whole, bool) and bool(part == whole)


def resolve_references(value: Any, remembered: Mapping[str, Any]) -> Any:
    """Return a message with its `$from` references replaced.

    Raises:
        KeyError: A reference names an unknown message or member.
    """
    if isinstance(value, Mapping):
        members = cast(Mapping[str, Any], value)
        if list(members) == ["$from"]:
            return _member(remembered, str(members["$from"]))
        return {key: resolve_references(each, remembered) for key, each in members.items()}
    if isinstance(value, list | tuple):
        return [resolve_references(each, remembered) for each in cast(list[Any], value)]
    return value


def _member(remembered: Mapping[str, Any], path: str) -> Any:
    found: Any = remembered
    for key in path.split("."):
        try:
            found = found[int(key) if isinstance(found, list) else key]
        except (KeyError, IndexError, TypeError, ValueError):
            raise KeyError(path) from None
    return found
