"""What is read exactly, what leniently, what is refused and where; and what is written."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import pytest
from msgspec import UNSET, Meta, Raw, UnsetType

from parley.errors import MalformedValue
from parley.schema.base import (
    I32,
    I64,
    NO_ENTRIES,
    NO_ITEMS,
    U16,
    U32,
    U64,
    Bare,
    Lenient,
    NullDefault,
    Object,
    Open,
    Patch,
    SkipInvalid,
    Strict,
    Unknown,
    Untagged,
    Whole,
)
from parley.schema.codec import decode, decoder, encode


class Text(Object, tag_field="type", tag="text"):
    text: str
    tone: str | None = None


class Picture(Object, tag_field="type", tag="picture"):
    url: str
    width: U16 | None = None


class Lamp(Object, tag_field="type", tag="lamp"):
    """Has a second tag."""

    state: Open[Literal["on", "off"]]
    watts: int | None = None


class Nest(Object, tag_field="type", tag="nest"):
    lamp: Lamp
    inner: Bare | None = None


ClosedBlock: TypeAlias = Text | Picture
Block: TypeAlias = Open[Text | Picture | Lamp | Nest]
LoneBlock: TypeAlias = Open[Text]


class Http(Object, tag_field="type", tag="http"):
    url: str


class Stdio(Object):
    command: str
    args: list[str] = NO_ITEMS


class Words(Object):
    text: str
    mime: str | None = None


class Blob(Object):
    blob: str
    mime: str | None = None


class Choices(Object, tag_field="type", tag="string"):
    enum: list[str]


class Titled(Object):
    any_of: list[Words]


Server: TypeAlias = Untagged[Http | Stdio]
Contents: TypeAlias = Untagged[Words | Blob]
Options: TypeAlias = Untagged[list[Words] | list[Blob]]
Items: TypeAlias = Open[Untagged[Choices | Titled]]
OnlyTagged: TypeAlias = Untagged[Text | Http]
Either: TypeAlias = Untagged[list[str] | dict[str, int]]
Code: TypeAlias = Literal[1, 2] | I32
Tone: TypeAlias = Literal["calm", "loud"] | str


class Prompt(Object):
    session_id: str
    prompt: list[Block]


class Sample(Bare):
    """One field for each way in which a wrong value is read."""

    name: str | None = None
    words: list[str] | None = None
    strict: Strict[int | None] = None
    strict_words: Strict[list[str] | None] = None
    null: NullDefault[list[int]] = NO_ITEMS
    whole: Whole[list[int] | None] = None
    whole_block: Whole[list[Block] | None] = None
    limits: dict[str, int] = NO_ENTRIES
    block: Block | None = None
    tone: Tone = "calm"
    state: Literal["new", "old"] | None = None


class Required(Bare):
    lenient: Lenient[list[int]]
    null_list: NullDefault[list[int]]
    null_map: NullDefault[dict[str, int]]
    skip: SkipInvalid[list[Block]]


class Change(Patch):
    id: str
    title: str | UnsetType | None = UNSET
    content: list[Block] | UnsetType | None = UNSET


class Numbers(Bare):
    plain: int = 0
    small: Strict[U16] = 0
    medium: Strict[U32] = 0
    large: Strict[U64] = 0
    signed: Strict[I64] = 0
    either: Strict[int | str] = 0
    share: Strict[Annotated[float, Meta(ge=0, le=1)]] = 0.0
    title: Strict[Annotated[str, Meta(min_length=1)]] = "x"
    some: Strict[Annotated[list[int], Meta(min_length=1)] | None] = None
    code: Strict[Literal[1, 2]] = 1
    flag: Strict[bool] = False
    anything: Strict[Any] = None


class Scope(Bare):
    session: str | None = None
    request: str | None = None

    def __post_init__(self) -> None:
        if self.session is None and self.request is None:
            raise ValueError("needs session or request")


class Tree(Bare):
    """Refers to itself."""

    label: str
    children: Strict[list[Tree]] = NO_ITEMS


class Holder(Bare):
    server: Server
    contents: Contents | None = None
    items: Items | None = None
    options: Strict[Options | None] = None
    only: Strict[OnlyTagged | None] = None
    lone: Strict[LoneBlock | None] = None
    closed: Strict[ClosedBlock | None] = None
    single: Strict[Http | None] = None
    by_name: Strict[dict[str, Block] | None] = None


def refusal(tp: Any, raw: bytes, path: str = "params") -> str:
    """Return what the error says, which must not have a trace of msgspec's error in it."""
    with pytest.raises(MalformedValue) as caught:
        decode(tp, raw, path)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, MalformedValue)
    assert str(caught.value) == f"{caught.value.path}: {caught.value.problem}"
    return str(caught.value)


