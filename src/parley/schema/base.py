"""What both versions' types are made of: base classes, open unions, marks, and the method table.

A type module starts with `from __future__ import annotations`; msgspec resolves the names when the
first decoder is built. Absent, null and value are three things: a field whose null means something
has `UNSET` as its default.

How a wrong value of a field is read follows from its declaration:

| declaration | a wrong value |
|---|---|
| required, no mark | is an error |
| has a default, no mark | reads as the default; of a list only the bad items are dropped |
| `Strict[T]` | is an error though the field has a default |
| `NullDefault[T]` | null reads as the default, anything else is an error |
| `Lenient[list[T]]` | required key; a bad value reads as `[]`, bad items are dropped |
| `SkipInvalid[list[T]]` | bad items are dropped, what is no list is an error |
| `Whole[list[T]]` | reads as the default, never item by item |

Decoding and encoding are in `codec.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeAlias, TypeVar, Union

import msgspec
from msgspec import UNSET, Meta, Struct, StructMeta, UnsetType, field

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    from typing import dataclass_transform

__all__ = [
    "I32",
    "I64",
    "LENIENT",
    "NULL_DEFAULT",
    "OPEN",
    "SKIP_INVALID",
    "STRICT",
    "U16",
    "U32",
    "U64",
    "UNSTABLE",
    "UNTAGGED",
    "WHOLE",
    "Bare",
    "JsonObject",
    "Lenient",
    "Mark",
    "Method",
    "NullDefault",
    "Object",
    "Open",
    "Patch",
    "SkipInvalid",
    "Strict",
    "Table",
    "Unknown",
    "Unstable",
    "Untagged",
    "Whole",
]

T = TypeVar("T")
P = TypeVar("P")
R = TypeVar("R")

JsonObject: TypeAlias = dict[str, Any]

U16: TypeAlias = Annotated[int, Meta(ge=0, le=2**16 - 1)]
U32: TypeAlias = Annotated[int, Meta(ge=0, le=2**32 - 1)]
U64: TypeAlias = Annotated[int, Meta(ge=0)]  # msgspec cannot hold 2**64 - 1 as a bound
I32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
I64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Mark:
    """A note on a type that checkers and msgspec pass over and `codec.py` reads."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


STRICT = Mark("STRICT")
NULL_DEFAULT = Mark("NULL_DEFAULT")
LENIENT = Mark("LENIENT")
SKIP_INVALID = Mark("SKIP_INVALID")
WHOLE = Mark("WHOLE")
UNSTABLE = Mark("UNSTABLE")
OPEN = Mark("OPEN")
UNTAGGED = Mark("UNTAGGED")

Strict: TypeAlias = Annotated[T, STRICT]
NullDefault: TypeAlias = Annotated[T, NULL_DEFAULT]
Lenient: TypeAlias = Annotated[T, LENIENT]
SkipInvalid: TypeAlias = Annotated[T, SKIP_INVALID]
Whole: TypeAlias = Annotated[T, WHOLE]
Unstable: TypeAlias = Annotated[T, UNSTABLE]


