"""Metrics for Prometheus, in its text format.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/. Labels are names of hosted
agents, methods of the protocol, and a fixed set of words, so clients cannot create new ones.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from parley import __version__
from parley.schema.v1.methods import TABLE as V1
from parley.schema.v2.methods import TABLE as V2

from .agent_host import AgentHost
from .events import Event
from .gateway import Gateway

__all__ = ["CONTENT_TYPE", "Histogram", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0)
_METHODS = frozenset(each.name for each in (*V1.methods, *V2.methods))
_OTHER = "other"
_COUNTED = {
    "connection_opened": ("parley_connections_total", "Connections that were made."),
    "session_opened": ("parley_sessions_total", "Sessions that were opened."),
    "agent_started": ("parley_agent_starts_total", "Agents that were started."),
    "agent_failed": ("parley_agent_failures_total", "Agents that could not be started."),
}


class Histogram:
    """A histogram of durations."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Add a duration."""
        self._counts[bisect.bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, labels: Mapping[str, str]) -> Iterable[str]:
        """Yield its lines in the Prometheus format."""
        total = 0
        bounds = [*(f"{each:g}" for each in _BOUNDS), "+Inf"]
        for bound, count in zip(bounds, self._counts, strict=True):
            total += count
            yield f"{name}_bucket{_labels({**labels, 'le': bound})} {total}"
        yield f"{name}_sum{_labels(labels)} {self._sum:.6f}"
        yield f"{name}_count{_labels(labels)} {total}"


class Metrics:
    """Counts events, and reads the state of a gateway on demand."""

    def __init__(self, gateway: Gateway, buffered: Callable[[str], int] = lambda name: 0) -> None:
        """Create metrics without events.

        Args:
            gateway: The gateway to measure.
            buffered: Returns the number of bytes that are buffered for the clients of an agent.
        """
        self._gateway = gateway
        self._buffered = buffered
        self._counters: defaultdict[str, defaultdict[tuple[str, ...], int]] = defaultdict(
            lambda: defaultdict(int)
        )
        self._requests: defaultdict[tuple[str, str], Histogram] = defaultdict(Histogram)
        self._starts: defaultdict[str, Histogram] = defaultdict(Histogram)

    def record(self, event: Event) -> None:
        """Count an event."""
        if event.event in _COUNTED:
            self._counters[event.event][(event.agent,)] += 1
        if event.event == "request":
            method = event.method if event.method in _METHODS else _OTHER
            self._requests[event.agent, method].add(event.seconds or 0.0)
            if event.code is not None:
                self._counters["error"][event.agent, _known(event.code)] += 1
        elif event.event == "refused":
            self._counters["refused"][(event.reason,)] += 1
        elif event.event == "agent_started":
            self._starts[event.agent].add(event.seconds or 0.0)
        elif event.event == "agent_exited":
            self._counters["exit"][event.agent, _how(event.code)] += 1

    def text(self) -> str:
        """Return all metrics."""
        return "\n".join([*self._now(), *self._so_far(), *self._lasted(), ""])

    def _now(self) -> Iterable[str]:
        hosts = list(self._gateway)
        yield from _family("parley_build_info", "gauge", "The version that runs.")
        yield f"parley_build_info{_labels({'version': __version__})} 1"
        yield from _family("parley_draining", "gauge", "1 while nobody new is taken.")
        yield f"parley_draining {int(not self._gateway.is_ready)}"
        gauges: dict[str, tuple[str, Callable[[AgentHost], int]]] = {
            "parley_connections": ("Clients that are connected.", lambda it: len(it.connections)),
            "parley_sessions": ("Sessions that are open.", lambda it: len(it.sessions)),
            "parley_agents_running": ("Agents that run.", lambda it: it.process_count),
            "parley_buffered_bytes": (
                "What waits for clients that have not taken it.",
                lambda it: self._buffered(it.name),
            ),
            "parley_history_bytes": (
                "What is kept of sessions for clients that attach to them.",
                lambda it: sum(each.history_bytes for each in it.sessions),
            ),
        }
        for name, (description, value) in gauges.items():
            yield from _family(name, "gauge", description)
            yield from (f"{name}{_labels({'agent': it.name})} {value(it)}" for it in hosts)
        for name, description, fields in (
            ("parley_messages_total", "Messages.", ("messages_in", "messages_out")),
            ("parley_message_bytes_total", "Bytes of messages.", ("bytes_in", "bytes_out")),
        ):
            yield from _family(name, "counter", f"{description} in: from clients, out: to them.")
            for it in hosts:
                for field in fields:
                    labels = {"agent": it.name, "direction": field.rpartition("_")[2]}
                    yield f"{name}{_labels(labels)} {getattr(it.totals, field)}"

    def _so_far(self) -> Iterable[str]:
        for event, (name, description) in _COUNTED.items():
            yield from self._counter(event, name, description, "agent")
        exits = "Agents that ended: by themselves, with an error, by a signal."
        yield from self._counter("exit", "parley_agent_exits_total", exits, "agent", "how")
        refused = "Requests of HTTP and WebSocket that were refused, by reason."
        yield from self._counter("refused", "parley_refused_total", refused, "reason")
        errors = "Requests of clients that were answered with an error, by its code."
        yield from self._counter("error", "parley_errors_total", errors, "agent", "code")

    def _counter(self, event: str, name: str, description: str, *labels: str) -> Iterable[str]:
        yield from _family(name, "counter", description)
        for values, count in sorted(self._counters[event].items()):
            yield f"{name}{_labels(dict(zip(labels, values, strict=True)))} {count}"

    def _lasted(self) -> Iterable[str]:
        name = "parley_request_seconds"
        yield from _family(name, "histogram", "How long requests of clients took to be answered.")
        for (agent, method), histogram in sorted(self._requests.items()):
            yield from histogram.lines(name, {"agent": agent, "method": method})
        name = "parley_agent_start_seconds"
        yield from _family(name, "histogram", "How long agents took to be started.")
        for agent, histogram in sorted(self._starts.items()):
            yield from histogram.lines(name, {"agent": agent})


def _family(name: str, kind: str, description: str) -> Iterable[str]:
    yield f"# HELP {name} {description}"
    yield f"# TYPE {name} {kind}"


def _labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _known(code: int) -> str:
    """Return a code of JSON-RPC or of the protocol as a label; agents may use any other."""
    return str(code) if -32800 <= code <= -32000 else _OTHER


def _how(code: int | None) -> str:
    if code is None or code == 0:
        return "ended"
    return "failed" if code > 0 else "signal"
