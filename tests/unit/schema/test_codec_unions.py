"""Unions: choosing the member, and preserving unknown ones."""

from __future__ import annotations

import pytest

from parley.schema._codec import decode, encode
from parley.schema.base import Unknown

from .sample_types import (
    Blob,
    Block,
    Choices,
    ClosedBlock,
    Contents,
    Either,
    Holder,
    Http,
    Items,
    Lamp,
    LoneBlock,
    OnlyTagged,
    Options,
    Picture,
    Prompt,
    Sample,
    Server,
    Stdio,
    Text,
    TextContents,
    Titled,
    decode_error,
)


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
    assert decode_error(Prompt, raw) == "params.prompt[2].text: expected string"
    assert decode_error(Prompt, raw, "result") == "result.prompt[2].text: expected string"


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
    assert decode_error(Block, raw) == problem
    assert decode_error(LoneBlock, raw) == problem


def test_a_closed_union_refuses_unknown_tags() -> None:
    assert decode_error(ClosedBlock, b'{"type":"cube"}') == "params.type: expected text or picture"
    assert decode_error(ClosedBlock, b'{"type":5}') == "params.type: expected text or picture"
    assert decode_error(ClosedBlock, b"{}") == "params.type: required"
    assert decode(ClosedBlock, b'{"type":"text","text":"a","tone":1}') == Text(text="a")


def test_a_lone_member_of_an_open_union_is_read_like_any_other() -> None:
    assert decode(LoneBlock, b'{"type":"text","text":"a","tone":1}') == Text(text="a")
    assert decode(LoneBlock, b'{"type":"x"}') == Unknown("x", b'{"type":"x"}')
    ghost = b'{"type":"\\u0000ghost"}'
    assert decode(LoneBlock, ghost) == Unknown("\0ghost", ghost)


def test_an_open_union_may_stand_beside_null() -> None:
    assert decode(Sample, b'{"block":null}').block is None
    assert decode(Sample, b'{"block":{"type":"x"}}').block == Unknown("x", b'{"type":"x"}')
    lone = b'{"server":{"command":"c"},"lone":{"type":"x"}}'
    assert decode(Holder, lone).lone == Unknown("x", b'{"type":"x"}')
    missing = b'{"server":{"command":"c"},"lone":{}}'
    assert decode_error(Holder, missing) == "params.lone.type: required"
    number = b'{"server":{"command":"c"},"lone":5}'
    assert decode_error(Holder, number) == "params.lone: expected object or null"


def test_a_closed_union_may_stand_beside_null() -> None:
    raw = b'{"server":{"command":"c"},"closed":{"type":"x"}}'
    assert decode_error(Holder, raw) == "params.closed.type: expected text or picture"
    raw = b'{"server":{"command":"c"},"closed":{"type":"text","text":"a","tone":2}}'
    assert decode(Holder, raw).closed == Text(text="a")


def test_a_tagged_class_outside_a_union_may_lack_its_tag_but_not_have_another() -> None:
    assert decode(Text, b'{"text":"a","tone":1}') == Text(text="a")
    assert decode_error(Text, b'{"type":"picture","text":"a"}') == "params.type: expected text"
    raw = b'{"server":{"command":"c"},"single":{"url":"u","_meta":5}}'
    assert decode(Holder, raw).single == Http(url="u")
    raw = b'{"server":{"command":"c"},"single":{"type":"x","url":"u"}}'
    assert decode_error(Holder, raw) == "params.single.type: expected http"


def test_maps_of_variants_do_not_show_their_keys() -> None:
    raw = b'{"server":{"command":"c"},"byName":{"k":{"type":"x"}}}'
    assert decode(Holder, raw).by_name == {"k": Unknown("x", b'{"type":"x"}')}
    raw = b'{"server":{"command":"c"},"byName":{"secret":{"type":"text"}}}'
    assert decode_error(Holder, raw) == "params.byName[...].text: required"
    assert decode_error(dict[str, Block], b"[]") == "params: expected object"


def test_an_unknown_second_tag_makes_the_object_unknown() -> None:
    raw = b'{"type":"lamp","state":"dim","watts":3}'
    assert decode(Block, raw) == Unknown("dim", raw)
    assert decode(Block, b'{"type":"lamp","state":"on","watts":"x"}') == Lamp(state="on")
    assert decode_error(Block, b'{"type":"lamp","state":5}') == "params.state: expected on or off"
    assert decode_error(Block, b'{"type":"lamp"}') == "params.state: required"


