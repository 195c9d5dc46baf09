"""The building blocks of the types."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Literal, TypeAlias

import msgspec
import pytest
from msgspec import UNSET

from parley.schema.base import (
    LENIENT,
    U64,
    AllOrDefault,
    BaseStruct,
    Lenient,
    Method,
    MethodTable,
    NoMember,
    NullDefault,
    Object,
    Open,
    Patch,
    SkipInvalid,
    Strict,
    Unknown,
    Unstable,
    Untagged,
    declared_in,
    is_extension,
    notification,
    request,
)
from parley.schema.version import SUPPORTED


class Circle(Object, tag_field="kind", tag="circle"):
    radius: float


class Square(Object, tag_field="kind", tag="square"):
    side: float
    corner_count: int = 4


Shape: TypeAlias = Open[Circle | Square]
LoneShape: TypeAlias = Open[Circle]


class Rename(Patch):
    item_id: str
    title: str | msgspec.UnsetType | None = UNSET


class Point(BaseStruct):
    x: int
    y: int = 0


def test_fields_are_camel_case_on_the_wire_and_keyword_only() -> None:
    square = Square(side=2.0, corner_count=3)
    assert msgspec.json.encode(square) == b'{"kind":"square","side":2.0,"cornerCount":3}'
    with pytest.raises(TypeError, match="positional"):
        Square(2.0)  # type: ignore[call-arg,arg-type]  # pyright: ignore[reportCallIssue]


def test_objects_are_frozen() -> None:
    point = Point(x=1)
    with pytest.raises(AttributeError):
        point.x = 2  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def test_an_object_has_meta_and_a_bare_one_has_not() -> None:
    circle = Circle(radius=1.0, meta={"a": 1})
    assert msgspec.json.encode(circle) == b'{"kind":"circle","_meta":{"a":1},"radius":1.0}'
    assert msgspec.json.decode(msgspec.json.encode(circle), type=Circle) == circle
    assert "meta" not in Point.__struct_fields__


def test_a_patch_keeps_absent_null_and_value_apart() -> None:
    read = msgspec.json.Decoder(Rename).decode
    assert read(b'{"itemId":"i"}').title is UNSET
    assert read(b'{"itemId":"i","title":null}').title is None
    assert read(b'{"itemId":"i","title":"t"}').title == "t"
    assert msgspec.json.encode(Rename(item_id="i")) == b'{"itemId":"i"}'
    assert msgspec.json.encode(Rename(item_id="i", title=None)) == b'{"itemId":"i","title":null}'
    assert read(b'{"itemId":"i","_meta":null}').meta is None
    assert read(b'{"itemId":"i"}').meta is UNSET


def test_an_unknown_variant_is_matched_by_its_tag() -> None:
    match Unknown("_glow", b'{"kind":"_glow"}'):
        case Unknown(tag):
            assert tag == "_glow"


def test_an_unknown_variant_gives_its_payload_parsed() -> None:
    assert Unknown("cube", b'{"kind":"cube","side":1}').payload == {"kind": "cube", "side": 1}


def test_unknown_variants_are_values() -> None:
    one, same, other = Unknown("a", b"{}"), Unknown("a", b"{}"), Unknown("b", b"{}")
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "a"
    assert repr(one) == "Unknown(tag='a', raw=b'{}')"


def test_extensions_and_future_values_are_told_apart() -> None:
    assert Unknown("_mine", b"{}").is_extension
    assert not Unknown("hologram", b"{}").is_extension
    assert is_extension("_mine")
    assert not is_extension("hologram")


def test_marks_are_notes_that_msgspec_passes_over() -> None:
    class Everything(BaseStruct):
        a: Strict[int | None] = None
        b: NullDefault[list[int]]
        c: Lenient[list[int]]
        d: SkipInvalid[list[int]]
        e: AllOrDefault[list[int] | None] = None
        f: Unstable[Strict[U64 | None]] = None
        g: Literal["x", "y"] | str = "x"
        h: Shape | None = None

    read = msgspec.json.Decoder(Everything).decode
    text = b'{"a":1,"b":[1],"c":[2],"d":[3],"e":[4],"f":5,"g":"z","h":{"kind":"circle","radius":1}}'
    value = read(text)
    assert (value.a, value.b, value.c, value.d, value.e, value.f) == (1, [1], [2], [3], [4], 5)
    assert (value.g, value.h) == ("z", Circle(radius=1.0))
    with pytest.raises(msgspec.ValidationError):
        read(b'{"b":[],"c":[],"d":[],"f":-1}')
    assert repr(LENIENT) == "LENIENT"


def test_a_lone_member_of_an_open_union_needs_its_tag() -> None:
    read = msgspec.json.Decoder[Any](LoneShape).decode
    assert read(b'{"kind":"circle","radius":1}') == Circle(radius=1.0)
    with pytest.raises(msgspec.ValidationError, match="missing required field `kind`"):
        read(b'{"radius":1}')
    # The pin: msgspec by itself does not ask for it.
    assert msgspec.json.decode(b'{"radius":1}', type=Circle) == Circle(radius=1.0)


def test_the_sibling_of_a_lone_member_cannot_be_made_from_the_wire() -> None:
    read = msgspec.json.Decoder[Any](LoneShape).decode
    with pytest.raises(msgspec.ValidationError):
        read(b'{"kind":"\\u0000ghost"}')
    with pytest.raises(ValueError, match="no value"):
        NoMember()


PING: Method[Point, Point] = Method(
    name="ping", to="either", kind="request", params=Point, result=Point
)
MOVE: Method[Point, None] = Method(name="move", to="agent", kind="notification", params=Point)
DRAW: Method[Point, Point] = Method(
    name="draw", to="client", kind="request", params=Point, result=Point
)


def test_a_table_is_looked_up_by_who_handles_the_method() -> None:
    table = MethodTable(1, (PING, MOVE, DRAW))
    assert table.requests("agent") == {"ping": PING}
    assert table.requests("client") == {"ping": PING, "draw": DRAW}
    assert table.notifications("agent") == {"move": MOVE}
    assert table.notifications("client") == {}


def test_a_table_can_be_extended_without_changing_it() -> None:
    table = MethodTable(2, (PING,), allows_null_ids=False)
    larger = table.extended((MOVE,))
    assert (larger.version, larger.methods, larger.allows_null_ids) == (2, (PING, MOVE), False)
    assert table.methods == (PING,)


def test_supported_versions_are_in_ascending_order() -> None:
    assert tuple(sorted(SUPPORTED)) == SUPPORTED


def test_importing_builds_no_decoder_and_no_version() -> None:
    program = """
