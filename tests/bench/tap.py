"""The figures of `parley tap`: what it costs, adds and holds between a raw client and a raw agent.

Neither side has an SDK. What the processes of the tap use is all that comes in addition to a pipe:
both ends do the same work with it and without it. A shell that passes everything through two `cat`
shows what any program between them adds.
"""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from .environments import BENCH, PARLEY
from .plan import RUN_LIMIT, WARM_UP, Plan
from .raw_client import RawClient
from .report import Row, Target

UPDATES = 400_000
PACED_UPDATES = 3_000
SLOW_UPDATES = 200_000
ROUND_TRIPS = 3_000
AGENT = str(BENCH / "raw_agent.py")
COST = Target(5)
CATS = "the same through two `cat`"
POLL_SECONDS = 0.2


def tap(plan: Plan) -> Iterator[Row]:
    """What the tap uses for an update, holds for a slow client, and adds to a round trip."""
    rounds = range(plan.rounds)
    with tempfile.TemporaryDirectory() as state:
        taps = _Taps(plan, state)
        flood = [taps.cpu("updates", plan.scaled(UPDATES)) for _ in rounds]
        yield Row("tap, CPU per update of a flood", "µs", {PARLEY: flood}, (COST,))
        paced = [taps.cpu("paced", plan.scaled(PACED_UPDATES)) for _ in rounds]
        yield Row("tap, CPU per update, 1,000 a second", "µs", {PARLEY: paced})
        held = [taps.held() for _ in rounds]
        yield Row("tap, memory with a client that does not read", "MB", {PARLEY: held})
        samples = [taps.added_latency(plan.scaled(ROUND_TRIPS)) for _ in rounds]
        for name, what in (("tap", "tap, round trip added"), ("cat", CATS)):
            for key in ("p50", "p99"):
                added = [each[f"{name} {key}"] for each in samples]
                yield Row(f"{what}, {key}", "µs", {PARLEY: added})
        for name, command in taps.starts.items():
            took = [_seconds(partial(taps.start, command)) * 1e3 for _ in rounds]
            yield Row(f"spawn to initialize answer, {name}", "ms", {PARLEY: took})


class _Taps:
    """Agents with and without a tap, whose recordings go into a directory of their own."""

    def __init__(self, plan: Plan, state: str) -> None:
        python = plan.parley.interpreter
        self._env = plan.parley.env | {"XDG_STATE_HOME": state}
        self.agent = [python, "-S", "-E", AGENT]
        self.tap = [python, "-P", "-m", "parley", "tap", "--", *self.agent]
        self.cats = ["/bin/sh", "-c", f"cat | {shlex.join(self.agent)} | cat"]
        self.starts = {
            "no tap": self.agent,
            "tap": self.tap,
            "`python -c pass` first": [
                *("/bin/sh", "-c"),
                f"{shlex.quote(python)} -c pass; exec {shlex.join(self.agent)}",
            ],
        }

    def _client(self, command: list[str]) -> RawClient:
        return RawClient(command, env=self._env, limit=RUN_LIMIT)

    def cpu(self, word: str, count: int) -> float:
        """Return the microseconds of CPU that the tap needs for an update."""
        with self._client(self.tap) as client:
            client.open_session()
            client.prompt(f"updates {WARM_UP}")
            before = _cpu(client.pid)
            client.prompt(f"{word} {count}")
            return (_cpu(client.pid) - before) / count * 1e6

    def held(self) -> float:
        """Return the megabytes that a tap holds when its client does not read."""
        with self._client(self.tap) as client:
            client.open_session()
            block = {"type": "text", "text": f"updates {SLOW_UPDATES}"}
            client.write(client.frame("session/prompt", {"sessionId": "bench", "prompt": [block]}))
            before, held = -1, client.resident_bytes()
            while before != held:
                time.sleep(POLL_SECONDS)
                before, held = held, client.resident_bytes()
            client.swallow()
            return held / 1e6

    def added_latency(self, count: int) -> dict[str, float]:
        """Return the microseconds that a tap and two `cat` add to a round trip."""
        bare = self._latencies(self.agent, count)
        added: dict[str, float] = {}
        for name, command in (("tap", self.tap), ("cat", self.cats)):
            latencies = self._latencies(command, count)
            for key in ("p50", "p99"):
                added[f"{name} {key}"] = (
                    _percentile(latencies, key) - _percentile(bare, key)
                ) * 1e6
        return added

    def _latencies(self, command: list[str], count: int) -> list[float]:
        with self._client(command) as client:
            client.open_session()
            frames = [client.frame("session/set_mode", {"modeId": "x"}) for _ in range(count)]
            times = [_seconds(partial(client.send, frame)) for frame in frames]
        return sorted(times[len(times) // 10 :])

    def start(self, command: list[str]) -> None:
        """Start an agent and wait for its first answer."""
        with self._client(command) as client:
            client.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})


def _seconds(run: Callable[[], None]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _percentile(times: list[float], key: str) -> float:
    return times[len(times) * int(key[1:]) // 100]


def _cpu(pid: int) -> float:
    """Return the seconds of CPU that all threads of a process have used."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((each / "schedstat").read_text().split()[0]) for each in tasks) / 1e9


TAP_FIGURES = {"tap": tap}
