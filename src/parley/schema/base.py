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

How a union is written follows from what tells its members apart on the wire:

- `A | B` of tagged classes: closed. An unknown or missing tag is an error.
- `Open[A | B]`, `Open[A]`: open. An unknown string as tag gives `Unknown`; no tag is an error.
- `Untagged[A | B]`: the tagged member whose tag is there, else the first member without a tag that
  fits; an unknown tag is passed over. Fitting exactly goes before fitting with wrong values read
  as in the table above.
- `Open[Untagged[A | B]]`: the same, but an unknown string as tag gives `Unknown`; the members
  without a tag are for values that have none.
- `state: Open[Literal["a", "b"]]` as a field: a second tag. An unknown string there makes the whole
  object `Unknown` if it stands in an open union; the `tag` of that is the unknown string.
- `Literal["a", "b"] | str`: an open enumeration; `is_extension` sorts its unknown words.
- `Annotated[Literal["a", "b"], Otherwise("b")]`: an unknown string reads as that word.

A known tag with a broken payload is always an error. Any of these may stand beside `None`, in a
list and in a map. Tagged members of one union share their tag field. A `ValueError` that
`__post_init__` raises is an error of the whole object; its text reaches the peer, so it must not
quote the input.

Decoding and encoding are in `codec.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
)

import msgspec
from msgspec import UNSET, Meta, Struct, StructMeta, UnsetType, field

__all__ = [
    "I32",
    "I64",
    "LENIENT",
    "NO_ENTRIES",
    "NO_ITEMS",
    "NULL_DEFAULT",
    "OPEN",
    "SKIP_INVALID",
    "STRICT",
    "U16",
    "U32",
    "U64",
    "UNSTABLE",
    "WHOLE",
    "Bare",
    "Ghost",
    "JsonObject",
    "Kind",
    "Lenient",
    "Mark",
    "Method",
    "NullDefault",
    "Object",
    "Open",
    "OpenUntaggedUnion",
    "Otherwise",
    "Patch",
    "SkipInvalid",
    "Strict",
    "Table",
    "Unknown",
    "Unstable",
    "Untagged",
    "UntaggedUnion",
    "Whole",
    "is_extension",
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
    """A note on a type that checkers and msgspec pass over and our own readers see."""

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

Strict: TypeAlias = Annotated[T, STRICT]
NullDefault: TypeAlias = Annotated[T, NULL_DEFAULT]
Lenient: TypeAlias = Annotated[T, LENIENT]
SkipInvalid: TypeAlias = Annotated[T, SKIP_INVALID]
Whole: TypeAlias = Annotated[T, WHOLE]
Unstable: TypeAlias = Annotated[T, UNSTABLE]


class Otherwise(Struct, frozen=True):
    """A note on an enumeration: the word that an unknown one reads as."""

    word: str


def is_extension(word: str) -> bool:
    """Return whether an unknown word is somebody's extension (`_…`), not a future protocol word."""
    return word.startswith("_")


class Unknown:
    """A value of an open union whose tag is not known here, kept with the bytes it came with.

    `case Unknown(tag)` matches it. It is encoded with exactly its own bytes.
    """

    __match_args__ = ("tag",)
    __slots__ = ("raw", "tag")

    def __init__(self, tag: str, raw: bytes) -> None:
        self.tag = tag
        """The word that is not known here."""
        self.raw = raw
        """The whole value as JSON."""

    @property
    def is_extension(self) -> bool:
        """Whether the tag is somebody's extension (`_…`), not a future word of the protocol."""
        return is_extension(self.tag)

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

    meta: JsonObject | UnsetType | None = field(name="_meta", default=UNSET)
    """What implementations attach; null clears it."""


# Only a default made by `list` or `dict` itself is left out when it is empty.
NO_ITEMS = cast(Any, field(default_factory=list))
"""The default of a list that may be left out."""
NO_ENTRIES = cast(Any, field(default_factory=dict))
"""The default of a map that may be left out."""


class _Anything(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True  # msgspec asks this of what the decoding hook has returned


class UntaggedUnion(Generic[T], metaclass=_Anything):
    """What `Untagged[A | B]` is at run time."""


class OpenUntaggedUnion(Generic[T], metaclass=_Anything):
    """What `Open[Untagged[A | B]]` is at run time."""


class Ghost(Struct):
    """A sibling for the lone member of an open union: without one, msgspec asks for no tag."""

    def __post_init__(self) -> None:
        raise ValueError("no value has this type")


if TYPE_CHECKING:
    Open: TypeAlias = Union[T, Unknown]  # noqa: UP007 - a generic alias needs the old spelling
    Untagged: TypeAlias = Annotated[T, "untagged"]
else:
    Untagged = UntaggedUnion

    class Open:
        """`Open[A | B]`: a union that keeps a member it does not know as `Unknown`."""

        def __class_getitem__(cls, union):
            """Return the union, marked."""
            if get_origin(union) is UntaggedUnion:
                return OpenUntaggedUnion[get_args(union)]
            if isinstance(union, type) and issubclass(union, Struct):
                tag_field = union.__struct_config__.tag_field
                ghost = StructMeta("Ghost", (Ghost,), {}, tag_field=tag_field, tag="\0ghost")
                union = Union[union, ghost]  # noqa: UP007
            return Annotated[union, OPEN]


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
    """`unstable`: only in the draft schema; `former`: left it; `proposal`: never was in it."""
    capability: str | None = None
    """Where the receiver offers it, as a path below its capabilities; None where it always may be
    used."""
    session: str | None = None
    """The field of its params that holds the session id."""
    opens_session: bool = False
    """Whether its result names a session that did not exist before."""
    closes_session: bool = False
    """Whether the session of its params is gone when it has been answered."""
    is_urgent: bool = False
    """Whether it passes everything that waits for its turn."""


class Table:
    """All methods of one version, looked up by who handles them."""

    def __init__(
        self,
        version: int,
        methods: tuple[Method[Any, Any], ...],
        *,
        allows_null_ids: bool = True,
    ) -> None:
        self.version = version
        self.methods = methods
        self.allows_null_ids = allows_null_ids
        """Whether a request of this version may have the id null."""
        self._requests: dict[str, dict[str, Method[Any, Any]]] = {"agent": {}, "client": {}}
        self._notifications: dict[str, dict[str, Method[Any, Any]]] = {"agent": {}, "client": {}}
        for method in methods:
            index = self._requests if method.kind == "request" else self._notifications
            for side in ("agent", "client") if method.to == "either" else (method.to,):
                index[side][method.name] = method

    def requests(self, to: Literal["agent", "client"]) -> Mapping[str, Method[Any, Any]]:
        """Return the requests that this side handles, by name."""
        return self.handled("request", to)

    def notifications(self, to: Literal["agent", "client"]) -> Mapping[str, Method[Any, Any]]:
        """Return the notifications that this side handles, by name."""
        return self.handled("notification", to)

    def handled(self, kind: Kind, to: Literal["agent", "client"]) -> Mapping[str, Method[Any, Any]]:
        """Return what this side handles, by name."""
        return (self._requests if kind == "request" else self._notifications)[to]

    def extended(self, methods: tuple[Method[Any, Any], ...]) -> Table:
        """Return a table with further methods, such as those that left the schema."""
        return Table(self.version, (*self.methods, *methods), allows_null_ids=self.allows_null_ids)
