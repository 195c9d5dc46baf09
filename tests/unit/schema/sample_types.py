"""Sample types, one for each kind of declaration, and a helper for the codec tests."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import pytest
from msgspec import UNSET, Meta, UnsetType

from parley.errors import MalformedValue
from parley.schema._codec import decode
from parley.schema.base import (
    EMPTY_DICT,
    EMPTY_LIST,
    I32,
    I64,
    U16,
    U32,
    U64,
    AllOrDefault,
    BaseStruct,
    Lenient,
    NullDefault,
    Object,
    Open,
    Patch,
    SkipInvalid,
    Strict,
    UnknownReadsAs,
    Untagged,
)


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


class Container(Object, tag_field="type", tag="nest"):
    lamp: Lamp
    inner: BaseStruct | None = None


ClosedBlock: TypeAlias = Text | Picture
Block: TypeAlias = Open[Text | Picture | Lamp | Container]
LoneBlock: TypeAlias = Open[Text]


class Http(Object, tag_field="type", tag="http"):
    url: str


class Stdio(Object):
    command: str
    args: list[str] = EMPTY_LIST


class TextContents(Object):
    text: str
    mime: str | None = None


class Blob(Object):
    blob: str
    mime: str | None = None


class Choices(Object, tag_field="type", tag="string"):
    enum: list[str]


class Titled(Object):
    any_of: list[TextContents]


Server: TypeAlias = Untagged[Http | Stdio]
Contents: TypeAlias = Untagged[TextContents | Blob]
Options: TypeAlias = Untagged[list[TextContents] | list[Blob]]
Items: TypeAlias = Open[Untagged[Choices | Titled]]
OnlyTagged: TypeAlias = Untagged[Text | Http]
Either: TypeAlias = Untagged[list[str] | dict[str, int]]
Hue: TypeAlias = Annotated[Literal["red", "grey"], UnknownReadsAs("grey")]
Code: TypeAlias = Literal[1, 2] | I32
Tone: TypeAlias = Literal["calm", "loud"] | str


class Prompt(Object):
    session_id: str
    prompt: list[Block]


class Sample(BaseStruct):
    """One field for each way in which a wrong value is read."""

    name: str | None = None
    words: list[str] | None = None
    strict: Strict[int | None] = None
    strict_words: Strict[list[str] | None] = None
    null: NullDefault[list[int]] = EMPTY_LIST
    whole: AllOrDefault[list[int] | None] = None
    whole_block: AllOrDefault[list[Block] | None] = None
    limits: dict[str, int] = EMPTY_DICT
    block: Block | None = None
    tone: Tone = "calm"
    state: Literal["new", "old"] | None = None


class Required(BaseStruct):
    lenient: Lenient[list[int]]
    null_list: NullDefault[list[int]]
    null_map: NullDefault[dict[str, int]]
    skip: SkipInvalid[list[Block]]


class Paint(BaseStruct):
    hue: Hue | None = None


class Change(Patch):
    id: str
    title: str | UnsetType | None = UNSET
    content: list[Block] | UnsetType | None = UNSET


class Numbers(BaseStruct):
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


class Scope(BaseStruct):
    session: str | None = None
    request: str | None = None

    def __post_init__(self) -> None:
        if self.session is None and self.request is None:
            raise ValueError("needs session or request")


class Tree(BaseStruct):
    """Refers to itself."""

    label: str
    children: Strict[list[Tree]] = EMPTY_LIST


class Holder(BaseStruct):
    server: Server
    contents: Contents | None = None
    items: Items | None = None
    options: Strict[Options | None] = None
    only: Strict[OnlyTagged | None] = None
    lone: Strict[LoneBlock | None] = None
    closed: Strict[ClosedBlock | None] = None
    single: Strict[Http | None] = None
    by_name: Strict[dict[str, Block] | None] = None


def decode_error(tp: Any, raw: bytes, path: str = "params") -> str:
    """Return the text of the error, and check that no msgspec error leaks through it."""
    with pytest.raises(MalformedValue) as caught:
        decode(tp, raw, path)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, MalformedValue)
    assert str(caught.value) == f"{caught.value.path}: {caught.value.problem}"
    return str(caught.value)
