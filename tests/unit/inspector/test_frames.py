"""Frames as rows: matching, folding, latency, flags and summaries."""

from __future__ import annotations

from typing import Any

import pytest
from tests.work_counting import count_calls

from parley.inspector._row import Flag
from parley.inspector._sources import InspectedRecording

from .inspected import (
    HANDSHAKE,
    STEP_SECONDS,
    Frame,
    chunk,
    header,
    inspected,
    prompt,
    record,
    records,
    rows_of,
    update,
)

PERMISSION = {
    "id": 1,
    "method": "session/request_permission",
    "params": {
        "sessionId": "s",
        "toolCall": {"toolCallId": "t", "title": "rm -r /"},
        "options": [{"optionId": "no", "name": "No", "kind": "reject_once"}],
    },
}
DECISION = {"id": 1, "result": {"outcome": {"outcome": "selected", "optionId": "no"}}}
END = {"id": 1, "result": {"stopReason": "end_turn"}}


def test_requests_and_responses_are_matched_though_both_sides_use_the_same_ids() -> None:
    rows = rows_of(
        *HANDSHAKE,
        ("client", prompt()),
        ("agent", PERMISSION),
        ("client", DECISION),
        ("agent", END),
    )
    assert [(row.method, row.match) for row in rows[2:]] == [
        ("session/prompt", 6),
        ("session/request_permission", 5),
        ("session/request_permission", 4),
        ("session/prompt", 3),
    ]
    assert [row.latency for row in rows[2:]] == [
        3 * STEP_SECONDS, STEP_SECONDS, STEP_SECONDS, 3 * STEP_SECONDS
    ]  # fmt: skip
    assert {row.session for row in rows[2:]} == {"s"}
    assert [row.summary for row in rows[2:]] == ["hi", "rm -r /", "selected no", "end_turn"]
    assert not any(row.flags for row in rows)


def test_the_request_that_opens_a_session_belongs_to_it() -> None:
    new = {"id": 1, "method": "session/new", "params": {"cwd": "/work"}}
    rows = rows_of(("client", new), ("agent", {"id": 1, "result": {"sessionId": "s"}}))
    assert [row.session for row in rows] == ["s", "s"]


def test_a_response_to_nothing_has_no_match() -> None:
    (row,) = rows_of(("agent", END))
    assert (row.kind, row.method, row.match, row.latency) == ("response", "", 0, None)


def test_a_number_and_a_string_are_different_ids() -> None:
    rows = rows_of(("client", prompt(1)), ("agent", {"id": "1", "result": 5}))
    assert [row.match for row in rows] == [0, 0]
    assert [row.id for row in rows] == ["1", '"1"']


def test_a_request_is_unanswered_until_its_response_arrives_and_then_has_changed() -> None:
    path = record(("client", prompt()))
    recording = InspectedRecording(path)
    recording.read_all()
    (row,) = recording.table.rows
    assert row.flags == Flag.UNANSWERED
    assert recording.table.changes == []
    with path.open("ab") as file:
        file.write(records(("agent", END)))
    recording.read_all()
    assert row.flags == 0
    assert recording.table.changes == [1]
    recording.close()


def test_chunks_without_an_id_are_one_message_until_another_update_of_the_session() -> None:
    rows = rows_of(
        ("agent", chunk("one ")),
        ("agent", chunk("elsewhere", session="other")),
        ("agent", chunk(" two")),
        ("agent", chunk("thinking", "agent_thought_chunk")),
        ("agent", chunk("three")),
        ("agent", update("tool_call", toolCallId="t", title="Read")),
        ("agent", chunk("four")),
    )
    assert [row.message for row in rows] == [1, 2, 1, 4, 5, 0, 7]
    assert [row.chunks for row in rows] == [2, 1, 0, 1, 1, 0, 1]
    assert rows[0].summary == "one two"


def test_chunks_with_an_id_are_one_message_wherever_they_are() -> None:
    rows = rows_of(
        ("agent", chunk("a", messageId="1")),
        ("agent", update("tool_call", toolCallId="t", title="Read")),
        ("agent", chunk("x", messageId="2")),
        ("agent", chunk("b", messageId="1")),
    )
    assert [row.message for row in rows] == [1, 0, 3, 1]
    assert rows[0].summary == "ab"


def test_a_prompt_and_its_response_end_a_message() -> None:
    rows = rows_of(
        ("agent", chunk("a")), ("client", prompt()), ("agent", chunk("b")), ("agent", END),
        ("agent", chunk("c")),
    )  # fmt: skip
    assert [row.message for row in rows] == [1, 0, 3, 0, 5]


def test_the_summary_of_a_long_message_is_bounded() -> None:
    rows = rows_of(*(("agent", chunk("word ")) for _ in range(500)))
    assert len(rows[0].summary) == 200
    assert rows[0].chunks == 500


def test_cancelled_prompts_and_their_responses_stand_out() -> None:
    rows = rows_of(
        ("client", prompt()),
        ("client", {"method": "session/cancel", "params": {"sessionId": "s"}}),
        ("agent", {"id": 1, "result": {"stopReason": "cancelled"}}),
        ("client", prompt(2)),
        ("agent", {"id": 2, "result": {"stopReason": "end_turn"}}),
    )
    assert [bool(row.flags & Flag.CANCELLED) for row in rows] == [True, False, True, False, False]


def test_a_cancelled_request_stands_out() -> None:
    cancel = {"method": "$/cancel_request", "params": {"requestId": 1}}
    refused = {"id": 1, "error": {"code": -32800, "message": "cancelled"}}
    rows = rows_of(("agent", PERMISSION), ("agent", cancel), ("client", refused))
    assert [bool(row.flags & Flag.CANCELLED) for row in rows] == [True, False, True]


