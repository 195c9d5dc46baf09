"""The figures of next edit suggestions: how long an answer takes, and how long a key does.

Only Parley takes part. The program is `subjects/parley_suggest.py`, a process of its own, which
starts `parley nes serve` for the answers over the wire.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from .environments import BENCH, PARLEY, Subject
from .plan import Plan, Sample, Samples, output, pick
from .report import Row, Target

VISITS = 12
"""How many files are edited, with 22 questions each."""
PROGRAM = str(BENCH / "subjects" / "parley_suggest.py")


def suggestions(plan: Plan) -> Iterator[Row]:
    """A project of 500 files is edited, and a question follows each change."""
    visits = max(2, plan.scaled(VISITS))

    def measure(subject: Subject) -> Sample:
        sample: Sample = json.loads(output([subject.interpreter, PROGRAM, str(visits)], subject))
        return sample

    samples: Samples = {PARLEY: [measure(plan.parley)]}
    bars = {"p50": 5, "p99": 50}
    for name, key in (
        ("CPU in process", "cpu"),
        ("time in process", "wall"),
        ("time over the wire", "wire"),
    ):
        for share, bar in bars.items():
            figure = pick(samples, f"{key} {share}", 1)
            yield Row(f"suggestion, {name}, {share}", "ms", figure, (Target(bar),))
    cost = pick(samples, "changed", 1)
    yield Row("a key in a document of 100,000 lines, CPU p99", "ms", cost, (Target(1),))


NES_FIGURES: dict[str, Callable[[Plan], Iterator[Row]]] = {"suggestions": suggestions}
