"""What the benchmark says: rows of figures, their targets, the table and the JSON file."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from .environments import PARLEY


@dataclass(frozen=True)
class Target:
    """What a figure should reach: `bound` times better than a peer, or a bound of its own."""

    bound: float
    against: str | None = None


@dataclass(frozen=True)
class Row:
    """One figure: the samples of every subject, one per round."""

    figure: str
    unit: str
    samples: Mapping[str, Sequence[float]]
    targets: tuple[Target, ...] = ()
    more_is_better: bool = False

    def value(self, subject: str) -> float | None:
        samples = self.samples.get(subject)
        return statistics.median(samples) if samples else None

    def ratio(self, target: Target) -> float | None:
        """How many times better than the peer; None where there is nobody to compare with."""
        ours, theirs = self.value(PARLEY), self.value(target.against or "")
        if not ours or not theirs:
            return None
        return ours / theirs if self.more_is_better else theirs / ours

    def reached(self, target: Target) -> bool | None:
        ours, ratio = self.value(PARLEY), self.ratio(target)
        if target.against is not None:
            return None if ratio is None else ratio >= target.bound
        if ours is None:
            return None
        return ours >= target.bound if self.more_is_better else ours <= target.bound

    def describe(self, target: Target) -> str:
        if target.against is not None:
            times = "" if target.bound == 1 else f"{target.bound:g}x "
            return times + ("more" if self.more_is_better else "less")
        return f"{'≥' if self.more_is_better else '≤'} {target.bound:,.10g} {self.unit}"


@dataclass
class Report:
    """The whole run."""

    subjects: list[str]
    rounds: int
    rows: list[Row] = field(default_factory=list[Row])
    notes: list[str] = field(default_factory=list[str])
    load: float = field(default_factory=lambda: os.getloadavg()[0])
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    def markdown(self) -> Iterator[str]:
        """The table, aligned, as Markdown that is readable on a terminal too."""
        head = ["figure", "unit", *self.subjects, "ratio", "target", "reached"]
        body = [line for row in self.rows for line in self._lines(row)]
        widths = [max(len(line[column]) for line in [head, *body]) for column in range(len(head))]
        yield _line(head, widths)
        yield _line(("-" * width for width in widths), widths)
        for line in body:
            yield _line(line, widths)

    def summary(self) -> str:
        return (
            f"{self.started:%Y-%m-%d}, Python {platform.python_version()}, {platform.system()} "
            f"{platform.machine()}, {os.cpu_count()} cores, load {self.load:.2f} at the start, "
            f"median of {self.rounds} rounds"
        )

    def write(self, path: Path) -> None:
        figures = [
            {
                "figure": row.figure,
                "unit": row.unit,
                "medians": {name: row.value(name) for name in row.samples},
                "samples": row.samples,
                "targets": [
                    {
                        "target": row.describe(target),
                        "against": target.against,
                        "ratio": row.ratio(target),
                        "reached": row.reached(target),
                    }
                    for target in row.targets
                ],
            }
            for row in self.rows
        ]
        run = {
            "started": self.started.isoformat(timespec="seconds"),
            "python": sys.version.split()[0],
            "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(),
            "load": self.load,
            "rounds": self.rounds,
            "notes": self.notes,
        }
        path.write_text(json.dumps({"run": run, "figures": figures}, indent=1) + "\n")

    def _lines(self, row: Row) -> Iterator[list[str]]:
        values = [_number(row.value(name)) for name in self.subjects]
        if not row.targets:
            yield [row.figure, row.unit, *values, "", "", ""]
        for target in row.targets:
            ratio = row.ratio(target)
            compared = "" if ratio is None else f"{_number(ratio)}x vs {target.against}"
            reached = {True: "yes", False: "no", None: "-"}[row.reached(target)]
            yield [row.figure, row.unit, *values, compared, row.describe(target), reached]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _line(cells: Iterable[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"
