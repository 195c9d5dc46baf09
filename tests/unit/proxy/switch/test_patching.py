from __future__ import annotations

import json

import pytest
from msgspec import Raw

from parley.errors import InvalidParams
from parley.proxy._switch.patching import merge_meta, patch_object, remove_path, set_path

BODY = b'{ "a" : 1.50, "b":{"c":[1, 2]},\t"d":"\\u00e9" }'


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, BODY),
        ({"a": b"2"}, b'{ "a" : 2, "b":{"c":[1, 2]},\t"d":"\\u00e9" }'),
        ({"d": b"0", "a": b"{}"}, b'{ "a" : {}, "b":{"c":[1, 2]},\t"d":0 }'),
        ({"e": b"[]"}, b'{ "a" : 1.50, "b":{"c":[1, 2]},\t"d":"\\u00e9","e":[]}'),
        ({"z": None}, BODY),
    ],
)
def test_what_is_not_named_keeps_its_bytes(
    changes: dict[str, bytes | None], expected: bytes
) -> None:
    assert patch_object(BODY, changes) == expected


def test_a_member_can_be_taken_out_and_the_values_of_the_others_keep_their_bytes() -> None:
    assert patch_object(BODY, {"b": None, "e": b"1"}) == b'{"a":1.50,"d":"\\u00e9","e":1}'


def test_something_can_be_put_into_an_empty_object_or_into_none() -> None:
    assert patch_object(b"{}", {"a": b"1"}) == b'{"a":1}'
    assert patch_object(b"{ }", {"a": b"1"}) == b'{"a":1}'
    assert patch_object(b"", {"a": b"1"}) == b'{"a":1}'


@pytest.mark.parametrize("body", [b"[]", b"3", b'{"a":1,"a":2}', b"{"])
def test_what_has_no_place_for_a_member_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidParams):
        patch_object(body, {"a": b"1"})


def test_a_value_is_put_deep_inside_and_taken_out_again() -> None:
    made = set_path(b'{"x":1.0}', ("_meta", "parley", "depth"), b"3")
    assert made == b'{"x":1.0,"_meta":{"parley":{"depth":3}}}'
    assert remove_path(made, ("_meta", "parley", "depth")) == b'{"x":1.0}'
    kept = set_path(b'{"_meta":{"mine":1.0,"parley":7}}', ("_meta", "parley", "depth"), b"1")
    assert json.loads(kept) == {"_meta": {"mine": 1.0, "parley": {"depth": 1}}}


@pytest.mark.parametrize(
    ("params", "meta", "expected"),
    [
        (b'{"a":1}', b'{"t":"x"}', b'{"a":1,"_meta":{"t":"x"}}'),
        (b'{"_meta":{"t":1.0}}', b'{"t":"x","u":2}', b'{"_meta":{"t":1.0,"u":2}}'),
        (b"", b'{"t":1}', b'{"_meta":{"t":1}}'),
        (b'{"a":1}', b"7", b'{"a":1}'),
        (b"[1]", b'{"t":1}', b"[1]"),
        (b'{"_meta":null}', b'{"t":1}', b'{"_meta":null}'),
    ],
)
def test_what_stands_beside_the_params_is_added_and_changes_nothing(
    params: bytes, meta: bytes, expected: bytes
) -> None:
    assert bytes(merge_meta(Raw(params), Raw(meta))) == expected
