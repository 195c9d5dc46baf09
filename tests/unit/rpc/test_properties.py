"""Properties that hold for any bytes, any chunks, any ids and any order of events."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from parley.rpc._codec import (
    decode,
    encode_batch,
    encode_failure,
    encode_notification,
    encode_request,
    encode_success,
)
from parley.rpc._engine import (
    BatchEvents,
    Engine,
    EngineConfig,
    ErrorReply,
    IncomingRequest,
    ResponseEvent,
)
from parley.rpc._framing import (
    EDGE_BYTES,
    Frame,
    FrameSplitter,
    OversizedFrame,
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

BOM = b"\xef\xbb\xbf"
SPACE = b" \t\r\n"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
IDS: st.SearchStrategy[Id] = st.none() | TEXT | st.integers() | st.integers(-(2**63), 2**64)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=10,
)


def _raw(value: object, is_ascii: bool) -> Raw:
    return Raw(json.dumps(value, ensure_ascii=is_ascii).encode())


RAWS = st.builds(_raw, JSON, st.booleans())
ERRORS = st.builds(
    ErrorObject, st.integers(-(2**31), 2**31), TEXT.map(lambda text: " ".join(text.split())), RAWS
) | st.builds(ErrorObject, st.integers(), st.just("no"), st.just(UNSET))
MESSAGES: st.SearchStrategy[Request | Notification | Success | Failure] = st.one_of(
    st.builds(Request, IDS, TEXT, RAWS | st.just(ABSENT)),
    st.builds(Notification, TEXT, RAWS | st.just(ABSENT)),
    st.builds(Success, IDS, RAWS),
    st.builds(Failure, IDS, ERRORS),
)


def written(message: Message) -> bytes:
    match message:
        case Request(id, method, params):
            return encode_request(id, method, bytes(params) or None)
        case Notification(method, params):
            return encode_notification(method, bytes(params) or None)
        case Success(id, result):
            return encode_success(id, bytes(result))
        case Failure(id, error):
            return encode_failure(id, error)
        case Batch(items):
            return encode_batch([written(item) for item in items])
        case Malformed():
            raise AssertionError("what is malformed is never written")


# Pieces of what peers really send, so that random bytes come near to messages.
SCRAPS = st.sampled_from(
    [
        b'{"jsonrpc":"2.0",', b'"method":"m"', b'"id":', b"1", b'"1"', b"null", b"1.5", b",", b":",
        b'"result":', b'"error":', b'{"code":1,"message":""}', b'"params":', b"{", b"}", b"[", b"]",
        b'"', b"\\", rb"\ud83d", rb"\ude00", rb"\u", b"\xff", "é".encode(), b"\xef\xbb\xbf", b" ",
        b"\r", b"NaN", b"-", b"0", b"[" * 70, b"]" * 70, b'{"a":' * 70, b"x" * 200, b"\x1b[0m",
        b"\x00", b'{"jsonrpc":"2.0","id":0,"result":1}', b'{"jsonrpc":"2.0","method":"m"}',
    ]
)  # fmt: skip
LINES = st.one_of(
    MESSAGES.map(written),
    st.lists(MESSAGES, min_size=1, max_size=4).map(lambda items: written(Batch(tuple(items)))),
    st.lists(SCRAPS, max_size=12).map(b"".join),
    st.binary(max_size=40),
).map(lambda line: line.replace(b"\n", b" "))


def frames_of(pieces: list[bytes], limit_bytes: int) -> list[tuple[bytes, bytes]]:
    splitter = FrameSplitter(limit_bytes)
    frames: list[Frame] = []
    for piece in pieces:
        frames += splitter.feed(piece)
        assert splitter.pending_bytes <= max(limit_bytes, 2 * EDGE_BYTES)
    return [
        (bytes(frame), frame.tail if isinstance(frame, OversizedFrame) else b"") for frame in frames
    ]


@given(st.lists(LINES, max_size=20), st.lists(st.integers(0, 4000)), st.integers(1, 300))
def test_the_pieces_in_which_a_trace_arrives_do_not_matter(
    lines: list[bytes], cuts: list[int], limit_bytes: int
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    at_random = [stream[start:end] for start, end in pairwise(places)]
    one_by_one = [stream[at : at + 1] for at in range(len(stream))]
    for limit in (limit_bytes, 1 << 20):
        frames = frames_of([stream], limit)
        assert frames_of(one_by_one, limit) == frames
        assert frames_of(at_random, limit) == frames
        assert len(frames) == len(lines)
        for (frame, _), line in zip(frames, lines, strict=True):
            assert (frame == line) is (len(line) <= limit)


@given(st.lists(LINES, min_size=1, max_size=20), st.integers(1, 200))
@settings(max_examples=20)
def test_a_long_trace_in_pieces_of_64_kilobytes_gives_the_same_messages(
    lines: list[bytes], repeat: int
) -> None:
    stream = b"".join(line + b"\n" for line in lines) * repeat
    size = 64 * 1024
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    splitter = FrameSplitter(1 << 26)
    frames = [frame for piece in pieces for frame in splitter.feed(piece)]
    assert [bytes(frame) for frame in frames] == lines * repeat
    assert [decode(frame) for frame in frames[: len(lines)]] == [decode(line) for line in lines]


@given(LINES | st.binary(max_size=2000), st.integers(1, 200))
def test_any_bytes_give_a_message_or_say_what_is_wrong(frame: bytes, max_depth: int) -> None:
    message = decode(frame, max_depth)
    is_blank = not frame.strip(SPACE).removeprefix(BOM).strip(SPACE)
    assert (message is None) is is_blank
    assert decode(bytearray(frame), max_depth) == message
    assert isinstance(decode(OversizedFrame(frame, frame, 1)), Malformed)


@given(LINES)
def test_what_reads_as_a_message_is_json_to_others_too(frame: bytes) -> None:
    if not isinstance(message := decode(frame), Malformed | None):
        value = json.loads(frame.strip().removeprefix(BOM), parse_constant=_no_constant)
        assert isinstance(value, list) is isinstance(message, Batch)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


@given(MESSAGES)
def test_a_message_that_is_written_and_read_is_the_same(message: Message) -> None:
    frame = written(message)
    assert b"\n" not in frame
    assert decode(frame) == message


@given(st.lists(MESSAGES, min_size=1, max_size=5).map(tuple))
def test_an_array_that_is_written_and_read_is_the_same(items: Any) -> None:
    assert decode(written(Batch(items))) == Batch(items)


@given(IDS)
def test_a_response_repeats_the_id_with_its_value_and_its_type(id: Id) -> None:
    engine: Engine[int] = Engine()
    call = engine.receive(encode_request(id, "m", None))
    assert isinstance(call, IncomingRequest)
    frame = engine.respond(call, b"{}")
    assert frame is not None
    response = json.loads(frame)["id"]
    assert response == id
    assert type(response) is type(id)


@pytest.mark.requirement("SAFE-WIRE-01")
@given(st.lists(LINES, max_size=10), st.booleans())
def test_any_frames_leave_the_conversation_alive(lines: list[bytes], skips_noise: bool) -> None:
    engine: Engine[str] = Engine(EngineConfig(skips_noise=skips_noise))
    id, _ = engine.send_request("m", None, "ours")
    for line in lines:
        event = engine.receive(line)
        if isinstance(event, ErrorReply):
            assert isinstance(decode(event.frame), Failure)
    if engine.outgoing_count:
        response = engine.receive(encode_success(id, b"1"))
        assert response == ResponseEvent("ours", Raw(b"1"))
    call = engine.receive(encode_request("a last one", "m", None))
    assert isinstance(call, IncomingRequest)
    assert engine.respond(call, b"1") is not None


@given(
    st.lists(st.lists(IDS, min_size=1, max_size=4), max_size=6), st.randoms(use_true_random=False)
)
def test_each_call_gets_exactly_one_response_in_any_order(
    groups: list[list[Id]], random: Any
) -> None:
    engine: Engine[str] = Engine()
    calls: list[IncomingRequest] = []
    refused = 0
    for ids in groups:
        requests = [encode_request(id, "m", None) for id in ids]
        event = engine.receive(requests[0] if len(ids) == 1 else encode_batch(requests))
        events = event.events if isinstance(event, BatchEvents) else (event,)
        calls += [each for each in events if isinstance(each, IncomingRequest)]
        refused += len(ids) - sum(isinstance(each, IncomingRequest) for each in events)
    assert engine.incoming_count == len(calls)
    random.shuffle(calls)
    frames = [engine.respond(call, b"1") for call in calls]
    responses = [
        response["id"]
        for frame in frames
        if frame is not None
        for response in (json.loads(frame) if frame.startswith(b"[") else [json.loads(frame)])
        if "result" in response
    ]
    assert sorted(map(repr, responses)) == sorted(repr(call.id) for call in calls)
    assert engine.incoming_count == 0
    assert len(calls) + refused == sum(map(len, groups))
