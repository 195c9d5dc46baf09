"""Server-sent events, by the rules of the specification."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.rpc._framing import OversizedFrame
from parley.transport.http._client.event_parser import (
    EventBlock,
    EventParser,
    Item,
    ServerSentEvent,
)


def flat(items: list[Item]) -> list[tuple[bytes, bytes]]:
    """Return the data of each event; and the id, where it stands alone."""
    found: list[tuple[bytes, bytes]] = []
    for item in items:
        if isinstance(item, EventBlock):
            lines = item.lines.split(b"\n")[:-1]
            assert len(lines) == item.size
            found += [(line, b"") for line in lines[:-1]] + [(lines[-1], item.id)]
        else:
            found.append((bytes(item.data), item.id))
    return found


def texts(stream: bytes, size: int = 0) -> list[bytes]:
    """Return the data of the events of a stream that arrives in pieces."""
    parser = EventParser(1 << 20)
    pieces = [stream] if not size else [stream[i : i + size] for i in range(0, len(stream), size)]
    return [data for piece in pieces for data, _ in flat(parser.feed(piece))]


@pytest.mark.requirement("TR-HTTP-29")
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data:a\n\ndata:  b\n\n", [b"a", b" b"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data\n\n", [b""]),
        (b"data: a\r\n\r\ndata: b\r\r", [b"a", b"b"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [b"b"]),
        (b": comment\n\n:\n\ndata: a\n:c\n\n", [b"a"]),
        (b"id: 1\n\nevent: x\n\nunknown: y\n\ndata: a\n\n", [b"a"]),
        (b"data: never ended\n", []),
        (b"id: 7\ndata: a\n\nid: 8\ndata: b\n\n\n\n", [b"a", b"b"]),
        (b"data: id: 5\n\ndata: data: x\n\n", [b"id: 5", b"data: x"]),
    ],
)
def test_a_stream_is_read_by_the_rules_in_any_pieces(stream: bytes, events: list[bytes]) -> None:
    for size in (0, 1, 2, 3, 5):
        assert texts(stream, size) == events


def test_ids_types_and_waits_are_kept() -> None:
    parser = EventParser(1000)
    read = parser.feed(
        b"id: 4\nevent: note\nafter: 3 s-1\ndata: a\n\ndata: b\n\nid: x\0\ndata: c\n\n"
    )
    assert read == [
        ServerSentEvent(b"a", b"4", b"note", b"3 s-1"),
        ServerSentEvent(b"b", b"4"),
        ServerSentEvent(b"c", b"4"),  # an id with a NUL is none
    ]
    parser.feed(b"retry: 1500\n\nretry: soon\n\nid\n\n")
    assert parser.retry_after == 1.5
    assert parser.last_id == b""


def test_what_our_server_sends_stays_one_block() -> None:
    stream = b"".join(b'id: %d\ndata: {"n":%d}\n\n' % (n, n) for n in range(1, 101))
    (block,) = EventParser(1 << 20).feed(stream)
    assert isinstance(block, EventBlock)
    assert (block.size, block.id) == (100, b"100")
    assert block.lines == b"".join(b'{"n":%d}\n' % n for n in range(1, 101))
    parser = EventParser(1 << 20)
    pieces = [parser.feed(stream[:777]), parser.feed(stream[777:])]
    assert [[type(item) for item in piece] for piece in pieces] == [[EventBlock], [EventBlock]]


def test_one_by_one_if_it_is_wanted() -> None:
    stream = b"id: 1\ndata: a\n\nid: 2\ndata: b\n\n"
    read = EventParser(1000).feed(stream, single_events=True)
    assert read == [ServerSentEvent(b"a", b"1"), ServerSentEvent(b"b", b"2")]


@pytest.mark.parametrize("lines", [1, 7])
@pytest.mark.parametrize("size", [0, 1000])
def test_an_event_that_is_too_long_is_not_kept_but_reported(lines: int, size: int) -> None:
    value = b"A" + b"." * 200_000 + b"Z"
    step = len(value) // lines + 1
    data = b"".join(b"data: %b\n" % value[i : i + step] for i in range(0, len(value), step))
    stream = b"id: 1\n" + data + b"\nid: 2\ndata: next\n\n"
    parser = EventParser(10_000)
    pieces = [stream[i : i + size] for i in range(0, len(stream), size)] if size else [stream]
    read = [item for piece in pieces for item in parser.feed(piece)]
    long, after = read
    assert isinstance(long, ServerSentEvent)
    assert isinstance(long.data, OversizedFrame)
    assert long.data.startswith(b"A")
    assert long.data.tail.endswith(b"Z")
    assert long.id == b"1"
    assert flat([after]) == [(b"next", b"2")]


def test_a_line_that_never_ends_costs_nothing() -> None:
    parser = EventParser(10_000)
    for _ in range(1000):
        assert parser.feed(b"." * 10_000) == []
    assert parser._lines.pending_bytes < 100_000
    assert len(parser._incomplete) < 100_000


FIELDS = st.sampled_from(
    [b"data: x", b"data:", b"data", b"id: 5", b"id: 6", b"event: e", b": c", b"", b"", b"odd"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(
    st.lists(st.tuples(FIELDS, ENDS), max_size=40), st.lists(st.integers(1, 12), min_size=1), ENDS
)
def test_pieces_never_matter(
    lines: list[tuple[bytes, bytes]], sizes: list[int], end: bytes
) -> None:
    stream = b"".join(text + ending for text, ending in lines) + end
    whole, parts, place, count = EventParser(1000), EventParser(1000), 0, 0
    found: list[Item] = []
    while place < len(stream):
        size = sizes[count % len(sizes)]
        found += parts.feed(stream[place : place + size])
        place, count = place + size, count + 1
    assert [data for data, _ in flat(found)] == [data for data, _ in flat(whole.feed(stream))]
    assert parts.last_id == whole.last_id
