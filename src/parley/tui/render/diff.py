"""Diffs as lines: unified, and side by side where there is room.

What is shown is the patch, with the numbers of its lines and the colours of the file's language. A
patch may carry the whole file around a change; of that only a few lines are shown. One that says
more than Git would, as by a line beyond those that it counts, is shown as it is: nothing is hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style

from parley._display_text import sanitize_text
from parley.schema import v2
from parley.schema.base import Unknown

from .blocks import MAX_CHARS, bounded, one_line
from .lines import Line, Run, chop, clip, fill, indent
from .painting import Look
from .syntax import coloured, lexer_of

__all__ = ["SIDE_BY_SIDE_CELLS", "diff_lines", "first_lines", "is_told_by", "shows_more"]

SIDE_BY_SIDE_CELLS = 112
"""What a card leaves for it on a screen of 120 columns, and a little less."""
_CONTEXT_LINES = 3
_MOST_COMPARED = 200
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_NAME = re.compile(r"(?:\+\+\+|---|rename to|copy to) (?:[ab]/)?(.*)")
_TOLD = ("Binary", "GIT binary", "old mode", "new mode")
_UNTOLD = (
    *("diff --git ", "index ", "new file mode ", "deleted file mode ", "similarity index "),
    *("dissimilarity index ", "rename from ", "copy from ", "+++ /dev/null", "--- /dev/null"),
    *("Index: ", "====="),
)
"""How lines begin that stand before the parts of a file and say nothing more."""
_NONE = Style.null()


@dataclass(slots=True)
class _Row:
    """A line of a patch."""

    sign: str
    old: int | None
    new: int | None
    text: str
    runs: list[Run] = field(default_factory=list[Run])


class _Hunk:
    """A part of a file; its head tells how many lines it has."""

    def __init__(self, head: re.Match[str]) -> None:
        self.title = head[5]
        self.rows: list[_Row] = []
        self._old, self._new = int(head[1]), int(head[3])
        self._old_end = self._old + int(head[2] or 1)
        self._new_end = self._new + int(head[4] or 1)

    def take(self, line: str) -> bool:
        """Take a line if it belongs to it."""
        sign = line[:1] if line[:1] in ("+", "-", "\\") else " "
        if sign != "\\" and self._old >= self._old_end and self._new >= self._new_end:
            return False
        is_old, is_new = sign in " -", sign in " +"
        old, new = self._old if is_old else None, self._new if is_new else None
        self.rows.append(_Row(sign, old, new, line[1:]))
        self._old, self._new = self._old + is_old, self._new + is_new
        return True

    def cut(self, most: int) -> int:
        """Keep so many lines; return how many are gone."""
        gone = self.rows[max(most, 0) :]
        del self.rows[max(most, 0) :]
        return len(gone)

    def forget_ends(self) -> None:
        """Leave out that the last line has no end, unless that is a change."""
        rows = self.rows
        sides = [rows[each - 1].sign for each, row in enumerate(rows) if each and row.sign == "\\"]
        if len(sides) != 1 or sides == [" "]:
            self.rows = [row for row in rows if row.sign != "\\"]


@dataclass(slots=True)
class _File:
    name: str
    hunks: list[_Hunk] = field(default_factory=list[_Hunk])
    remarks: list[str] = field(default_factory=list[str])


_Shown: TypeAlias = _Row | str


def diff_lines(diff: v2.Diff, width: int, look: Look) -> list[Line]:
    """Paint what a tool call changes: each file, and the patch as far as there is one."""
    return first_lines(diff, width, look, MAX_CHARS)[0]


def first_lines(diff: v2.Diff, width: int, look: Look, most: int) -> tuple[list[Line], int]:
    """Paint so many lines of the patch, or a few more; also return how many it has behind them."""
    lines = [line for change in diff.changes for line in chop(_change(change, look), width)]
    if diff.patch is None:
        return lines, 0
    patch = bounded(diff.patch.text)
    files = _read(patch)
    if not files:  # not a patch as Git writes it
        rows = patch.expandtabs(4).split("\n")
        shown = [line for row in rows[:most] for line in chop([(row, _NONE)], width)]
        return lines + shown, max(len(rows) - most, 0)
    hidden = 0
    for file in files:
        if len(files) > 1 or not _is_named(file, diff.changes):
            lines += chop([(one_line(file.name), look.strong)], width)
        for remark in file.remarks:
            lines.append(clip([(remark, look.faint)], width))
        for hunk in file.hunks:
            hidden += hunk.cut(most)
            most -= len(hunk.rows)
            lines += _hunk_lines(hunk, file.name, width, look)
    return lines, hidden


def _is_named(file: _File, changes: Sequence[v2.DiffChange]) -> bool:
    """Return whether a file is the only one that the changes name, and so stands above already."""
    paths = [getattr(each, "path", "") for each in changes]
    return len(paths) == 1 and (not file.name or f"/{paths[0]}".endswith(f"/{file.name}"))


def shows_more(one: v2.Diff, other: v2.Diff) -> bool:
    """Return whether a diff has every change of another one, which may name parts of lines."""
    if one.changes != other.changes:
        return False
    ours, theirs = _changed(one), _changed(other)
    if not any(theirs) or len(theirs[0]) + len(theirs[1]) > _MOST_COMPARED:
        return False
    return all(
        any(text in line for line in lines)
        for lines, texts in zip(ours, theirs, strict=True)
        for text in texts
    )


def is_told_by(text: str, diffs: Sequence[v2.Diff]) -> bool:
    """Return whether a text is a patch with the changes of diffs: the same lines of these files."""
    if len(text) > MAX_CHARS or "@@" not in text:
        return False
    paths = {getattr(each, "path", None) for diff in diffs for each in diff.changes}
    files = _read(sanitize_text(text))
    rows = [row for diff in diffs for row in _changes(_files(diff))]
    return {file.name for file in files} <= paths and _changes(files) == rows != []


def _changed(diff: v2.Diff) -> tuple[list[str], list[str]]:
    """Return the lines that are removed, and those that are added."""
    rows = _changes(_files(diff))
    gone, come = ([text for sign, _, text in rows if sign == wanted] for wanted in "-+")
    return gone, come


def _files(diff: v2.Diff) -> list[_File]:
    return [] if diff.patch is None else _read(bounded(diff.patch.text))


def _changes(files: list[_File]) -> list[tuple[str, int | None, str]]:
    """Return what changes: the sign, the number and the text of each line."""
    rows = [row for file in files for hunk in file.hunks for row in hunk.rows]
    return [(row.sign, row.old or row.new, row.text) for row in rows if row.sign in "-+"]


def _change(change: v2.DiffChange, look: Look) -> list[Run]:
    if isinstance(change, Unknown):
        return [(f"{one_line(change.tag)} ", look.faint), _raw(change)]
    word = type(change).__name__.removeprefix("Diff").lower()
    runs: list[Run] = [(f"{word} ", look.faint), (one_line(change.path), look.strong)]
    if isinstance(change, v2.DiffPathPairChange):
        runs.insert(1, (f"{one_line(change.old_path)} → ", look.faint))
    if change.file_type not in (None, "text"):
        runs.append((f"  {one_line(change.file_type or '')}", look.faint))
    return runs


def _raw(change: Unknown) -> Run:
    return one_line(change.raw.decode("utf-8", "replace")), _NONE


def _read(patch: str) -> list[_File]:
    """Return the files of a patch; none if there is anything in it that is not read here."""
    files: list[_File] = []
    for line in patch.removesuffix("\n").split("\n"):
        file = files[-1] if files else None
        if file is not None and file.hunks and file.hunks[-1].take(line):
            continue
        head = _HUNK.match(line)
        begins = line.startswith("diff --git ") or (
            line.startswith("--- ") and (file is None or file.hunks)
        )
        if begins or (file is None and head):
            file = _File("" if head else line.rpartition(" ")[2].removeprefix("b/"))
            files.append(file)
        if file is not None and head:
            file.hunks.append(_Hunk(head))
        elif not _read_head(line, file):
            return []
    return files


def _read_head(line: str, file: _File | None) -> bool:
    """Read a line before the parts of a file; tell whether it is one."""
    name = _NAME.match(line)
    if file is not None and name is not None and name[1] != "/dev/null":
        file.name = name[1].split("\t")[0]
    elif file is not None and line.startswith(_TOLD):
        file.remarks.append(line)
    else:
        return not line.strip() or line.startswith(_UNTOLD)
    return True


def _hunk_lines(hunk: _Hunk, name: str, width: int, look: Look) -> list[Line]:
    """Paint a part of a file."""
    hunk.forget_ends()
    _colour(hunk, name, look)
    numbers = [each for row in hunk.rows for each in (row.old, row.new) if each is not None]
    digits = len(str(max(numbers, default=0)))
    shown = list(_near(hunk.rows))
    title = hunk.title or "…"
    lines: list[Line] = []
    if hunk.rows and (hunk.rows[0].old or 1) > 1:
        lines.append(clip([(f"{' ' * digits} ⋯ {title}", look.faint)], width))
    if width >= SIDE_BY_SIDE_CELLS:
        return lines + _beside(shown, digits, width, look)
    for row in shown:
        lines += _unified(row, digits, width, look)
    return lines


def _colour(hunk: _Hunk, name: str, look: Look) -> None:
    """Give each row its colours: the old and the new text are read apart, each as a whole."""
    lexer = lexer_of(name) if name else None
    for signs in (" -", " +"):
        rows = [row for row in hunk.rows if row.sign in signs]
        found = coloured("\n".join(row.text for row in rows), lexer, look)
        for row, runs in zip(rows, found, strict=False):
            row.runs = runs
    for row in hunk.rows:
        if row.sign == "\\":
            row.runs = [(row.text, look.faint)]


def _near(rows: Sequence[_Row]) -> Iterator[_Shown]:
    """Leave out what is far from any change."""
    changes = [number for number, row in enumerate(rows) if row.sign != " "]
    near = {
        number + step for number in changes for step in range(-_CONTEXT_LINES, _CONTEXT_LINES + 1)
    }
    hidden: list[_Row] = []
    for number, row in enumerate(rows):
        if number in near or not changes:
            yield from hidden if len(hidden) < 2 else [f"⋯ {len(hidden)} lines"]
            hidden = []
            yield row
        else:
            hidden.append(row)


def _unified(row: _Shown, digits: int, width: int, look: Look) -> list[Line]:
    if isinstance(row, str):
        return [clip([(f"{' ' * digits} {row}", look.faint)], width)]
    number = row.new if row.new is not None else row.old
    return _cell(row, number, digits, width, look)


def _cell(row: _Row, number: int | None, digits: int, width: int, look: Look) -> list[Line]:
    """Paint a line with its number and its sign, broken where it is longer than the width."""
    ground, mark = {
        "+": (look.added, look.good),
        "-": (look.removed, look.bad),
    }.get(row.sign, (_NONE, look.faint))
    label = f"{number if number is not None else '':>{digits}} "
    sign = row.sign if row.sign in "+-" else " "
    body = chop(row.runs or [("", _NONE)], max(width - digits - 3, 1))
    lines = indent(body, (f"{sign} ", mark))
    lines = indent(lines, (label, look.faint))
    return [fill(line, width, ground) for line in lines]


def _beside(shown: Sequence[_Shown], digits: int, width: int, look: Look) -> list[Line]:
    """Paint the old text at the left and the new one at the right."""
    half = (width - 3) // 2
    lines: list[Line] = []
    for left, right in _pairs(shown):
        if isinstance(left, str):
            lines.append(clip([(f"{' ' * digits} {left}", look.faint)], width))
            continue
        cells = [
            [] if left is None else _cell(left, left.old, digits, half, look),
            [] if right is None else _cell(right, right.new, digits, half, look),
        ]
        for number in range(max(map(len, cells))):
            parts = [cell[number] if number < len(cell) else [] for cell in cells]
            padded = [fill(part, half, _NONE) for part in parts]
            lines.append([*padded[0], Segment(" │ ", look.faint), *padded[1]])
    return lines


def _pairs(shown: Sequence[_Shown]) -> Iterator[tuple[_Row | str | None, _Row | None]]:
    """Put what was removed beside what was added in its place."""
    gone: list[_Row] = []
    come: list[_Row] = []
    for row in [*shown, ""]:
        if isinstance(row, _Row) and row.sign == "+":
            come.append(row)
            continue
        if come or not (isinstance(row, _Row) and row.sign == "-"):
            yield from zip_longest(gone, come)
            gone, come = [], []
        if isinstance(row, _Row) and row.sign == "-":
            gone.append(row)
        elif row:
            yield row, row if isinstance(row, _Row) else None
