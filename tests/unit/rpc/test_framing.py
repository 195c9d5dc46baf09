"""A stream of bytes becomes frames, whatever the pieces, and nothing over the limit is kept."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

import pytest

from parley.rpc._framing import (
    EDGE_BYTES,
    Frame,
    FrameSplitter,
    OversizedFrame,
)

LIMIT = 4096
ELLIPSIS = "…".encode()


def frames_of(pieces: Iterable[bytes], limit_bytes: int = LIMIT) -> list[Frame]:
    splitter = FrameSplitter(limit_bytes)
    return [frame for piece in pieces for frame in splitter.feed(piece)]


def cut(stream: bytes, size: int) -> list[bytes]:
    return [stream[start : start + size] for start in range(0, len(stream), size)]


def test_each_line_is_a_frame_without_its_newline() -> None:
    assert frames_of([b'{"a":1}\n{"b":2}\n']) == [b'{"a":1}', b'{"b":2}']


def test_empty_lines_and_carriage_returns_are_left_to_the_reader() -> None:
    assert frames_of([b"\n\r\na\r\n\n"]) == [b"", b"\r", b"a\r", b""]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64])
def test_the_pieces_in_which_bytes_arrive_do_not_matter(size: int) -> None:
    stream = b"one\n\ntwo\r\nthree\n" + "vièr\n".encode()
    assert frames_of(cut(stream, size)) == frames_of([stream])


def test_an_empty_read_changes_nothing() -> None:
    splitter = FrameSplitter(LIMIT)
    assert list(splitter.feed(b"")) == []
    assert list(splitter.feed(b"ab")) == []
    assert list(splitter.feed(b"")) == []
    assert list(splitter.feed(b"c\n")) == [b"abc"]


def test_a_line_without_a_final_newline_is_no_frame_and_shows_as_pending() -> None:
    splitter = FrameSplitter(LIMIT)
    assert splitter.pending_bytes == 0
    assert list(splitter.feed(b'{"a":1}\n{"b"')) == [b'{"a":1}']
    assert splitter.pending_bytes == 4
    assert list(splitter.feed(b":2}\n")) == [b'{"b":2}']
    assert splitter.pending_bytes == 0


@pytest.mark.parametrize("size", [1, 1000, LIMIT, 10 * LIMIT])
def test_the_limit_counts_the_bytes_before_the_newline(size: int) -> None:
    for length, is_refused in ((LIMIT - 1, False), (LIMIT, False), (LIMIT + 1, True)):
        [frame] = frames_of(cut(b"x" * length + b"\n", size))
        assert isinstance(frame, OversizedFrame) is is_refused
        assert is_refused or frame == b"x" * length


def test_only_the_long_line_of_one_read_is_refused() -> None:
    before, long, after = frames_of([b"a\n" + b"x" * (LIMIT + 1) + b"\nb\n"])
    assert (before, after) == (b"a", b"b")
    assert isinstance(long, OversizedFrame)


def test_the_two_ends_of_a_frame_over_the_limit_are_kept() -> None:
    line = b"head" + b"-" * LIMIT + b"tail"
    for pieces in ([line + b"\n"], cut(line + b"\n", 1), cut(line + b"\n", 1000)):
        [frame] = frames_of(pieces)
        assert isinstance(frame, OversizedFrame)
        assert frame == line[:EDGE_BYTES] + ELLIPSIS
        assert frame.tail == line[-EDGE_BYTES:]
        assert frame.limit_bytes == LIMIT


def test_what_follows_a_frame_over_the_limit_is_read_as_ever() -> None:
    splitter = FrameSplitter(LIMIT)
    assert list(splitter.feed(b"x" * (LIMIT + 1))) == []
    assert list(splitter.feed(b"y" * LIMIT)) == []
    [long, first] = splitter.feed(b"z\nfirst\nsec")
    assert isinstance(long, OversizedFrame)
    assert long.tail == b"y" * (EDGE_BYTES - 1) + b"z"
    assert first == b"first"
    assert list(splitter.feed(b"ond\n")) == [b"second"]


def test_a_limit_below_what_is_kept_holds_too() -> None:
    whole, long = frames_of([b"12345\n123456\n"], limit_bytes=5)
    assert not isinstance(whole, OversizedFrame)
    assert isinstance(long, OversizedFrame)
    assert (long, long.tail) == (b"123456" + ELLIPSIS, b"123456")


def test_an_unfinished_frame_over_the_limit_shows_as_pending() -> None:
    splitter = FrameSplitter(LIMIT)
    splitter.feed(b"x" * (LIMIT + 1))
    assert splitter.pending_bytes == 2 * EDGE_BYTES


@pytest.mark.parametrize("read_bytes", [32 * 1024, 1024 * 1024])
def test_120_megabytes_without_a_newline_are_not_kept(read_bytes: int) -> None:
    limit = 2 * 1024 * 1024
    splitter = FrameSplitter(limit)
    piece = b"x" * read_bytes
    tracemalloc.start()
    try:
        for _ in range(120 * 1024 * 1024 // read_bytes):
            assert list(splitter.feed(piece)) == []
            assert splitter.pending_bytes <= limit
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert splitter.pending_bytes == 2 * EDGE_BYTES
    assert held < 64 * 1024
    assert peak < 2.5 * limit
    [frame] = splitter.feed(b"\n")
    assert isinstance(frame, OversizedFrame)
    assert frame.limit_bytes == limit


def test_a_frame_that_came_whole_is_not_copied_again() -> None:
    line = b"x" * (1024 * 1024)
    data = line + b"\n" + line + b"\n"
    splitter = FrameSplitter(8 * 1024 * 1024)
    tracemalloc.start()
    try:
        frames = list(splitter.feed(data))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert frames == [line, line]
    assert peak < len(data) + 64 * 1024


def test_the_lines_of_a_block_are_a_sequence() -> None:
    lines = FrameSplitter(LIMIT).feed(b"a\nb\n\nc")
    assert (len(lines), lines[1], lines[-1], lines[:2]) == (3, b"b", b"", [b"a", b"b"])
