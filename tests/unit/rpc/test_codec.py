"""Which frame is which message, what is wrong with those that are none, how ours are written."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw

from parley.rpc._codec import (
    MAX_BATCH,
    decode,
    decode_notification,
    encode_batch,
    encode_failure,
    encode_notification,
    encode_request,
    encode_success,
    find_message,
)
from parley.rpc._message import (
    ABSENT,
    Batch,
    ErrorObject,
    Failure,
    Id,
    Malformed,
    Message,
    Notification,
    Request,
    Success,
)

IDS: list[Id] = [7, "7", "", "é", 0, -1, 2**53 + 1, -(2**63), 2**63 - 1, 2**64, 10**40, None]
BOM = b"\xef\xbb\xbf"


def malformed(frame: bytes | bytearray) -> Malformed:
    message = decode(frame)
    assert isinstance(message, Malformed)
    return message


def verdict(frame: bytes) -> tuple[str, Id, bool]:
    message = malformed(frame)
    return message.role, message.id, message.is_json


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m"}', Request(1, "m", ABSENT)),
        (b'{"method":"m","params":[ 1],"jsonrpc":"2.0","id":1}', Request(1, "m", Raw(b"[ 1]"))),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","result":{}}', Request(1, "m")),
        (b'{"jsonrpc":"2.0","method":"m"}', Notification("m")),
        (b'{"jsonrpc":"2.0","method":"m","params":null}', Notification("m", Raw(b"null"))),
        (b'{"jsonrpc":"2.0","method":"m","zzz":{"a":[1]}}', Notification("m")),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', Success(1, Raw(b"null"))),
        (b'{"jsonrpc":"2.0","id":1,"result":{"a":1}}', Success(1, Raw(b'{"a":1}'))),
        (
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}',
            Failure(1, ErrorObject(-1, "no")),
        ),
        (
            b'{"jsonrpc":"2.0","id":null,"error":{"code":5,"message":"","data":[ ],"x":1}}',
            Failure(None, ErrorObject(5, "", Raw(b"[ ]"))),
        ),
    ],
)
def test_the_members_tell_what_a_message_is(frame: bytes, message: Message) -> None:
    assert decode(frame) == message
    assert decode(bytearray(frame)) == message


@pytest.mark.parametrize("id", IDS, ids=repr)
def test_an_id_keeps_its_value_and_its_type(id: Id) -> None:
    for frame in (
        encode_request(id, "m", None),
        encode_success(id, b"{}"),
        encode_failure(id, ErrorObject(1, "no")),
    ):
        message = decode(frame)
        assert isinstance(message, Request | Success | Failure)
        assert message.id == id
        assert type(message.id) is type(id)


@pytest.mark.parametrize("id", ["1.5", "1.0", "1e2", "true", "{}", "[]", "[7]", "1" * 5000])
def test_an_id_of_another_type_is_refused(id: str) -> None:
    frame = b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % id.encode()
    assert malformed(frame) == Malformed("request", "id is neither a string nor an integer")
    reply = b'{"jsonrpc":"2.0","id":%b,"result":{}}' % id.encode()
    assert verdict(reply) == ("response", None, True)


@pytest.mark.parametrize("space", [b"", b" ", b"\t", b"\r", b"\r\n", BOM, b" " + BOM + b"\r\n"])
def test_a_blank_frame_is_nothing(space: bytes) -> None:
    assert decode(space) is None


@pytest.mark.parametrize("before", [b"", b" \t\r\n", BOM, b" " + BOM, BOM + b" "])
@pytest.mark.parametrize("after", [b"", b"\r", b" \t\r\n"])
def test_a_bom_and_white_space_around_a_message_are_skipped(before: bytes, after: bytes) -> None:
    request = b'{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert decode(before + request + after) == Request(1, "m")
    assert decode(before + b"[" + request + b"]" + after) == Batch((Request(1, "m"),))


NOT_JSON = [
    b"{bad",
    b"hello",
    b"{",
    b'{"jsonrpc":"2.0","id":1,"method":"m"',
    b'{"jsonrpc":"2.0","id":1,"method":"m"} x',
    b'{"jsonrpc":"2.0","id":01,"method":"m"}',
    b'{"jsonrpc":"2.0","method":"m","params":NaN}',
    b'{"jsonrpc":"2.0","method":"m","params":[Infinity]}',
    b'{"jsonrpc":"2.0","method":"m","params":{"a":1,}}',
    b'{"jsonrpc":"2.0","method":"m","params":"\\x"}',
    b'{"jsonrpc":"2.0","method":"m","params":"\\u12"}',
    b'{"jsonrpc":"2.0","method":"m","params":"\x01"}',
    b"[",
    b"[1,]",
    b'[{"jsonrpc":"2.0","method":"m"}',
    b"[INFO] starting",
    b"\x00",
    b"\x1b[2J",
]


@pytest.mark.parametrize("frame", NOT_JSON)
def test_what_is_not_json_is_reported_as_such(frame: bytes) -> None:
    assert malformed(frame) == Malformed("request", "not JSON", is_json=False)


@pytest.mark.parametrize("frame", [b"42", b'"x"', b"null", b"true", b"-1.5e3"])
def test_a_scalar_is_json_but_no_message(frame: bytes) -> None:
    assert malformed(frame) == Malformed("request", "not an object")


@pytest.mark.parametrize(
    ("frame", "role", "id"),
    [
        (b"{}", "request", None),
        (b'{"jsonrpc":"2.0"}', "request", None),
        (b'{"jsonrpc":"1.0","id":5,"method":"m"}', "request", 5),
        (b'{"jsonrpc":2.0,"id":5,"method":"m"}', "request", 5),
        (b'{"id":"5","method":"m"}', "request", "5"),
        (b'{"id":[],"method":"m"}', "request", None),
        (b'{"jsonrpc":"2.0","id":5,"method":7}', "request", 5),
        (b'{"jsonrpc":"2.0","id":5,"method":null}', "request", 5),
        (b'{"jsonrpc":"2.0","method":1,"params":"bar"}', "request", None),
        (b'{"jsonrpc":"2.0","id":true}', "request", None),
        (b'{"jsonrpc":"1.0","method":"m"}', "notification", None),
        (b'{"method":"m","params":{}}', "notification", None),
        (b'{"jsonrpc":"2.0","id":5}', "unclear", 5),
        (b'{"jsonrpc":"2.0","id":null}', "unclear", None),
        (b'{"jsonrpc":"1.0","id":5}', "unclear", 5),
        (b'{"id":5}', "unclear", 5),
        (b'{"jsonrpc":"2.0","result":{}}', "response", None),
        (b'{"jsonrpc":"2.0","error":{"code":1,"message":""}}', "response", None),
        (b'{"id":5,"result":{}}', "response", 5),
        (b'{"id":5,"error":{"code":1,"message":""}}', "response", 5),
        (b'{"jsonrpc":"2.0","id":5,"result":1,"error":{"code":1,"message":""}}', "response", 5),
        (b'{"jsonrpc":"2.0","id":5,"result":1,"error":null}', "response", 5),
        (b'{"jsonrpc":"2.0","id":5,"error":null}', "response", 5),
        (b'{"jsonrpc":"2.0","id":5,"error":"no"}', "response", 5),
        (b'{"jsonrpc":"2.0","id":5,"error":{"code":"1","message":""}}', "response", 5),
        (b'{"jsonrpc":"2.0","id":5,"error":{"code":1.5,"message":""}}', "response", 5),
        (b'{"jsonrpc":"2.0","id":5,"error":{"code":1}}', "response", 5),
        (b'{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":7}}', "response", 5),
    ],
)
def test_json_that_is_no_message_says_what_it_would_have_been(
    frame: bytes, role: str, id: Id
) -> None:
    assert verdict(frame) == (role, id, True)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}', Request(2, "b")),
        (b'{"jsonrpc":"1.0","jsonrpc":"2.0","id":1,"method":"m"}', Request(1, "m")),
        (b'{"jsonrpc":"2.0","id":{},"id":1,"method":5,"method":"m"}', Request(1, "m")),
        (b'{"jsonrpc":"1.0","jsonrpc":"2.0","id":1,"result":[ ]}', Success(1, Raw(b"[ ]"))),
        (b'{"jsonrpc":"2.0","method":"m","params":1,"params":2}', Notification("m", Raw(b"2"))),
        (
            b'{"jsonrpc":"2.0","jsonrpc":"1.0","id":1,"method":"m"}',
            Malformed("request", "jsonrpc is not 2.0", 1),
        ),
    ],
)
def test_of_duplicate_keys_the_last_one_counts(frame: bytes, message: Message) -> None:
    assert decode(frame) == message


@pytest.mark.parametrize(
    ("escaped", "read"),
    [
        (rb"\ud83d", "\ufffd"),
        (rb"\ude00", "\ufffd"),
        (rb"a\uD83Db\udE00c", "a\ufffdb\ufffdc"),
        (rb"\ud83d\ud83d\ude00", "\ufffd😀"),
        (rb"\ude00\ud83d", "\ufffd\ufffd"),
        (rb"\\\ud83d", "\\\ufffd"),
        (rb"\\ud83d\ude00", "\\ud83d\ufffd"),
        (rb"\n\"\u00e9\uD7ff\ud83d", '\n"é\ud7ff\ufffd'),
    ],
)
def test_a_lone_surrogate_reads_as_the_replacement_character(escaped: bytes, read: str) -> None:
    message = decode(b'{"jsonrpc":"2.0","method":"m","params":["%b"]}' % escaped)
    assert isinstance(message, Notification)
    assert json.loads(bytes(message.params)) == [read]


def test_whole_surrogate_pairs_and_escaped_backslashes_stay_as_they_are() -> None:
    raw = rb'["\ud83d\ude00","\\ud83d"]'
    message = decode(b'{"jsonrpc":"2.0","method":"m","params":%b}' % raw)
    assert message == Notification("m", Raw(raw))
    assert verdict(b'{"jsonrpc":"2.0","method":"m","params":"\\ud83d\\q"}') == (
        "request",
        None,
        False,
    )


def test_an_array_is_a_batch_with_each_entry_read_for_itself() -> None:
    batch = decode(
        b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},17,[],null,'
        b'{"jsonrpc":"2.0","id":2,"result":1},{"jsonrpc":"2.0","id":1.5,"method":"c"}]'
    )
    assert isinstance(batch, Batch)
    assert batch.items == (
        Request(1, "a"),
        Notification("b"),
        Malformed("request", "not an object"),
        Malformed("request", "not an object"),
        Malformed("request", "not an object"),
        Success(2, Raw(b"1")),
        Malformed("request", "id is neither a string nor an integer"),
    )


def test_an_empty_array_is_no_batch() -> None:
    for frame in (b"[]", b" [ ] \r"):
        assert malformed(frame) == Malformed("request", "an empty batch")


def test_an_array_may_have_so_many_entries_and_no_more() -> None:
    batch = decode(b"[%b]" % b",".join([b"1"] * MAX_BATCH))
    assert isinstance(batch, Batch)
    assert len(batch.items) == MAX_BATCH
    message = malformed(b"[%b]" % b",".join([b"1"] * (MAX_BATCH + 1)))
    assert message == Malformed("request", f"a batch of more than {MAX_BATCH} entries")


@pytest.mark.parametrize(
    "frame",
    [
        b"[" + b"1," * 500_000 + b"1]",
        b'{"method":"m",' + b",".join(b'"%d":1' % number for number in range(100_000)) + b"}",
        b'{"jsonrpc":"2.0","id":1,"method":[' + b"1," * 500_000 + b"1]}",
        b'{"jsonrpc":"2.0","id":1,"method":"\\ud83d' + b"\\n" * 500_000 + b'","x":1',
    ],
)
def test_what_is_wrong_is_found_without_a_copy_of_every_part(frame: bytes) -> None:
    decode(b"[1]")
    tracemalloc.start()
    try:
        message = decode(frame)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(message, Malformed)
    assert peak < 4 * len(frame)


def test_a_message_is_found_after_other_bytes_on_its_line() -> None:
    request = b'{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert find_message(b"\x1b[0m" + request) == Request(1, "m")
    assert find_message(b"\xff\xfe " + request + b"\r") == Request(1, "m")


@pytest.mark.parametrize(
    "frame",
    [
        b"a banner",
        b'log {"a":1}',
        b'log {"jsonrpc":"2.0","id":5}',
        b'log {"jsonrpc":"2.0","method":"m"',
        b'{"jsonrpc":"2.0","method":"m"}',
    ],
)
def test_no_message_is_found_where_there_is_none_after_anything(frame: bytes) -> None:
    assert find_message(frame) is None


def test_a_message_after_other_bytes_keeps_to_the_same_depth() -> None:
    frame = b'x {"jsonrpc":"2.0","method":"m","params":[[[[[[[[]]]]]]]]}'
    assert find_message(frame, max_depth=9) is not None
    assert find_message(frame, max_depth=8) is None


def test_the_usual_notification_is_read_in_one_step_and_nothing_else() -> None:
    frame = b'{"jsonrpc":"2.0","method":"m","params":[ 1]}'
    assert decode_notification(frame) == decode(frame) == Notification("m", Raw(b"[ 1]"))
    for other in (b'{"jsonrpc":"2.0","method":"m","id":1}', b'{"jsonrpc":"1.0","method":"m"}'):
        with pytest.raises(msgspec.ValidationError):
            decode_notification(other)


def test_messages_are_written_as_json_rpc_wants_them() -> None:
    written: list[tuple[bytes, Any]] = [
        (encode_notification("m", None), {"method": "m"}),
        (encode_notification("a/é", b"[1]"), {"method": "a/é", "params": [1]}),
        (encode_request(1, "m", None), {"id": 1, "method": "m"}),
        (encode_request("x", "m", b"{}"), {"id": "x", "method": "m", "params": {}}),
        (encode_success(None, b"null"), {"id": None, "result": None}),
        (
            encode_failure(1, ErrorObject(-5, "no", Raw(b'{"a":1}'))),
            {"id": 1, "error": {"code": -5, "message": "no", "data": {"a": 1}}},
        ),
        (
            encode_failure(1, ErrorObject(-5, "no")),
            {"id": 1, "error": {"code": -5, "message": "no"}},
        ),
    ]
    for frame, members in written:
        assert json.loads(frame) == {"jsonrpc": "2.0", **members}


def test_what_the_result_holds_is_written_byte_for_byte() -> None:
    assert encode_success(1, b'{"a": 1.50}') == b'{"jsonrpc":"2.0","id":1,"result":{"a": 1.50}}'


@pytest.mark.parametrize(
    ("message", "written"),
    [("two\nlines", "two lines"), (" a\r\n\tb\u2028c ", "a b c"), ("bad\udcff", "bad?")],
)
def test_the_text_of_an_error_is_one_line_that_can_be_written(message: str, written: str) -> None:
    frame = encode_failure(1, ErrorObject(1, message))
    assert b"\n" not in frame
    assert decode(frame) == Failure(1, ErrorObject(1, written, UNSET))


def test_several_frames_are_written_as_one_array() -> None:
    frames = [encode_success(1, b"{}"), encode_success("1", b"[]")]
    batch = Batch((Success(1, Raw(b"{}")), Success("1", Raw(b"[]"))))
    assert decode(encode_batch(frames)) == batch


def test_more_method_names_than_are_remembered_are_written_too() -> None:
    for number in range(1100):
        assert decode(encode_notification(f"m{number}", None)) == Notification(f"m{number}")
