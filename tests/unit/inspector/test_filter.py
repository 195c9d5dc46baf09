"""The filter language."""

from __future__ import annotations

import pytest
from tests.work_counting import count_calls

from parley.inspector._filter import Filter, FilterError, ranges

from .inspected import HANDSHAKE, Frame, chunk, inspected, prompt, update

FRAMES: list[Frame] = [
    *HANDSHAKE,
    ("client", prompt(text="Grüße, Ada")),
    ("agent", chunk("Hello <world>")),
    ("agent", update("tool_call_update", toolCallId="t", status="failed")),
    ("stderr", b"a Warning\n"),
    ("agent", {"id": 1, "result": {"stopReason": "end_turn"}}),
    ("client", prompt(2, session="other", text='say "quoted" \n words')),
    ("event", {"event": "exited", "code": 1}),
]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("method:prompt", [3, 7, 8]),
        ("method:PROMPT kind:response", [7]),
        ("method:prompt kind:response kind:request", [3, 7, 8]),
        ("-method:prompt", [1, 2, 4, 5, 6, 9]),
        ("session:other", [8]),
        ("update:chunk", [4]),
        ("from:stderr", [6]),
        ("from:event from:stderr", [6, 9]),
        ("id:0", [1, 2]),
        ("is:error", [5, 9]),
        ("is:unanswered", [8]),
        ("is:error is:unanswered", [5, 8, 9]),
        ("-is:error from:agent", [2, 4, 7]),
        ("WARNING", [6]),
        ("grüße", [3]),
        ("hello world", [4]),
        ("hello <world>", [4]),
        ('"hello <world>"', [4]),
        ("hello -world", []),
        ('-"hello" update:agent', []),
        ("session/prompt end_turn", [7]),
        ('say \\"quoted', [8]),
        ("exit code", [9]),
    ],
)
def test_a_filter_selects_rows(text: str, numbers: list[int]) -> None:
    with inspected(*FRAMES) as recording:
        assert Filter(text).numbers(recording.table.rows, recording.data) == numbers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("metod:x", 'metod: is unknown; use method:, session:, update:, from:, kind:, is:, id: or '
         'quotes, as in "metod:x"'),
        ("is:bad", "is:bad is unknown; use one of error, slow, cancelled, unanswered, invalid"),
        ("from:me", "from:me is unknown; use one of client, agent, stderr, event"),
        ("x" * 1001, "the filter is longer than 1000 characters"),
    ],
)  # fmt: skip
def test_a_filter_with_a_mistake_is_explained(text: str, message: str) -> None:
    with pytest.raises(FilterError) as error:
        Filter(text)
    assert str(error.value) == message


def test_an_address_is_text() -> None:
    with inspected(("agent", chunk("see https://example.com/"))) as recording:
        rows = recording.table.rows
        assert Filter("https://example.com").numbers(rows, recording.data) == [1]


def test_frames_are_read_only_for_text() -> None:
    def read(_number: int) -> bytes:
        raise AssertionError("a frame was read")

    with inspected(*FRAMES) as recording:
        Filter("method:prompt is:error").numbers(recording.table.rows, read)


def test_a_filter_without_text_does_little_for_a_row() -> None:
    with inspected(*(("agent", chunk("x")) for _ in range(1000))) as recording:
        rows = recording.table.rows
        count = count_calls(lambda: Filter("method:up").numbers(rows, recording.data))
    assert count < 4 * len(rows)


def test_numbers_are_joined_to_ranges() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == [[1, 3], [7, 7], [9, 10]]
    assert ranges([]) == []
