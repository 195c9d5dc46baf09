"""The figures of the wire: what is run, how often, and what each must reach.

In every figure all subjects take turns, round by round, so that a busy moment of the machine hits
all of them alike; a row keeps one sample per subject and round. A process under test measures
itself between two marks, after a warm-up, so that start-up is not in it. Opposite a client or an
agent whose CPU is measured stands a program without an SDK (`raw_agent.py`, `raw_client.py`).
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from .environments import BENCH, PARLEY, PYTHON, TYPESCRIPT, Subject
from .plan import RUN_LIMIT, WARM_UP, Plan, Sample, output, pick, read_report
from .raw_client import RawClient
from .report import Row, Target

ROUND_TRIPS = 2_000
PROMPT_BYTES = 50_000_000
TEXTS = {
    "prose": "It was the best of times, it was the worst of times, it was the age of wisdom,\n",
    "source code": 'def ask(name: str):\n    return {"name": [len(name)], "tab": "\\t", **{}}\n',
}
GROWTH = (10_000, 100_000, 1_000_000)
RAW_AGENT = (sys.executable, str(BENCH / "raw_agent.py"))
MEGABYTE = 1e6


def receive(plan: Plan) -> Iterator[Row]:
    """Updates from a raw agent through a typed, asynchronous handler of each client."""

    def measure(subject: Subject) -> Sample:
        return _client(subject, "flood", plan.scaled(subject.updates), RAW_AGENT, WARM_UP)

    samples = plan.interleave(measure)
    targets = (Target(15, against=PYTHON), Target(8, against=TYPESCRIPT))
    yield Row("client CPU per update", "µs", pick(samples, "cpu", 1e6), targets)
    yield Row("updates out of order", "", pick(samples, "disordered", 1))


def send(plan: Plan) -> Iterator[Row]:
    """Updates sent by each agent with its ordinary call, to a client that swallows them."""

    def measure(subject: Subject) -> Sample:
        count = plan.scaled(subject.updates)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            with _raw_client(subject, report) as client:
                client.open_session()
                client.prompt(f"updates {WARM_UP}")
                client.prompt(f"updates {count}")
            return {"cpu": read_report(report)["cpu"] / count}

    yield Row("agent CPU per update", "µs", pick(plan.interleave(measure), "cpu", 1e6))


def throughput(plan: Plan) -> Iterator[Row]:
    """Client and agent of the same SDK in two processes, wall clock."""

    def measure(subject: Subject, *flags: str) -> Sample:
        count, agent = plan.scaled(subject.updates), (*subject.agent, *flags)
        return {"rate": 1 / _client(subject, "flood", count, agent, WARM_UP, *flags)["wall"]}

    def on_uvloop(subject: Subject) -> Sample:
        return measure(subject, "--uvloop")

    figure = "updates between two processes"
    rates = pick(plan.interleave(measure), "rate", 1)
    yield Row(figure, "1/s", rates, (Target(250_000),), more_is_better=True)
    rates = pick(plan.interleave(on_uvloop, plan.with_uvloop), "rate", 1)
    yield Row(f"{figure}, uvloop", "1/s", rates, more_is_better=True)


def round_trips(plan: Plan) -> Iterator[Row]:
    """Sequential `session/set_mode` requests, client and agent of the same SDK."""
    count = plan.scaled(ROUND_TRIPS)

    def on_asyncio(subject: Subject) -> Sample:
        return _client(subject, "round-trips", count, subject.agent, count // 10)

    def on_uvloop(subject: Subject) -> Sample:
        agent = (*subject.agent, "--uvloop")
        return _client(subject, "round-trips", count, agent, count // 10, "--uvloop")

    samples = plan.interleave(on_asyncio)
    p50 = pick(samples, "p50", 1e6)
    yield Row("round trip p50", "µs", p50, (Target(2.5, against=PYTHON),))
    yield Row("client CPU per round trip", "µs", pick(samples, "cpu", 1e6))
    p50 = pick(plan.interleave(on_uvloop, plan.with_uvloop), "p50", 1e6)
    yield Row("round trip p50, uvloop", "µs", p50, (Target(4, against=PYTHON),))
    plan.notes.append(
        f"round trip p50 of two programs without an SDK: {_floor(count) * 1e6:.0f} µs"
    )


def imports(plan: Plan) -> Iterator[Row]:
    """CPU of the import statement, in a fresh interpreter with cached byte code."""
    wire = "import parley.peer, parley.transport._stdio, parley.schema.v1"
    statements = {PARLEY: "import parley"}
    pythons = [subject for subject in plan.subjects if subject.name != TYPESCRIPT]

    def measure(subject: Subject) -> Sample:
        sample = {"cpu": _import(subject, statements.get(subject.name, "import acp"))}
        if subject.name == PARLEY:
            sample["wire"] = _import(subject, wire)
            sample["base"] = _import(subject, "import asyncio, msgspec")
        return sample

    for subject in pythons:
        measure(subject)
    samples = plan.interleave(measure, pythons)
    ours = samples[PARLEY]
    peers = {name: rounds for name, rounds in pick(samples, "cpu", 1e3).items() if name != PARLEY}
    for statement, key in (("import parley", "cpu"), ("import what an agent needs", "wire")):
        extra = {PARLEY: [(sample[key] - sample["base"]) * 1e3 for sample in ours]}
        total = {PARLEY: [sample[key] * 1e3 for sample in ours], **peers}
        yield Row(f"{statement}, CPU", "ms", total, (Target(6, against=PYTHON),))
        yield Row(f"{statement}, over asyncio and msgspec", "ms", extra, (Target(50),))


def start(plan: Plan) -> Iterator[Row]:
    """From spawning an agent to its answer to `initialize`, and its memory when idle then."""

    def measure(subject: Subject) -> Sample:
        begin = time.perf_counter()
        with _raw_client(subject) as client:
            client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            wall = time.perf_counter() - begin
            return {"wall": wall, "resident": client.resident_bytes()}

    samples = plan.interleave(measure)
    wall, resident = pick(samples, "wall", 1e3), pick(samples, "resident", 1 / MEGABYTE)
    yield Row("spawn to initialize answer", "ms", wall, (Target(4, against=PYTHON),))
    yield Row("idle memory of an agent", "MB", resident, (Target(30),))


def big_prompt(plan: Plan) -> Iterator[Row]:
    """One prompt with one long text; the agent answers once its typed handler has it."""
    for kind, line in TEXTS.items():
        size = plan.scaled(PROMPT_BYTES)
        block = {"type": "text", "text": line * (size // len(json.dumps(line)))}
        samples = plan.interleave(partial(_receive_prompt, block))
        figure = f"one prompt, {size // 1_000_000} MB of {kind}"
        wall, peak = pick(samples, "answer", 1), pick(samples, "peak", 1 / MEGABYTE)
        yield Row(f"{figure}, time", "s", wall, (Target(3, against=PYTHON),))
        yield Row(f"{figure}, agent's CPU", "s", pick(samples, "cpu", 1))
        yield Row(f"{figure}, agent's peak memory", "MB", peak, (Target(1, against=PYTHON),))


def _receive_prompt(block: dict[str, str], subject: Subject) -> Sample:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        with _raw_client(subject, report) as client:
            client.open_session()
            frame = client.frame("session/prompt", {"sessionId": "bench", "prompt": [block]})
            begin = time.perf_counter()
            client.send(frame)
            return {"answer": time.perf_counter() - begin, **read_report(report)}


def growth(plan: Plan) -> Iterator[Row]:
    """Parley's client alone: time per update and memory must not depend on the number."""
    cpu: dict[int, list[float]] = {}
    memory: dict[int, list[float]] = {}
    counts = [plan.scaled(count) for count in GROWTH]
    for _ in range(min(plan.rounds, 3)):
        for count in counts:
            sample = _client(plan.parley, "flood", count, RAW_AGENT, WARM_UP)
            cpu.setdefault(count, []).append(sample["cpu"] * 1e6)
            memory.setdefault(count, []).append(sample["resident"] / MEGABYTE)
    for count in counts:
        yield Row(f"client CPU per update of {count:,}", "µs", {PARLEY: cpu[count]})
    for count in counts:
        yield Row(f"client memory after {count:,} updates", "MB", {PARLEY: memory[count]})
    few, many = counts[0], counts[-1]
    grown = [late / early for early, late in zip(cpu[few], cpu[many], strict=True)]
    added = [late - early for early, late in zip(memory[few], memory[many], strict=True)]
    span = f"{few:,} to {many:,} updates"
    yield Row(f"time per update, {span}", "times", {PARLEY: grown}, (Target(1.25),))
    yield Row(f"memory added, {span}", "MB", {PARLEY: added}, (Target(2),))


