"""The age of what Parley keeps, so that a wrong clock deletes nothing.

The age of something cannot be its distance from the clock alone: one run with a clock that is years
ahead would delete everything. The files themselves are better evidence. They are a series of
moments at which Parley was used. Between two of them:

- A gap of up to a week counts as it is.
- A longer one, of up to 90 days, may be a holiday or a clock that jumped; it counts as a week.
- An even longer one counts as nothing, so that a clock that is wrong by years, and then by other
  years, again and again, deletes nothing either.

The gap between the last of these moments and now is the one that a wrong clock makes: if it is
longer than a week, it does not count at all. A clock that is ahead by weeks cannot be distinguished
from weeks that have passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_DAY = 24 * 60 * 60
LONGEST_GAP = 7 * _DAY
"""A longer time without use counts as this long."""
_LONGEST_BREAK = 90 * _DAY
"""A longer time without use counts as nothing."""


def oldest_kept(now: float, used: Iterable[float], max_age: float) -> float:
    """Return the moment before which something is too old.

    Args:
        now: The time by the clock.
        used: The moments at which Parley was used.
        max_age: The maximum age in seconds.
    """
    moments = sorted({moment for moment in used if moment <= now})
    last_used = moments[-1] if moments else now
    return before(now if now - last_used <= LONGEST_GAP else last_used, moments, max_age)


def before(end: float, moments: Sequence[float], age: float) -> float:
    """Go back from a moment by an age, in which long gaps count as a week or as nothing."""
    for moment in reversed(moments):
        gap = end - moment
        counted = 0.0 if gap > _LONGEST_BREAK else min(gap, LONGEST_GAP)
        if counted >= age:
            break
        age -= counted
        end = moment
    return end - age
