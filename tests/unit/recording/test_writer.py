"""Writing a recording, and reading it back."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.errors import RecordingError
from parley.recording import (
    Header,
    RecordedEvent,
    RecordedLine,
    RecordingLimits,
    RecordingReader,
    RecordingStore,
    RecordingWriter,
)
from parley.recording import _recording_file as file_module
from parley.recording import _writer as writer_module


@pytest.fixture
def store(tmp_path: Path) -> RecordingStore:
    return RecordingStore(tmp_path / "recordings")


@pytest.fixture
def writer(store: RecordingStore) -> Iterator[RecordingWriter]:
    with RecordingWriter(store, limits=RecordingLimits(), environ={}) as writer:
        yield writer


def items(path: Path) -> list[RecordedLine | RecordedEvent]:
    with RecordingReader(path) as reader:
        return list(reader)


def test_a_recording_has_the_lines_of_each_stream_and_the_events_in_order(
    writer: RecordingWriter,
) -> None:
    recording = writer.start("demo", ["parley", "demo"], cwd="/work", hop="a → b", chain="c1")
    recording.write_event("started", pid=7)
    recording.write("client", b'{"id":1}\r\n\n')
    recording.write("agent", b"no JSON \xff\n{")
    recording.write("stderr", b"oops\n")
    recording.write("agent", b'"id":1}\nrest')
    recording.write_event("closed", source="agent")
    recording.write_event("exited", code=3)
    recording.close()
    writer.close()
    with RecordingReader(recording.path) as reader:
        header = reader.header
        found = list(reader)
    assert (header.key, header.name, header.cwd) == (recording.key, "demo", "/work")
    assert (header.command, header.hop, header.chain) == (["parley", "demo"], "a → b", "c1")
    assert header.pid == os.getpid()
    lines = [(e.source, e.data, e.has_newline) for e in found if isinstance(e, RecordedLine)]
    assert lines == [
        ("client", b'{"id":1}\r', True),
        ("client", b"", True),
        ("agent", b"no JSON \xff", True),
        ("stderr", b"oops", True),
        ("agent", b'{"id":1}', True),
        ("agent", b"rest", False),
    ]
    events = [each.event for each in found if isinstance(each, RecordedEvent)]
    assert events == ["started", "closed", "exited"]
    assert isinstance(found[-2], RecordedEvent)
    assert found[-2].source == "agent"
    times = [each.at for each in found]
    assert times == sorted(times)
    assert (recording.lost_bytes, recording.problem) == (0, None)


def test_only_the_user_can_read_recordings(writer: RecordingWriter, store: RecordingStore) -> None:
    recording = writer.start("demo")
    writer.close()
    assert stat.S_IMODE(recording.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700


def test_the_name_of_an_agent_cannot_leave_the_directory(
    writer: RecordingWriter, store: RecordingStore
) -> None:
    recording = writer.start("../../etc/ü ; x")
    writer.close()
    assert recording.path.parent == store.directory
    assert "-etc-x-" in recording.path.name
    assert store.recordings()[0].header.name == "../../etc/ü ; x"


def test_two_recordings_are_written_at_a_time(writer: RecordingWriter) -> None:
    first, second = writer.start("first"), writer.start("second")
    for number in range(3):
        first.write("agent", b"first %d\n" % number)
        second.write("agent", b"second %d\n" % number)
    writer.close()
    for recording, name in ((first, b"first"), (second, b"second")):
        lines = [each.data for each in items(recording.path) if isinstance(each, RecordedLine)]
        assert lines == [b"%b %d" % (name, number) for number in range(3)]


def test_a_recording_can_be_followed_until_it_ends(writer: RecordingWriter) -> None:
    recording = writer.start("demo")
    recording.write("agent", b"one\n")
    while not recording.path.exists():
        os.sched_yield()
    with RecordingReader(recording.path) as reader:
        following = reader.follow(interval=0.001)
        assert reader.is_active
        first = next(following)
        assert isinstance(first, RecordedLine)
        assert first.data == b"one"
        recording.write("agent", b"two\n")
        second = next(following)
        assert isinstance(second, RecordedLine)
        assert second.data == b"two"
        recording.close()
        assert list(following) == []
        assert not reader.is_active


def test_a_reader_that_stops_in_the_middle_continues_there(writer: RecordingWriter) -> None:
    recording = writer.start("demo")
    recording.write("agent", b"one\ntwo\nthree\n")
    writer.close()
    with RecordingReader(recording.path) as reader:
        found: list[bytes] = []
        for _ in range(3):
            for item in reader:
                assert isinstance(item, RecordedLine)
                found.append(item.data)
                break
        assert found == [b"one", b"two", b"three"]


def test_a_reaction_that_is_handed_over_first_is_recorded_after_its_cause(tmp_path: Path) -> None:
    header = Header(key="k", name="n", command=[], cwd="", pid=1, started_at=0.0, parley="1")
    file = file_module.RecordingFile(tmp_path / "a.acprec", header, {}, is_new=True)
    queue = writer_module._Queue(may_wait=False)
    queue.put((file, 0.2, "client", b"reaction"))
    queue.put((file, 0.1, "agent", b"cause"))
    queue.put((file, 0.2, "client", b"more"))
    queue.close()
    items, _ = queue.take()
    assert [payload for *_, payload in items] == [b"cause", b"reaction", b"more"]


def test_what_the_writer_cannot_take_in_time_is_lost_with_its_line_and_counted(
    writer: RecordingWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "MAX_QUEUE_BYTES", 10_000)
    recording = writer.start("demo")
    recording.write("agent", b"one\nbegin")
    recording.write("agent", b"x" * 20_000 + b"\n")
    recording.write("agent", b"end\ntwo\n")
    writer.close()
    found = items(recording.path)
    lines = [each.data for each in found if isinstance(each, RecordedLine)]
    assert lines == [b"one", b"two"]
    lost = [each for each in found if isinstance(each, RecordedEvent) and each.event == "lost"]
    assert sum(each.size or 0 for each in lost) == len(b"begin") + 20_001 + len(b"end\n")
    assert {each.source for each in lost} == {"agent"}
    assert recording.lost_bytes == len(b"begin") + 20_001 + len(b"end\n")
    assert "fast enough" in str(recording.problem)


def test_a_disk_that_hangs_loses_bytes_and_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "MAX_QUEUE_BYTES", 200_000)
    monkeypatch.setattr(writer_module, "STUCK_SECONDS", 0.001)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe that nobody empties
    writer = RecordingWriter(environ={})
    recording = writer.start("demo", path=path)
    for _ in range(20):
        recording.write("agent", b"x" * 50_000 + b"\n")
    recording.close()
    assert not writer.close(timeout=0.001)
    os.set_blocking(reader, True)
    with os.fdopen(reader, "rb") as emptied:
        found = emptied.read()  # until the writer has closed its end
    writer.close()
    assert b'"event":"lost"' in found
    assert recording.lost_bytes > 500_000


def test_a_line_that_is_too_long_is_lost_as_a_whole_and_the_next_one_is_not(
    writer: RecordingWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_module, "MAX_LINE_BYTES", 1000)
    recording = writer.start("demo")
    recording.write("agent", b"one\n")
    for _ in range(5):
        recording.write("agent", b"x" * 400)
    recording.write("agent", b"end\ntwo\n")
    writer.close()
    lines = [each.data for each in items(recording.path) if isinstance(each, RecordedLine)]
    assert lines == [b"one", b"two"]
    assert recording.lost_bytes == 2004


def test_a_directory_that_cannot_be_written_loses_the_recording_and_nothing_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    with RecordingWriter(RecordingStore(tmp_path / "file" / "below"), environ={}) as writer:
        recording = writer.start("demo")
        recording.write("agent", b"12345\n")
        recording.close()
    assert recording.lost_bytes == 6
    assert "File exists" in str(recording.problem)


def test_a_full_disk_loses_the_recording_and_nothing_else() -> None:
    with RecordingWriter(environ={}) as writer:
        recording = writer.start("demo", path="/dev/full")
        recording.write("agent", b"12345\n")
        recording.close()
    assert recording.lost_bytes == 6
    assert recording.problem == "No space left on device"


def test_a_recording_over_the_limit_stops_and_counts_the_rest(store: RecordingStore) -> None:
    with RecordingWriter(store, limits=RecordingLimits(max_bytes=5000), environ={}) as writer:
        recording = writer.start("demo")
        recording.write("agent", b"x" * 99 + b"\n")
        recording.write("agent", b"y" * 9999 + b"\n")
        recording.close()
    found = items(recording.path)
    assert found[-1] == RecordedEvent(
        at=found[-1].at,
        event="lost",
        source="agent",
        size=recording.lost_bytes,
        reason="the recording has reached the limit of 5000 bytes",
    )
    assert recording.path.stat().st_size < 5000


def test_a_file_that_is_not_a_recording_is_left_alone(
    writer: RecordingWriter, tmp_path: Path
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    recording = writer.start("demo", path=path)
    writer.close()
    assert path.read_text() == "my notes"
    assert "exists and is not a recording" in str(recording.problem)


def test_a_file_that_another_process_records_to_is_left_alone(
    writer: RecordingWriter, tmp_path: Path
) -> None:
    path = tmp_path / "demo.acprec"
    first, second = writer.start("first", path=path), writer.start("second", path=path)
    first.write("agent", b"first\n")
    writer.close()
    assert "another process" in str(second.problem)
    with RecordingReader(path) as reader:
        assert reader.header.name == "first"
        assert len(list(reader)) == 1


def test_an_earlier_recording_in_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "demo.acprec"
    for name in ("first", "second"):
        with RecordingWriter(environ={}) as writer:
            writer.start(name, path=path).write("agent", name.encode() + b"\n")
    found = items(path)
    assert [each.data for each in found if isinstance(each, RecordedLine)] == [b"second"]


@pytest.mark.parametrize(
    "data", [b"", b'{"recording":1', b"other\n"], ids=["empty", "cut", "other"]
)
def test_a_file_without_a_header_cannot_be_opened(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.acprec"
    path.write_bytes(data)
    with pytest.raises(RecordingError, match=r"x\.acprec cannot be read"):
        RecordingReader(path)
