"""The report of a measurement: the rows of the table, and everything as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec import structs, to_builtins

from .chain import Chained
from .figures import Figures, curve, figures_of
from .measure import Measurement, Repository, Work
from .replay import InstanceOutcome, Offer

SCHEMA = 1
"""The version of the JSON; it changes when something is taken away or means another."""
TOGETHER = "together"


class Row(NamedTuple):
    """Figures with their repository, order and view."""

    repository: str
    order: str
    view: str
    shown: str
    """Which suggestions count: `all`, `edits` or `jumps`."""
    figures: Figures


def rows_of(
    outcomes: Sequence[InstanceOutcome], chained: Sequence[Chained], seed: int = 0
) -> list[Row]:
    """Return the figures of each order and view, per repository and together."""
    groups = sorted({(each.order, each.view) for each in outcomes})
    return [row for order, view in groups for row in _rows(outcomes, chained, (order, view), seed)]


def _rows(
    outcomes: Sequence[InstanceOutcome],
    chained: Sequence[Chained],
    group: tuple[str, str],
    seed: int,
) -> Iterator[Row]:
    some = [each for each in outcomes if (each.order, each.view) == group]
    kept = [each for each in chained if (each.order, each.view) == group]
    names = sorted({each.repository for each in some})
    for name in [*names, TOGETHER] if len(names) > 1 else names:
        its = [each for each in some if name in (each.repository, TOGETHER)]
        chains = [each for each in kept if name in (each.repository, TOGETHER)]
        yield Row(name, *group, "all", figures_of(its, chains, seed=seed))
        if any(each.top is not None and _is_jump(each.top) for each in its):
            edits = figures_of(its, is_counted=lambda each: not _is_jump(each), seed=seed)
            yield Row(name, *group, "edits", edits)
            yield Row(name, *group, "jumps", figures_of(its, is_counted=_is_jump, seed=seed))


def _is_jump(offer: Offer) -> bool:
    return offer.kind == "jump"


def as_json(
    measurement: Measurement,
    repositories: Sequence[Repository],
    work: Work,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """Return all there is to know, for a program, or to do it again."""
    outcomes = measurement.outcomes
    rows = rows_of(outcomes, measurement.chained, work.seed)
    groups = sorted({(each.order, each.view) for each in outcomes})
    return {
        "schema": SCHEMA,
        "settings": settings,
        "repositories": [
            {
                "name": each.name,
                "tip": each.tip,
                "selection": to_builtins(each.selection),
                "commits": [commit.id for commit in each.commits],
            }
            for each in repositories
        ],
        "isWhole": measurement.done == measurement.total,
        "figures": [{**row._asdict(), "figures": _figures(row.figures)} for row in rows],
        "curves": [
            {
                "order": order,
                "view": view,
                "points": [
                    point._asdict()
                    for point in curve([e for e in outcomes if (e.order, e.view) == (order, view)])
                ],
            }
            for order, view in groups
        ],
        "peakBytes": measurement.peak_bytes or None,
        "faults": dict(measurement.faults),
        "outcomes": sorted(map(to_builtins, outcomes), key=_place),
        "chained": sorted(map(to_builtins, measurement.chained), key=_place),
    }


def _place(outcome: dict[str, Any]) -> tuple[Any, ...]:
    """Return the place of an outcome, independent of speed."""
    names = ("repository", "commit", "order", "view")
    return (*(outcome[name] for name in names), outcome.get("made", 0))


def _figures(figures: Figures) -> dict[str, Any]:
    rates = {name: rate._asdict() for name, rate in figures.rates.items()}
    return {**structs.asdict(figures), "rates": rates}
