"""What candidates say of each other: who proposes something else at the same place."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p

from .candidate import Candidate

__all__ = ["compare"]


def compare(found: Sequence[Candidate]) -> None:
    """Note with each candidate how many others would change its first line otherwise."""
    at: dict[tuple[str, int], set[tuple[int, str]]] = {}
    for x in found:
        if x.is_sure:
            at.setdefault((x.uri, x.start), set()).add((x.end, "\n".join(x.lines)))
    causes = {(x.uri, x.cause) for x in found if x.is_sure}
    for x in found:
        x.features["rivals"] = log1p(max(0, len(at.get((x.uri, x.start), ())) - 1))
        x.features["ideas"] = log1p(len(causes))
