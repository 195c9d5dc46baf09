"""Diffs as lines: unified, and side by side where there is room.

The lines of the patch have numbers and the colours of the file's language. A patch may contain the
whole file; only a few lines around each change are shown. A patch that cannot be read completely,
for example because it has more lines than its header says, is shown as it is: nothing is hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style

from parley.client._patch_reader import (
    PatchHunk,
    PatchLine,
    change_label,
    is_named_above,
    lines_near_changes,
    read_patch,
)
from parley.schema import v2
from parley.schema.base import Unknown

from .blocks import MAX_CHARS, one_line, truncate_text
from .lines import Line, Run, chop, clip, fill, indent
from .syntax import highlight_code, lexer_for_path
from .theme import Theme

__all__ = ["SIDE_BY_SIDE_CELLS", "diff_lines", "first_lines"]

SIDE_BY_SIDE_CELLS = 112
"""The minimum width for two columns; a card on a screen of 120 columns has a little more."""
_NONE = Style.null()


class _Row(NamedTuple):
    """A line of a patch with its colours."""

    line: PatchLine
    runs: list[Run]


def diff_lines(diff: v2.Diff, width: int, theme: Theme) -> list[Line]:
    """Return the changed files, and the patch if there is one."""
    return first_lines(diff, width, theme, MAX_CHARS)[0]


def first_lines(diff: v2.Diff, width: int, theme: Theme, most: int) -> tuple[list[Line], int]:
    """Return about a number of lines of the patch, and the number of those that are left out."""
    lines = [
        line for change in diff.changes for line in chop(_change_row(diff, change, theme), width)
    ]
    if diff.patch is None:
        return lines, 0
    patch = truncate_text(diff.patch.text)
    files = read_patch(patch)
    if not files:  # not a patch as Git writes it
        rows = patch.expandtabs(4).split("\n")
        shown = [line for row in rows[:most] for line in chop([(row, _NONE)], width)]
        return lines + shown, max(len(rows) - most, 0)
    hidden = 0
    for file in files:
        if len(files) > 1 or not is_named_above(file, diff.changes):
            lines += chop([(one_line(file.name), theme.strong)], width)
        for remark in file.remarks:
            lines.append(clip([(remark, theme.faint)], width))
        for hunk in file.hunks:
            hidden += hunk.truncate(most)
            most -= len(hunk.lines)
            lines += _hunk_lines(hunk, file.name, width, theme)
    return lines, hidden


def _change_row(diff: v2.Diff, change: v2.DiffChange, theme: Theme) -> list[Run]:
    if isinstance(change, Unknown):
        return [(f"{one_line(change.tag)} ", theme.faint), _raw(change)]
    runs: list[Run] = [
        (f"{change_label(diff, change)} ", theme.faint),
        (one_line(change.path), theme.strong),
    ]
    if isinstance(change, v2.DiffPathPairChange):
        runs.insert(1, (f"{one_line(change.old_path)} → ", theme.faint))
    if change.file_type not in (None, "text"):
        runs.append((f"  {one_line(change.file_type or '')}", theme.faint))
    return runs


def _raw(change: Unknown) -> Run:
    return one_line(change.raw.decode("utf-8", "replace")), _NONE


def _hunk_lines(hunk: PatchHunk, name: str, width: int, theme: Theme) -> list[Line]:
    """Return the lines of a hunk."""
    hunk.drop_newline_remarks()
    rows = _coloured_rows(hunk, name, theme)
    numbers = [each for line in hunk.lines for each in (line.old, line.new) if each is not None]
    digits = len(str(max(numbers, default=0)))
    title = hunk.title or "…"
    lines: list[Line] = []
    if hunk.lines and (hunk.lines[0].old or 1) > 1:
        lines.append(clip([(f"{' ' * digits} ⋯ {title}", theme.faint)], width))
    if width >= SIDE_BY_SIDE_CELLS:
        return lines + _beside(rows, digits, width, theme)
    for row in rows:
        lines += _unified(row, digits, width, theme)
    return lines


def _coloured_rows(hunk: PatchHunk, name: str, theme: Theme) -> list[_Row | str]:
    """Return the lines to show with their colours, and a text for lines that are left out.

    The old and the new text are highlighted separately, each as a whole.
    """
    lexer = lexer_for_path(name) if name else None
    runs: dict[PatchLine, list[Run]] = {}
    for signs in (" -", " +"):
        lines = [line for line in hunk.lines if line.sign in signs]
        found = highlight_code("\n".join(line.text for line in lines), lexer, theme)
        runs |= dict(zip(lines, found, strict=False))
    runs |= {line: [(line.text, theme.faint)] for line in hunk.lines if line.sign == "\\"}
    return [
        f"⋯ {each} lines" if isinstance(each, int) else _Row(each, runs.get(each, []))
        for each in lines_near_changes(hunk.lines)
    ]


def _unified(row: _Row | str, digits: int, width: int, theme: Theme) -> list[Line]:
    if isinstance(row, str):
        return [clip([(f"{' ' * digits} {row}", theme.faint)], width)]
    number = row.line.new if row.line.new is not None else row.line.old
    return _cell(row, number, digits, width, theme)


def _cell(row: _Row, number: int | None, digits: int, width: int, theme: Theme) -> list[Line]:
    """Return a line with its number and its sign, broken at the width."""
    ground, mark = {
        "+": (theme.added, theme.good),
        "-": (theme.removed, theme.bad),
    }.get(row.line.sign, (_NONE, theme.faint))
    label = f"{number if number is not None else '':>{digits}} "
    sign = row.line.sign if row.line.sign in "+-" else " "
    body = chop(row.runs or [("", _NONE)], max(width - digits - 3, 1))
    lines = indent(body, (f"{sign} ", mark))
    lines = indent(lines, (label, theme.faint))
    return [fill(line, width, ground) for line in lines]


def _beside(shown: Iterable[_Row | str], digits: int, width: int, theme: Theme) -> list[Line]:
    """Return the old text at the left and the new one at the right."""
    half = (width - 3) // 2
    lines: list[Line] = []
    for left, right in _pairs(shown):
        if isinstance(left, str):
            lines.append(clip([(f"{' ' * digits} {left}", theme.faint)], width))
            continue
        cells = [
            [] if left is None else _cell(left, left.line.old, digits, half, theme),
            [] if right is None else _cell(right, right.line.new, digits, half, theme),
        ]
        for number in range(max(map(len, cells))):
            parts = [cell[number] if number < len(cell) else [] for cell in cells]
            padded = [fill(part, half, _NONE) for part in parts]
            lines.append([*padded[0], Segment(" │ ", theme.faint), *padded[1]])
    return lines


def _pairs(shown: Iterable[_Row | str]) -> Iterator[tuple[_Row | str | None, _Row | None]]:
    """Pair removed lines with the lines that replace them."""
    removed: list[_Row] = []
    added: list[_Row] = []
    for row in [*shown, ""]:
        if isinstance(row, _Row) and row.line.sign == "+":
            added.append(row)
            continue
        if added or not (isinstance(row, _Row) and row.line.sign == "-"):
            yield from zip_longest(removed, added)
            removed, added = [], []
        if isinstance(row, _Row) and row.line.sign == "-":
            removed.append(row)
        elif row:
            yield row, row if isinstance(row, _Row) else None