def sample(raw: bytes) -> Sample:
    return decode(Sample, raw)


# Exact values


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


def test_the_strict_decoder_is_the_same_each_time() -> None:
    assert decoder(Text) is decoder(Text)
    assert decoder(Text)(b'{"text":"a"}') == Text(text="a")


def test_the_strict_decoder_refuses_what_only_the_second_pass_can_read() -> None:
    with pytest.raises(msgspec.ValidationError):
        decoder(Block)(b'{"type":"cube"}')
    with pytest.raises(msgspec.ValidationError):
        decoder(Sample)(b'{"name":5}')


def test_unknown_fields_are_passed_over_in_both_passes() -> None:
    assert decode(Text, b'{"text":"a","more":1}') == Text(text="a")
    assert decode(Text, b'{"text":"a","more":1,"tone":1}') == Text(text="a")


def test_meta_survives_both_passes() -> None:
    assert decode(Text, b'{"text":"a","_meta":{"k":[1]}}').meta == {"k": [1]}
    assert decode(Text, b'{"text":"a","tone":1,"_meta":{"k":[1]}}').meta == {"k": [1]}


# Wrong values of fields


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
    assert refusal(Sample, b'{"strict":"1"}') == "params.strict: expected integer or null"
    assert refusal(Sample, b'{"strictWords":["a",1]}') == "params.strictWords[1]: expected string"
    assert refusal(Sample, b'{"strictWords":1}') == "params.strictWords: expected array or null"


def test_null_reads_as_the_default_and_nothing_else_does() -> None:
    assert sample(b'{"null":null}').null == []
    assert refusal(Sample, b'{"null":5}') == "params.null: expected array"
    assert refusal(Sample, b'{"null":[1,"x"]}') == "params.null[1]: expected integer"


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
    assert refusal(Required, b"{" + rest) == "params.lenient: required"


def test_null_for_a_required_list_or_map_reads_as_empty() -> None:
    value = decode(Required, b'{"lenient":[],"nullList":null,"nullMap":null,"skip":[]}')
    assert (value.null_list, value.null_map) == ([], {})
    wrong = b'{"lenient":[],"nullList":null,"nullMap":{"secret":"x"},"skip":[]}'
    assert refusal(Required, wrong) == "params.nullMap[...]: expected integer"


def test_a_list_that_skips_invalid_items_must_be_a_list() -> None:
    head = b'{"lenient":[],"nullList":[],"nullMap":{},"skip":'
    blocks = b'[{"type":"text","text":"a"},{"type":"text"},5,{"type":"x"}]}'
    assert decode(Required, head + blocks).skip == [Text(text="a"), Unknown("x", b'{"type":"x"}')]
    assert refusal(Required, head + b"5}") == "params.skip: expected array"


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
    class Wrong(Bare):
        name: Lenient[str]

    with pytest.raises(TypeError, match=r"^Wrong\.name: LENIENT needs a list, a map or a default$"):
        decode(Wrong, b'{"name":5}')


# Unions


def test_an_unknown_variant_keeps_its_exact_bytes() -> None:
    raw = b'{"sessionId":"s","prompt":[{"type":"text","text":"a"}, { "n":1.50,"type":"_x" }]}'
    prompt = decode(Prompt, raw)
    assert prompt.prompt[1] == Unknown("_x", b'{ "n":1.50,"type":"_x" }')
    assert encode(prompt) == (
        b'{"sessionId":"s","prompt":[{"type":"text","text":"a"},{ "n":1.50,"type":"_x" }]}'
    )


