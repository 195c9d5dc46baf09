"""Tables of Markdown as lines.

Columns are as wide as their content. If that exceeds the screen, the widest columns shrink and
their cells are broken; if even that is too wide, each row becomes a list of its cells.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.segment import Segment

from .lines import Line, Run, wrap
from .theme import Theme

__all__ = ["table_lines"]

_BETWEEN = " │ "
_MIN_CELLS = 6


def table_lines(
    rows: Sequence[Sequence[list[Run]]], width: int, theme: Theme, right: Collection[int] = ()
) -> list[Line]:
    """Return a table as lines; the first row is its header, some columns are right-aligned."""
    if not rows:
        return []
    count = len(rows[0])
    widths = _widths(rows, count, width - len(_BETWEEN) * (count - 1))
    if widths is None:
        return _as_lists(rows, width, theme)
    lines: list[Line] = []
    for number, row in enumerate(rows):
        cells = [wrap(cell, cells) for cell, cells in zip(row, widths, strict=False)]
        lines += _side_by_side(cells, widths, theme, right)
        if number == 0:
            rule = "─┼─".join("─" * cells for cells in widths)
            lines.append([Segment(rule, theme.faint)])
    return lines


def _widths(rows: Sequence[Sequence[list[Run]]], count: int, room: int) -> list[int] | None:
    """Return the width of each column; None if there is not enough room."""
    if room < count * _MIN_CELLS:
        natural = [_natural(rows, column) for column in range(count)]
        return natural if sum(natural) <= room else None
    widths = [_natural(rows, column) for column in range(count)]
    while (excess := sum(widths) - room) > 0:
        widest = max(widths)
        others = [each for each in widths if each < widest]
        share = [number for number, each in enumerate(widths) if each == widest]
        least = max(max(others, default=0), widest - -(-excess // len(share)), 1)
        for number in share:
            widths[number] = least
    return widths


def _natural(rows: Sequence[Sequence[list[Run]]], column: int) -> int:
    cells = [row[column] for row in rows if column < len(row)]
    return max((sum(cell_len(text) for text, _ in cell) for cell in cells), default=0) or 1


def _side_by_side(
    cells: list[list[Line]], widths: list[int], theme: Theme, right: Collection[int]
) -> list[Line]:
    lines: list[Line] = []
    for number in range(max(map(len, cells), default=0)):
        line: Line = []
        for column, (cell, width) in enumerate(zip(cells, widths, strict=False)):
            part = cell[number] if number < len(cell) else []
            if column:
                line.append(Segment(_BETWEEN, theme.faint))
            missing = width - sum(segment.cell_length for segment in part)
            blanks = [Segment(" " * missing)] if missing > 0 else []
            line += [*blanks, *part] if column in right else [*part, *blanks]
        lines.append(line)
    return lines


def _as_lists(rows: Sequence[Sequence[list[Run]]], width: int, theme: Theme) -> list[Line]:
    head = ["".join([text for text, _ in cell]) for cell in rows[0]]
    lines: list[Line] = []
    for row in rows[1:] or rows:
        if lines:
            lines.append([])
        for name, cell in zip(head, row, strict=False):
            lines += wrap([(f"{name}: ", theme.strong), *cell], width)
    return lines
