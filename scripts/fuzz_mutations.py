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
    if random.random() < 0.3:
        lines[at] = _respaced(lines[at].decode("latin-1"), random).encode("latin-1")
    elif random.random() < 0.2:
        lines.insert(at, lines[at])
    else:
        changed = _changed(message, random)
        lines[at] = json.dumps(changed, separators=(",", ":"), ensure_ascii=False).encode(
            "utf-8", "surrogatepass" if random.random() < 0.1 else "replace"
        )
    return data[:1] + b"\n".join(lines)


def _respaced(line: str, random: Random) -> str:
    """Put white space, perhaps the end of a line, where JSON may have some."""
    places = [place + 1 for place, character in enumerate(line) if character in ',:{}[]"']
    if not places:
        return line
    place = random.choice(places)
    return line[:place] + random.choice(SPACE) + line[place:]


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
