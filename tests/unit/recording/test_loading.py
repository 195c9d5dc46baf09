"""Loading what a replay plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.errors import RecordingError
from parley.recording import RecordedLine, RecordingLimits, RecordingStore, RecordingWriter
from parley.recording._replay.loading import load_recording


def test_lines_are_in_the_order_in_which_they_were_read(tmp_path: Path) -> None:
    """A thread for each stream hands its lines to the writer, so a reaction may overtake."""
    store = RecordingStore(tmp_path)
    with RecordingWriter(store, limits=RecordingLimits(), environ={}) as writer:
        recording = writer.start("demo")
        began = recording._began
        recording.write("client", b"1\n", began + 1)
        recording.write("client", b"3\n", began + 3)
        recording.write("agent", b"2\n", began + 2)
        recording.write("agent", b"4\n", began + 4)
    items = load_recording("demo", store).items
    assert [each.data for each in items if isinstance(each, RecordedLine)] == [
        b"1",
        b"2",
        b"3",
        b"4",
    ]


def test_what_is_missing_in_a_recording_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "lost.jsonl"
    file.write_text(
        '{"recording":1,"key":"k","name":"n","started_at":1.0}\n'
        '{"at":0.1,"from":"agent","message":{}}\n'
        '{"at":0.2,"event":"lost","from":"agent","bytes":12,"reason":"full"}\n'
    )
    assert load_recording(str(file)).lost_bytes == 12


def test_a_recording_without_messages_is_refused(tmp_path: Path) -> None:
    store = RecordingStore(tmp_path)
    with RecordingWriter(store, limits=RecordingLimits(), environ={}) as writer:
        writer.start("demo").write_event("failed", reason="not found")
    with pytest.raises(RecordingError, match="no messages"):
        load_recording("demo", store)
