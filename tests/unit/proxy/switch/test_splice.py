from __future__ import annotations

import json
from typing import Any, TypeGuard

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from parley.proxy._switch.splice import (
    AmbiguousMessage,
    has_duplicate_keys,
    is_ambiguous,
    locate,
    splice_id,
)

NAMES = ["id", "jsonrpc", "params", "result", "sessionId", "\u00e9", ""]
KEYS: Any = st.sampled_from(NAMES) | st.text()
VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
IDS: Any = st.integers() | st.text() | st.none()
SPACES: Any = st.text(alphabet=" \t\r\n", max_size=3)


@given(
    members=st.dictionaries(KEYS, VALUES, max_size=5),
    id=IDS,
    place=st.integers(0, 5),
    space=SPACES,
    is_ascii=st.booleans(),
)
def test_only_the_id_is_exchanged_whatever_stands_around_it(
    members: dict[str, Any], id: Any, place: int, space: str, is_ascii: bool
) -> None:
    members.pop("id", None)
    items = list(members.items())
    items.insert(place, ("id", id))

    def written(value: object) -> str:
        return json.dumps(value, ensure_ascii=is_ascii)

    def frame(id_text: str) -> bytes:
        texts = [
            f"{space}{written(key)}{space}:{space}{id_text if key == 'id' else written(value)}"
            for key, value in items
        ]
        return f"{space}{{{','.join(texts)}{space}}}{space}".encode()

    spliced = splice_id(frame(written(id)), b"12345")
    assert spliced == (frame("12345"), written(id).encode())


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":1,"a":2}',
        b'{"a":1,"b":{"a":3},"a":22}',
        b'{"a":11,"b":2,"a":3}',
        b'{"a":1,"\\u0061":1}',
        b'{"a":"b\\"","a":"cc\\""}',
    ],
)
def test_a_member_that_is_there_twice_has_no_place(text: bytes) -> None:
    with pytest.raises(AmbiguousMessage):
        locate(text, "b")


def test_members_are_found_where_they_are() -> None:
    text = b'\xef\xbb\xbf { "a" : [1, {"b": 2}] , "b":"x,y}" }'
    found = locate(text, "a", "b", "c")
    assert {name: text[start:end] for name, (start, end) in found.items()} == {
        "a": b'[1, {"b": 2}]',
        "b": b'"x,y}"',
    }
    assert locate(b"{}", "a") == {}


def call(text: str) -> tuple[bytes, Raw]:
    frame = text.encode()
    return frame, Raw(frame[slice(*locate(frame, "params")["params"])])


@pytest.mark.parametrize(
    "text",
    [
        '{"method":"session/delete","params":{"sessionid":"s"}}',
        '{"method":"session/delete","params":{"sessionId":"mine","SessionID":"s"}}',
        '{"method":"session/delete","params":{"\u017fessionId":"s"}}',
        '{"method":"session/delete","params":{"\\u017FessionId":"s"}}',
        '{"method":"session/delete","params":{"\\u0053essionid":"s"}}',
        '{"method":"session/list","Method":"session/delete","params":{"sessionId":"s"}}',
        '{"id":1,"ID":2,"method":"session/list","params":{}}',
        '{"method":"a","method":"b","params":{}}',
        '{"method":"a","params":{"sessionId":"s","sessionId":"t"}}',
    ],
)
def test_what_two_readers_may_read_differently_is_ambiguous(text: str) -> None:
    frame = text.encode()
    start = text.rindex('"params":') + len('"params":')
    assert is_ambiguous(frame, Raw(text[start:-1].encode()))


@pytest.mark.parametrize(
    "text",
    [
        '{"method":"session/delete","params":{"sessionId":"s"}}',
        '{"method":"_x/y","params":{"sessionID":"s"}}',
        '{"method":"session/prompt","params":{"sessionId":"s","_meta":{"sessionid":"SESSIONID"}}}',
        '{"id":1,"method":"session/prompt","params":{"sessionId":"\\u0041","id":2,"ID":3}}',
        '{"method":"session/prompt","params":[{"SESSIONID":1}]}',
    ],
)
def test_what_everybody_reads_alike_is_not_ambiguous(text: str) -> None:
    assert not is_ambiguous(*call(text))


PAIRS: Any = st.recursive(
    st.none() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(st.tuples(st.sampled_from(["a", "b", 'a":', "\\", "\u00e9"]), inner), max_size=3)
    ),
    max_leaves=8,
)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


@given(value=PAIRS, is_ascii=st.booleans())
def test_a_member_that_is_there_twice_is_found_wherever_it_is(value: Any, is_ascii: bool) -> None:
    found: list[bool] = []

    def written(value: Any) -> str:
        if not _is_list(value):
            return json.dumps(value, ensure_ascii=is_ascii)
        items = value
        if items and all(isinstance(each, tuple) for each in items):
            names: list[str] = [name for name, _ in items]
            found.append(len(set(names)) < len(names))
            pairs = (f"{written(name)} : {written(each)}" for name, each in items)
            return "{" + ",".join(pairs) + "}"
        return "[" + ",".join(map(written, items)) + "]"

    assert has_duplicate_keys(f'{{"params":{written(value)}}}'.encode()) == any(found)
