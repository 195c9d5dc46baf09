"""The file format: what is written comes back, whole or in pieces, and damage is noticed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.errors import RecordingError
from parley.recording import Header, RecordedEvent
from parley.recording._format import (
    Chunk,
    Parser,
    encode_chunk,
    encode_event,
    encode_header,
)

HEADER = Header(key="20261119-211530-demo-1a2b3c", name="demo", command=["demo"], started_at=1.5)
CHUNK = Chunk(0.25, "client", b'{"jsonrpc":"2.0"}\n\r\n\xff no JSON\n')
EVENT = RecordedEvent(at=1.0, event="exited", code=0)


def encode(record: Chunk | RecordedEvent) -> bytes:
    if isinstance(record, Chunk):
        return encode_chunk(record.at, record.source, record.data)
    return encode_event(record)


def test_a_recording_is_text_that_can_be_read_with_any_viewer() -> None:
    event = RecordedEvent(at=0.5, event="lost", source="agent", size=7, reason="No space left")
    assert encode_header(HEADER) == (
        b'{"recording":1,"key":"20261119-211530-demo-1a2b3c","name":"demo",'
        b'"command":["demo"],"started_at":1.5}\n'
    )
    assert encode_chunk(0.25, "agent", b"hello\n") == (
        b'{"at":0.250000,"from":"agent","bytes":6}\nhello\n\n'
    )
    assert encode_event(event) == (
        b'{"at":0.5,"event":"lost","from":"agent","bytes":7,"reason":"No space left"}\n'
    )


CHUNKS = st.builds(
    Chunk,
    st.integers(0, 10**9).map(lambda each: each / 10**6),
    st.sampled_from(["client", "agent", "stderr"]),
    st.binary(max_size=50),
)


@given(st.lists(st.one_of(CHUNKS, st.just(EVENT)), max_size=8), st.integers(1, 64))
def test_a_recording_that_is_read_in_pieces_is_the_one_that_was_written(
    records: list[Chunk | RecordedEvent], size: int
) -> None:
    data = encode_header(HEADER) + b"".join(map(encode, records))
    parser = Parser()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    assert [record for piece in pieces for record in parser.feed(piece)] == records
    assert parser.header == HEADER


def test_a_record_that_is_cut_off_is_not_returned_before_it_is_complete() -> None:
    data = encode_header(HEADER) + encode(CHUNK)
    for end in range(len(data)):
        parser = Parser()
        assert list(parser.feed(data[:end])) == []
        assert list(parser.feed(data[end:])) == [CHUNK]


def test_events_of_a_later_version_are_skipped() -> None:
    data = encode_header(HEADER) + b'{"at":1,"event":"paused","by":3}\n' + encode(CHUNK)
    assert list(Parser().feed(data)) == [CHUNK]


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\n",
        b"[]\n",
        b'{"at":1,"from":"client"}\n',
        b'{"at":1,"from":"client","bytes":-1}\n\n',
        b'{"at":1,"from":"editor","bytes":1}\nx\n',
        b'{"at":1,"from":"client","bytes":1}\nxy\n',
        b"{" * 2_000_000,
    ],
    ids=["binary", "array", "no-size", "negative", "source", "too-short", "endless"],
)
def test_damage_is_reported_with_its_position_after_what_is_whole(data: bytes) -> None:
    parser = Parser()
    whole = encode_header(HEADER) + encode(CHUNK)
    assert list(parser.feed(whole)) == [CHUNK]
    with pytest.raises(RecordingError, match=f"damaged at byte {len(whole)}"):
        list(parser.feed(data))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"#!/bin/sh\n", "not a recording"),
        (b'{"key":"k","name":"n","started_at":1}\n', "not a recording"),
        (b'{"recording":1,"key":"k"}\n', "not a recording"),
        (b'{"recording":2,"key":"k","name":"n","started_at":1}\n', "Update Parley"),
    ],
    ids=["script", "no-version", "fields", "later"],
)
def test_another_file_is_not_taken_for_a_recording(line: bytes, problem: str) -> None:
    with pytest.raises(RecordingError, match=problem):
        list(Parser().feed(line))