def test_an_unknown_variant_does_not_keep_the_frame_alive() -> None:
    frame = bytearray(b'{"sessionId":"s","prompt":[{"type":"cube"}]}')
    unknown = decode(Prompt, frame).prompt[0]
    frame[:] = b"x" * len(frame)
    assert isinstance(unknown, Unknown)
    assert unknown.raw == b'{"type":"cube"}'


def test_a_known_variant_with_a_broken_payload_is_refused_with_its_place() -> None:
    raw = b'{"sessionId":"s","prompt":[{"type":"cube"},{"type":"cube"},{"type":"text","text":5}]}'
    assert refusal(Prompt, raw) == "params.prompt[2].text: expected string"
    assert refusal(Prompt, raw, "result") == "result.prompt[2].text: expected string"


def test_a_known_variant_in_an_open_union_is_read_leniently() -> None:
    block = decode(Block, b'{"type":"picture","url":"u","width":-1}')
    assert block == Picture(url="u")


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b'{"text":"a"}', "params.type: required"),
        (b'{"type":5}', "params.type: expected string"),
        (b'{"type":null}', "params.type: expected string"),
        (b"5", "params: expected object"),
        (b"[]", "params: expected object"),
    ],
)
def test_a_value_without_a_tag_fits_no_open_union(raw: bytes, problem: str) -> None:
    assert refusal(Block, raw) == problem
    assert refusal(LoneBlock, raw) == problem


def test_a_closed_union_refuses_unknown_tags() -> None:
    assert refusal(ClosedBlock, b'{"type":"cube"}') == "params.type: expected text or picture"
    assert refusal(ClosedBlock, b'{"type":5}') == "params.type: expected text or picture"
    assert refusal(ClosedBlock, b"{}") == "params.type: required"
    assert decode(ClosedBlock, b'{"type":"text","text":"a","tone":1}') == Text(text="a")


def test_a_lone_member_of_an_open_union_is_read_like_any_other() -> None:
    assert decode(LoneBlock, b'{"type":"text","text":"a","tone":1}') == Text(text="a")
    assert decode(LoneBlock, b'{"type":"x"}') == Unknown("x", b'{"type":"x"}')
    ghost = b'{"type":"\\u0000ghost"}'
    assert decode(LoneBlock, ghost) == Unknown("\0ghost", ghost)


def test_an_open_union_may_stand_beside_null() -> None:
    assert sample(b'{"block":null}').block is None
    assert sample(b'{"block":{"type":"x"}}').block == Unknown("x", b'{"type":"x"}')
    lone = b'{"server":{"command":"c"},"lone":{"type":"x"}}'
    assert decode(Holder, lone).lone == Unknown("x", b'{"type":"x"}')
    missing = b'{"server":{"command":"c"},"lone":{}}'
    assert refusal(Holder, missing) == "params.lone.type: required"
    number = b'{"server":{"command":"c"},"lone":5}'
    assert refusal(Holder, number) == "params.lone: expected object or null"


def test_a_closed_union_may_stand_beside_null() -> None:
    raw = b'{"server":{"command":"c"},"closed":{"type":"x"}}'
    assert refusal(Holder, raw) == "params.closed.type: expected text or picture"
    raw = b'{"server":{"command":"c"},"closed":{"type":"text","text":"a","tone":2}}'
    assert decode(Holder, raw).closed == Text(text="a")


def test_a_tagged_class_outside_a_union_may_lack_its_tag_but_not_have_another() -> None:
    assert decode(Text, b'{"text":"a","tone":1}') == Text(text="a")
    assert refusal(Text, b'{"type":"picture","text":"a"}') == "params.type: expected text"
    raw = b'{"server":{"command":"c"},"single":{"url":"u","_meta":5}}'
    assert decode(Holder, raw).single == Http(url="u")
    raw = b'{"server":{"command":"c"},"single":{"type":"x","url":"u"}}'
    assert refusal(Holder, raw) == "params.single.type: expected http"


