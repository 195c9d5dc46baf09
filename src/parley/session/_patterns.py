"""Untrusted regular expressions, evaluated in bounded time.

The pattern of a form field is written by the peer, and a malicious pattern can keep Python's `re`
busy forever by backtracking. Here a pattern is compiled to a small program whose states are all
followed at once (a nondeterministic finite automaton). The work is at most proportional to the
length of the text times the length of the program. The program and the total work are bounded as
well. Lookahead, lookbehind, backreferences and Unicode property classes are not supported. The
syntax is that of JavaScript, as JSON Schema recommends.

A program is a list of steps. `_CharStep` consumes a character, `_Assertion` is an assertion about
the current position, and `_Split` continues at two steps. Jumps are relative, so that a part can be
repeated by copying it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from typing import NoReturn, TypeAlias

from msgspec import Struct

MAX_STEPS = 500_000
"""The maximum number of states to visit for one text; this takes a fraction of a second."""
MAX_PATTERN = 5_000
"""The maximum length of a pattern, in characters."""
MAX_PROGRAM = 2_000
"""The maximum length of a program, in steps."""
MAX_DEPTH = 50
"""The maximum nesting of groups."""

CharTest: TypeAlias = Callable[[str], bool]
"""Returns whether a character matches."""


class _CharStep(Struct, frozen=True):
    matches: CharTest


class _Assertion(Struct, frozen=True):
    holds: Callable[[str, int], bool]


class _Split(Struct, frozen=True):
    one: int
    other: int


Program: TypeAlias = list[_CharStep | _Assertion | _Split]

_DIGITS = frozenset("0123456789")
_WORD = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_LINE_ENDS = frozenset("\n\r\u2028\u2029")
_CLASSES: dict[str, CharTest] = {
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


def _is_word_boundary(text: str, at: int) -> bool:
    """Return whether the position is a word boundary."""
    before = at > 0 and text[at - 1] in _WORD
    return before != (at < len(text) and text[at] in _WORD)


def _ranges(ranges: list[tuple[str, str]]) -> CharTest:
    """Return a test for the characters of all ranges, which uses binary search."""
    merged: list[tuple[str, str]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1]:
            low, last = merged.pop()
            high = max(high, last)
        merged.append((low, high))

    def matches(char: str) -> bool:
        place = bisect_right(merged, char, key=lambda each: each[0]) - 1
        return place >= 0 and char <= merged[place][1]

    return matches


class Pattern:
    """A compiled pattern.

    Raises:
        ValueError: The pattern is invalid, too large, or uses an unsupported feature.
    """

    def __init__(self, source: str) -> None:
        parser = _Parser(source)
        if len(source) > MAX_PATTERN:
            parser.fail("it is too long")
        self._program = parser.alternatives()
        if not parser.is_at_end:
            parser.fail("unmatched closing parenthesis")

    def is_found_in(self, text: str) -> bool:
        """Return whether the pattern matches some part of a text; False if that takes too long."""
        reached = self._reached([0], text, 0)
        steps = 0
        for at, char in enumerate(text, 1):
            steps += len(reached)
            if len(self._program) in reached or steps > MAX_STEPS:
                break
            waiting = [state + 1 for state in reached if self._matches(state, char)]
            reached = self._reached([*waiting, 0], text, at)  # 0: a match may begin anywhere
        return len(self._program) in reached

    def _matches(self, state: int, char: str) -> bool:
        step = self._program[state]
        return isinstance(step, _CharStep) and step.matches(char)

    def _reached(self, states: Iterable[int], text: str, at: int) -> set[int]:
        """Return all states reachable from these without consuming a character."""
        reached: set[int] = set()
        pending = list(states)
        while pending:
            state = pending.pop()
            if state in reached:
                continue
            reached.add(state)
            step = self._program[state] if state < len(self._program) else None
            if isinstance(step, _Split):
                pending += (state + step.one, state + step.other)
            elif isinstance(step, _Assertion) and step.holds(text, at):
                pending.append(state + 1)
        return reached


class _Parser:
    """A recursive descent parser that compiles a pattern to a program."""

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
            self.fail("groups are nested too deeply")
        program = self._sequence()
        while self._accept("|"):
            other = self._sequence()
            program = self._either(program, other)
        self._depth -= 1
        return program

    def _either(self, one: Program, other: Program) -> Program:
        over = len(other) + 1  # a split whose two targets are the same is a jump
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
        minimum, maximum = bounds.get(sign, (0, 0))
        if sign is None:
            minimum = int(low)
            maximum = int(high) if high else None if comma else minimum
        return self._repeat(atom, minimum, maximum)

    def _repeat(self, atom: Program, minimum: int, maximum: int | None) -> Program:
        copies = minimum + (1 if maximum is None else max(0, maximum - minimum))
        if copies * (len(atom) + 1) > MAX_PROGRAM:
            self.fail("it is too large")
        program = atom * minimum
        # After the required copies comes a loop, or optional copies that a split may skip.
        if maximum is None:
            return [*program, _Split(1, len(atom) + 2), *atom, _Split(-len(atom) - 1, 1)]
        if maximum < minimum:
            self.fail("the bounds of a repetition are out of order")
        return program + [_Split(1, len(atom) + 1), *atom] * (maximum - minimum)

    def _atom(self) -> Program:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return [_CharStep(self._character_class())]
        if char == "\\":
            return self._escape()
        if char in "*+?{":
            self.fail(f"there is nothing to repeat before {char}")
        if char == "^":
            return [_Assertion(lambda text, at: at == 0)]
        if char == "$":
            return [_Assertion(lambda text, at: at == len(text))]
        if char == ".":
            return [_CharStep(lambda each: each not in _LINE_ENDS)]
        return [_CharStep(lambda each: each == char)]

    def _group(self) -> Program:
        if self._accept("?") and not self._accept(":"):
            name = _GROUP_NAME.match(self._source, self._at)
            if name is None:
                self.fail("lookahead and lookbehind are not supported")
            self._at = name.end()
        program = self.alternatives()
        if not self._accept(")"):
            self.fail("a parenthesis is not closed")
        return program

    def _escape(self) -> Program:
        char = self._next()
        if char == "b":
            return [_Assertion(_is_word_boundary)]
        if char == "B":
            return [_Assertion(lambda text, at: not _is_word_boundary(text, at))]
        if char in _CLASSES:
            return [_CharStep(_CLASSES[char])]
        wanted = self._literal(char)
        return [_CharStep(lambda each: each == wanted)]

    def _literal(self, char: str) -> str:
        """Return the character that an escape sequence stands for."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "xu":
            length = 2 if char == "x" else 4
            digits = self._source[self._at : self._at + length]
            if re.fullmatch(r"[0-9A-Fa-f]+", digits) and len(digits) == length:
                self._at += length
                return chr(int(digits, 16))
        if char.isalnum():
            self.fail(f"the escape \\{char} is not supported")
        return char

    def _character_class(self) -> CharTest:
        """Return the test for a character class in brackets."""
        is_negated = self._accept("^")
        classes: set[CharTest] = set()
        ranges: list[tuple[str, str]] = []
        while not self._accept("]"):
            low = self._member()
            if self._source.startswith("-", self._at) and not self._ends_with_dash():
                ranges.append(self._range(low))
            elif isinstance(low, str):
                ranges.append((low, low))
            else:
                classes.add(low)
        is_in_range = _ranges(ranges)
        return lambda char: (
            (is_in_range(char) or any(matches(char) for matches in classes)) != is_negated
        )

    def _ends_with_dash(self) -> bool:
        return self._source.startswith("-]", self._at)

    def _range(self, low: str | CharTest) -> tuple[str, str]:
        self._at += 1
        high = self._member()
        if not isinstance(low, str) or not isinstance(high, str) or high < low:
            self.fail("invalid range in brackets")
        return low, high

    def _member(self) -> str | CharTest:
        char = self._next()
        if char != "\\":
            return char
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char]
        return "\b" if char == "b" else self._literal(char)

    def _next(self) -> str:
        if self.is_at_end:
            self.fail("unexpected end of pattern")
        self._at += 1
        return self._source[self._at - 1]

    def _accept(self, char: str) -> bool:
        is_there = self._source.startswith(char, self._at)
        self._at += is_there
        return is_there

    def _bounded(self, program: Program) -> Program:
        if len(program) > MAX_PROGRAM:
            self.fail("it is too large")
        return program
