"""Tables of Markdown as lines.

Columns are as wide as what they hold. Where that is wider than the screen the wide ones give way
and their cells are broken; where even that is too narrow, each row becomes a list of its cells.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.segment import Segment

from .lines import Line, Run, wrap
from .painting import Look

__all__ = ["table_lines"]

_BETWEEN = " │ "
_LEAST_CELLS = 6


def table_lines(
    rows: Sequence[Sequence[list[Run]]], width: int, look: Look, right: Collection[int] = ()
) -> list[Line]:
    """Paint a table; the first row is its head, and some columns stand at their right end."""
    if not rows:
        return []
    count = len(rows[0])
    widths = _widths(rows, count, width - len(_BETWEEN) * (count - 1))
    if widths is None:
        return _as_lists(rows, width, look)
    lines: list[Line] = []
    for number, row in enumerate(rows):
        cells = [wrap(cell, cells) for cell, cells in zip(row, widths, strict=False)]
        lines += _side_by_side(cells, widths, look, right)
        if number == 0:
            rule = "─┼─".join("─" * cells for cells in widths)
            lines.append([Segment(rule, look.faint)])
    return lines


def _widths(rows: Sequence[Sequence[list[Run]]], count: int, room: int) -> list[int] | None:
    """Return how wide each column is; None: there is no room for all."""
    if room < count * _LEAST_CELLS:
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
    cells: list[list[Line]], widths: list[int], look: Look, right: Collection[int]
) -> list[Line]:
    lines: list[Line] = []
    for number in range(max(map(len, cells), default=0)):
        line: Line = []
        for column, (cell, width) in enumerate(zip(cells, widths, strict=False)):
            part = cell[number] if number < len(cell) else []
            if column:
                line.append(Segment(_BETWEEN, look.faint))
            missing = width - sum(segment.cell_length for segment in part)
            blanks = [Segment(" " * missing)] if missing > 0 else []
            line += [*blanks, *part] if column in right else [*part, *blanks]
        lines.append(line)
    return lines


def _as_lists(rows: Sequence[Sequence[list[Run]]], width: int, look: Look) -> list[Line]:
    head = ["".join([text for text, _ in cell]) for cell in rows[0]]
    lines: list[Line] = []
    for row in rows[1:] or rows:
        if lines:
            lines.append([])
        for name, cell in zip(head, row, strict=False):
            lines += wrap([(f"{name}: ", look.strong), *cell], width)
    return lines