def test_maps_of_variants_do_not_show_their_keys() -> None:
    raw = b'{"server":{"command":"c"},"byName":{"k":{"type":"x"}}}'
    assert decode(Holder, raw).by_name == {"k": Unknown("x", b'{"type":"x"}')}
    raw = b'{"server":{"command":"c"},"byName":{"secret":{"type":"text"}}}'
    assert refusal(Holder, raw) == "params.byName[...].text: required"
    assert refusal(dict[str, Block], b"[]") == "params: expected object"


def test_an_unknown_second_tag_makes_the_object_unknown() -> None:
    raw = b'{"type":"lamp","state":"dim","watts":3}'
    assert decode(Block, raw) == Unknown("dim", raw)
    assert decode(Block, b'{"type":"lamp","state":"on","watts":"x"}') == Lamp(state="on")
    assert refusal(Block, b'{"type":"lamp","state":5}') == "params.state: expected on or off"
    assert refusal(Block, b'{"type":"lamp"}') == "params.state: required"


def test_an_unknown_second_tag_outside_an_open_union_is_refused() -> None:
    assert refusal(Lamp, b'{"state":"dim"}') == "params.state: expected on or off"
    raw = b'{"type":"nest","lamp":{"type":"lamp","state":"dim"}}'
    assert refusal(Block, raw) == "params.lamp.state: expected on or off"


# Unions told apart by more than a tag


def test_members_without_a_tag_are_chosen_by_fit() -> None:
    assert decode(Server, b'{"type":"http","url":"u"}') == Http(url="u")
    assert decode(Server, b'{"command":"c"}') == Stdio(command="c")
    assert decode(Contents, b'{"text":"t"}') == Words(text="t")
    assert decode(Contents, b'{"blob":"b"}') == Blob(blob="b")
    assert decode(Options, b'[{"blob":"b"}]') == [Blob(blob="b")]


def test_members_without_a_tag_are_read_leniently_when_none_fits_exactly() -> None:
    assert decode(Server, b'{"command":"c","_meta":5}') == Stdio(command="c")
    assert decode(Contents, b'{"blob":"b","mime":5}') == Blob(blob="b")
    assert decode(Options, b'[{"text":"t","mime":5}]') == [Words(text="t")]


def test_fitting_exactly_goes_before_fitting_leniently() -> None:
    both = b'{"text":"t","blob":"b","mime":"m"}'
    assert decode(Contents, both) == Words(text="t", mime="m")
    holder = b'{"server":{"command":"c","args":5},"contents":{"blob":"b"}}'
    assert decode(Holder, holder).contents == Blob(blob="b")


def test_a_known_tag_decides_also_when_its_payload_is_broken() -> None:
    assert refusal(Server, b'{"type":"http","command":"c"}') == "params.url: required"
    assert decode(Server, b'{"type":"http","url":"u","_meta":1}') == Http(url="u")


def test_an_unknown_tag_falls_through_to_the_members_without_one() -> None:
    assert decode(Server, b'{"type":"pipe","command":"c"}') == Stdio(command="c")
    assert decode(Server, b'{"type":5,"command":"c"}') == Stdio(command="c")
    assert refusal(Server, b'{"type":"pipe"}') == "params.command: required"


def test_what_fits_no_member_is_refused() -> None:
    assert refusal(Contents, b'{"mime":"m"}') == "params: expected Words or Blob"
    assert refusal(Contents, b"5") == "params: expected Words or Blob"
    assert refusal(Options, b"[5]") == "params: expected array of Words or array of Blob"
    assert refusal(OnlyTagged, b'{"url":"u"}') == "params: expected object"
    assert decode(OnlyTagged, b'{"type":"text","text":"a"}') == Text(text="a")
    assert refusal(Either, b"5") == ("params: expected array of string or object")


def test_an_open_union_keeps_unknown_tags_and_leaves_untagged_values_to_the_rest() -> None:
    assert decode(Items, b'{"type":"string","enum":["a"]}') == Choices(enum=["a"])
    assert decode(Items, b'{"type":"date","enum":5}') == Unknown(
        "date", b'{"type":"date","enum":5}'
    )
    assert decode(Items, b'{"anyOf":[{"text":"t"}]}') == Titled(any_of=[Words(text="t")])
    assert decode(Items, b'{"type":null,"anyOf":[]}') == Titled(any_of=[])
    assert decode(Items, b'{"anyOf":[{"text":"t","mime":1}]}') == Titled(any_of=[Words(text="t")])
    assert refusal(Items, b'{"type":"string"}') == "params.enum: required"


