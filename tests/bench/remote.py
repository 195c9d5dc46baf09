"""The figures of remote agents: an agent behind HTTP and WebSocket, and its clients.

Server and client are of the same SDK, in two processes, and both measure themselves; Parley and the
TypeScript SDK bring their servers, the Python SDK's application runs on uvicorn. What concerns load
and the gateway is Parley's alone.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .environments import BENCH, PARLEY, PYTHON_NEXT, TYPESCRIPT, Subject
from .plan import RUN_LIMIT, Plan, Sample, Samples, output, pick
from .report import Row, Target

REQUESTS = 1_000
CONNECTIONS, SESSIONS = 1_000, 10_000
IDLE_SECONDS = 30
STREAMING = 500
STREAMED = 100
SLOW_UPDATES = 30_000
SCHEMES = {"ws": "WebSocket", "http": "HTTP"}
PROGRAMS = {
    PARLEY: ("subjects/parley_remote_server.py", "subjects/parley_remote_client.py"),
    TYPESCRIPT: ("peers/sdk_remote_server.mjs", "peers/sdk_remote_client.mjs"),
    PYTHON_NEXT: ("peers/acp_remote_server.py", "peers/acp_remote_client.py"),
}
BETTER = Target(3, against=TYPESCRIPT)


@dataclass(frozen=True)
class Running:
    """A server that is there."""

    url: str
    pid: int

    def at(self, scheme: str) -> str:
        return scheme + self.url.removeprefix("http")


@contextmanager
def _server(subject: Subject, *flags: str) -> Generator[Running]:
    program = str(BENCH / PROGRAMS[subject.name][0])
    with subprocess.Popen(
        [subject.interpreter, program, *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # uvicorn is loud when it is told to leave at once
        env=subject.env,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Running(process.stdout.readline().decode().strip(), process.pid)
            process.stdin.close()
            process.wait(RUN_LIMIT)
        finally:
            process.kill()


def _sample(subject: Subject, program: str, *words: object) -> Sample:
    command = [subject.interpreter, str(BENCH / program), *map(str, words)]
    sample: Sample = json.loads(output(command, subject))
    return sample


def _both(plan: Plan, work: str, scheme: str, count: Callable[[Subject], int]) -> Samples:
    """Have client and server of each SDK do something, in turns."""

    def measure(subject: Subject) -> Sample:
        amount = plan.scaled(count(subject))
        with _server(subject) as server:
            url = server.at(scheme)
            program = PROGRAMS[subject.name][1]
            sample = _sample(subject, program, work, amount, max(1, amount // 5), url)
        return {**sample, "sum": sample["client"] + sample["server"]}

    return plan.interleave(measure, [each for each in plan.subjects if each.name in PROGRAMS])


def updates(plan: Plan) -> Iterator[Row]:
    """Updates that a remote agent streams, on either transport."""
    for scheme, name in SCHEMES.items():
        samples = _both(plan, "updates", scheme, lambda subject: subject.updates)
        for part in ("client", "server"):
            yield Row(f"remote update by {name}, CPU, {part}", "µs", pick(samples, part, 1e6))
        figure = f"remote update by {name}, CPU, client + server"
        yield Row(figure, "µs", pick(samples, "sum", 1e6), (BETTER,))
        yield Row(f"remote updates by {name} out of order", "", pick(samples, "disordered", 1))


def requests(plan: Plan) -> Iterator[Row]:
    """Requests one after the other, on either transport."""
    for scheme, name in SCHEMES.items():
        samples = _both(plan, "requests", scheme, lambda _: REQUESTS)
        figure = f"remote request by {name}"
        yield Row(f"{figure}, CPU, client + server", "µs", pick(samples, "sum", 1e6))
        yield Row(f"{figure}, p50", "µs", pick(samples, "p50", 1e6))


def gateway(plan: Plan) -> Iterator[Row]:
    """The same request to an agent in a process of its own: directly, and through a gateway."""
    amount = plan.scaled(REQUESTS)
    agent = " ".join((plan.parley.interpreter, str(BENCH / PROGRAMS[PARLEY][0]), "--stdio"))
    program = PROGRAMS[PARLEY][1]
    for scheme, name in SCHEMES.items():
        added: list[float] = []
        for _ in range(plan.rounds):
            directly = _sample(plan.parley, program, "requests", amount, amount // 5, agent)
            with _server(plan.parley, "--gateway") as server:
                url = server.at(scheme)
                through = _sample(plan.parley, program, "requests", amount, amount // 5, url)
            added.append((through["p50"] - directly["p50"]) * 1e3)
        figure = f"gateway in front of a stdio agent, {name}, added latency p50"
        yield Row(figure, "ms", {PARLEY: added}, (Target(1),))


def idle(plan: Plan) -> Iterator[Row]:
    """Connections and sessions on which nothing happens; in one round, because it takes long."""
    connections, sessions = plan.scaled(CONNECTIONS), plan.scaled(SESSIONS)
    figure = f"{connections:,} idle connections, {sessions:,} sessions"
    for flags, where in (((), "agent in process"), (("--gateway",), "one shared agent")):
        for scheme, name in SCHEMES.items():
            words = (connections, sessions, plan.scaled(IDLE_SECONDS))
            sample = _load(plan, "idle", scheme, words, *flags)
            resident, cpu = [sample["resident"] / 1e6], [sample["cpu"] * 100]
            yield Row(f"{figure}, {name}, {where}", "MB", {PARLEY: resident}, (Target(150),))
            yield Row(f"{figure}, {name}, {where}, CPU", "% of a core", {PARLEY: cpu}, (Target(2),))


def streaming(plan: Plan) -> Iterator[Row]:
    """All sessions are prompted at once."""
    sessions = plan.scaled(STREAMING)
    for scheme, name in SCHEMES.items():
        found = [
            _load(plan, "streams", scheme, (sessions, STREAMED)) for _ in range(min(plan.rounds, 3))
        ]
        figure = f"{sessions} sessions streaming at once by {name}"
        slowest = [each["slowest"] for each in found]
        disordered = [each["disordered"] for each in found]
        cpu = [each["server"] * 1e6 for each in found]
        yield Row(f"{figure}, slowest to median", "times", {PARLEY: slowest}, (Target(2),))
        yield Row(f"{figure}, out of order", "", {PARLEY: disordered}, (Target(0),))
        yield Row(f"{figure}, server's CPU per update", "µs", {PARLEY: cpu})


def slow_reader(plan: Plan) -> Iterator[Row]:
    """A client that reads nothing beside one that does."""
    for scheme, name in SCHEMES.items():
        words = (plan.scaled(SLOW_UPDATES),)
        found = [_load(plan, "slow", scheme, words) for _ in range(min(plan.rounds, 3))]
        added = [each["added"] / 1e6 for each in found]
        slowed = statistics.median(each["slowed"] for each in found)
        yield Row(f"slow reader by {name}, memory added", "MB", {PARLEY: added}, (Target(8),))
        yield Row(f"slow reader by {name}, time of another", "times", {PARLEY: [slowed]})


def _load(plan: Plan, work: str, scheme: str, words: tuple[int, ...], *flags: str) -> Sample:
    program = "subjects/parley_remote_load.py"
    with _server(plan.parley, *flags) as server:
        return _sample(plan.parley, program, work, server.at(scheme), server.pid, *words)


REMOTE_FIGURES: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "remote-updates": updates,
    "remote-requests": requests,
    "remote-gateway": gateway,
    "remote-idle": idle,
    "remote-streaming": streaming,
    "remote-slow-reader": slow_reader,
}
