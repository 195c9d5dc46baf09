"""Regular expressions of somebody else, evaluated within bounds.

The pattern of a form's field is written by the other side, and Python's `re` can be kept busy for
ever by a pattern that is made for it. Here a pattern becomes a small program whose states are all
followed at once, so that the work grows with the text and the pattern and not faster; both are
bounded on top. What cannot be done that way (looking ahead and behind, references back, classes by
Unicode property) is not evaluated. The words are those of JavaScript, as JSON Schema asks for.

A program is a list of steps. `_Test` takes a character, `_Place` looks at where we are, `_Split`
goes two ways. Jumps are relative, so that a part can be repeated by copying it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NoReturn, TypeAlias

from msgspec import Struct

__all__ = ["Pattern"]

MAX_STEPS = 500_000
"""How much work one text may make; that is a fraction of a second."""
MAX_PATTERN = 5_000
MAX_PROGRAM = 2_000
MAX_DEPTH = 50

Takes: TypeAlias = Callable[[str], bool]
"""Whether a character fits."""


class _Test(Struct, frozen=True):
    takes: Takes


class _Place(Struct, frozen=True):
    is_here: Callable[[str, int], bool]


class _Split(Struct, frozen=True):
    one: int
    other: int


Program: TypeAlias = list[_Test | _Place | _Split]

_DIGITS = frozenset("0123456789")
_WORD = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_LINE_ENDS = frozenset("\n\r\u2028\u2029")
_CLASSES: dict[str, Takes] = {
    "d": lambda char: char in _DIGITS,
    "D": lambda char: char not in _DIGITS,
    "w": lambda char: char in _WORD,
    "W": lambda char: char not in _WORD,
    "s": lambda char: char.isspace() or char == "\ufeff",
    "S": lambda char: not (char.isspace() or char == "\ufeff"),
}
_REPETITION = re.compile(r"(?:([*+?])|\{(\d{1,4})(,?)(\d{0,4})\})\??", re.ASCII)
_GROUP_NAME = re.compile(r"<[A-Za-z_$][\w$]*>", re.ASCII)
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}


def _is_edge(text: str, at: int) -> bool:
    """Tell whether a word begins or ends here."""
    before = at > 0 and text[at - 1] in _WORD
    return before != (at < len(text) and text[at] in _WORD)


def _ranges(ranges: list[tuple[str, str]]) -> Takes:
    """Return what takes the characters of many ranges, and does not look at each of them."""
    merged: list[tuple[str, str]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1]:
            low, last = merged.pop()
            high = max(high, last)
        merged.append((low, high))

    def takes(char: str) -> bool:
        place = bisect_right(merged, char, key=lambda each: each[0]) - 1
        return place >= 0 and char <= merged[place][1]

    return takes


class Pattern:
    """A pattern that can be looked for.

    Raises:
        ValueError: It cannot be evaluated here.
    """

    def __init__(self, source: str) -> None:
        parser = _Parser(source)
        if len(source) > MAX_PATTERN:
            parser.fail("it is too long")
        self._program = parser.alternatives()
        if not parser.is_at_end:
            parser.fail("there is a parenthesis too many")

    def is_in(self, text: str) -> bool:
        """Tell whether it fits some part of a text; not if that takes too much to find out."""
        reached = self._reached([0], text, 0)
        steps = 0
        for at, char in enumerate(text, 1):
            steps += len(reached)
            if len(self._program) in reached or steps > MAX_STEPS:
                break
            waiting = [state + 1 for state in reached if self._takes(state, char)]
            reached = self._reached([*waiting, 0], text, at)  # 0: it may begin anywhere
        return len(self._program) in reached

    def _takes(self, state: int, char: str) -> bool:
        step = self._program[state]
        return isinstance(step, _Test) and step.takes(char)

    def _reached(self, states: Iterable[int], text: str, at: int) -> set[int]:
        """Return all states that lead on from these without taking a character."""
        reached: set[int] = set()
        left = list(states)
        while left:
            state = left.pop()
            if state in reached:
                continue
            reached.add(state)
            step = self._program[state] if state < len(self._program) else None
            if isinstance(step, _Split):
                left += (state + step.one, state + step.other)
            elif isinstance(step, _Place) and step.is_here(text, at):
                left.append(state + 1)
        return reached


class _Parser:
    """Reads a pattern from left to right."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._depth = 0

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._source)

    def fail(self, problem: str) -> NoReturn:
        raise ValueError(f"the pattern cannot be evaluated: {problem}")

    def alternatives(self) -> Program:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.fail("it nests too deep")
        program = self._sequence()
        while self._take("|"):
            other = self._sequence()
            program = self._either(program, other)
        self._depth -= 1
        return program

    def _either(self, one: Program, other: Program) -> Program:
        over = len(other) + 1
        return self._bounded(
            [_Split(1, len(one) + 2), *one, _Split(over, over), *other],
        )

    def _sequence(self) -> Program:
        program: Program = []
        while not self.is_at_end and self._source[self._at] not in "|)":
            program = self._bounded(program + self._repeated(self._atom()))
        return program

    def _repeated(self, atom: Program) -> Program:
        found = _REPETITION.match(self._source, self._at)
        if found is None:
            return atom
        self._at = found.end()
        sign, low, comma, high = found.groups()
        bounds: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        least, most = bounds.get(sign, (0, 0))
        if sign is None:
            least = int(low)
            most = int(high) if high else None if comma else least
        return self._times(atom, least, most)

    def _times(self, atom: Program, least: int, most: int | None) -> Program:
        copies = least + (1 if most is None else max(0, most - least))
        if copies * (len(atom) + 1) > MAX_PROGRAM:
            self.fail("it is too large")
        program = atom * least
        if most is None:
            return [*program, _Split(1, len(atom) + 2), *atom, _Split(-len(atom) - 1, 1)]
        if most < least:
            self.fail("a repetition ends before it begins")
        return program + [_Split(1, len(atom) + 1), *atom] * (most - least)

    def _atom(self) -> Program:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return [_Test(self._set())]
        if char == "\\":
            return self._escape()
        if char in "*+?{":
            self.fail(f"there is nothing to repeat before {char}")
        if char == "^":
            return [_Place(lambda text, at: at == 0)]
        if char == "$":
            return [_Place(lambda text, at: at == len(text))]
        if char == ".":
            return [_Test(lambda each: each not in _LINE_ENDS)]
        return [_Test(lambda each: each == char)]

    def _group(self) -> Program:
        if self._take("?") and not self._take(":"):
            name = _GROUP_NAME.match(self._source, self._at)
            if name is None:
                self.fail("it looks ahead or behind")
            self._at = name.end()
        program = self.alternatives()
        if not self._take(")"):
            self.fail("a parenthesis is not closed")
        return program

    def _escape(self) -> Program:
        char = self._next()
        if char == "b":
            return [_Place(_is_edge)]
        if char == "B":
            return [_Place(lambda text, at: not _is_edge(text, at))]
        if char in _CLASSES:
            return [_Test(_CLASSES[char])]
        wanted = self._literal(char)
        return [_Test(lambda each: each == wanted)]

    def _literal(self, char: str) -> str:
        """Return the character that stands behind a backslash."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "xu":
            length = 2 if char == "x" else 4
            digits = self._source[self._at : self._at + length]
            if re.fullmatch(r"[0-9A-Fa-f]+", digits) and len(digits) == length:
                self._at += length
                return chr(int(digits, 16))
        if char.isalnum():
            self.fail(f"\\{char} is not known here")
        return char

    def _set(self) -> Takes:
        """Return what a class in brackets takes."""
        is_negated = self._take("^")
        classes: set[Takes] = set()
        ranges: list[tuple[str, str]] = []
        while not self._take("]"):
            low = self._member()
            if self._source.startswith("-", self._at) and not self._ends_with_dash():
                ranges.append(self._range(low))
            elif isinstance(low, str):
                ranges.append((low, low))
            else:
                classes.add(low)
        is_in_range = _ranges(ranges)
        return lambda char: (
            (is_in_range(char) or any(takes(char) for takes in classes)) != is_negated
        )

    def _ends_with_dash(self) -> bool:
        return self._source.startswith("-]", self._at)

    def _range(self, low: str | Takes) -> tuple[str, str]:
        self._at += 1
        high = self._member()
        if not isinstance(low, str) or not isinstance(high, str) or high < low:
            self.fail("a range in brackets is no range")
        return low, high

    def _member(self) -> str | Takes:
        char = self._next()
        if char != "\\":
            return char
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        return "\b" if char == "b" else self._literal(char)

    def _next(self) -> str:
        if self.is_at_end:
            self.fail("it ends too early")
        self._at += 1
        return self._source[self._at - 1]

    def _take(self, char: str) -> bool:
        is_there = self._source.startswith(char, self._at)
        self._at += is_there
        return is_there

    def _bounded(self, program: Program) -> Program:
        if len(program) > MAX_PROGRAM:
            self.fail("it is too large")
        return program
