"""Errors for frames that are not parsed: too deep, too long, not UTF-8, not JSON."""

from __future__ import annotations

import json
import tracemalloc
from typing import Literal

import pytest

from parley.rpc._codec import MAX_DEPTH, decode, encode_notification
from parley.rpc._framing import OversizedFrame
from parley.rpc._message import Id, Malformed, Notification

BOM = b"\xef\xbb\xbf"


def malformed(frame: bytes) -> Malformed:
    message = decode(frame)
    assert isinstance(message, Malformed)
    return message


def verdict(frame: bytes) -> tuple[str, Id, bool]:
    message = malformed(frame)
    return message.role, message.id, message.is_json


@pytest.mark.parametrize(
    "frame",
    [
        b"\xff",
        b"\xff\xfe{\x00}\x00",
        b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xc3"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\xed\xa0\x80"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","skipped":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","method":"m","params":"' + b"x" * (1 << 20) + b'\xff"}',
        b'{"jsonrpc":"2.0","method":"m"}\xc3',
    ],
)
def test_invalid_utf8_anywhere_is_not_json(frame: bytes) -> None:
    assert malformed(frame) == Malformed("request", "not UTF-8", is_json=False)


def test_a_character_across_two_looked_at_pieces_is_valid() -> None:
    for shift in range(4):
        text = "x" * ((1 << 20) - 41 - shift) + "😀é"
        frame = encode_notification("m", json.dumps(text, ensure_ascii=False).encode())
        assert isinstance(decode(frame), Notification)


def nested(depth: int, *, opening: bytes = b"[", closing: bytes = b"]", head: bytes = b"") -> bytes:
    """A message of a given depth: the envelope is the first level."""
    start = head or b'"method":"m","params":'
    inner = opening * (depth - 1) + b"1" + closing * (depth - 1)
    return b'{"jsonrpc":"2.0",%b%b}' % (start, inner)


