"""A transport whose frames are recorded."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.proxy.proxied_pair import JsonPeer, notification

from parley.errors import ConnectionClosed, ProcessExited
from parley.recording import (
    RecordedEvent,
    RecordedLine,
    RecordingLimits,
    RecordingReader,
    RecordingStore,
    RecordingWriter,
)
from parley.recording import _writer as writer_module
from parley.recording._recording_file import RecordingFile
from parley.recording._transport import RecordedTransport
from parley.transport import memory_pair


def _writer(directory: Path) -> RecordingWriter:
    store = RecordingStore(directory)
    return RecordingWriter(store, limits=RecordingLimits(), environ={}, may_wait=False)


async def test_the_frames_of_both_sides_and_the_end_are_recorded(tmp_path: Path) -> None:
    near, far = memory_pair()
    writer = _writer(tmp_path)
    recording = writer.start("demo")
    ours, theirs = JsonPeer(RecordedTransport(near, recording, peer="client")), JsonPeer(far)  # type: ignore[arg-type]
    theirs.say(notification("a", {}), notification("b", {}))
    await ours.hear()
    await ours.hear()
    ours.say(notification("c", {}))
    await theirs.hear()
    await far.aclose()
    await ours.until(lambda: ours.lost is not None)
    await near.aclose()
    writer.close()
    with RecordingReader(recording.path) as reader:
        items = list(reader)
    lines = [(each.source, each.data) for each in items if isinstance(each, RecordedLine)]
    assert lines == [
        ("client", notification("a", {})),
        ("client", notification("b", {})),
        ("agent", notification("c", {})),
    ]
    events = [(each.event, each.source) for each in items if isinstance(each, RecordedEvent)]
    assert events == [("closed", "client")]


@pytest.mark.parametrize(("code", "expected"), [(3, (3, None)), (-9, (None, "SIGKILL"))])
async def test_the_exit_of_a_process_is_recorded(
    tmp_path: Path, code: int, expected: tuple[int | None, str | None]
) -> None:
    near, _ = memory_pair()
    writer = _writer(tmp_path)
    recording = writer.start("demo")
    transport = RecordedTransport(near, recording, peer="agent")
    transport.start(_Nobody())
    transport.connection_lost(ProcessExited("demo", code))
    transport.connection_lost(ConnectionClosed("again"))
    writer.close()
    with RecordingReader(recording.path) as reader:
        closed, exited = reader
    assert isinstance(closed, RecordedEvent)
    assert (closed.event, closed.source) == ("closed", "agent")
    assert isinstance(exited, RecordedEvent)
    assert (exited.code, exited.signal) == expected


class _Nobody:
    def frames_received(self, frames: object, /) -> None:
        pass

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        pass


async def test_an_event_loop_never_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer is held while more than the queue can hold is sent; the rest is counted."""
    go_on = threading.Event()
    flush: Callable[[RecordingFile], None] = RecordingFile.flush

    def held(file: RecordingFile) -> None:
        go_on.wait()
        flush(file)

    monkeypatch.setattr(RecordingFile, "flush", held)
    monkeypatch.setattr(writer_module, "MAX_QUEUE_BYTES", 100_000)
    monkeypatch.setattr(writer_module, "STUCK_SECONDS", 1e9)
    near, far = memory_pair()
    writer = _writer(tmp_path)
    recording = writer.start("demo")
    transport = RecordedTransport(near, recording, peer="client")
    frame = notification("x", {"text": os.urandom(10_000).hex()})
    for _ in range(20):
        transport.send(frame)
    go_on.set()
    await transport.aclose()
    await far.aclose()
    writer.close()
    with RecordingReader(recording.path) as reader:
        items = list(reader)
    written = sum(isinstance(each, RecordedLine) for each in items)
    assert 0 < written < 20
    lost = [each.size for each in items if isinstance(each, RecordedEvent) and each.size]
    assert sum(lost) == recording.lost_bytes == (20 - written) * (len(frame) + 1)
