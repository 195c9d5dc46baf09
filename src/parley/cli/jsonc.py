"""JSON with comments and trailing commas, as editors write it, with the place of each value.

An editor's settings belong to the user. To change one value and nothing else, the text is edited
where that value is, instead of being written again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

__all__ = ["JsoncError", "Node", "parse"]

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"[-+0-9A-Za-z.]+")
_MAX_DEPTH = 100


class JsoncError(ValueError):
    """The text is not JSON, even with comments and trailing commas."""


class Member(Struct, frozen=True):
    """A member of an object."""

    name: str
    key: Node
    value: Node


class Node(Struct, frozen=True):
    """A value and its place in the text."""

    start: int
    end: int
    value: Any = None
    """The value of a string, a number, a boolean or null."""
    members: tuple[Member, ...] | None = None
    """The members of an object; None for other values."""
    items: tuple[Node, ...] | None = None
    """The items of an array; None for other values."""

    def member(self, name: str) -> Member | None:
        """Return a member of an object; None if this is not an object, or has no such member.

        Raises:
            JsoncError: There are several, and programs may differ in which one they use.
        """
        found = [each for each in self.members or () if each.name == name]
        if len(found) > 1:
            raise JsoncError(f'it has "{name}" twice in one object')
        return found[0] if found else None

    @property
    def strings(self) -> list[str] | None:
        """The strings in an array of strings; None for other values."""
        if self.items is None or not all(isinstance(each.value, str) for each in self.items):
            return None
        return [each.value for each in self.items]


def parse(text: str) -> Node:
    """Parse a text.

    Raises:
        JsoncError: It is not valid.
    """
    parser = _Parser(text)
    node = parser.value(parser.skip_space(0), 0)
    end = parser.skip_space(node.end)
    if end != len(text):
        raise parser.error(end)
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text

    def error(self, position: int) -> JsoncError:
        line = self._text.count("\n", 0, position) + 1
        return JsoncError(f"it is not valid JSON in line {line}")

    def skip_space(self, position: int) -> int:
        """Return the position after white space and comments."""
        found = _SPACE.match(self._text, position)
        return position if found is None else found.end()

    def value(self, start: int, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise self.error(start)
        opening = self._text[start : start + 1]
        if opening == "{":
            members = tuple(self._members(start, depth))
            end = self._end(start, members[-1].value.end if members else start + 1)
            return Node(start, end, members=members)
        if opening == "[":
            items = tuple(self._items(start, depth))
            end = self._end(start, items[-1].end if items else start + 1)
            return Node(start, end, items=items)
        return self._plain(start)

    def _plain(self, start: int) -> Node:
        pattern = _STRING if self._text.startswith('"', start) else _PLAIN
        found = pattern.match(self._text, start)
        try:
            if found is not None:
                return Node(start, found.end(), value=msgspec.json.decode(found[0]))
        except msgspec.DecodeError:
            pass
        raise self.error(start)

    def _members(self, start: int, depth: int) -> Iterator[Member]:
        for position in self._places(start, "}"):
            key = self._plain(position)
            colon = self.skip_space(key.end)
            if not isinstance(key.value, str) or self._text[colon : colon + 1] != ":":
                raise self.error(colon)
            value = self.value(self.skip_space(colon + 1), depth + 1)
            self._after = value.end
            yield Member(key.value, key, value)

    def _items(self, start: int, depth: int) -> Iterator[Node]:
        for position in self._places(start, "]"):
            item = self.value(position, depth + 1)
            self._after = item.end
            yield item

    def _places(self, start: int, closing: str) -> Iterator[int]:
        """Yield where the members or items begin; the caller sets where each of them ends."""
        position = self.skip_space(start + 1)
        while self._text[position : position + 1] != closing:
            yield position
            position = self.skip_space(self._after)
            if self._text[position : position + 1] == ",":
                position = self.skip_space(position + 1)
            elif self._text[position : position + 1] != closing:
                raise self.error(position)

    def _end(self, start: int, last: int) -> int:
        """Return the end of an object or array, whose last part ends there."""
        position = self.skip_space(last)
        if self._text[position : position + 1] == ",":
            position = self.skip_space(position + 1)
        if position >= len(self._text):
            raise self.error(start)
        return position + 1
