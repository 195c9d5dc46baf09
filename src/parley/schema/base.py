"""Building blocks of the types of both versions: base classes, open unions, marks, method table.

A type module starts with `from __future__ import annotations`; msgspec resolves the names when the
first decoder is built. Absent, null and a value are distinct: a field for which null has a meaning
of its own has `UNSET` as its default.

The declaration of a field determines how an invalid value is read:

| declaration | an invalid value |
|---|---|
| required, no mark | is an error |
| has a default, no mark | reads as the default; in a list only the invalid items are dropped |
| `Strict[T]` | is an error though the field has a default |
| `NullDefault[T]` | null reads as the default, anything else is an error |
| `Lenient[list[T]]` | required key; an invalid value reads as `[]`, invalid items are dropped |
| `SkipInvalid[list[T]]` | invalid items are dropped; a value that is not a list is an error |
| `AllOrDefault[list[T]]` | reads as the default, never item by item |

The declaration of a union depends on how its members are distinguished in JSON:

- `A | B` of tagged classes: closed. An unknown or missing tag is an error.
- `Open[A | B]`, `Open[A]`: open. An unknown string as tag gives `Unknown`; no tag is an error.
- `Untagged[A | B]`: the tagged member whose tag is present, else the first member without a tag
  that matches; an unknown tag is ignored. An exact match takes precedence over a match in which
  invalid values are read as in the table above.
- `Open[Untagged[A | B]]`: the same, but an unknown string as tag gives `Unknown`; the members
  without a tag are for values that have none.
- `state: Open[Literal["a", "b"]]` as a field: a second tag. An unknown string there makes the whole
  object `Unknown` if it is a member of an open union; the unknown string becomes its `tag`.
- `Literal["a", "b"] | str`: an open enumeration; `is_extension` classifies its unknown values.
- `Annotated[Literal["a", "b"], UnknownReadsAs("b")]`: an unknown string reads as that value.

The forms of older drafts are read where they are unambiguous, and never written. They are declared
next to the current form, and only the lenient pass uses them:

- `Annotated[T, Formerly("key")]`: the field had another key.
- `former_tag: ClassVar[str]` of a tagged class: it had another tag. A value that does not match the
  class remains an unknown variant.
- `Annotated[str, SIGNAL]`: a number is read as the name of that signal.

A known tag with an invalid payload is always an error. Any of these may be combined with `None` and
used in a list or a map. Tagged members of one union share their tag field. A `ValueError` that
`__post_init__` raises is an error of the whole object; its text reaches the peer, so it must not
quote the input.

Decoding and encoding are in `_codec.py`.
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
    overload,
)

import msgspec
from msgspec import UNSET, Meta, Struct, StructMeta, UnsetType, field

__all__ = [
    "ALL_OR_DEFAULT",
    "EMPTY_DICT",
    "EMPTY_LIST",
    "FORMER_TAG",
    "I32",
    "I64",
    "LENIENT",
    "NULL_DEFAULT",
    "OPEN",
    "SIGNAL",
    "SKIP_INVALID",
    "STRICT",
    "U16",
    "U32",
    "U64",
    "UNSTABLE",
    "AllOrDefault",
    "BaseStruct",
    "Formerly",
    "JsonObject",
    "Kind",
    "Lenient",
    "Mark",
    "Method",
    "MethodTable",
    "NoMember",
    "NullDefault",
    "Object",
    "Open",
    "OpenUntaggedUnion",
    "Patch",
    "SkipInvalid",
    "Strict",
    "Unknown",
    "UnknownReadsAs",
    "Unstable",
    "Untagged",
    "UntaggedUnion",
    "declared_in",
    "is_extension",
    "notification",
    "request",
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
    """An annotation of a type that type checkers and msgspec ignore and our own readers use."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


STRICT = Mark("STRICT")
NULL_DEFAULT = Mark("NULL_DEFAULT")
LENIENT = Mark("LENIENT")
SKIP_INVALID = Mark("SKIP_INVALID")
ALL_OR_DEFAULT = Mark("ALL_OR_DEFAULT")
UNSTABLE = Mark("UNSTABLE")
OPEN = Mark("OPEN")
SIGNAL = Mark("SIGNAL")
"""Marks the name of a signal, for which older drafts have a number."""

Strict: TypeAlias = Annotated[T, STRICT]
NullDefault: TypeAlias = Annotated[T, NULL_DEFAULT]
Lenient: TypeAlias = Annotated[T, LENIENT]
SkipInvalid: TypeAlias = Annotated[T, SKIP_INVALID]
AllOrDefault: TypeAlias = Annotated[T, ALL_OR_DEFAULT]
Unstable: TypeAlias = Annotated[T, UNSTABLE]


