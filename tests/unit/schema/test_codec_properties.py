"""Properties of every value: round trips, agreement of both passes, safe error texts."""

from __future__ import annotations

import json
from typing import Any, Literal, TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw, UnsetType

from parley.errors import MalformedValue
from parley.schema._codec import decode, encode, strict_decoder
from parley.schema._lenient import reader
from parley.schema.base import (
    EMPTY_DICT,
    EMPTY_LIST,
    I64,
    U32,
    AllOrDefault,
    JsonObject,
    Lenient,
    NullDefault,
    Object,
    Open,
    Patch,
    SkipInvalid,
    Strict,
    Unknown,
    Untagged,
)


class Text(Object, tag_field="type", tag="text"):
    text: str
    size: U32 | None = None


class State(Object, tag_field="type", tag="state"):
    state: Open[Literal["on", "off"]]
    since: I64 | None = None


class Group(Object, tag_field="type", tag="group"):
    name: str
    blocks: SkipInvalid[list[Block]]


Block: TypeAlias = Open[Text | State | Group]


class Http(Object, tag_field="type", tag="http"):
    url: str


class Stdio(Object):
    command: str
    env: dict[str, str] = EMPTY_DICT


Server: TypeAlias = Untagged[Http | Stdio]


class Everything(Patch):
    id: str
    kind: Literal["a", "b"] | str = "a"
    title: str | UnsetType | None = UNSET
    blocks: list[Block] | UnsetType | None = UNSET
    block: Block | None = None
    servers: NullDefault[list[Server]] = EMPTY_LIST
    numbers: Lenient[list[int]]
    share: Strict[float | None] = None
    whole: AllOrDefault[list[int] | None] = None
    by_name: Strict[dict[str, Block]] = EMPTY_DICT


text = st.text(max_size=4)
meta: st.SearchStrategy[JsonObject | None] = st.none() | st.dictionaries(text, text, max_size=2)
u32 = st.integers(0, 2**32 - 1)
i64 = st.integers(-(2**63), 2**63 - 1)


def unknowns(tag: str) -> Unknown:
    return Unknown(tag, json.dumps({"type": tag, "more": [1.50, tag]}).encode())


tags = text.filter(lambda tag: tag not in ("text", "state", "group"))
texts = st.builds(Text, text=text, size=st.none() | u32, meta=meta)
states = st.builds(State, state=st.sampled_from(["on", "off"]), since=st.none() | i64, meta=meta)
flat = texts | states | st.builds(unknowns, tags)
groups = st.builds(Group, name=text, blocks=st.lists(flat, max_size=3), meta=meta)
blocks = flat | groups
servers = st.builds(Http, url=text) | st.builds(
    Stdio, command=text, env=st.dictionaries(text, text, max_size=2)
)
whole_values = st.builds(
    Everything,
    id=text,
    kind=text,
    title=st.just(UNSET) | st.none() | text,
    blocks=st.just(UNSET) | st.none() | st.lists(blocks, max_size=3),
    block=st.none() | blocks,
    servers=st.lists(servers, max_size=2),
    numbers=st.lists(st.integers(), max_size=3),
    share=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    whole=st.none() | st.lists(st.integers(), max_size=2),
    by_name=st.dictionaries(text, blocks, max_size=2),
    meta=st.just(UNSET) | meta,
)

SECRET = "ψ"
KEYS = ["type", "text", "state", "name", "blocks", "id", "numbers", "byName", "servers", "command"]
words = st.sampled_from([SECRET, *KEYS, "group", "http", "on", "a"])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(words, part, max_size=6),
    max_leaves=12,
)
TYPES: list[Any] = [Everything, Block, Server, Text, list[Block], dict[str, Server]]


def decode_error(tp: Any, raw: bytes) -> MalformedValue | None:
    try:
        decode(tp, raw)
    except MalformedValue as error:
        return error
    return None


@given(whole_values)
def test_what_is_encoded_decodes_to_an_equal_value(value: Everything) -> None:
    assert decode(Everything, encode(value)) == value


@given(whole_values)
def test_encoding_again_gives_the_same_bytes(value: Everything) -> None:
    raw = encode(value)
    assert encode(decode(Everything, raw)) == raw


@given(whole_values)
def test_both_passes_read_a_valid_value_alike(value: Everything) -> None:
    raw = encode(value)
    assert reader(Everything).read_leniently(Raw(raw), "params") == decode(Everything, raw)


@given(anything, st.sampled_from(TYPES))
def test_what_the_first_pass_accepts_the_second_reads_alike(value: Any, tp: Any) -> None:
    raw = msgspec.json.encode(value)
    try:
        exact = strict_decoder(tp).decode(raw)
    except msgspec.ValidationError:
        return
    assert reader(tp).read(Raw(raw), "params") == exact


@given(anything, st.sampled_from(TYPES))
def test_whatever_json_arrives_is_read_or_refused_without_repeating_it(value: Any, tp: Any) -> None:
    error = decode_error(tp, msgspec.json.encode(value))
    assert error is None or error.path.startswith("params")
    assert SECRET not in str(error)


@given(whole_values, anything, st.data())
def test_one_wrong_value_is_read_or_refused(
    value: Everything, wrong: object, data: st.DataObject
) -> None:
    fields: JsonObject = msgspec.json.decode(encode(value))
    fields[data.draw(st.sampled_from([*fields]))] = wrong
    raw = msgspec.json.encode(fields)
    error = decode_error(Everything, raw)
    assert SECRET not in str(error)
    if error is None:
        read = decode(Everything, raw)
        assert decode(Everything, encode(read)) == read


@given(st.binary(max_size=40), st.sampled_from(TYPES))
def test_whatever_bytes_arrive_are_read_or_refused(raw: bytes, tp: Any) -> None:
    error = decode_error(tp, raw)
    assert error is None or error.path.startswith("params")


@given(whole_values, st.data())
def test_a_value_cut_short_is_refused(value: Everything, data: st.DataObject) -> None:
    raw = encode(value)
    with pytest.raises(MalformedValue, match=r"^params: not JSON$"):
        decode(Everything, raw[: data.draw(st.integers(1, len(raw) - 1))])


@given(st.integers(-(2**53), 2**53))
def test_an_integral_float_is_read_as_the_integer_it_equals(number: int) -> None:
    assert decode(State, b'{"state":"on","since":%d.0}' % number).since == number
