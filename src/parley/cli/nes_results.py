"""The output of `parley nes eval`: the table, the failures, and the files."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from parley._display_text import sanitize_text
from parley.nes._eval.figures import curve
from parley.nes._eval.measure import Measurement, Repository, Work
from parley.nes._eval.plot import svg_of
from parley.nes._eval.report import TOGETHER, Row, as_json, rows_of
from parley.nes._eval.table import detail_lines, fitting_lines

from .reporting import Exit, Failure, say

__all__ = ["check_files", "describe_unanswered", "show_figures", "write_files"]

FEW = 30
"""With fewer commits, the figures mean little."""
_TOLD = 3
_TITLE = 50
MAX_SPLIT = 5
"""More repositories have one line together, and none each."""
_SETTINGS = (
    *("agent", "set", "kinds", "order", "view", "seed", "commits", "since", "jobs"),
    *("timeout", "settle", "no_chain"),
    *("model_url", "model", "prompt_format", "model_timeout", "predictor"),
)
"""The arguments that are written with the figures; variables of the agent may be secret."""


def check_files(arguments: argparse.Namespace) -> None:
    """See that what comes of it can be written, before the work is done.

    Raises:
        Failure: A file cannot be written, or is to be of a kind that cannot be drawn.
    """
    if arguments.plot is not None and Path(arguments.plot).suffix.lower() != ".svg":
        name = Path(arguments.plot).with_suffix(".svg").name if arguments.plot else "FILE.svg"
        raise Failure(f"--plot draws SVG and nothing else: name the file {name}", Exit.USAGE)
    for flag, name in (("--json", arguments.json), ("--plot", arguments.plot)):
        if name is None:
            continue
        path = Path(name)
        is_new = not path.exists()
        if not is_new and not path.is_file() and not path.is_dir():
            continue  # a pipe takes nothing back
        try:
            path.open("ab").close()
        except OSError as error:
            raise Failure(f"{flag}: {name!r} cannot be written: {error.strerror}") from error
        if is_new:
            path.unlink()


def show_figures(measurement: Measurement, work: Work) -> None:
    """Print the table, and the failures; without a response there is no table."""
    has_answers = any(
        each.fault is None and (each.offers or not each.model) for each in measurement.outcomes
    )
    if has_answers:
        rows = rows_of(measurement.outcomes, measurement.chained, work.seed)
        print(sanitize_text(_table(rows)))
        wholes = [row for row in rows if row.shown == "all"]
        for row in [row for row in wholes if row.repository == TOGETHER] or wholes:
            print(f"\n{_details(row)}")
        if measurement.peak_bytes:
            print(f"\nmemory of the agent: {measurement.peak_bytes / (1 << 20):.0f} MiB")
        _warn_of_few(wholes)
    sys.stdout.flush()
    for line in describe_unanswered(measurement, all_of_them=False):
        say(f"parley: {line}")
    faults = Counter(each.fault for each in measurement.chained if each.fault is not None)
    if faults and has_answers:
        what = f"{faults.total()} of {len(measurement.chained)} commits"
        say(f"parley: `keys saved` lacks a part of {what}: {_reasons(faults)}")


def describe_unanswered(measurement: Measurement, *, all_of_them: bool = True) -> list[str]:
    """Return a line for each of agent and model that left requests without a usable response.

    Args:
        measurement: The outcomes.
        all_of_them: Whether to report only those that never responded.
    """
    faults = [each.fault for each in measurement.outcomes]
    with_model = [each.model for each in measurement.outcomes if each.model is not None]
    lines: list[str] = []
    for who, whole, whys in (
        ("agent", len(faults), [each for each in faults if each is not None]),
        ("model", len(with_model), [each for each in with_model if each]),
    ):
        if whys and (len(whys) == whole or not all_of_them):
            lines.append(
                f"the {who} has not answered {len(whys)} of {whole} "
                f"question{'s' * (whole != 1)} as it should: {_reasons(Counter(whys))}"
            )
    return lines


def _reasons(whys: Counter[str]) -> str:
    if len(whys) == 1:
        return next(iter(whys))
    lines = [
        f"{'once' if times == 1 else f'{times} times'}: {why}"
        for why, times in whys.most_common(_TOLD)
    ]
    if len(whys) > _TOLD:
        lines.append(f"{len(whys) - _TOLD} other reasons")
    return "; ".join(lines)


def _warn_of_few(wholes: Sequence[Row]) -> None:
    """Name the figures that are of few commits."""
    counts = {
        row.repository: row.figures.counts["commits"]
        for row in wholes
        if row.repository != TOGETHER
    }
    few = {name: number for name, number in counts.items() if number < FEW}
    if not few:
        return
    listed = ", ".join(f"{name} {number}" for name, number in few.items())
    what = f"Few commits ({listed})" if len(counts) > 1 else f"Few commits ({sum(few.values())})"
    text = f"{what}: the intervals are wide or mean nothing, and others give other figures."
    text += f" Use 100 of each repository, and at least {FEW}."
    room = _room()
    print(sanitize_text(f"\n{text if room is None else textwrap.fill(text, max(room, 40))}"))


def _table(rows: Sequence[Row]) -> str:
    heads = ["repository", "order", "view", "shown"]
    drawn = [at for at in range(4) if len({row[at] for row in rows}) > 1 or at == 0]
    lines = [(tuple(str(row[at]) for at in drawn), row.figures) for row in rows]
    return "\n".join(fitting_lines(lines, [heads[at] for at in drawn], _room()))


def _details(row: Row) -> str:
    """Return further figures, in lines that fit."""
    first, *more = detail_lines(row.figures)
    lines = [f"{row.order}, {row.view} view: {first}", *(f"  {each}" for each in more)]
    if (room := _room()) is not None:
        lines = [textwrap.fill(each, max(room, 40), subsequent_indent="    ") for each in lines]
    return "\n".join(lines)


def _room() -> int | None:
    """Return how long a line may be; None if there is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def write_files(
    arguments: argparse.Namespace,
    measurement: Measurement,
    repositories: Sequence[Repository],
    work: Work,
) -> None:
    """Write the requested files.

    Raises:
        Failure: It cannot be written after all.
    """
    settings: dict[str, Any] = {name: getattr(arguments, name) for name in _SETTINGS}
    try:
        if arguments.json is not None:
            lines = as_json(measurement, repositories, work, settings)
            Path(arguments.json).write_bytes(msgspec.json.format(msgspec.json.encode(lines)))
        if arguments.plot is not None:
            Path(arguments.plot).write_text(_drawn(measurement), encoding="utf-8")
    except OSError as error:
        raise Failure(f"it cannot be written: {error}") from error


def _drawn(measurement: Measurement) -> str:
    outcomes = measurement.outcomes
    groups = sorted({(each.order, each.view) for each in outcomes})
    names = sorted({each.repository for each in outcomes})
    curves = {
        f"{order}, {view} view": curve(
            [each for each in outcomes if (each.order, each.view) == (order, view)]
        )
        for order, view in groups
    }
    is_split = len(groups) == 1 and 1 < len(names) <= MAX_SPLIT
    if is_split:
        alone = {name: curve([x for x in outcomes if x.repository == name]) for name in names}
        curves = {TOGETHER: curve(outcomes), **alone}
    listed = ", ".join(names)
    where = listed if len(listed) <= _TITLE else f"{len(names)} repositories"
    title = f"Next edit suggestions on {where}"
    return svg_of(title, curves, main=TOGETHER if is_split else "")
