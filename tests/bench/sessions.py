"""The figures of the whole stack: an agent says something, a client's program gets it.

Client and agent are of the same SDK, in two processes, and both measure themselves. Parley folds
every update into a transcript, on both sides. The Python SDK can do so on the client's side, with
an accumulator that copies everything it has for each update; it is measured without it, and with it
for a few updates only. The TypeScript SDK folds nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from .environments import PARLEY, PYTHON, Subject
from .plan import WARM_UP, Plan, Sample, Samples, output, pick, read_report
from .report import Row, Target

ACCUMULATED = 500
"""How many updates the Python SDK's accumulator is given; its time grows with their square."""
ACCUMULATOR_WARM_UP = 50
FEW_CHUNKS, SOME_CHUNKS, MANY_CHUNKS = 250, 1_000, 100_000
CHUNKS = (FEW_CHUNKS, SOME_CHUNKS, 10_000, MANY_CHUNKS)

CPU = "session CPU per update"


def session(plan: Plan) -> Iterator[Row]:
    """One turn with many updates, in both versions; who speaks only one has it in both rows."""

    def measure(subject: Subject) -> Sample:
        count = plan.scaled(subject.updates)
        parts = [_turn(subject, version, count) for version in subject.sessions]
        oldest = {f"{name}, v1": cost for name, cost in parts[0].items()}
        newest = {f"{name}, v2": cost for name, cost in parts[-1].items()}
        return {
            **oldest,
            **newest,
            **_recorded(subject, count),
            "disordered": sum(part["disordered"] for part in parts),
        }

    samples = plan.interleave(measure)
    for version in ("v1", "v2"):
        for part in ("client", "agent"):
            costs = pick(samples, f"{part}, {version}", 1e6)
            yield Row(f"{CPU}, {version}, {part}", "µs", costs)
        ours: Samples = {PARLEY: samples[PARLEY]}
        recorded = pick(ours, f"recorded, {version}", 1e6)
        yield Row(f"{CPU}, {version}, client with the journal", "µs", recorded, (Target(5),))
        whole = pick(samples, f"whole, {version}", 1e6)
        targets = (Target(10, against=PYTHON),)
        yield Row(f"{CPU}, {version}, end to end (client + agent)", "µs", whole, targets)
    yield Row("session updates out of order", "", pick(samples, "disordered", 1))
    yield from _accumulated(plan, samples)


def _recorded(subject: Subject, count: int) -> Sample:
    """Return what a client costs with a journal, all its threads; only Parley has one."""
    if subject.name != PARLEY:
        return {}
    turns = {each: _turn(subject, each, count, "--journal") for each in subject.sessions}
    return {f"recorded, v{each}": turn["client"] for each, turn in turns.items()}


def _accumulated(plan: Plan, samples: Samples) -> Iterator[Row]:
    """The same with the accumulator, beside what Parley has folded all along."""
    subjects = [each for each in plan.subjects if each.has_accumulator]

    def measure(subject: Subject) -> Sample:
        return _turn(subject, 1, ACCUMULATED, "--fold", warm_up=ACCUMULATOR_WARM_UP)

    accumulated = plan.interleave(measure, subjects)
    for part, name in (("client", "client"), ("whole", "end to end (client + agent)")):
        costs = {PARLEY: pick(samples, f"{part}, v1", 1e6)[PARLEY], **pick(accumulated, part, 1e6)}
        figure = f"{CPU}, v1, {name}, {ACCUMULATED} updates in the accumulator"
        targets = (Target(10, against=PYTHON),) if part == "whole" else ()
        yield Row(figure, "µs", costs, targets)


def _turn(
    subject: Subject, version: int, count: int, *flags: str, warm_up: int = WARM_UP
) -> Sample:
    """Return what one turn costs each side, and both together, per update."""
    programs = subject.sessions[version]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [*programs.client, "--warm-up", str(warm_up), *flags]
        agent = [*programs.agent, "--report", str(report)]
        sample = json.loads(output([*command, "session", str(count), "--", *agent], subject))
        cost = read_report(report)["cpu"] / count
    return {
        "client": sample["cpu"],
        "agent": cost,
        "whole": sample["cpu"] + cost,
        "disordered": sample["disordered"],
    }


def fold(plan: Plan) -> Iterator[Row]:
    """Chunks folded into one message, in one process: the time per chunk must not grow."""

    def measure(subject: Subject) -> Sample:
        counts = CHUNKS if subject.name == PARLEY else (FEW_CHUNKS, SOME_CHUNKS)
        command = [subject.interpreter, subject.fold, *map(str, counts)]
        costs: Sample = json.loads(output(command, subject))
        return costs

    samples = plan.interleave(measure, [each for each in plan.subjects if each.fold])
    ours: Samples = {PARLEY: samples[PARLEY]}
    for count in CHUNKS:
        costs = pick(samples if count <= SOME_CHUNKS else ours, str(count), 1e6)
        yield Row(f"folding, time per chunk of {count:,}", "µs", costs)
    yield _grown(samples, FEW_CHUNKS, SOME_CHUNKS)
    yield _grown(ours, SOME_CHUNKS, MANY_CHUNKS, Target(3))


def _grown(samples: Samples, few: int, many: int, *targets: Target) -> Row:
    early, late = pick(samples, str(few), 1), pick(samples, str(many), 1)
    times = {
        name: [after / before for before, after in zip(early[name], late[name], strict=True)]
        for name in samples
    }
    return Row(f"folding, time per chunk, {few:,} to {many:,} chunks", "times", times, targets)


SESSION_FIGURES: dict[str, Callable[[Plan], Iterator[Row]]] = {"session": session, "fold": fold}
