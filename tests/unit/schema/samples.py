"""Small types, one for each way to declare something, and what the codec's tests share."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import pytest
from msgspec import UNSET, Meta, UnsetType

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
    Otherwise,
    Patch,
    SkipInvalid,
    Strict,
    Untagged,
    Whole,
)
from parley.schema.codec import decode


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
Hue: TypeAlias = Annotated[Literal["red", "grey"], Otherwise("grey")]
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


class Paint(Bare):
    hue: Hue | None = None


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
