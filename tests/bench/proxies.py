"""The figures of proxies and of tools: what a hop costs, what a chain carries, what a call takes.

Only Parley takes part; beside tool calls over ACP stand those of the official `mcp` package alone.
Chains of processes are between a client and an agent without an SDK, and their CPU and memory are
read where the system keeps them.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .environments import BENCH, PARLEY
from .plan import RUN_LIMIT, WARM_UP, Plan, Sample, output, pick
from .raw_client import RawClient
from .report import Row, Target

MESSAGES = 200_000
SLOW_MESSAGES = 400_000
CALLS = 1_000
CHAIN = str(BENCH / "subjects" / "parley_chain.py")
TOOLS = str(BENCH / "subjects" / "parley_tools.py")
TICK = 1 / os.sysconf("SC_CLK_TCK")
SETTLED_AFTER = 1.0
HOP = Target(15)
KINDS = {"objects": "in one process", "processes": "as processes"}
RATES = {"objects": Target(60_000), "processes": Target(12_000)}
WAYS = {
    "acp": "over ACP",
    "acp-former": "over ACP, older form",
    "bridge-http": "through the bridge, HTTP",
    "bridge-stdio": "through the bridge, stdio",
    "alone-http": "mcp package alone, HTTP",
    "alone-stdio": "mcp package alone, stdio",
}


@dataclass(frozen=True)
class Process:
    """A process of a chain, as the system sees it."""

    pid: int

    @property
    def cpu(self) -> float:
        """The seconds of CPU that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK

    @property
    def resident(self) -> int:
        """The bytes of memory that it holds."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def proxies(self) -> list[Process]:
        """The proxies that it has started."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        is_proxy = b"\0--proxy\0"
        return [
            Process(int(each))
            for each in children
            if is_proxy in Path(f"/proc/{each}/cmdline").read_bytes()
        ]


def proxies(plan: Plan) -> Iterator[Row]:
    """What a proxy costs, and three of them carry."""
    yield from _hops(plan)
    yield from _pipes(plan)
    for kind, name in KINDS.items():
        rates = [_carried(plan, kind, 3)["rate"] for _ in range(plan.rounds)]
        figure = f"chain of three proxies {name}, updates"
        yield Row(figure, "1/s", {PARLEY: rates}, (RATES[kind],), more_is_better=True)
    for kind, name in KINDS.items():
        added = [_dammed(plan, kind) / 1e6 for _ in range(min(plan.rounds, 3))]
        figure = f"chain of three proxies {name}, slow client, memory added"
        yield Row(figure, "MB", {PARLEY: added}, (Target(16),))


def _hops(plan: Plan) -> Iterator[Row]:
    count = str(plan.scaled(MESSAGES))

    def measure() -> Sample:
        command = [plan.parley.interpreter, CHAIN, "hop", count]
        sample: Sample = json.loads(output(command, plan.parley))
        return sample

    samples = {PARLEY: [measure() for _ in range(plan.rounds)]}
    for key, what in (
        ("update", "update"),
        ("request", "request or answer"),
        ("handled", "update that a handler reads"),
    ):
        figure = f"hop in one process, CPU per {what}"
        yield Row(figure, "µs", pick(samples, key, 1e6), (HOP,))


def _pipes(plan: Plan) -> Iterator[Row]:
    """A proxy on its pipe: its own CPU, and what it adds to that of the conductor."""
    proxy: list[float] = []
    conductor: list[float] = []
    for _ in range(plan.rounds):
        without, with_one = _carried(plan, "processes", 0), _carried(plan, "processes", 1)
        proxy.append(with_one["proxies"] * 1e6)
        conductor.append((with_one["conductor"] - without["conductor"]) * 1e6)
    both = [sum(each) for each in zip(proxy, conductor, strict=True)]
    figure = "hop to a process, CPU per update"
    yield Row(f"{figure}, the proxy's", "µs", {PARLEY: proxy})
    yield Row(f"{figure}, added to the conductor's", "µs", {PARLEY: conductor})
    yield Row(f"{figure}, both", "µs", {PARLEY: both}, (HOP,))


def _chain(plan: Plan, kind: str, count: int) -> RawClient:
    command = [plan.parley.interpreter, CHAIN, kind, str(count)]
    return RawClient(command, env=plan.parley.env, limit=RUN_LIMIT)


def _carried(plan: Plan, kind: str, count: int) -> Sample:
    """Have an agent flood its client through proxies."""
    messages = plan.scaled(MESSAGES)
    with _chain(plan, kind, count) as client:
        client.open_session()
        client.prompt(f"updates {WARM_UP}")
        conductor = Process(client.pid)
        proxies = conductor.proxies
        before = conductor.cpu, sum(each.cpu for each in proxies)
        begin = time.perf_counter()
        client.prompt(f"updates {messages}")
        seconds = time.perf_counter() - begin
        after = conductor.cpu, sum(each.cpu for each in proxies)
    return {
        "rate": messages / seconds,
        "conductor": (after[0] - before[0]) / messages,
        "proxies": (after[1] - before[1]) / messages,
    }


def _dammed(plan: Plan, kind: str) -> float:
    """Return the bytes that a chain holds more, when its client stops reading."""
    with _chain(plan, kind, 3) as client:
        client.open_session()
        client.prompt(f"updates {WARM_UP}")
        conductor = Process(client.pid)
        processes = [conductor, *conductor.proxies]
        before = sum(each.resident for each in processes)
        block = {"type": "text", "text": f"updates {plan.scaled(SLOW_MESSAGES)}"}
        prompt = {"sessionId": "bench", "prompt": [block]}
        client.write(client.frame("session/prompt", prompt))
        held = _settled(processes)
        client.swallow()
    return held - before


def _settled(processes: list[Process]) -> int:
    """Return what some processes hold when that has not changed for a while."""
    held, since = -1, time.monotonic()
    end = since + RUN_LIMIT
    while time.monotonic() < min(since + SETTLED_AFTER, end):
        time.sleep(0.05)
        now = sum(each.resident for each in processes)
        if now != held:
            held, since = now, time.monotonic()
    return held


def tools(plan: Plan) -> Iterator[Row]:
    """Calls of a tool of another process, one after the other."""
    calls = str(plan.scaled(CALLS))
    found: dict[str, list[Sample]] = {way: [] for way in WAYS}
    for _ in range(plan.rounds):
        for way, samples in found.items():
            command = [plan.parley.interpreter, TOOLS, way, calls]
            samples.append(json.loads(output(command, plan.parley)))
    for key, what in (("p50", "p50"), ("cpu", "CPU of caller and server")):
        for way, name in WAYS.items():
            values = [sample[key] * 1e6 for sample in found[way]]
            yield Row(f"tool call, {name}, {what}", "µs", {PARLEY: values})
    over, alone = (statistics.median(each["p50"] for each in found[way]) for way in ALIKE)
    plan.notes.append(f"a tool call over ACP takes {over / alone:.2f} of one by stdio alone")


ALIKE = ("acp", "alone-stdio")
"""Both are between two processes that are joined by pipes."""

PROXY_FIGURES: dict[str, Callable[[Plan], Iterator[Row]]] = {"proxies": proxies, "tools": tools}
