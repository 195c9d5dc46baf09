"""The moments of a commit at which a suggestion is requested.

In which order a person made the changes of a commit is not known, so there are three: *canonical*,
by path and from top to bottom; *imports-last*, where the changes of imports follow the code of the
same file; and *random*. An instance is a commit of which the first changes are made. There are up
to six with something left to do, drawn by a seed, and one with nothing left, at which every
suggestion is false.

In the *file* view only the file with the last change is known, and only the rest of its changes
counts. In the *project* view the whole project is known, and all remaining changes count.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from .corpus import Commit, Hunk

Order: TypeAlias = Literal["canonical", "imports-last", "random"]
View: TypeAlias = Literal["file", "project"]
ORDERS: tuple[Order, ...] = ("canonical", "imports-last", "random")
VIEWS: tuple[View, ...] = ("file", "project")
MAX_ASKED = 6
"""The questions in a commit while something is left."""


class Plan(Struct, frozen=True):
    """The plan for a commit: the order of its changes, and after how many of them to ask."""

    commit: Commit
    hunks: tuple[Hunk, ...]
    order: Order
    view: View
    questions: tuple[int, ...]
    """After how many changes; the last one is after all of them."""


def plan(commit: Commit, order: Order, view: View, seed: int) -> Plan:
    """Return after which changes of a commit to ask; the same for the same seed."""
    hunks = ordered(commit, order, seed)
    fitting = [k for k in range(1, len(hunks)) if view == "project" or _is_left(hunks, k)]
    chance = random.Random(f"{seed}:{commit.id}:{order}:{view}")
    drawn = sorted(chance.sample(fitting, min(MAX_ASKED, len(fitting))))
    return Plan(commit, hunks, order, view, (*drawn, len(hunks)))


def _is_left(hunks: Sequence[Hunk], k: int) -> bool:
    """Return whether something is left in the file that was changed last."""
    return any(each.path == hunks[k - 1].path for each in hunks[k:])


def ordered(commit: Commit, order: Order, seed: int) -> tuple[Hunk, ...]:
    """Return the changes of a commit in an order."""
    hunks = list(commit.hunks)
    if order == "random":
        random.Random(f"{seed}:{commit.id}").shuffle(hunks)
    if order == "imports-last":
        hunks.sort(key=lambda each: (each.path, each.is_import))
    return tuple(hunks)