WIRE_FIGURES: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "receive": receive,
    "send": send,
    "throughput": throughput,
    "round-trips": round_trips,
    "imports": imports,
    "start": start,
    "big-prompt": big_prompt,
    "growth": growth,
}


def _client(
    subject: Subject, work: str, count: int, agent: Sequence[str], warm_up: int, *flags: str
) -> Sample:
    command = [*subject.client, *flags, "--warm-up", str(warm_up), work, str(count), "--", *agent]
    sample: Sample = json.loads(output(command, subject))
    return sample


def _floor(count: int) -> float:
    """The median round trip of two blocking programs: what the machine itself takes."""
    times: list[float] = []
    with RawClient([*RAW_AGENT], env=dict(os.environ), limit=RUN_LIMIT) as client:
        for _ in range(count):
            frame = client.frame("session/set_mode", {"sessionId": "bench", "modeId": "ask"})
            begin = time.perf_counter()
            client.send(frame)
            times.append(time.perf_counter() - begin)
    return statistics.median(times)


def _import(subject: Subject, statement: str) -> float:
    clock = "from time import process_time as now; begin = now()"
    program = f"{clock}; {statement}; print(now() - begin)"
    return float(output([subject.interpreter, "-c", program], subject))


def _raw_client(subject: Subject, report: Path = Path("/dev/null")) -> RawClient:
    command = [*subject.agent, "--report", str(report)]
    return RawClient(command, env=subject.env, limit=RUN_LIMIT)
