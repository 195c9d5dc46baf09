"""`TypedForm`: a form whose fields follow from a Python type, and whose response is a value of it.

A form is flat. So the type is a dataclass, a `TypedDict` or a `msgspec.Struct` whose fields are
text, numbers, yes or no, dates and choices, or one of these alone. `msgspec` knows the fields of
types and their constraints; what a form cannot express is refused when the form is made.

Spec: https://agentclientprotocol.com/protocol/v2/elicitation
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, inspect

from parley.schema import v2

T = TypeVar("T")

_VALUE = "value"
"""The name of the only field of a form for a type that has no fields."""


class TypedForm(Generic[T]):
    """A form for a type."""

    def __init__(self, kind: Any) -> None:
        """Make the form.

        Raises:
            TypeError: A form cannot show a value of this type.
        """
        self._kind = kind
        self._name: str = getattr(kind, "__name__", str(kind))
        try:
            found = inspect.type_info(kind)
            hints = get_type_hints(kind, include_extras=True) if isinstance(kind, type) else {}
        except (TypeError, NameError) as error:
            raise TypeError(f"a form cannot be made of {self._name}: {error}") from error
        self._is_object = isinstance(
            found, inspect.StructType | inspect.DataclassType | inspect.TypedDictType
        )
        if isinstance(found, inspect.StructType | inspect.DataclassType | inspect.TypedDictType):
            rows = found.fields
        else:
            rows = (inspect.Field(_VALUE, _VALUE, found),)
            hints = {_VALUE: kind}
        self._fields = [_TypedField(self._name, row, hints.get(row.name)) for row in rows]
        self.schema = v2.ElicitationSchema(
            type="object",
            properties={each.name: each.field for each in self._fields},
            required=[each.name for each in self._fields if each.is_required],
        )
        """The form as it is sent."""

    def read(self, response: v2.CreateElicitationResponse) -> T | None:
        """Return the value that the user submitted, or None if the user submitted nothing.

        Raises:
            ValueError: The type itself refuses the value.
        """
        if not isinstance(response, v2.ElicitationAcceptAction):
            return None
        content = response.content or {}
        values = {
            each.name: each.read(content.get(each.name))
            for each in self._fields
            if each.name in content or each.is_null_if_missing
        }
        try:
            value: T = msgspec.convert(
                values if self._is_object else values[_VALUE], type=self._kind
            )
        except ValueError as error:
            raise ValueError(f"the response is not a valid {self._name}: {error}") from error
        return value


class _TypedField:
    """A field of a form for a field of a type."""

    def __init__(self, owner: str, row: inspect.Field, hint: Any) -> None:
        self.name = row.encode_name
        self._where = owner if row.name == _VALUE else f"{owner}.{row.name}"
        self._order = list(_literals(hint))
        kind, texts = _without_metadata(row.type)
        is_nullable = False
        if isinstance(kind, inspect.UnionType):
            others = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
            is_nullable = len(others) < len(kind.types)
            if len(others) == 1:
                kind, more = _without_metadata(others[0])
                texts = more | texts
        self._is_integer = isinstance(kind, inspect.IntType)
        self.is_required = row.required and not is_nullable
        """Whether the user must fill it in."""
        self.is_null_if_missing = row.required and is_nullable
        """Whether the type needs a value although the user need not give one."""
        default = row.default
        if row.default_factory is not NODEFAULT:
            default = row.default_factory()
        if default is not NODEFAULT and default is not None:
            texts["default"] = msgspec.to_builtins(default)
        self.field = self._form_field(kind, texts)
        """The field as it is sent."""

    def read(self, value: Any) -> Any:
        """Return a submitted value as the type expects it: whole numbers may come as `7.0`."""
        return int(value) if self._is_integer and isinstance(value, float) else value

    def _form_field(
        self, kind: inspect.Type, common: dict[str, Any]
    ) -> v2.ElicitationPropertySchema:
        match kind:
            case inspect.BoolType():
                return v2.BooleanPropertySchema(**common)
            case inspect.IntType(gt=above, ge=least, lt=below, le=most, multiple_of=None):
                minimum = least if above is None else above + 1
                maximum = most if below is None else below - 1
                return v2.IntegerPropertySchema(minimum=minimum, maximum=maximum, **common)
            case inspect.FloatType(gt=None, ge=minimum, lt=None, le=maximum, multiple_of=None):
                return v2.NumberPropertySchema(minimum=minimum, maximum=maximum, **common)
            case inspect.StrType(min_length=shortest, max_length=longest, pattern=pattern):
                return v2.StringPropertySchema(
                    min_length=shortest, max_length=longest, pattern=pattern, **common
                )
            case inspect.DateType():
                return v2.StringPropertySchema(format="date", **common)
            case inspect.DateTimeType():
                return v2.StringPropertySchema(format="date-time", **common)
            case inspect.LiteralType() | inspect.EnumType():
                return v2.StringPropertySchema(enum=self._choices(kind), **common)
            case inspect.ListType(item_type=item) | inspect.SetType(item_type=item) if isinstance(
                item, inspect.LiteralType | inspect.EnumType
            ):
                return v2.MultiSelectPropertySchema(
                    items=v2.StringMultiSelectItems(enum=self._choices(item)),
                    min_items=kind.min_length,
                    max_items=kind.max_length,
                    **common,
                )
            case _:
                raise TypeError(
                    f"{self._where} has a type or constraint that a form cannot show; use str, "
                    "bool, int, float, date, datetime, Literal, an Enum of strings, or a list of "
                    "choices, with bounds by ge= and le="
                )

    def _choices(self, kind: inspect.LiteralType | inspect.EnumType) -> list[str]:
        """Return the choices in the order of their declaration, which `LiteralType` sorts."""
        if isinstance(kind, inspect.EnumType):
            values: list[Any] = [member.value for member in kind.cls]
        else:
            values = sorted(kind.values, key=lambda value: self._order.index(value))
        if not all(isinstance(value, str) for value in values):
            raise TypeError(f"{self._where} has choices that are not strings")
        return values


def _without_metadata(kind: inspect.Type) -> tuple[inspect.Type, dict[str, Any]]:
    """Return a type without its metadata, and the title and description in the metadata."""
    texts: dict[str, Any] = {}
    while isinstance(kind, inspect.Metadata):
        extra: dict[str, Any] = cast("Any", kind).extra_json_schema or {}
        texts = {name: extra[name] for name in ("title", "description") if name in extra} | texts
        kind = kind.type
    return kind, texts


def _literals(hint: Any) -> Iterator[Any]:
    """Yield the values of the `Literal`s in a type hint, in the order of their declaration."""
    if get_origin(hint) is Literal:
        yield from get_args(hint)
    else:
        for each in get_args(hint):
            yield from _literals(each)