def test_untagged_unions_may_stand_beside_null() -> None:
    raw = b'{"server":{"command":"c"},"contents":null,"items":{"type":"date"}}'
    value = decode(Holder, raw)
    assert (value.contents, value.items) == (None, Unknown("date", b'{"type":"date"}'))
    raw = b'{"server":{"command":"c"},"options":[5]}'
    assert refusal(Holder, raw) == "params.options: expected array of Words or array of Blob"


def test_a_type_that_json_cannot_hold_is_a_mistake_of_ours() -> None:
    with pytest.raises(NotImplementedError, match="no JSON value"):
        decode(Exception, b"{}")


# Words and numbers


def test_an_open_enumeration_takes_any_word_and_a_closed_one_does_not() -> None:
    assert decode(Tone, b'"odd"') == "odd"
    assert refusal(Tone, b"5") == "params: expected string"
    assert decode(Code, b"7.0") == 7
    assert refusal(Code, b'"x"') == "params: expected integer from -2147483648 to 2147483647"
    assert refusal(Literal["a", "b"], b'"c"') == "params: expected a or b"
    assert refusal(Literal["a"] | None, b"5") == "params: expected a or null"


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
    assert refusal(Numbers, b"{" + raw + b"}") == f"params.{problem}"


def test_bounds_of_a_list_count_what_is_left_of_it() -> None:
    class Some(Bare):
        items: Annotated[list[int], Meta(min_length=1)] | None = None

    assert decode(Some, b'{"items":["x"]}').items is None
    assert decode(Some, b'{"items":["x",1]}').items == [1]


# Objects


def test_a_rule_of_the_whole_object_is_checked_in_both_passes() -> None:
    assert refusal(Scope, b"{}") == "params: needs session or request"
    assert refusal(Scope, b'{"session":5}') == "params: needs session or request"
    assert decode(Scope, b'{"session":"s","request":5}') == Scope(session="s")


def test_types_may_refer_to_themselves() -> None:
    raw = b'{"label":"a","children":[{"label":"b","children":[{"label":5}]}]}'
    assert refusal(Tree, raw) == "params.children[0].children[0].label: expected string"


def test_a_value_that_is_no_object_is_refused() -> None:
    assert refusal(Prompt, b"[]") == "params: expected object"
    assert refusal(Prompt, b'{"sessionId":"s","prompt":{}}') == "params.prompt: expected array"


def test_of_duplicate_keys_the_last_counts_in_both_passes() -> None:
    assert decode(Text, b'{"text":"a","text":"b"}').text == "b"
    assert decode(Text, b'{"text":"a","text":"b","tone":5}').text == "b"


# What is not JSON


@pytest.mark.parametrize(
    "raw", [b"", b"{", b'{"text":}', b"secret", b'{"text":"\\ud83d"}', b'{"text":5,"tone":nul}']
)
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    assert refusal(Text, raw) == "params: not JSON"


def test_what_is_not_utf_8_is_refused() -> None:
    assert refusal(Text, b'{"text":"\xff"}') == "params: not UTF-8"
    assert refusal(Text, b'{"tone":5,"text":"\xff"}') == "params: not UTF-8"
    assert refusal(Block, b'{"type":"cube","name":"\xff"}') == "params: not UTF-8"
    assert refusal(Block, b'{"type":"\xff"}') == "params: not UTF-8"


def test_what_is_nested_too_deeply_is_refused() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    assert refusal(Text, b'{"text":"a","_meta":{"a":' + deep + b"}}") == "params: nested too deeply"
    assert refusal(Block, b'{"type":"cube","a":' + deep + b"}") == "params: nested too deeply"


# Encoding


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


def test_what_is_no_type_of_the_protocol_is_not_encoded() -> None:
    with pytest.raises(TypeError, match=r"^object is not a type of the protocol$"):
        encode(object())