import msgspec, sys
def refuse(*args, **kwargs):
    raise AssertionError("a decoder was built")
msgspec.json.Decoder = refuse
import parley.schema, parley.schema.base, parley.schema._codec, parley.schema.version
print(sorted(name for name in sys.modules if name.startswith("parley.schema.v")))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300
    )
    assert (run.stdout, run.stderr) == ("['parley.schema.version']\n", "")


class InSession(Object):
    session_id: str


class InAnother(InSession):
    pass


Either: TypeAlias = Untagged[InSession | InAnother]


def test_a_row_finds_the_session_in_its_params() -> None:
    assert request("a", InSession, Point, to="agent").session == "session_id"
    assert notification("a", InSession, to="agent").session == "session_id"
    ask: Method[Either, Point] = request("a", Either, Point, to="agent")
    assert ask.session == "session_id"
    assert request("a", Point, InSession, to="agent").session is None


def test_a_row_is_what_its_method_says() -> None:
    assert request(
        "a", Point, Point, to="client", capability="b", stability="former", opens_session=True
    ) == Method(
        name="a",
        to="client",
        kind="request",
        params=Point,
        result=Point,
        stability="former",
        capability="b",
        opens_session=True,
    )
    assert notification("a", Point, to="either", is_urgent=True) == Method(
        name="a", to="either", kind="notification", params=Point, is_urgent=True
    )


def test_a_table_takes_the_rows_of_the_schema_that_a_module_declares() -> None:
    stable = request("a", Point, Point, to="agent")
    draft = request("b", Point, Point, to="agent", stability="unstable")
    former = request("c", Point, Point, to="agent", stability="former")
    proposed = request("d", Point, Point, to="agent", stability="proposal")
    namespace = {"C": former, "A": stable, "D": proposed, "B": draft, "OTHER": 1}
    assert declared_in(namespace) == (stable, draft)
