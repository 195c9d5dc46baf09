"""The figures as a table of plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .figures import Figures, Rate

COLUMNS = {
    "speaks": "speaks",
    "step": "P(step)",
    "exact": "P(exact)",
    "location": "P(loc)",
    "false_at_end": "false at end",
    "helped": "helped",
    "saved": "keys saved",
}


def fitting_lines(
    rows: Sequence[tuple[tuple[str, ...], Figures]], heads: Sequence[str], room: int | None
) -> list[str]:
    """Return the table; turned, without intervals or in parts, if it does not fit.

    Args:
        rows: As in `table_lines`.
        heads: As there.
        room: How long a line may be; None for any length.
    """
    lines = table_lines(rows, heads)
    if room is None:
        return lines
    for intervals, is_turned in ((True, False), (True, True), (False, False), (False, True)):
        lines = table_lines(rows, heads, intervals=intervals, is_turned=is_turned)
        if max(map(len, lines)) <= room:
            return lines
    for size in range(len(rows) - 1, 0, -1):
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        tables = [table_lines(part, heads, is_turned=True) for part in parts]
        lines = [line for table in tables for line in ("", *table)][1:]
        if max(map(len, lines)) <= room:
            break
    return lines


def table_lines(
    rows: Sequence[tuple[tuple[str, ...], Figures]],
    heads: Sequence[str],
    *,
    intervals: bool = True,
    is_turned: bool = False,
) -> list[str]:
    """Return the lines of a table: who, how many instances, rates with intervals, latency.

    Args:
        rows: The figures.
        heads: What that is called.
        intervals: Whether they are shown.
        is_turned: Whether each of the figures has a line, and not each of the rows.
    """
    columns = [*heads, "asked", *COLUMNS.values(), "p50 / p99 ms"]
    cells = [columns, *([*names, *_cells(figures, intervals)] for names, figures in rows)]
    if is_turned:
        cells = [list(line) for line in zip(*cells, strict=True)]
    lefts = 1 if is_turned else len(heads)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at < lefts else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _cells(figures: Figures, intervals: bool) -> Iterator[str]:
    yield str(figures.counts["asked"])
    for name in COLUMNS:
        yield _format_rate(figures.rates[name], intervals)
    times = figures.milliseconds
    yield f"{times['p50']:.1f} / {times['p99']:.1f}"


def _format_rate(rate: Rate, intervals: bool) -> str:
    if rate.value is None:
        return "-"
    text = f"{100 * rate.value:.1f}"
    if intervals and rate.low is not None and rate.high is not None:
        return f"{text} ({round(100 * rate.low)}..{round(100 * rate.high)})"
    return text


def detail_lines(figures: Figures) -> list[str]:
    """Return further figures, in a few lines."""

    def share(name: str) -> str:
        rate = figures.rates[name].value
        return "-" if rate is None else f"{100 * rate:.1f} %"

    counts = figures.counts
    commits = f"{counts['commits']} commit{'s' * (counts['commits'] != 1)}"
    return [
        f"{commits}, {counts['live']} instances with something left, "
        f"{counts['end']} with nothing left",
        f"with something left: speaks {share('speaks_live')}, P(step) {share('step_live')}, "
        f"P(exact) {share('exact_live')}, P(loc) {share('location_live')}, "
        f"exact of all {share('recall_exact')}",
        f"exact and next in this order {share('next')}; takes back what was done "
        f"{share('reverses')}; adds syntax errors {share('breaks')}",
        f"slowest answer {figures.milliseconds['max']:.1f} ms; faults {figures.faults}",
    ]
