"""Which sessions go when there are too many."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf

from msgspec import Struct

from .base import Record

__all__ = ["Limits", "too_many"]


class Limits(Struct, frozen=True):
    """What `Journal.prune` was asked for."""

    max_age: float | None
    max_sessions: int | None
    max_bytes: int | None


def too_many(newest_first: Sequence[Record], limits: Limits) -> list[Record]:
    """Return the sessions that go, so that the others are within limits; the oldest go first.

    One whose turn a living process runs stays, whatever the limits say, and counts.
    """
    kept = kept_bytes = 0
    gone: list[Record] = []
    oldest = -inf if limits.max_age is None else time.time() - limits.max_age
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
