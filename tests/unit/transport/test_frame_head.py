"""What is read of a frame without decoding it: routing and recording depend on nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw
from tests.schema_types import declared_methods, exported_types

from parley.schema._codec import decode, encode
from parley.transport._frame_head import (
    NO_PARAMS,
    FrameHead,
    ParamsHead,
    UpdateHead,
    head_of_values,
    peek,
    peek_meta,
    peek_params,
    peek_session,
    peek_update_session,
)


def _frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":")).encode()


def test_the_head_of_an_update_has_its_session_and_kind() -> None:
    params: dict[str, Any] = {"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": []}}
    head = peek(_frame(method="session/update", params=params))
    expected = ParamsHead(session_id="s", update=UpdateHead("plan"))
    assert head == FrameHead(method="session/update", params=expected)


def test_the_head_of_a_cancellation_has_the_id_of_the_request() -> None:
    head = peek(_frame(method="$/cancel_request", params={"requestId": "r"}))
    assert head.params.request_id == "r"
    assert head.id is UNSET


def test_a_null_id_is_not_a_missing_one() -> None:
    assert peek(_frame(id=None, method="x")).id is None
    assert peek(_frame(method="x")).id is UNSET
    assert peek(_frame(method="x", params={"requestId": None})).params.request_id is None


def test_the_head_of_a_response_tells_a_result_from_an_error() -> None:
    assert peek(_frame(id=1, result=None)).result == NO_PARAMS
    opened = peek(_frame(id=1, result={"sessionId": "s", "protocolVersion": 2})).result
    assert opened == ParamsHead(session_id="s", protocol_version=2)
    assert peek(_frame(id=1, error={"code": 1, "message": ""})).result is UNSET


@pytest.mark.parametrize(
    "frame",
    [b"", b"[]", b"null", b'{"id":1.5,"method":"x"}', b'{"method":1,"id":1}', b'{"method":"\xff"}'],
)
def test_what_is_not_a_message_has_an_empty_head(frame: bytes) -> None:
    assert peek(frame) == FrameHead()
    assert not peek(frame).is_message


@pytest.mark.parametrize("frame", [_frame(method="x"), _frame(id=1), _frame(id=None, result={})])
def test_requests_notifications_and_responses_are_messages(frame: bytes) -> None:
    assert peek(frame).is_message


@pytest.mark.parametrize("params", [[], "s", None, 1])
def test_params_that_are_not_an_object_hide_neither_method_nor_id(params: Any) -> None:
    assert peek(_frame(id=1, method="x", params=params)) == FrameHead("x", 1)


@pytest.mark.parametrize(
    "odd",
    [{"requestId": []}, {"update": []}, {"protocolVersion": "2025-06-18"}, {"update": {"a": 1}}],
)
def test_a_member_of_a_wrong_type_does_not_hide_the_session(odd: dict[str, Any]) -> None:
    head = peek(_frame(method="x", params={"sessionId": "s", **odd}))
    assert head.params == ParamsHead(session_id="s")


def test_a_session_of_a_wrong_type_does_not_hide_the_other_members() -> None:
    params: dict[str, Any] = {"sessionId": 5, "requestId": 7, "protocolVersion": 1}
    params["update"] = {"sessionUpdate": "plan"}
    expected = ParamsHead(None, 7, 1, UpdateHead("plan"))
    assert peek_params(Raw(json.dumps(params).encode())) == expected


def test_missing_params_have_no_members() -> None:
    assert peek_params(Raw()) is NO_PARAMS
    assert peek_params(Raw(b"{")) is NO_PARAMS


@pytest.mark.parametrize(
    ("params", "session"),
    [
        (b"", ""),
        (b"null", ""),
        (b"{}", ""),
        (b'{"sessionId":null}', ""),
        (b'{"sessionId":"s"}', "s"),
    ],
)
def test_params_name_one_session_or_none(params: bytes, session: str) -> None:
    assert peek_session(Raw(params)) == session


@pytest.mark.parametrize(
    ("params", "value"),
    [
        (b'{"_meta":{"parley":{"role":"observer"}}}', "observer"),
        (b'{"_meta":{"parley":{}}}', None),
        (b'{"_meta":{"parley":"role"}}', None),
        (b'{"_meta":null}', None),
        (b"{}", None),
        (b"[]", None),
        (b"", None),
    ],
)
def test_a_value_in_meta_is_found_or_missing(params: bytes, value: object) -> None:
    assert peek_meta(Raw(params), "parley", "role") == value


def test_a_plain_update_shows_its_session() -> None:
    frame = _frame(method="session/update", params={"sessionId": "s", "update": {}})
    assert peek_update_session(frame) == "s"
    assert peek_update_session(memoryview(frame).tobytes()) == "s"


@pytest.mark.parametrize(
    "frame",
    [
        b'{"method":"session/update","params":{"sessionId":"s"}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"},"id":1}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"},"method":"x"}',
        b'{"jsonrpc":"2.0","method":"session/update","params":',
    ],
)
def test_what_only_begins_like_an_update_is_not_one(frame: bytes) -> None:
    assert peek_update_session(frame) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)
_MEMBERS = st.sampled_from(["sessionId", "requestId", "protocolVersion", "update", "other"])


@given(st.dictionaries(_MEMBERS, _JSON))
def test_each_member_is_read_by_itself(params: dict[str, Any]) -> None:
    head = peek(_frame(method="x", params=params))
    session, request = params.get("sessionId"), params.get("requestId", UNSET)
    assert head.params.session_id == (session if isinstance(session, str) else None)
    is_id = isinstance(request, int | str | None) and not isinstance(request, bool)
    assert head.params.request_id == (request if is_id else UNSET)


def _golden_messages(version: int) -> Iterator[tuple[str, Any]]:
    """Yield the params and the results among the golden files, each with the name of its file."""
    types, rows = exported_types(version), declared_methods(version).values()
    messages = {tp for row in rows for tp in (row.params, row.result)}
    for file in sorted((Path(__file__).parents[2] / "golden" / f"v{version}").glob("*.json")):
        case = json.loads(file.read_bytes())
        tp = types[case["type"]]
        if tp in messages and "value" in case and "refused" not in case["expect"]:
            yield file.stem, decode(tp, json.dumps(case["value"]).encode())


@pytest.mark.parametrize("version", [1, 2])
def test_the_head_of_values_is_that_of_their_json(version: int) -> None:
    for name, value in _golden_messages(version):
        head, expected = head_of_values(value), peek_params(Raw(encode(value)))
        if head is not None:
            request = expected.request_id if expected.request_id is not None else UNSET
            assert (head.session_id, head.request_id) == (expected.session_id, request), name


def test_the_head_of_values_that_are_encoded_already_is_unknown() -> None:
    assert head_of_values(None) == NO_PARAMS
    assert head_of_values(Raw(b'{"sessionId":"s"}')) is None
    assert head_of_values({"sessionId": "s"}) is None
