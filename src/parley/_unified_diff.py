r"""Unified diffs: a strict reader, a lenient reader, and a writer.

The strict reader trusts the line counts in the header of a hunk, so that a changed line may look
like a header, and yields everything else line by line: its caller decides what to ignore. The
lenient reader is for diffs that were cut short or written by hand: it ignores the counts. Names of
files, and the other lines that precede hunks, are left to the callers.

Spec: https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html and
https://git-scm.com/docs/diff-generate-patch
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

Sign: TypeAlias = Literal[" ", "-", "+", "\\"]
"""The first character of a line of a hunk: kept, removed, added, or a remark."""
_Tag: TypeAlias = Literal["replace", "delete", "insert", "equal"]
_Opcode: TypeAlias = tuple[_Tag, int, int, int, int]

NO_NEWLINE = " No newline at end of file"
"""The text of the remark about a line without a newline."""
_HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_MANY_SIGNS = re.compile(r"^@@+")
_LINE_END = re.compile(r"\r\n?|\n")
_FILE_HEADERS = (
    *("diff ", "index ", "similarity ", "rename ", "new file", "deleted file", "old mode"),
)


class HunkHeader(Struct, frozen=True):
    """The line that begins a hunk, such as `@@ -3,4 +3,5 @@ def main():`."""

    text: str
    """The whole line."""
    old_start: int
    """The number of the first line in the old text, or of the line before if there are none."""
    old_count: int
    new_start: int
    new_count: int
    title: str
    """The text after the line numbers, such as the name of a function."""

    @property
    def old_index(self) -> int:
        """The number of lines in the old text before the hunk."""
        return max(0, self.old_start - (self.old_count > 0))

    @property
    def new_index(self) -> int:
        """The number of lines in the new text before the hunk."""
        return max(0, self.new_start - (self.new_count > 0))


class HunkLine(NamedTuple):
    """A line of a hunk."""

    sign: Sign
    text: str
    """The line without its sign and its line feed."""


class Hunk(Struct, frozen=True):
    """A part of a file before and after a change."""

    header: HunkHeader
    lines: tuple[HunkLine, ...]

    @property
    def old_text(self) -> str:
        """The text before the change."""
        return self._text("-")

    @property
    def new_text(self) -> str:
        """The text after the change."""
        return self._text("+")

    def _text(self, side: Sign) -> str:
        lines: list[str] = []
        previous: Sign = "\\"
        for sign, text in self.lines:
            if sign in (" ", side):
                lines.append(text + "\n")
            elif sign == "\\" and previous in (" ", side):  # the previous line has no newline
                lines[-1] = lines[-1][:-1]
            previous = sign
        return "".join(lines)


def read_header(line: str) -> HunkHeader | None:
    """Return the header of a hunk; None if the line is something else."""
    found = _HEADER.match(line)
    if found is None:
        return None
    old_start, old_count, new_start, new_count = (
        1 if number is None else int(number) for number in found.groups()[:4]
    )
    return HunkHeader(found[0], old_start, old_count, new_start, new_count, found[5])


def read_patch(patch: str) -> Iterator[Hunk | str]:
    """Yield each hunk, and each line outside of hunks.

    A hunk that is cut off ends with the patch.
    """
    lines = patch.removesuffix("\n").split("\n")
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        header = read_header(line)
        if header is None:
            yield line
        else:
            body = _read_body(header, lines, position)
            position += len(body)
            yield Hunk(header, body)


def _read_body(header: HunkHeader, lines: Sequence[str], position: int) -> tuple[HunkLine, ...]:
    """Return the lines of a hunk from a position on, as many as its header says."""
    old_count, new_count = header.old_count, header.new_count
    body: list[HunkLine] = []
    for number in range(position, len(lines)):
        line = lines[number]
        sign = _sign(line) or " "
        if sign != "\\" and old_count <= 0 and new_count <= 0:
            break
        body.append(HunkLine(sign, line[1:]))
        old_count -= sign in " -"
        new_count -= sign in " +"
    return tuple(body)


def _sign(line: str) -> Sign | None:
    match line[:1]:
        case "+":
            return "+"
        case "-":
            return "-"
        case "\\":
            return "\\"
        case " " | "":  # some editors strip the leading space of an empty context line
            return " "
        case _:
            return None


def read_leniently(diff: str) -> Iterator[tuple[HunkHeader | None, tuple[HunkLine, ...]]]:
    r"""Yield the lines of each hunk, and its header if there is one with line numbers.

    A hunk ends where the next hunk or file begins, whatever its header says. A diff may begin
    without a header; then its first hunk has none. Lines end with `\n`, `\r\n` or `\r`. Remarks
    and lines that are not part of a diff are left out.
    """
    lines = _LINE_END.split(diff)
    if not lines[-1]:  # the diff ends with a line end
        lines.pop()
    header: HunkHeader | None = None
    body: list[HunkLine] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.startswith("@@") or _is_file_header(lines, position - 1):
            yield header, tuple(body)
            # A header may begin with more than two of these signs.
            header = read_header(_MANY_SIGNS.sub("@@", line))
            body = []
            position += line.startswith("--- ")  # `+++` follows
        elif (sign := _sign(line)) is not None and sign != "\\":
            body.append(HunkLine(sign, line[1:]))
    yield header, tuple(body)


def _is_file_header(lines: Sequence[str], position: int) -> bool:
    if lines[position].startswith("--- "):
        return position + 1 < len(lines) and lines[position + 1].startswith("+++ ")
    return lines[position].startswith(_FILE_HEADERS)


class DiffWriter(Struct, frozen=True, kw_only=True):
    """A writer of hunks that takes bounded time."""

    max_compared_lines: int
    """If both texts together have more lines between their common beginning and end, these are not
    compared line by line but written as one change."""
    autojunk: bool = True
    """Whether the comparison treats lines that occur often as junk, as `difflib` explains."""
    line_ends: tuple[str, ...] = ("\n",)
    """What ends a line; after any other line, a remark says that it has no newline."""
    omits_one: bool = True
    """Whether the headers omit a count of one, as Git does."""

    def write(
        self,
        old: Sequence[str],
        new: Sequence[str],
        *,
        context: int | None = None,
        first_line: int = 0,
    ) -> str:
        """Return the hunks that turn some lines into others; nothing if they are the same.

        Args:
            old: The lines before, with their ends.
            new: The lines after.
            context: The number of lines to show around a change; None for all, in one hunk.
            first_line: The position in the file at which the lines begin, counted from 0.
        """
        matcher = _BoundedMatcher(old, new, self.max_compared_lines, self.autojunk)
        written: list[str] = []
        for group in matcher.get_grouped_opcodes(len(old) if context is None else context):
            (_, old_top, _, new_top, _), (_, _, old_end, _, new_end) = group[0], group[-1]
            old_range = write_range(first_line + old_top, old_end - old_top, self.omits_one)
            new_range = write_range(first_line + new_top, new_end - new_top, self.omits_one)
            written.append(f"@@ -{old_range} +{new_range} @@\n")
            for tag, i1, i2, j1, j2 in group:
                if tag == "equal":
                    written += [self._write(" ", line) for line in old[i1:i2]]
                else:
                    written += [self._write("-", line) for line in old[i1:i2]]
                    written += [self._write("+", line) for line in new[j1:j2]]
        return "".join(written)

    def _write(self, sign: Sign, line: str) -> str:
        text = line.removesuffix("\n")
        remark = "" if line.endswith(self.line_ends) else f"\\{NO_NEWLINE}\n"
        return f"{sign}{text}\n{remark}"


def write_range(index: int, count: int, omits_one: bool = True) -> str:
    """Return a range of lines for a header, where an empty one names the line before it.

    Args:
        index: The number of lines before the range.
        count: The number of lines.
        omits_one: Whether to omit a count of one.
    """
    start = index + (count > 0)
    return f"{start}" if omits_one and count == 1 else f"{start},{count}"


class _BoundedMatcher(SequenceMatcher[str]):
    """A matcher that compares only what is between the common beginning and end, if not too long.

    `difflib` groups the changes that it finds into hunks.
    """

    def __init__(
        self, old: Sequence[str], new: Sequence[str], max_compared_lines: int, autojunk: bool
    ) -> None:
        # The base class would index all lines; it gets none, as `get_opcodes` is what it uses.
        super().__init__()
        self._old, self._new = old, new
        self._max_compared_lines = max_compared_lines
        self._autojunk = autojunk

    def get_opcodes(self) -> list[_Opcode]:
        """Return the edits that turn the old lines into the new ones."""
        old, new = self._old, self._new
        most = min(len(old), len(new))
        head = _common_length(old, new, most)
        tail = _common_length(old[::-1], new[::-1], most - head)
        old_end, new_end = len(old) - tail, len(new) - tail
        if old_end == new_end == head:
            return []
        beginning: _Opcode = ("equal", 0, head, 0, head)
        end: _Opcode = ("equal", old_end, len(old), new_end, len(new))
        if old_end - head + new_end - head > self._max_compared_lines:
            return [beginning, ("replace", head, old_end, head, new_end), end]
        middle = old[head:old_end], new[head:new_end]
        matcher = SequenceMatcher(None, *middle, autojunk=self._autojunk)
        changes: list[_Opcode] = [
            (tag, i1 + head, i2 + head, j1 + head, j2 + head)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        ]
        return [beginning, *changes, end]


def _common_length(one: Sequence[str], other: Sequence[str], most: int) -> int:
    """Return the number of lines that are the same at the beginning, up to a maximum."""
    length = 0
    while length < most and one[length] == other[length]:
        length += 1
    return length
