r"""Unified diffs: how they are written, and how those are read that come with `editHistory`.

The latter are often cut short or without headers. What can be read is read: file headers and
`index` lines are passed over, counts that are wrong do not matter, an empty line is an empty line
of context, and a diff without `@@` is one piece whose place is not known. What is no diff at all
gives no pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from msgspec import Struct

from .document import content, split_lines
from .ends import same_ends

Mark: TypeAlias = Literal[" ", "-", "+"]

MAX_CHARACTERS = 1_000_000
"""The characters of a diff that are read."""
MAX_MATCHED_LINES = 400
"""Of longer texts, everything between the first and the last difference counts as changed."""

_PLACE = re.compile(r"@@+ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@+")
_NO_END = "\n\\ No newline at end of file"
_HEADERS = ("diff ", "index ", "similarity ", "rename ", "new file", "deleted file", "old mode")


class Hunk(Struct, frozen=True):
    """One piece of a diff."""

    line: int | None
    """The first line in the text before, counted from 0; None if the diff does not say."""
    new_line: int | None
    """The first line in the text after."""
    lines: tuple[tuple[Mark, str], ...]
    """Each line without its end: kept, taken away or added."""

    @property
    def old(self) -> tuple[str, ...]:
        """The lines before, with those around the change."""
        return tuple(text for mark, text in self.lines if mark != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """The lines after, with those around the change."""
        return tuple(text for mark, text in self.lines if mark != "-")

    @property
    def removed(self) -> tuple[str, ...]:
        """The lines that were taken away."""
        return tuple(text for mark, text in self.lines if mark == "-")

    @property
    def added(self) -> tuple[str, ...]:
        """The lines that were added."""
        return tuple(text for mark, text in self.lines if mark == "+")

    @property
    def text(self) -> str:
        """The piece as it stands in a diff, with a head if its place is known."""
        head = ""
        if self.line is not None and self.new_line is not None:
            old, new = _side(self.line, len(self.old)), _side(self.new_line, len(self.new))
            head = f"@@ -{old} +{new} @@\n"
        return head + "".join(f"{mark}{line}\n" for mark, line in self.lines)


def read_patch(diff: str) -> list[Hunk]:
    """Read what can be read of a unified diff; pieces that change nothing are left out."""
    lines = [content(line) for line in split_lines(diff[:MAX_CHARACTERS])]
    if lines and not lines[-1]:
        lines.pop()  # it ended with a line end
    hunks = (_hunk(head, body) for head, body in _pieces(lines))
    return [hunk for hunk in hunks if hunk.removed or hunk.added]


def _pieces(lines: list[str]) -> Iterator[tuple[re.Match[str] | None, list[str]]]:
    """Yield each piece's head and the lines of it."""
    head: re.Match[str] | None = None
    body: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        found = _PLACE.match(line)
        if found is not None or line.startswith("@@") or _is_file_head(lines, at):
            yield head, body
            head, body = found, []
            at += 2 if line.startswith("--- ") else 1
            continue
        body.append(line)
        at += 1
    yield head, body


def _is_file_head(lines: list[str], at: int) -> bool:
    if lines[at].startswith("--- "):
        return at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
    return lines[at].startswith(_HEADERS)


def _hunk(head: re.Match[str] | None, body: list[str]) -> Hunk:
    lines: list[tuple[Mark, str]] = []
    for line in body:
        match line[:1]:
            case "+":
                lines.append(("+", line[1:]))
            case "-":
                lines.append(("-", line[1:]))
            case " " | "":
                lines.append((" ", line[1:]))
            case _:  # `\ No newline at end of file`, or something else
                continue
    if head is None:
        return Hunk(None, None, tuple(lines))
    return Hunk(_first(head[1], head[2]), _first(head[3], head[4]), tuple(lines))


def _first(number: str, count: str | None) -> int:
    """Return the first line of a side, from 0; one without lines is named by the line before it."""
    return max(0, int(number) - (count != "0"))


def write_patch(
    old: Sequence[str], new: Sequence[str], *, line: int = 0, context: int | None = None
) -> str:
    """Write as a unified diff, without the names of files, how some lines become others.

    Args:
        old: The lines before, with their ends.
        new: The lines after.
        line: Where they begin in the file, counted from 0.
        context: How many lines are shown around a change; None for all of them, in one piece.
    """
    lines = _compared(old, new)
    reach = len(lines) if context is None else context
    written: list[str] = []
    for first, last in _groups(lines, 2 * reach + 1):
        top = max(0, first - reach)
        above = sum(mark != "+" for mark, _ in lines[:top])
        new_above = sum(mark != "-" for mark, _ in lines[:top])
        piece = tuple(lines[top : last + 1 + reach])
        written.append(Hunk(line + above, line + new_above, piece).text)
    return "".join(written)


def _groups(lines: list[tuple[Mark, str]], gap: int) -> list[tuple[int, int]]:
    """Return the first and the last line of each group of changes that are so near together."""
    groups: list[tuple[int, int]] = []
    for at, (mark, _) in enumerate(lines):
        if mark == " ":
            continue
        is_near = bool(groups) and at - groups[-1][1] <= gap
        first = groups.pop()[0] if is_near else at
        groups.append((first, at))
    return groups


def _compared(old: Sequence[str], new: Sequence[str]) -> list[tuple[Mark, str]]:
    """Return the lines of both with their marks."""
    head, tail = same_ends(old, new)
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(before) + len(after) > MAX_MATCHED_LINES:
        codes = [("replace", 0, len(before), 0, len(after))]
    else:
        codes = [*SequenceMatcher(None, before, after, autojunk=False).get_opcodes()]
    lines = _marked(" ", old[:head])
    for kind, top, bottom, new_top, new_bottom in codes:
        if kind == "equal":
            lines += _marked(" ", before[top:bottom])
        else:
            lines += _marked("-", before[top:bottom]) + _marked("+", after[new_top:new_bottom])
    return lines + _marked(" ", old[len(old) - tail :])


def _marked(mark: Mark, lines: Sequence[str]) -> list[tuple[Mark, str]]:
    return [(mark, _ended(line)) for line in lines]


def _ended(line: str) -> str:
    """Return a line as it stands in a diff: without a line feed, and it is said if it had none."""
    return line[:-1] if line.endswith("\n") else line + ("" if line.endswith("\r") else _NO_END)


def _side(line: int, height: int) -> str:
    """Return where a side is, as a head says it: one without lines is after the line before."""
    return f"{line + (height > 0)},{height}"
