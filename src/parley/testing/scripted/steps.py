"""What a script is made of: the steps, how they are written as JSON, and what they match.

A script is a list of steps, in Python as the objects below or as JSON, where `do` names the step:

    [{"do": "expect", "message": {"method": "initialize"}},
     {"do": "answer", "result": {"protocolVersion": 1}},
     {"do": "expect", "message": {"method": "session/new"}, "name": "new"},
     {"do": "exit", "code": 3}]

An expected message is a part of the real one: members that it does not name may be anything, lists
are compared whole. In what is sent, `{"$from": "new.params.cwd"}` stands for that member of the
message which was remembered as `new`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct

__all__ = [
    "Answer",
    "Delay",
    "Die",
    "Exit",
    "Expect",
    "HangUp",
    "Refuse",
    "Send",
    "SendBytes",
    "Stderr",
    "Step",
    "filled",
    "matches",
    "read_script",
]


class Expect(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="expect"):
    """Wait for the next frame, which must match."""

    message: Any
    """A part of it."""
    name: str = ""
    """What to remember it as; the last one expected needs no name."""
    skips: bool = False
    """Whether to pass over frames until one matches."""


class Send(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="send"):
    """Send a message; `jsonrpc` is added to an object that has none."""

    message: Any
    times: int = 1
    piece_bytes: int = 0
    """Write it in pieces of this size, each by itself; 0: at once. A memory transport has no
    bytes, there it makes no difference."""


class Answer(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="answer"):
    """Answer a request that was expected."""

    result: Any
    to: str = ""
    """Its name; empty: the last one."""


class Refuse(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="refuse"):
    """Answer a request that was expected with an error."""

    error: Any
    to: str = ""
    """Its name; empty: the last one."""


class SendBytes(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="bytes"):
    """Send bytes as they are, base64 in JSON; a frame ends where a newline is."""

    data: bytes


class Delay(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="delay"):
    """Do nothing, and read nothing, for a while."""

    seconds: float


class Stderr(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="stderr"):
    """Write a line to stderr; only a process has one."""

    text: str


class HangUp(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="hang_up"):
    """Close the connection; a process closes its stdout and lives on."""


class Exit(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="exit"):
    """End the process; in memory this closes the connection."""

    code: int = 0


class Die(Struct, frozen=True, forbid_unknown_fields=True, tag_field="do", tag="die"):
    """End the process by a signal; in memory this closes the connection."""

    signal: int = 9


Step: TypeAlias = Expect | Send | Answer | Refuse | SendBytes | Delay | Stderr | HangUp | Exit | Die


def read_script(text: str | bytes) -> list[Step]:
    """Read a script from JSON.

    Raises:
        ValueError: It is none; the text says where and why.
    """
    return msgspec.json.decode(text, type=list[Step])


def matches(part: Any, whole: Any) -> bool:
    """Tell whether `whole` has all that `part` names."""
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
    # True is 1 in Python and is not in JSON.
    return isinstance(part, bool) == isinstance(whole, bool) and bool(part == whole)


def filled(value: Any, remembered: Mapping[str, Any]) -> Any:
    """Return a message with its references replaced.

    Raises:
        KeyError: There is no such message or no such member.
    """
    if isinstance(value, Mapping):
        members = cast(Mapping[str, Any], value)
        if list(members) == ["$from"]:
            return _member(remembered, str(members["$from"]))
        return {key: filled(each, remembered) for key, each in members.items()}
    if isinstance(value, list | tuple):
        return [filled(each, remembered) for each in cast(list[Any], value)]
    return value


def _member(remembered: Mapping[str, Any], path: str) -> Any:
    found: Any = remembered
    for key in path.split("."):
        try:
            found = found[int(key) if isinstance(found, list) else key]
        except (KeyError, IndexError, TypeError, ValueError):
            raise KeyError(path) from None
    return found
