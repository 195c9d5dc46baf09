from __future__ import annotations

import pytest

from parley.transport.http._app.event_numbering import (
    EventNumbering,
    events_after,
    fits_in_field,
    last_number,
)


def _numbering(next_number: int) -> EventNumbering:
    numbering = EventNumbering()
    numbering.last = next_number - 1
    return numbering


def event(number: int, frame: bytes) -> bytes:
    return _numbering(number).encode(frame)


def event_after(number: int, frame: bytes, earlier: int, session: str) -> bytes:
    return _numbering(number).encode_after(frame, earlier, session)


def test_an_event_is_an_id_and_one_line_of_data() -> None:
    assert event(7, b'{"a":1}') == b'id: 7\ndata: {"a":1}\n\n'
    assert event(7, b'{\r\n"a": 1}\n') == b'id: 7\ndata: {  "a": 1} \n\n'
    assert event_after(8, b"{}", 7, "s 1") == b"id: 8\nafter: 7 s 1\ndata: {}\n\n"


def test_events_are_numbered_from_one_whatever_they_carry() -> None:
    numbering = EventNumbering()
    assert numbering.encode(b"{}") == b"id: 1\ndata: {}\n\n"
    assert numbering.encode_after(b"{}", 1, "s") == b"id: 2\nafter: 1 s\ndata: {}\n\n"
    assert numbering.encode_end("over\nand out") == b"id: 3\nend: over and out\n\n"
    assert numbering.last == 3


@pytest.mark.parametrize("seen", range(12))
def test_what_is_after_an_event_is_found_in_a_chunk(seen: int) -> None:
    numbers = [2, 3, 5, 10, 11]
    tricky = b'{"x":"\\n\\nid: 99\\n"}'
    events = [event_after(n, tricky, 1, "s") if n == 5 else event(n, tricky) for n in numbers]
    chunk = b"".join(events)
    assert last_number(chunk) == 11
    assert last_number(events[0]) == 2
    left = [each for n, each in zip(numbers, events, strict=True) if n > seen]
    assert events_after(chunk, seen) == b"".join(left)


@pytest.mark.parametrize(
    ("session", "fits"),
    [("s-1", True), ("\u00fc", True), ("a\nb", False), ("", False), (" a", False)],
)
def test_a_session_is_named_if_it_fits_into_a_line(session: str, fits: bool) -> None:
    assert fits_in_field(session) is fits
