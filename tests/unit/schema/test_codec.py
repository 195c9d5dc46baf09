"""Strict and lenient decoding, errors with their paths, and encoding."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import UNSET, Meta, Raw

from parley.errors import MalformedValue
from parley.schema._codec import decode, encode, strict_decoder
from parley.schema.base import BaseStruct, Lenient, Unknown

from .sample_types import (
    Block,
    Change,
    Code,
    Hue,
    Numbers,
    Paint,
    Prompt,
    Required,
    Sample,
    Scope,
    Stdio,
    Text,
    Tone,
    Tree,
    decode_error,
)


def sample(raw: bytes) -> Sample:
    return decode(Sample, raw)


def test_a_value_that_fits_is_read_in_one_pass() -> None:
    raw = b'{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}'
    assert decode(Prompt, raw) == Prompt(session_id="s", prompt=[Text(text="hi")])


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview, Raw])
def test_every_kind_of_buffer_is_read_in_both_passes(wrap: Any) -> None:
    assert decode(Text, wrap(b'{"text":"a"}')) == Text(text="a")
    assert decode(Text, wrap(b'{"text":"a","tone":5}')) == Text(text="a")


def test_space_around_the_value_is_no_part_of_it() -> None:
    assert decode(Block, b' {"type":"cube"} \r\n') == Unknown("cube", b'{"type":"cube"}')
    assert decode(Sample, b"\n null ") == Sample()


def test_absent_null_and_empty_params_are_alike() -> None:
    assert decode(Sample, None) == decode(Sample, b"null") == decode(Sample, b"{}") == Sample()
    assert decode(Sample, Raw(b"null")) == Sample()


def test_absent_and_null_params_lack_what_is_required() -> None:
    for raw in (None, b"null", b"{}"):
        with pytest.raises(MalformedValue, match=r"^params\.sessionId: required$"):
            decode(Prompt, raw)


def test_null_stays_null_where_the_type_has_one() -> None:
    assert decode(Sample | None, b"null") is None
    assert decode(Any, b"null") is None


def test_the_strict_decoder_reads_what_fits_exactly() -> None:
    assert strict_decoder(Text).decode(b'{"text":"a"}') == Text(text="a")


def test_the_strict_decoder_refuses_what_only_the_second_pass_can_read() -> None:
    with pytest.raises(msgspec.ValidationError):
        strict_decoder(Block).decode(b'{"type":"cube"}')
    with pytest.raises(msgspec.ValidationError):
        strict_decoder(Sample).decode(b'{"name":5}')


def test_unknown_fields_are_skipped_in_both_passes() -> None:
    assert decode(Text, b'{"text":"a","more":1}') == Text(text="a")
    assert decode(Text, b'{"text":"a","more":1,"tone":1}') == Text(text="a")


def test_meta_survives_both_passes() -> None:
    assert decode(Text, b'{"text":"a","_meta":{"k":[1]}}').meta == {"k": [1]}
    assert decode(Text, b'{"text":"a","tone":1,"_meta":{"k":[1]}}').meta == {"k": [1]}


def test_a_wrong_optional_value_reads_as_the_default() -> None:
    assert sample(b'{"name":5}').name is None
    assert sample(b'{"tone":5}').tone == "calm"
    assert sample(b'{"state":"future"}').state is None
    assert sample(b'{"limits":{"a":"x"}}').limits == {}
    assert sample(b'{"block":{"type":"text"}}').block is None
    assert sample(b'{"name":"n","words":5}') == Sample(name="n")


def test_an_optional_list_loses_only_its_bad_items() -> None:
    assert sample(b'{"words":["a",1,"b",null]}').words == ["a", "b"]


def test_an_optional_list_that_is_none_reads_as_the_default() -> None:
    assert sample(b'{"words":{"a":1}}').words is None


def test_a_strict_optional_value_is_refused() -> None:
    assert decode_error(Sample, b'{"strict":"1"}') == "params.strict: expected integer or null"
    assert (
        decode_error(Sample, b'{"strictWords":["a",1]}') == "params.strictWords[1]: expected string"
    )
    assert (
        decode_error(Sample, b'{"strictWords":1}') == "params.strictWords: expected array or null"
    )


def test_null_reads_as_the_default_and_nothing_else_does() -> None:
    assert sample(b'{"null":null}').null == []
    assert decode_error(Sample, b'{"null":5}') == "params.null: expected array"
    assert decode_error(Sample, b'{"null":[1,"x"]}') == "params.null[1]: expected integer"


def test_a_whole_list_is_not_read_item_by_item() -> None:
    assert sample(b'{"whole":[1,"x"]}').whole is None
    assert sample(b'{"whole":[1,2.0]}').whole == [1, 2]
    assert sample(b'{"wholeBlock":[{"type":"cube"}]}').whole_block == [
        Unknown("cube", b'{"type":"cube"}')
    ]
    assert sample(b'{"wholeBlock":[{"type":"text"}]}').whole_block is None


def test_a_required_list_can_be_lenient() -> None:
    rest = b'"nullList":null,"nullMap":null,"skip":[]}'
    assert decode(Required, b'{"lenient":[1,"x",3],' + rest).lenient == [1, 3]
    assert decode(Required, b'{"lenient":"x",' + rest).lenient == []
    assert decode(Required, b'{"lenient":null,' + rest).lenient == []
    assert decode_error(Required, b"{" + rest) == "params.lenient: required"


def test_null_for_a_required_list_or_map_reads_as_empty() -> None:
    value = decode(Required, b'{"lenient":[],"nullList":null,"nullMap":null,"skip":[]}')
    assert (value.null_list, value.null_map) == ([], {})
    wrong = b'{"lenient":[],"nullList":null,"nullMap":{"secret":"x"},"skip":[]}'
    assert decode_error(Required, wrong) == "params.nullMap[...]: expected integer"


def test_a_list_that_skips_invalid_items_must_be_a_list() -> None:
    head = b'{"lenient":[],"nullList":[],"nullMap":{},"skip":'
    blocks = b'[{"type":"text","text":"a"},{"type":"text"},5,{"type":"x"}]}'
    assert decode(Required, head + blocks).skip == [Text(text="a"), Unknown("x", b'{"type":"x"}')]
    assert decode_error(Required, head + b"5}") == "params.skip: expected array"


def test_each_fallback_is_an_object_of_its_own() -> None:
    raw = b'{"lenient":5,"nullList":null,"nullMap":null,"skip":[]}'
    one, two = decode(Required, raw), decode(Required, raw)
    assert one.lenient is not two.lenient
    assert one.null_list is not one.lenient


def test_a_wrong_value_in_a_patch_changes_nothing() -> None:
    change = decode(Change, b'{"id":"i","title":5,"content":"x"}')
    assert change == Change(id="i")
    assert change.title is UNSET
    assert decode(Change, b'{"id":"i","title":null,"content":5}').title is None
    assert decode(Change, b'{"id":"i","content":[{"type":"x"},3]}').content == [
        Unknown("x", b'{"type":"x"}')
    ]
    assert decode(Change, b'{"id":"i","_meta":5}').meta is UNSET


def test_a_lenient_field_needs_something_to_fall_back_to() -> None:
    class Wrong(BaseStruct):
        name: Lenient[str]

    with pytest.raises(TypeError, match=r"^Wrong\.name: LENIENT needs a list, a map or a default$"):
        decode(Wrong, b'{"name":5}')


def test_an_open_enumeration_takes_any_word_and_a_closed_one_does_not() -> None:
    assert decode(Tone, b'"odd"') == "odd"
    assert decode_error(Tone, b"5") == "params: expected string"
    assert decode(Code, b"7.0") == 7
    assert decode_error(Code, b'"x"') == "params: expected integer from -2147483648 to 2147483647"
    assert decode_error(Literal["a", "b"], b'"c"') == "params: expected a or b"
    assert decode_error(Literal["a"] | None, b"5") == "params: expected a or null"


def test_an_enumeration_can_read_unknown_values_as_one_of_its_own() -> None:
    assert decode(Hue, b'"red"') == "red"
    assert decode(Hue, b'"mauve"') == "grey"
    assert decode_error(Hue, b"5") == "params: expected red or grey"
    assert decode(Paint, b'{"hue":"mauve"}').hue == "grey"
    assert decode(Paint, b'{"hue":5}').hue is None


@pytest.mark.parametrize(
    ("raw", "value"), [(b"1.0", 1), (b"-0.0", 0), (b"2e3", 2000), (b"9007199254740992.0", 2**53)]
)
def test_an_integral_float_is_an_integer(raw: bytes, value: int) -> None:
    numbers = decode(Numbers, b'{"plain":' + raw + b',"either":' + raw + b"}")
    assert (numbers.plain, numbers.either) == (value, value)
    assert type(numbers.plain) is int


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b'"small":1.5', "small: expected integer from 0 to 65535"),
        (b'"small":65536.0', "small: expected integer from 0 to 65535"),
        (b'"small":true', "small: expected integer from 0 to 65535"),
        (b'"small":"1"', "small: expected integer from 0 to 65535"),
        (b'"medium":-1', "medium: expected integer from 0 to 4294967295"),
        (b'"large":-1', "large: expected integer of at least 0"),
        (b'"large":1e999', "large: expected integer of at least 0"),
        (b'"large":1e40', "large: expected integer of at least 0"),
        (
            b'"signed":-9223372036854775809',
            "signed: expected integer from -9223372036854775808 to 9223372036854775807",
        ),
        (b'"either":1.5', "either: expected integer"),
        (b'"either":[]', "either: expected integer or string"),
        (b'"share":2', "share: expected number from 0 to 1"),
        (b'"title":""', "title: expected string of length 1 or more"),
        (b'"some":[]', "some: expected array of at least 1"),
        (b'"some":["x"]', "some[0]: expected integer"),
        (b'"code":3', "code: expected 1 or 2"),
        (b'"flag":1', "flag: expected boolean"),
        (b'"anything":1e999', "anything: expected a value in range"),
    ],
)
def test_a_value_out_of_bounds_is_refused(raw: bytes, problem: str) -> None:
    assert decode_error(Numbers, b"{" + raw + b"}") == f"params.{problem}"


def test_bounds_of_a_list_count_what_is_left_of_it() -> None:
    class Some(BaseStruct):
        items: Annotated[list[int], Meta(min_length=1)] | None = None

    assert decode(Some, b'{"items":["x"]}').items is None
    assert decode(Some, b'{"items":["x",1]}').items == [1]


def test_a_rule_of_the_whole_object_is_checked_in_both_passes() -> None:
    assert decode_error(Scope, b"{}") == "params: needs session or request"
    assert decode_error(Scope, b'{"session":5}') == "params: needs session or request"
    assert decode(Scope, b'{"session":"s","request":5}') == Scope(session="s")


def test_types_may_refer_to_themselves() -> None:
    raw = b'{"label":"a","children":[{"label":"b","children":[{"label":5}]}]}'
    assert decode_error(Tree, raw) == "params.children[0].children[0].label: expected string"


def test_a_value_that_is_no_object_is_refused() -> None:
    assert decode_error(Prompt, b"[]") == "params: expected object"
    assert decode_error(Prompt, b'{"sessionId":"s","prompt":{}}') == "params.prompt: expected array"


def test_of_duplicate_keys_the_last_counts_in_both_passes() -> None:
    assert decode(Text, b'{"text":"a","text":"b"}').text == "b"
    assert decode(Text, b'{"text":"a","text":"b","tone":5}').text == "b"


@pytest.mark.parametrize(
    "raw", [b"", b"{", b'{"text":}', b"secret", b'{"text":"\\ud83d"}', b'{"text":5,"tone":nul}']
)
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    assert decode_error(Text, raw) == "params: not JSON"


def test_what_is_not_utf_8_is_refused() -> None:
    assert decode_error(Text, b'{"text":"\xff"}') == "params: not UTF-8"
    assert decode_error(Text, b'{"tone":5,"text":"\xff"}') == "params: not UTF-8"
    assert decode_error(Block, b'{"type":"cube","name":"\xff"}') == "params: not UTF-8"
    assert decode_error(Block, b'{"type":"\xff"}') == "params: not UTF-8"


def test_what_is_nested_too_deeply_is_refused() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    assert (
        decode_error(Text, b'{"text":"a","_meta":{"a":' + deep + b"}}")
        == "params: nested too deeply"
    )
    assert decode_error(Block, b'{"type":"cube","a":' + deep + b"}") == "params: nested too deeply"


def test_defaults_are_left_out_and_nulls_of_patches_are_kept() -> None:
    assert encode(Text(text="a")) == b'{"type":"text","text":"a"}'
    assert encode(Stdio(command="c")) == b'{"command":"c"}'
    assert encode(Sample(name="n")) == b'{"name":"n"}'
    assert encode(Change(id="i", title=None)) == b'{"id":"i","title":null}'


def test_raw_bytes_are_encoded_as_they_are() -> None:
    assert encode({"params": Raw(b'{"a": 1.0}')}) == b'{"params":{"a": 1.0}}'


def test_an_unknown_variant_that_spans_lines_is_encoded_on_one() -> None:
    unknown = decode(Block, b'{"type":"cube",\r\n  "name":"a\\nb"}')
    assert encode(unknown) == b'{"type":"cube",    "name":"a\\nb"}'


def test_what_is_not_a_type_of_the_protocol_is_not_encoded() -> None:
    with pytest.raises(TypeError, match=r"^object is not a type of the protocol$"):
        encode(object())
