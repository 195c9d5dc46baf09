"""Which sessions go when there are too many, and why a wrong clock deletes none.

Time counts as in `parley._age_limit`. The gap between the last moment of use and now is the one
that a wrong clock makes: if it is longer than a week, it does not count at all in this run, and a
warning says what was kept because of that.

With `Limits.trust_clock` the age of a session is its distance from the clock, and nothing else.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from math import inf

from msgspec import Struct

from parley._age_limit import LONGEST_GAP, before

from ._base import Record

logger = logging.getLogger(__name__)

_DAY = 24 * 60 * 60


class Limits(Struct, frozen=True):
    """The arguments of `Journal.prune`."""

    max_age: float | None
    max_sessions: int | None
    max_bytes: int | None
    trust_clock: bool = False


def too_many(newest_first: Sequence[Record], limits: Limits) -> list[Record]:
    """Return the sessions that go, so that the others are within limits; the oldest go first.

    One whose turn a living process runs stays, whatever the limits say, and counts.
    """
    kept = kept_bytes = 0
    gone: list[Record] = []
    oldest = -inf if limits.max_age is None else _oldest(newest_first, limits, limits.max_age)
    max_sessions = inf if limits.max_sessions is None else limits.max_sessions
    max_bytes = inf if limits.max_bytes is None else limits.max_bytes
    is_full = False
    for record in newest_first:
        is_busy = record.state == "running" and not record.is_interrupted
        size = kept_bytes + record.size_bytes
        is_full = is_full or record.updated_at < oldest or kept >= max_sessions or size > max_bytes
        if is_full and not is_busy:
            gone.append(record)
        else:
            kept, kept_bytes = kept + 1, size
    return gone[::-1]


def _oldest(records: Sequence[Record], limits: Limits, max_age: float) -> float:
    """Return the moment before which a session is too old."""
    now = time.time()
    by_clock = now - max_age
    if limits.trust_clock or max_age < _DAY:
        return by_clock
    moments = sorted({moment for each in records for moment in _used(each) if moment <= now})
    last_used = moments[-1] if moments else now
    gap = now - last_used
    if gap <= LONGEST_GAP:
        return before(now, moments, max_age)
    oldest = before(last_used, moments, max_age)
    spared = sum(oldest <= each.updated_at < by_clock for each in records)
    if spared:
        logger.warning(
            "The clock is %d days ahead of the last session in the journal, so it may be wrong. "
            "What is older than %d days was kept because of that: %s. If the clock is right, "
            "run `parley sessions prune --trust-clock` to delete it.",
            gap // _DAY,
            max_age // _DAY,
            "1 session" if spared == 1 else f"{spared} sessions",
        )
    return oldest


def _used(record: Record) -> Iterable[float]:
    return record.created_at, record.updated_at
