"""The figures of the journal: what recording costs, and how quickly a long history answers.

Only Parley takes part. The program is `subjects/parley_journal.py`, a process of its own with a
file in a temporary directory: sessions of a hundred frames each, words as often as in a language.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from .environments import BENCH, PARLEY, Subject
from .plan import Plan, Sample, Samples, output, pick
from .report import Row, Target

FRAMES = 1_000_000
ROUNDS = 2
"""A round takes most of a minute."""
PROGRAM = str(BENCH / "subjects" / "parley_journal.py")


def journal(plan: Plan) -> Iterator[Row]:
    """A journal is filled through recorders, and then asked."""
    frames = plan.scaled(FRAMES)

    def measure(subject: Subject) -> Sample:
        sample: Sample = json.loads(output([subject.interpreter, PROGRAM, str(frames)], subject))
        return sample

    rounds = min(plan.rounds, ROUNDS)
    samples: Samples = {PARLEY: [measure(plan.parley) for _ in range(rounds)]}
    cost = pick(samples, "append", 1e6)
    yield Row("journal, caller's CPU per streamed update", "µs", cost, (Target(5),))
    yield Row("journal, commit of one frame p50", "ms", pick(samples, "commit", 1e3))
    history = f"{frames:,} frames in {frames // 100:,} sessions"
    for name, key in (
        ("list of the newest 50", "list"),
        ("list of all sessions", "list all"),
        ("search of a rare word", "rare"),
        ("search of a common word", "common"),
        ("search of an absent word", "absent"),
    ):
        yield Row(f"journal, {name}, {history}", "ms", pick(samples, key, 1e3), (Target(50),))
    yield Row(f"journal, file, {history}", "of the frames", pick(samples, "size", 1), (Target(2),))


JOURNAL_FIGURES: dict[str, Callable[[Plan], Iterator[Row]]] = {"journal": journal}
