"""What is told about a candidate to the score: where it is, in relation to what was edited."""

from __future__ import annotations

from collections.abc import Iterable
from math import log1p

from .page import Page
from .situation import Situation
from .sweep import Hunk

__all__ = ["place", "sweeping"]


def place(now: Situation, page: Page, start: int, end: int) -> dict[str, float]:
    """Describe where a candidate is."""
    out: dict[str, float] = {}
    own = now.touched.get(page.uri, [])
    if page is now.page:
        last = own[0].start if own else now.spot.line
        gap = start - last
        out["near"] = float(abs(gap) <= 12)
        out["far"] = log1p(abs(gap)) / 5
        out["above"] = float(gap < 0)
    else:
        out["other_file"] = 1.0
        out["other_touched"] = float(bool(own))
        out["other_folder"] = float(page.folders != now.page.folders)
        out["other_sort"] = float(page.is_test != now.page.is_test)
    out["hunks"] = log1p(len(now.hunks)) / 2
    return out


def sweeping(now: Situation, hunks: Iterable[Hunk]) -> dict[str, float]:
    """Describe how much of what was done lately is of one kind, given the hunks of that kind."""
    own = {id(hunk) for hunk in hunks}
    flags = [id(hunk) in own for hunk in now.hunks]
    streak = flags.index(False) if False in flags else len(flags)
    return {
        "cover": sum(flags) / len(flags) if flags else 0.0,
        "streak": log1p(streak),
        "streak2": float(streak > 1),
        "all": float(streak == len(flags) > 1),
    }