class Formerly(Struct, frozen=True):
    """An annotation of a field: its key in older drafts, read if the current key is absent.

    It is never written.
    """

    key: str
    absent: bytes | None = None
    """The JSON value to read if both keys are absent or the older one is null; None for none."""


FORMER_TAG = "former_tag"
"""The name of the class variable that holds the tag of a class in older drafts."""


class UnknownReadsAs(Struct, frozen=True):
    """An annotation of an enumeration: the known value that replaces an unknown one."""

    value: str


def is_extension(value: str) -> bool:
    """Return whether an unknown value is an extension (`_…`), not a future protocol value."""
    return value.startswith("_")


class Unknown:
    """A value of an open union whose tag Parley does not recognize, with its original bytes.

    You receive one when a peer uses an extension or a newer protocol version: match it with
    `case Unknown(tag)` and read `payload`. To send a value of your own, create one with
    `Unknown.of`. It is encoded as exactly its original bytes.
    """

    __match_args__ = ("tag",)
    __slots__ = ("raw", "tag")

    def __init__(self, tag: str, raw: bytes) -> None:
        self.tag = tag
        """The unrecognized tag."""
        self.raw = raw
        """The whole value as JSON."""

    @classmethod
    def of(cls, key: str, tag: str, /, **fields: Any) -> Unknown:
        """Return a custom value: `Unknown.of("type", "_example.com/chart", points=[1, 2])`.

        Args:
            key: The tag field of the union, such as `type` for content or `sessionUpdate` for
                updates.
            tag: The value of the tag field; custom values start with an underscore.
            fields: The other fields, with their JSON names.
        """
        return cls(tag, msgspec.json.encode({key: tag, **fields}))

    @property
    def is_extension(self) -> bool:
        """Whether the tag is an extension (`_…`), not a future protocol value."""
        return is_extension(self.tag)

    @property
    def payload(self) -> Any:
        """The whole value, parsed from JSON."""
        return msgspec.json.decode(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and (self.tag, self.raw) == (other.tag, other.raw)

    def __hash__(self) -> int:
        return hash((self.tag, self.raw))

    def __repr__(self) -> str:
        return f"Unknown(tag={self.tag!r}, raw={self.raw!r})"


class _KeywordOnly(StructMeta):
    """A metaclass that makes every field keyword-only; msgspec does not inherit that setting."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any
    ) -> _KeywordOnly:
        config.setdefault("kw_only", True)
        return super().__new__(mcs, name, bases, namespace, **config)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
class BaseStruct(
    Struct, metaclass=_KeywordOnly, frozen=True, rename="camel", omit_defaults=True, gc=False
):
    """A protocol object without `_meta`: frozen, keyword-only, camelCase in JSON.

    The garbage collector does not look at protocol objects: they are JSON, which has no cycles, and
    looking at every one of them takes a tenth of the time of an update.
    """


class Object(BaseStruct, kw_only=True):
    """A protocol object with `_meta`."""

    meta: JsonObject | None = field(name="_meta", default=None)
    """Custom metadata; see https://agentclientprotocol.com/protocol/v1/extensibility"""


class Patch(BaseStruct, kw_only=True):
    """A protocol object in which an absent field means "unchanged" and null means "cleared"."""

    meta: JsonObject | UnsetType | None = field(name="_meta", default=UNSET)
    """Custom metadata; null clears it."""


# msgspec omits an empty default only if its factory is `list` or `dict` itself.
EMPTY_LIST = cast(Any, field(default_factory=list))
"""The default of a list that may be omitted."""
EMPTY_DICT = cast(Any, field(default_factory=dict))
"""The default of a map that may be omitted."""


class _Anything(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return True  # msgspec checks the result of the decoding hook with isinstance


class UntaggedUnion(Generic[T], metaclass=_Anything):
    """The runtime form of `Untagged[A | B]`."""


class OpenUntaggedUnion(Generic[T], metaclass=_Anything):
    """The runtime form of `Open[Untagged[A | B]]`."""


class NoMember(Struct):
    """A sibling for the lone member of an open union; without one, msgspec requires no tag."""

    def __post_init__(self) -> None:
        raise ValueError("no value has this type")


if TYPE_CHECKING:
    Open: TypeAlias = Union[T, Unknown]  # noqa: UP007 - a generic alias needs the old spelling
    Untagged: TypeAlias = Annotated[T, "untagged"]
else:
    Untagged = UntaggedUnion

    class Open:
        """`Open[A | B]`: a union that keeps unrecognized members as `Unknown`."""

        def __class_getitem__(cls, union):
            """Return the union, marked as open."""
            if get_origin(union) is UntaggedUnion:
                return OpenUntaggedUnion[get_args(union)]
            if isinstance(union, type) and issubclass(union, Struct):
                tag_field = union.__struct_config__.tag_field
                ghost = StructMeta("NoMember", (NoMember,), {}, tag_field=tag_field, tag="\0ghost")
                union = Union[union, ghost]  # noqa: UP007
            return Annotated[union, OPEN]


Side: TypeAlias = Literal["agent", "client", "either"]
Kind: TypeAlias = Literal["request", "notification"]
Stability: TypeAlias = Literal["stable", "unstable", "former", "proposal"]


class Method(Struct, Generic[P, R], frozen=True, kw_only=True):
    """A method of the protocol: one row of the method table of a version."""

    name: str
    """The JSON-RPC method name."""
    to: Side
    """The side that handles it."""
    kind: Kind
    """Whether it is a request or a notification."""
    params: Any
    """The type of its params."""
    result: Any = None
    """The type of its result; None for a notification."""
    stability: Stability = "stable"
    """`unstable`: only in the draft schema; `former`: removed from it; `proposal`: never in it."""
    capability: str | None = None
    """The capability of the receiver that offers it, as a path in its capabilities; None if it may
    always be used."""
    session: str | None = None
    """The field of its params that holds the session id."""
    opens_session: bool = False
    """Whether its result names a session that did not exist before."""
    closes_session: bool = False
    """Whether the session in its params no longer exists after the response."""
    is_urgent: bool = False
    """Whether it is handled ahead of all queued messages."""


@overload
def request(
    name: str,
    params: type[P],
    result: type[R],
    *,
    to: Side,
    capability: str | None = None,
    stability: Stability = "stable",
    opens_session: bool = False,
    closes_session: bool = False,
) -> Method[P, R]: ...


@overload
def request(
    name: str,
    params: object,
    result: object,
    *,
    to: Side,
    capability: str | None = None,
    stability: Stability = "stable",
    opens_session: bool = False,
    closes_session: bool = False,
) -> Method[P, R]: ...  # pyright: ignore[reportInvalidTypeVarUse] - from the annotation


def request(
    name: str,
    params: object,
    result: object,
    *,
    to: Side,
    **settings: Any,
) -> Method[Any, Any]:
    """Return the row of a request; see `Method` for the settings.

    Type checkers infer the types of the row from two classes. If the params or the result are a
    union, which is not a class, annotate the constant: `NAME: Method[Params, Result] = request(…)`.
    """
    session = _session_field(params)
    return Method(
        name=name, to=to, kind="request", params=params, result=result, session=session, **settings
    )


def notification(
    name: str,
    params: type[P],
    *,
    to: Side,
    capability: str | None = None,
    stability: Stability = "stable",
    is_urgent: bool = False,
) -> Method[P, None]:
    """Return the row of a notification; see `Method` for the settings."""
    return Method(
        name=name,
        to=to,
        kind="notification",
        params=params,
        stability=stability,
        capability=capability,
        session=_session_field(params),
        is_urgent=is_urgent,
    )


def _session_field(params: Any) -> str | None:
    """Return the field that holds the session id, in a class or in any member of a union."""
    members = get_args(params)
    if members:
        return next(filter(None, map(_session_field, members)), None)
    return "session_id" if "session_id" in getattr(params, "__struct_fields__", ()) else None


def declared_in(namespace: Mapping[str, Any]) -> tuple[Method[Any, Any], ...]:
    """Return the methods of the schema, stable and unstable, that a module has declared so far."""
    rows: list[Method[Any, Any]] = [row for row in namespace.values() if isinstance(row, Method)]
    return tuple(row for row in rows if row.stability in {"stable", "unstable"})


class MethodTable:
    """The methods of one protocol version, by the side that handles them."""

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
        """Whether requests of this version may have the id null."""
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
        """Return the methods of this kind that this side handles, by name."""
        return (self._requests if kind == "request" else self._notifications)[to]

    def extended(self, methods: tuple[Method[Any, Any], ...]) -> MethodTable:
        """Return a table with additional methods, such as `methods.NES_METHODS`."""
        return MethodTable(
            self.version, (*self.methods, *methods), allows_null_ids=self.allows_null_ids
        )
