"""The process of the agent, as far as the recording knows it: stderr, events, exit, resources."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from parley.recording import RecordedEvent

from ._row import Row
from ._sources import InspectedRecording
from ._summary import describe_exit

MAX_STDERR_BYTES = 64 * 1024
"""The size of the part of stderr that is returned."""
_MAX_EVENTS = 1_000


class Masked(Struct, frozen=True):
    """How often secrets of a kind were masked."""

    what: str
    source: str
    times: int


class ProcessInfo(Struct, frozen=True):
    """The process; see `_app.py`."""

    command: list[str]
    cwd: str
    pid: int
    agent_pid: int | None
    started_at: float
    duration: float
    exit: str | None
    is_live: bool
    stderr: str
    stderr_bytes: int
    events: list[Row]
    masked: list[Masked]
    lost_bytes: int
    frames: int
    bytes: dict[str, int]


def process_of(recording: InspectedRecording) -> ProcessInfo:
    """Return what the recording knows about the process of the agent.

    Raises:
        RecordingError: The file cannot be read.
    """
    header, table = recording.header, recording.table
    events = [*table.events.values()]
    exits = [each for each in events if each.event == "exited"]
    started = [each.pid for each in events if each.event == "started"]
    lost = sum(each.size or 0 for each in events if each.event == "lost")
    return ProcessInfo(
        command=header.command,
        cwd=header.cwd,
        pid=header.pid,
        agent_pid=started[0] if started else None,
        started_at=header.started_at,
        duration=table.rows[-1].at if table.rows else 0.0,
        exit=describe_exit(exits[-1]) if exits else None,
        is_live=recording.is_live,
        stderr=_stderr(recording),
        stderr_bytes=table.bytes["stderr"],
        events=[table.rows[number - 1] for number in [*table.events][:_MAX_EVENTS]],
        masked=_masked(events),
        lost_bytes=lost,
        frames=len(table.rows),
        bytes={str(source): size for source, size in table.bytes.items()},
    )


def _stderr(recording: InspectedRecording) -> str:
    """Return the end of stderr."""
    found: list[bytes] = []
    size = 0
    for row in reversed(recording.table.rows):
        if row.source != "stderr":
            continue
        start = max(0, row.size - (MAX_STDERR_BYTES - size))
        found.append(recording.data(row.number, start))
        size += len(found[-1]) + 1
        if size >= MAX_STDERR_BYTES:
            break
    return b"\n".join(reversed(found)).decode(errors="replace")


def _masked(events: list[RecordedEvent]) -> list[Masked]:
    times: Counter[tuple[str, str]] = Counter()
    for event in events:
        if event.event == "masked":
            times[event.what or "", event.source or ""] += event.times or 0
    return [Masked(what, source, count) for (what, source), count in times.items()]
