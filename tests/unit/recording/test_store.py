"""The directory of recordings: finding, importing and deleting them, and how long they are kept."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.errors import RecordingError
from parley.journal._jsonl import from_jsonl
from parley.recording import (
    Header,
    RecordedEvent,
    RecordedLine,
    Recording,
    RecordingLimits,
    RecordingStore,
    RecordingWriter,
    recordings_dir,
)
from parley.recording._jsonl import read_jsonl, write_jsonl
from parley.recording._store import beyond_limits, configured_limits

DAY = 24 * 60 * 60
NOW = 1_800_000_000.0


@pytest.fixture
def store() -> RecordingStore:
    return RecordingStore()


def record(*names: str, lines: bytes = b"") -> None:
    with RecordingWriter(limits=RecordingLimits(), environ={}) as writer:
        for name in names:
            writer.start(name).write("agent", lines)


def test_recordings_are_in_the_state_directory_of_the_user(places: Path) -> None:
    assert recordings_dir() == places / "state" / "parley" / "recordings"


def test_a_recording_is_found_by_its_key_its_beginning_its_name_and_its_file(
    store: RecordingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    record("one", "two")
    monkeypatch.setattr("parley.recording._writer.time.time", lambda: time.time_ns() / 1e9 + 60)
    record("two")
    recordings = store.recordings()
    newest = recordings[0]
    for word in (newest.key, newest.key[:20], "two", str(newest.path)):
        assert store.find(word) == newest
    assert store.find("one").header.name == "one"


@pytest.mark.parametrize("word", ["", "three", "2", "missing.acprec"])
def test_a_word_that_means_no_recording_or_several_is_refused(
    store: RecordingStore, word: str
) -> None:
    record("one", "two")
    with pytest.raises(RecordingError):
        store.find(word)


def test_a_file_that_is_not_a_recording_is_not_listed_nor_deleted(store: RecordingStore) -> None:
    record("one")
    notes = store.directory / "notes.acprec"
    notes.write_text("my notes")
    assert [each.header.name for each in store.recordings()] == ["one"]
    assert len(store.prune(RecordingLimits(max_bytes=0))) == 1
    assert notes.exists()


def test_a_fifo_among_the_recordings_blocks_nothing(store: RecordingStore) -> None:
    record("one")
    fifo = store.directory / "20260101-000000-agent-aaaaaa.acprec"
    os.mkfifo(fifo)
    assert [each.header.name for each in store.recordings()] == ["one"]
    with pytest.raises(RecordingError, match="it is not a regular file"):
        store.find(str(fifo))


def test_a_recording_that_is_being_written_is_neither_deleted_nor_pruned(
    store: RecordingStore,
) -> None:
    with RecordingWriter(limits=RecordingLimits(), environ={}) as writer:
        recording = writer.start("demo")
        while not recording.path.exists() or not store.find("demo").is_active:
            os.sched_yield()
        with pytest.raises(RecordingError, match="still being recorded"):
            store.delete(store.find("demo"))
        assert store.prune(RecordingLimits(max_age=0.0, max_bytes=0)) == []
    assert not store.find("demo").is_active
    store.delete(store.find("demo"))
    assert store.recordings() == []


def aged(days: float, size: int = 10, *, is_active: bool = False) -> Recording:
    at = NOW - days * DAY
    header = Header(key=f"k{days}", name="n", started_at=at)
    return Recording(Path(f"k{days}"), header, size, at, is_active)


def days_of(recordings: list[Recording]) -> list[float]:
    return [(NOW - each.updated_at) / DAY for each in recordings]


def test_what_is_too_old_or_does_not_fit_goes_oldest_first() -> None:
    recordings = [aged(days) for days in (1, 5, 9, 13, 15, 20)]
    by_age = beyond_limits(recordings, RecordingLimits(max_age=14 * DAY, max_bytes=None), NOW)
    assert days_of(by_age) == [20, 15]
    by_size = beyond_limits(recordings, RecordingLimits(max_age=None, max_bytes=35), NOW)
    assert days_of(by_size) == [20, 15, 13]
    assert beyond_limits(recordings, RecordingLimits(max_age=None, max_bytes=None), NOW) == []


def test_a_clock_that_jumps_ahead_deletes_nothing() -> None:
    recordings = [aged(days) for days in (1, 5, 9)]
    later = NOW + 5000 * DAY
    assert beyond_limits(recordings, RecordingLimits(), later) == []


def test_recordings_are_pruned_when_the_writer_starts(store: RecordingStore) -> None:
    record("one", lines=b"x" * 5000 + b"\n")
    with RecordingWriter(limits=RecordingLimits(max_bytes=4000), environ={}) as writer:
        writer.start("two")
    assert [each.header.name for each in store.recordings()] == ["two"]


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        (None, RecordingLimits()),
        ("[recordings]\nmax_age_days = 2\n", RecordingLimits(max_age=2 * DAY)),
        (
            "[recordings]\nmax_age_days = 0\nmax_bytes = 0\n",
            RecordingLimits(max_age=None, max_bytes=None),
        ),
        ("[recordings]\nmax_bytes = -1\n", RecordingLimits()),
    ],
    ids=["absent", "days", "unlimited", "wrong"],
)
def test_the_limits_are_those_of_the_configuration(
    places: Path, text: str | None, limits: RecordingLimits
) -> None:
    if text is not None:
        path = places / "config" / "parley" / "config.toml"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert configured_limits() == limits


HEADER = Header(key="k", name="demo", command=["demo"], started_at=NOW)
Item = RecordedLine | RecordedEvent
LINES = st.builds(
    RecordedLine,
    st.integers(0, 10**6).map(lambda each: each / 10**6),
    st.sampled_from(["client", "agent", "stderr"]),
    st.one_of(
        st.binary(max_size=30).filter(lambda each: b"\n" not in each),
        st.text(max_size=30).map(lambda each: each.replace("\n", "").encode()),
        st.sampled_from(
            [
                *(b"", b" {}", b"{}\r", b'{"a" : 1.0, "a":2, "event":"exited"}', b"1", b"NaN"),
                *(b'"\\ud800"', b"[" * 5000 + b"]" * 5000, b"\xef\xbb\xbf{}", b'{"x":"\xff"}'),
            ]
        ),
    ),
    st.booleans(),
)


@given(st.lists(LINES, max_size=6))
def test_an_export_holds_every_byte(lines: list[RecordedLine]) -> None:
    items: list[Item] = [*lines, RecordedEvent(at=2.0, event="exited", code=0)]
    exported = b"".join(write_jsonl(HEADER, items))
    assert list(read_jsonl(exported.split(b"\n"))) == [HEADER, *items]


def test_json_is_exported_as_json_and_text_as_text() -> None:
    items = [
        RecordedLine(0.5, "agent", b'{"id" : 1}'),
        RecordedLine(0.5, "agent", b"hello"),
        RecordedLine(0.5, "stderr", b"\xff", has_newline=False),
    ]
    assert list(write_jsonl(HEADER, items))[1:] == [
        b'{"at":0.5,"from":"agent","message":{"id" : 1}}\n',
        b'{"at":0.5,"from":"agent","text":"hello"}\n',
        b'{"at":0.5,"from":"stderr","base64":"/w==","newline":false}\n',
    ]


def test_an_export_can_be_imported_again(store: RecordingStore) -> None:
    record("demo", lines=b'{"id":1}\n\xff\n')
    original = store.find("demo")
    with original.open() as reader:
        items = list(reader)
    with original.open() as reader:
        exported = list(write_jsonl(reader.header, reader))
    copies = [store.import_lines(exported), store.import_file(original.path)]
    for copy in copies:
        assert copy.key != original.key
        assert copy.header.name == "demo"
        assert not copy.is_active
        with copy.open() as reader:
            assert list(reader) == items


def test_a_session_of_the_journal_can_be_imported(store: RecordingStore) -> None:
    lines = [
        b'{"at":1700000000.5,"kind":"to_agent","message":{"id":1}}\n',
        b'{"at":1700000001.0,"kind":"note","message":{"note":"lost"}}\n',
        b'{"at":1700000001.5,"kind":"to_client","base64":"/w=="}\n',
    ]
    with store.import_lines(lines).open() as reader:
        assert reader.header.started_at == 1700000000.5
        assert list(reader) == [
            RecordedLine(0.0, "client", b'{"id":1}'),
            RecordedLine(1.0, "agent", b"\xff"),
        ]


def test_a_file_of_a_recorder_can_be_imported(store: RecordingStore) -> None:
    lines = [b'{"at":0.0,"direction":"outbound","message":{"id":1}}\n']
    with store.import_lines(lines).open() as reader:
        assert list(reader) == [RecordedLine(0.0, "client", b'{"id":1}')]


def test_an_exported_recording_can_be_replayed_as_a_session() -> None:
    items: list[Item] = [
        RecordedEvent(at=0.0, event="started", pid=1),
        RecordedLine(0.1, "client", b'{"id":1}'),
        RecordedLine(0.2, "agent", b"text \r"),
        RecordedLine(0.3, "stderr", b'{"id":2}'),
    ]
    entries = from_jsonl(b"".join(write_jsonl(HEADER, items)))
    assert [(each.kind, each.data) for each in entries] == [
        ("to_agent", b'{"id":1}'),
        ("to_client", b"text \r"),
    ]


@pytest.mark.parametrize(
    "text",
    [b"", b"hello\n", b'{"at":1}\n', b'{"recording":1}\n', b'{"at":1,"from":"agent"}\n'],
    ids=["empty", "text", "no-source", "header", "no-data"],
)
def test_another_file_is_not_imported_and_leaves_nothing(
    store: RecordingStore, text: bytes
) -> None:
    with pytest.raises(RecordingError):
        store.import_lines(text.splitlines(keepends=True))
    assert store.recordings() == []
    assert not store.directory.exists() or list(store.directory.iterdir()) == []
