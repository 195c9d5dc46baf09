"""Mutations that keep JSON what it is: parts of a message exchanged, dropped, renamed or respaced.

Bytes changed at random are hardly ever JSON any more; these reach what is behind the parser.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any, cast

__all__ = ["mutate"]

ODD: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**53 + 1, 2**64, "", "x", "_x", "\ud83d", "é", [], [None], {}),
    *({"type": "x"}, {"_meta": {"a": 1}}),
]
SPACE = ["\n", "\r", " ", "\t", "\n\n"]


def mutate(data: bytes, random: Random) -> bytes:
    """Return the input with one of its lines changed."""
    lines = data[1:].split(b"\n")
    at = random.randrange(len(lines))
    try:
        message = json.loads(lines[at])
    except (ValueError, RecursionError):
        return data
    chance = random.random()
    if chance < 0.2:
        lines[at] = _respaced(lines[at].decode("latin-1"), random).encode("latin-1")
    elif chance < 0.3:
        lines[at] = _repeated(message, lines[at], random)
    elif chance < 0.4:
        lines[at : at + 2] = [random.choice([b"", b",", b" "]).join(lines[at : at + 2])]
    elif chance < 0.5:
        lines.insert(at, lines[at])
    else:
        lines[at] = _dumped(_changed(message, random), random)
    return data[:1] + b"\n".join(lines)


def _dumped(value: Any, random: Random) -> bytes:
    errors = "surrogatepass" if random.random() < 0.1 else "replace"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8", errors)


def _respaced(line: str, random: Random) -> str:
    """Put white space, perhaps the end of a line, where JSON may have some, or for a comma."""
    places = [place + 1 for place, character in enumerate(line) if character in ',:{}[]"']
    if not places:
        return line
    place = random.choice(places)
    is_for_comma = line[place - 1] == "," and random.random() < 0.3
    return line[: place - is_for_comma] + random.choice(SPACE) + line[place:]


def _repeated(message: Any, line: bytes, random: Random) -> bytes:
    """Let a message have one of its members twice, first or last."""
    if not isinstance(message, dict) or not message:
        return line
    members = cast("dict[str, Any]", message)
    key = random.choice(list(members))
    value = random.choice([members[key], random.choice(ODD)])
    member = _dumped({key: value}, random)[1:-1]
    text = line.strip()
    if random.random() < 0.5:
        return b"{" + member + b"," + text[1:]
    return text[:-1] + b"," + member + b"}"


def _changed(value: Any, random: Random) -> Any:
    """Go down a random way and change what is there."""
    if random.random() < 0.2 or not isinstance(value, dict | list) or not value:
        return random.choice(ODD)
    if isinstance(value, list):
        return _changed_list(cast("Any", value), random)
    members: dict[str, Any] = {**value}
    key = random.choice(list(members))
    chance = random.random()
    if chance < 0.1:
        del members[key]
    elif chance < 0.2:
        members[random.choice(["type", "_meta", "sessionUpdate", "id", "x"])] = members.pop(key)
    else:
        members[key] = _changed(members[key], random)
    return members


def _changed_list(items: list[Any], random: Random) -> list[Any]:
    at = random.randrange(len(items))
    if random.random() < 0.2:
        return [*items, *items[at:]]
    return [*items[:at], _changed(items[at], random), *items[at + 1 :]]