def test_an_unknown_second_tag_outside_an_open_union_is_refused() -> None:
    assert decode_error(Lamp, b'{"state":"dim"}') == "params.state: expected on or off"
    raw = b'{"type":"nest","lamp":{"type":"lamp","state":"dim"}}'
    assert decode_error(Block, raw) == "params.lamp.state: expected on or off"


def test_members_without_a_tag_are_chosen_by_fit() -> None:
    assert decode(Server, b'{"type":"http","url":"u"}') == Http(url="u")
    assert decode(Server, b'{"command":"c"}') == Stdio(command="c")
    assert decode(Contents, b'{"text":"t"}') == TextContents(text="t")
    assert decode(Contents, b'{"blob":"b"}') == Blob(blob="b")
    assert decode(Options, b'[{"blob":"b"}]') == [Blob(blob="b")]


def test_members_without_a_tag_are_read_leniently_when_none_fits_exactly() -> None:
    assert decode(Server, b'{"command":"c","_meta":5}') == Stdio(command="c")
    assert decode(Contents, b'{"blob":"b","mime":5}') == Blob(blob="b")
    assert decode(Options, b'[{"text":"t","mime":5}]') == [TextContents(text="t")]


def test_fitting_exactly_goes_before_fitting_leniently() -> None:
    both = b'{"text":"t","blob":"b","mime":"m"}'
    assert decode(Contents, both) == TextContents(text="t", mime="m")
    holder = b'{"server":{"command":"c","args":5},"contents":{"blob":"b"}}'
    assert decode(Holder, holder).contents == Blob(blob="b")


def test_a_known_tag_decides_also_when_its_payload_is_broken() -> None:
    assert decode_error(Server, b'{"type":"http","command":"c"}') == "params.url: required"
    assert decode(Server, b'{"type":"http","url":"u","_meta":1}') == Http(url="u")


def test_an_unknown_tag_falls_through_to_the_members_without_one() -> None:
    assert decode(Server, b'{"type":"pipe","command":"c"}') == Stdio(command="c")
    assert decode(Server, b'{"type":5,"command":"c"}') == Stdio(command="c")
    assert decode_error(Server, b'{"type":"pipe"}') == "params.command: required"


def test_what_fits_no_member_is_refused() -> None:
    assert decode_error(Contents, b'{"mime":"m"}') == "params: expected TextContents or Blob"
    assert decode_error(Contents, b"5") == "params: expected TextContents or Blob"
    assert (
        decode_error(Options, b"[5]") == "params: expected array of TextContents or array of Blob"
    )
    assert decode_error(OnlyTagged, b'{"url":"u"}') == "params: expected object"
    assert decode(OnlyTagged, b'{"type":"text","text":"a"}') == Text(text="a")
    assert decode_error(Either, b"5") == ("params: expected array of string or object")


def test_an_open_union_keeps_unknown_tags_and_leaves_untagged_values_to_the_rest() -> None:
    assert decode(Items, b'{"type":"string","enum":["a"]}') == Choices(enum=["a"])
    assert decode(Items, b'{"type":"date","enum":5}') == Unknown(
        "date", b'{"type":"date","enum":5}'
    )
    assert decode(Items, b'{"anyOf":[{"text":"t"}]}') == Titled(any_of=[TextContents(text="t")])
    assert decode(Items, b'{"type":null,"anyOf":[]}') == Titled(any_of=[])
    assert decode(Items, b'{"anyOf":[{"text":"t","mime":1}]}') == Titled(
        any_of=[TextContents(text="t")]
    )
    assert decode_error(Items, b'{"type":"string"}') == "params.enum: required"


def test_untagged_unions_may_stand_beside_null() -> None:
    raw = b'{"server":{"command":"c"},"contents":null,"items":{"type":"date"}}'
    value = decode(Holder, raw)
    assert (value.contents, value.items) == (None, Unknown("date", b'{"type":"date"}'))
    raw = b'{"server":{"command":"c"},"options":[5]}'
    assert (
        decode_error(Holder, raw)
        == "params.options: expected array of TextContents or array of Blob"
    )


def test_a_type_that_json_cannot_hold_is_a_mistake_of_ours() -> None:
    with pytest.raises(NotImplementedError, match="no JSON value"):
        decode(Exception, b"{}")
