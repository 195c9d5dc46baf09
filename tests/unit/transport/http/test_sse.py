from __future__ import annotations

import pytest

from parley.transport.http.app.sse import behind, can_be_named, event, event_after, last_number


def test_an_event_is_an_id_and_one_line_of_data() -> None:
    assert event(7, b'{"a":1}') == b'id: 7\ndata: {"a":1}\n\n'
    assert event(7, b'{\r\n"a": 1}\n') == b'id: 7\ndata: {  "a": 1} \n\n'
    assert event_after(8, b"{}", 7, "s 1") == b"id: 8\nafter: 7 s 1\ndata: {}\n\n"


@pytest.mark.parametrize("seen", range(12))
def test_what_is_behind_an_event_is_found_in_a_piece(seen: int) -> None:
    numbers = [2, 3, 5, 10, 11]
    tricky = b'{"x":"\\n\\nid: 99\\n"}'
    events = [event_after(n, tricky, 1, "s") if n == 5 else event(n, tricky) for n in numbers]
    piece = b"".join(events)
    assert last_number(piece) == 11
    assert last_number(events[0]) == 2
    left = [each for n, each in zip(numbers, events, strict=True) if n > seen]
    assert behind(piece, seen) == b"".join(left)


@pytest.mark.parametrize(
    ("session", "can"),
    [("s-1", True), ("\u00fc", True), ("a\nb", False), ("", False), (" a", False)],
)
def test_a_session_is_named_if_it_fits_into_a_line(session: str, can: bool) -> None:
    assert can_be_named(session) is can
