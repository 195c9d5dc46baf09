"""Figures from outcomes: rates with 95 % intervals, latency, and precision against speak rate.

Intervals are by bootstrap over commits, since what is asked within one commit hangs together: drawn
with a seed, so that the same outcomes give the same intervals.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from .chain import Chained
from .replay import InstanceOutcome, Offer

_COUNTS = (
    *("commits", "asked", "live", "end", "spoken", "spoken_live", "spoken_end", "changes"),
    *("exact", "step", "location", "next", "reverses", "breaks", "helped", "keys", "saved"),
)
RATES = {
    "speaks": ("spoken", "asked"),
    "exact": ("exact", "spoken"),
    "step": ("step", "spoken"),
    "location": ("location", "spoken"),
    "false_at_end": ("spoken_end", "end"),
    "helped": ("helped", "commits"),
    "saved": ("saved", "keys"),
    "speaks_live": ("spoken_live", "live"),
    "exact_live": ("exact", "spoken_live"),
    "step_live": ("step", "spoken_live"),
    "location_live": ("location", "spoken_live"),
    "recall_exact": ("exact", "live"),
    "next": ("next", "spoken"),
    "reverses": ("reverses", "changes"),
    "breaks": ("breaks", "changes"),
}
"""The rates of a report, each as one count among another.

`speaks`: of all instances. `exact`, `step`, `location`: of all suggestions, those at the end
included; with `_live`, without those. `false_at_end`: of the instances with nothing left to do.
`helped`: commits with at least one exact suggestion. `saved`: keys, if correct ones are accepted.
`recall_exact`: of the instances with something left to do. `next`: exact, and what came next in
this order. `reverses`, `breaks`: of the suggestions that change something.
"""
DRAWS = 1000


class Rate(NamedTuple):
    """A share with its 95 % confidence interval; None where there is nothing to count."""

    value: float | None
    low: float | None
    high: float | None


class Figures(Struct, frozen=True, kw_only=True):
    """The figures of some outcomes."""

    counts: dict[str, int]
    rates: dict[str, Rate]
    milliseconds: dict[str, float]
    """The times of answers: `p50`, `p99`, `max`."""
    faults: int = 0


class Point(NamedTuple):
    """The figures if only suggestions with at least this score were shown."""

    threshold: float
    shown: int
    """The number of these suggestions."""
    speaks: float
    step: float
    exact: float
    false_at_end: float


def figures_of(
    outcomes: Sequence[InstanceOutcome],
    chained: Sequence[Chained] = (),
    *,
    is_counted: Callable[[Offer], bool] = lambda _: True,
    seed: int = 0,
) -> Figures:
    """Count.

    Args:
        outcomes: What came of instances.
        chained: The same commits, replayed with correct suggestions accepted.
        is_counted: Returns whether a suggestion counts; one that does not counts as none.
        seed: For the intervals.
    """
    saved = {(each.repository, each.commit, each.order, each.view): each for each in chained}
    rows = [
        _count(list(group), saved.get(key), is_counted)
        for key, group in groupby(sorted(outcomes, key=_key), _key)
    ]
    times = sorted(each.milliseconds for each in outcomes if each.fault is None)
    faults = [each.fault for each in outcomes] + [each.fault for each in chained]
    return Figures(
        counts=dict(zip(_COUNTS, _sum(rows), strict=True)),
        rates=_rates(rows, seed),
        milliseconds={
            "p50": percentile(times, 0.5),
            "p99": percentile(times, 0.99),
            "max": percentile(times, 1.0),
        },
        faults=len(faults) - faults.count(None),
    )


def _key(outcome: InstanceOutcome) -> tuple[str, str, str, str]:
    return outcome.repository, outcome.commit, outcome.order, outcome.view


def _count(
    outcomes: Sequence[InstanceOutcome],
    chained: Chained | None,
    is_counted: Callable[[Offer], bool],
) -> tuple[int, ...]:
    """Return the counts of one commit."""
    tops = [(each, each.top) for each in outcomes]
    shown = [(each, top) for each, top in tops if top is not None and is_counted(top)]
    verdicts = [top.verdict for _, top in shown]
    counts = {
        "commits": 1,
        "asked": len(outcomes),
        "live": sum(each.left > 0 for each in outcomes),
        "end": sum(each.left == 0 for each in outcomes),
        "spoken": len(shown),
        "spoken_live": sum(each.left > 0 for each, _ in shown),
        "spoken_end": sum(each.left == 0 for each, _ in shown),
        "changes": sum(top.kind != "jump" for _, top in shown),
        "exact": sum(each.exact for each in verdicts),
        "step": sum(each.step for each in verdicts),
        "location": sum(each.location for each in verdicts),
        "next": sum(each.next for each in verdicts),
        "reverses": sum(each.reverses for each in verdicts),
        "breaks": sum(each.breaks for each in verdicts),
        "helped": any(each.exact for each in verdicts),
        "keys": 0 if chained is None else chained.keys,
        "saved": 0 if chained is None else chained.saved,
    }
    return tuple(int(counts[name]) for name in _COUNTS)


def _sum(rows: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*rows, strict=True))) or (0,) * len(_COUNTS)


def _rates(rows: Sequence[tuple[int, ...]], seed: int) -> dict[str, Rate]:
    chance = random.Random(seed)
    drawn = [_shares(_sum(chance.choices(rows, k=len(rows)))) for _ in range(DRAWS * bool(rows))]
    values = _shares(_sum(rows))
    rates: dict[str, Rate] = {}
    for name, value in values.items():
        found = sorted(each for draw in drawn if (each := draw[name]) is not None)
        is_known = value is not None and bool(found)
        low = percentile(found, 0.025) if is_known else None
        high = percentile(found, 0.975) if is_known else None
        rates[name] = Rate(value, low, high)
    return rates


def _shares(counts: tuple[int, ...]) -> dict[str, float | None]:
    named = dict(zip(_COUNTS, counts, strict=True))
    return {
        name: named[part] / named[whole] if named[whole] else None
        for name, (part, whole) in RATES.items()
    }


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of sorted values is; 0 if there are none."""
    if not values:
        return 0.0
    return values[min(len(values) - 1, int(share * len(values)))]


def curve(outcomes: Sequence[InstanceOutcome]) -> list[Point]:
    """Return what each threshold would give, from the one that is hardest to reach."""
    shown = sorted(
        ((top.score, each.left == 0, top.verdict) for each in outcomes if (top := each.top)),
        key=lambda each: -each[0],
    )
    ends = sum(each.left == 0 for each in outcomes)
    points: list[Point] = []
    step = exact = false = 0
    for count, (score, is_end, verdict) in enumerate(shown, 1):
        step, exact, false = step + verdict.step, exact + verdict.exact, false + is_end
        point = Point(
            threshold=score,
            shown=count,
            speaks=count / len(outcomes),
            step=step / count,
            exact=exact / count,
            false_at_end=false / max(ends, 1),
        )
        if points and points[-1].threshold == score:
            points.pop()
        points.append(point)
    return points