def test_a_request_that_waits_for_nobody_is_slow_after_a_second() -> None:
    quiet: list[Frame] = [("stderr", b"x\n")] * 5
    read = {"id": 1, "method": "fs/read_text_file", "params": {"sessionId": "s", "path": "/a"}}
    rows = rows_of(("agent", read), *quiet, ("client", {"id": 1, "result": {"content": ""}}))
    assert [rows[0].flags, rows[-1].flags] == [Flag.SLOW, Flag.SLOW]
    rows = rows_of(("client", prompt()), *quiet, ("agent", END))
    assert [rows[0].flags, rows[-1].flags] == [0, 0]


@pytest.mark.parametrize(
    ("source", "content", "kind", "flags"),
    [
        ("agent", {"id": 1, "error": {"code": -1, "message": "no"}}, "error", Flag.ERROR),
        ("agent", update("tool_call_update", toolCallId="t", status="failed"), "notification",
         Flag.ERROR),
        ("agent", b"Welcome!\n", "invalid", Flag.INVALID),
        ("agent", b"\xff\xfe\n", "invalid", Flag.INVALID),
        ("agent", b"12\n", "invalid", Flag.INVALID),
        ("agent", b"[]\n", "batch", Flag.INVALID),
        ("agent", b'{"jsonrpc":"2.0","id":1}\n', "invalid", Flag.INVALID),
        ("agent", b'{"jsonrpc":"2.0","id":1,"result":1,"error":{}}\n', "invalid", Flag.INVALID),
        ("agent", b"[" * 100_000 + b"\n", "invalid", Flag.INVALID),
        ("stderr", b"a warning\n", "text", 0),
        ("event", {"event": "exited", "code": 0}, "event", 0),
        ("event", {"event": "exited", "code": 3}, "event", Flag.ERROR),
        ("event", {"event": "exited", "signal": "SIGKILL"}, "event", Flag.ERROR),
        ("event", {"event": "lost", "source": "agent", "size": 9}, "event", Flag.ERROR),
    ],
)  # fmt: skip
def test_what_is_wrong_stands_out(source: str, content: Any, kind: str, flags: int) -> None:
    (row,) = rows_of((source, content))
    assert (row.kind, row.flags) == (kind, flags)


def test_a_frame_that_violates_the_schema_stands_out() -> None:
    wrong = {"id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": "hi"}}
    empty: dict[str, Any] = {"id": 1, "result": {}}
    rows = rows_of(*HANDSHAKE, ("client", wrong), ("agent", empty))
    assert [bool(row.flags & Flag.INVALID) for row in rows] == [False, False, True, True]


def test_without_a_negotiated_version_nothing_but_initialize_is_checked() -> None:
    strange = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1, "clientInfo": 5}}
    wrong: dict[str, Any] = {"id": 1, "method": "session/prompt", "params": {}}
    rows = rows_of(("client", strange), ("client", wrong))
    assert [bool(row.flags & Flag.INVALID) for row in rows] == [True, False]


def test_the_messages_of_a_batch_have_rows_and_places_of_their_own() -> None:
    with inspected(("client", b'[ {"id":1,"method":"a"}, {"method":"b"} ,3]\n')) as recording:
        rows = recording.table.rows
        assert [(row.kind, row.batch) for row in rows] == [
            ("batch", 0), ("request", 1), ("notification", 1), ("invalid", 1)
        ]  # fmt: skip
        assert [recording.data(row.number) for row in rows[1:]] == [
            b'{"id":1,"method":"a"}', b'{"method":"b"}', b"3"
        ]  # fmt: skip


def test_a_frame_is_read_from_the_file() -> None:
    first, second = chunk("a"), chunk("b")
    with inspected(("agent", first), ("stderr", b"\nx\n"), ("agent", second)) as recording:
        found = [recording.data(row.number) for row in recording.table.rows]
        assert found[1] == b"x"
        assert found[2].endswith(b'"text":"b"}}}}')
        assert recording.data(3, 1, 9) == b'"jsonrpc"'


def test_a_recording_that_is_cut_off_or_damaged_is_read_as_far_as_possible() -> None:
    path = record(("agent", chunk("a")), ("agent", chunk("b")))
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    recording = InspectedRecording(path)
    recording.read_all()
    assert (len(recording.table.rows), recording.problem) == (1, None)
    recording.close()
    path.write_bytes(whole + b"rubbish\n")
    recording = InspectedRecording(path)
    recording.read_all()
    assert len(recording.table.rows) == 2
    assert recording.problem == f"the recording is damaged at byte {len(whole)}"
    recording.close()


def test_rows_are_the_same_in_whatever_pieces_a_recording_arrives() -> None:
    frames = (*HANDSHAKE, ("client", prompt()), ("agent", chunk("a")), ("agent", chunk("b")))
    expected = rows_of(*frames)
    path = record()
    recording = InspectedRecording(path)
    data = records(*frames)
    with path.open("ab", buffering=0) as file:
        for start in range(0, len(data), 7):
            file.write(data[start : start + 7])
            recording.read_all()
    assert recording.table.rows == expected
    assert path.read_bytes() == header() + data
    recording.close()


def test_the_work_for_a_frame_does_not_grow_with_the_recording() -> None:
    few = count_calls(lambda: rows_of(*(("agent", chunk("a")) for _ in range(200))))
    many = count_calls(lambda: rows_of(*(("agent", chunk("a")) for _ in range(2000))))
    assert many < 11 * few