class Unknown:
    """A value of an open union whose tag is not known here, kept with the bytes it came with.

    `case Unknown(tag)` matches it. It is encoded with exactly its own bytes.
    """

    __match_args__ = ("tag",)
    __slots__ = ("raw", "tag")

    def __init__(self, tag: str, raw: bytes) -> None:
        self.tag = tag
        """The value of the discriminator."""
        self.raw = raw
        """The whole value as JSON."""

    @property
    def is_extension(self) -> bool:
        """Whether the tag is somebody's extension (`_…`) and not a future word of the protocol."""
        return self.tag.startswith("_")

    @property
    def payload(self) -> Any:
        """The whole value, parsed."""
        return msgspec.json.decode(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and (self.tag, self.raw) == (other.tag, other.raw)

    def __hash__(self) -> int:
        return hash((self.tag, self.raw))

    def __repr__(self) -> str:
        return f"Unknown(tag={self.tag!r}, raw={self.raw!r})"


class _KeywordOnly(StructMeta):
    """Make every field keyword-only; msgspec does not inherit that setting."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any
    ) -> _KeywordOnly:
        config.setdefault("kw_only", True)
        return super().__new__(mcs, name, bases, namespace, **config)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class Bare(Struct, metaclass=_KeywordOnly, frozen=True, rename="camel", omit_defaults=True):
    """An object without `_meta`."""


class Object(Bare, kw_only=True):
    """An object of the protocol."""

    meta: JsonObject | None = field(name="_meta", default=None)
    """What implementations attach; see https://agentclientprotocol.com/protocol/v1/extensibility"""


class Patch(Bare, kw_only=True):
    """An object whose absent fields mean "unchanged" and whose nulls mean "cleared"."""

    meta: JsonObject | None | UnsetType = field(name="_meta", default=UNSET)
    """What implementations attach; null clears it."""


if TYPE_CHECKING:
    Open: TypeAlias = Union[T, Unknown]  # noqa: UP007 - a generic alias needs the old spelling
    Untagged: TypeAlias = Annotated[T, UNTAGGED]
else:

    class Open:
        """`Open[A | B]`: a union that keeps a member it does not know as `Unknown`."""

        def __class_getitem__(cls, members):
            """Return the union, marked; a lone member gets a sibling, or its tag is not asked for."""
            if isinstance(members, type) and issubclass(members, Struct):
                config = members.__struct_config__
                ghost = StructMeta(
                    "Ghost", (Struct,), {}, tag_field=config.tag_field, tag="\0ghost"
                )
                members = Union[members, ghost]  # noqa: UP007
            return Annotated[members, OPEN]

    class _Anything(type):
        def __instancecheck__(cls, instance):
            return True  # msgspec asks this of what the hook has returned

    class Untagged(Generic[T], metaclass=_Anything):
        """`Untagged[A | B]`: a union whose members are told apart by more than one tag field."""


Side: TypeAlias = Literal["agent", "client", "either"]
Kind: TypeAlias = Literal["request", "notification"]
Stability: TypeAlias = Literal["stable", "unstable", "former", "proposal"]


class Method(Struct, Generic[P, R], frozen=True, kw_only=True):
    """One row of a version's method table."""

    name: str
    """The name on the wire."""
    to: Side
    """Who handles it."""
    kind: Kind
    """Whether it is answered."""
    params: Any
    """The type of its params."""
    result: Any = None
    """The type of its result; None for a notification."""
    stability: Stability = "stable"
    """`unstable`: only in the draft schema; `former`: left the schema; `proposal`: never was in it."""
    capability: str | None = None
    """Where the receiver offers it, as a path below its capabilities; None where it always may be
    used."""
    session: str | None = None
    """The field of its params that holds the session id."""
    opens_session: bool = False
    """Whether its result names a session that did not exist before."""
    is_urgent: bool = False
    """Whether it passes everything that waits for its turn."""


class Table:
    """All methods of one version, looked up by who handles them."""

    def __init__(self, version: int, methods: tuple[Method[Any, Any], ...]) -> None:
        self.version = version
        self.methods = methods
        self._requests: dict[str, dict[str, Method[Any, Any]]] = {"agent": {}, "client": {}}
        self._notifications: dict[str, dict[str, Method[Any, Any]]] = {"agent": {}, "client": {}}
        for method in methods:
            index = self._requests if method.kind == "request" else self._notifications
            for side in ("agent", "client") if method.to == "either" else (method.to,):
                index[side][method.name] = method

    def requests(self, to: Literal["agent", "client"]) -> Mapping[str, Method[Any, Any]]:
        """Return the requests that this side handles, by name."""
        return self._requests[to]

    def notifications(self, to: Literal["agent", "client"]) -> Mapping[str, Method[Any, Any]]:
        """Return the notifications that this side handles, by name."""
        return self._notifications[to]