@pytest.mark.parametrize("brackets", [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth_is_refused_from_the_first_level_beyond_the_limit(
    brackets: tuple[bytes, bytes],
) -> None:
    opening, closing = brackets
    for depth in (MAX_DEPTH - 1, MAX_DEPTH):
        frame = nested(depth, opening=opening, closing=closing)
        assert isinstance(decode(frame), Notification)
    for depth in (MAX_DEPTH + 1, 2 * MAX_DEPTH, 100_000):
        message = malformed(nested(depth, opening=opening, closing=closing))
        assert message.problem == f"a message nested deeper than {MAX_DEPTH} levels"


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_frame_that_is_too_long_to_be_measured_is_stopped_by_the_parser(opening: bytes) -> None:
    message = malformed(b'{"jsonrpc":"2.0","id":5,"method":"m","params":' + opening * 2_000_000)
    assert message.problem == f"a message nested much deeper than {MAX_DEPTH} levels"
    assert (message.role, message.id) == ("request", 5)


def test_depth_is_told_from_what_is_not_json_also_in_an_array_and_after_a_bom() -> None:
    deep = b"[" * 1_000_000 + b"]" * 1_000_000
    assert malformed(deep) == Malformed("request", "a batch nested too deeply")
    message = malformed(BOM + b'{"jsonrpc":"2.0","id":5,"result":%b}' % deep)
    assert message == Malformed("response", "a message nested too deeply", 5)


def test_arrays_and_objects_count_alike_and_a_limit_can_be_chosen() -> None:
    for pairs, is_refused in ((4, False), (5, True)):
        frame = nested(pairs + 1, opening=b'[{"a":', closing=b"}]")
        assert isinstance(decode(frame, max_depth=9), Malformed) is is_refused


def test_brackets_that_are_never_closed_are_refused_however_many() -> None:
    assert verdict(b"[" * 100_000)[0] == "request"
    assert verdict(b'{"a":' * 100_000)[0] == "request"
    assert verdict(b"]" * 1000 + b"[" * 1000)[2] is False


@pytest.mark.parametrize("text", [b"[{" * 500, rb"\"[\"{" * 500, b"\\\\", rb"\\\"[" * 500])
def test_brackets_inside_strings_are_not_counted(text: bytes) -> None:
    many = b",".join([b'["%b"]' % text] * 300)
    frame = b'{"jsonrpc":"2.0","method":"m","params":[%b]}' % many
    assert isinstance(decode(frame), Notification)


@pytest.mark.parametrize(
    ("head", "role", "id"),
    [
        (b'"id":5,"method":"m","params":', "request", 5),
        (b'"id" : "5\\n\xc3\xa9" , "method":"m","params":', "request", "5\né"),
        (b'"id":007,"method":"m","params":', "request", None),
        (b'"id":"\\q","method":"m","params":', "request", None),
        (b'"id":null,"method":"m","params":', "request", None),
        (b'"method":"m","params":', "notification", None),
        (b'"id":5,"result":', "response", 5),
        (b'"id":5,"error":', "response", 5),
        (b'"result":', "response", None),
        (b'"params":', "request", None),
    ],
)
def test_a_too_deep_message_is_identified_by_its_head(head: bytes, role: str, id: Id) -> None:
    assert verdict(nested(MAX_DEPTH + 1, head=head)) == (role, id, True)


LONG = b'"' + b"x" * 5000 + b'"'
Role = Literal["request", "response", "notification"]


@pytest.mark.parametrize("around", [(b"", b""), (BOM + b" ", b" \r")])
@pytest.mark.parametrize(
    ("line", "role", "id"),
    [
        (b'{"jsonrpc":"2.0","id":5,"method":"m","params":%b}', "request", 5),
        (b'{"id":5,"jsonrpc":"2.0","method":"m","params":%b}', "request", 5),
        (b'{"jsonrpc":"2.0","method":"m","params":%b,"id":5}', "request", 5),
        (b'{"method":"m","params":%b,"id":"5","jsonrpc":"2.0"}', "request", "5"),
        (b'{"jsonrpc":"2.0","method":"m","params":%b}', "notification", None),
        (b'{"jsonrpc":"2.0","method":"m","params":{"a":%b,"id":5}}', "notification", None),
        (b'{"jsonrpc":"2.0","id":5,"result":%b}', "response", 5),
        (b'{"jsonrpc":"2.0","result":%b,"id":5}', "response", 5),
        (b'{"jsonrpc":"2.0","id":"5","error":%b}', "response", "5"),
        (b'{"jsonrpc":"2.0","result":%b}', "response", None),
        (b'[{"jsonrpc":"2.0","id":5,"result":%b}]', "request", None),
    ],
)
def test_a_message_that_is_too_long_is_identified_by_its_ends(
    line: bytes, role: Role, id: Id, around: tuple[bytes, bytes]
) -> None:
    text = around[0] + line % LONG + around[1]
    problem = "a message longer than 4000 bytes"
    assert decode(OversizedFrame(text, text, 4000)) == Malformed(role, problem, id)


def test_too_long_a_line_is_never_taken_for_the_message_it_begins_with() -> None:
    for line in (b'{"jsonrpc":"2.0","id":5,"method":"m"}', b'{"jsonrpc":"2.0","method":"m"}'):
        assert isinstance(decode(OversizedFrame(line, line, 20)), Malformed)
    cut = '{"jsonrpc":"2.0","id":5,"result":"é'.encode()[:-1]
    assert decode(OversizedFrame(cut, b"", 20)) == Malformed(
        "response", "a message longer than 20 bytes", 5
    )


@pytest.mark.parametrize("line", [b" " * 2000, b"x" * 2000, b"2026-11-15 \xff" + b"-" * 2000])
def test_too_long_a_line_that_begins_as_no_message_is_reported_as_not_json(line: bytes) -> None:
    assert verdict(OversizedFrame(line, line, 1999)) == ("request", None, False)


@pytest.mark.parametrize("broken", [b'"\xff"}', b"{bad}}", b'"'])
def test_a_reply_that_cannot_be_parsed_still_names_its_call(broken: bytes) -> None:
    for head in (b'{"jsonrpc":"2.0","id":5,"result":', b'{"id":5,"error":'):
        assert verdict(head + broken) == ("response", 5, False)


@pytest.mark.parametrize("part", [b'["",', b'["["', b"[[]", b'"\\n"', b"[" * 99 + b"]" * 99])
def test_the_depth_is_found_without_a_copy_of_every_part(part: bytes) -> None:
    frame = b'{"jsonrpc":"2.0","method":"m","params":[' + part * (600_000 // len(part))
    tracemalloc.start()
    try:
        decode(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * len(frame)
