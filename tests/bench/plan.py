"""How figures are made: who takes turns, and how a program of a subject is run for a sample."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .environments import PARLEY, Subject

Sample = dict[str, float]
Samples = dict[str, list[Sample]]

RUN_LIMIT = 120.0
WARM_UP = 5_000


@dataclass(frozen=True)
class Plan:
    """Who takes part, how many rounds, and the share of the full amount of work."""

    subjects: Sequence[Subject]
    rounds: int
    share: float
    notes: list[str] = field(default_factory=list[str])

    def scaled(self, amount: int) -> int:
        return max(1, int(amount * self.share))

    def interleave(
        self, measure: Callable[[Subject], Sample], subjects: Sequence[Subject] | None = None
    ) -> Samples:
        taking_part = self.subjects if subjects is None else subjects
        samples: Samples = {subject.name: [] for subject in taking_part}
        for _ in range(self.rounds):
            for subject in taking_part:
                samples[subject.name].append(measure(subject))
        return samples

    @property
    def with_uvloop(self) -> list[Subject]:
        return [subject for subject in self.subjects if subject.has_uvloop]

    @property
    def parley(self) -> Subject:
        return next(subject for subject in self.subjects if subject.name == PARLEY)


def output(command: Sequence[str], subject: Subject) -> bytes:
    """Run a program of a subject to its end and return what it prints."""
    return subprocess.run(
        command, stdout=subprocess.PIPE, env=subject.env, timeout=RUN_LIMIT, check=True
    ).stdout


def read_report(report: Path) -> Sample:
    """Return what an agent has measured of itself."""
    sample: Sample = json.loads(report.read_text())
    return sample


def pick(samples: Samples, key: str, scale: float) -> dict[str, list[float]]:
    """Return one measure of all samples, in another unit."""
    return {name: [sample[key] * scale for sample in rounds] for name, rounds in samples.items()}
