"""Types that msgspec knows and pydantic does not, where the `mcp` package asks for pydantic's."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin, is_typeddict

import msgspec
from msgspec import Struct
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

_NAME = "$struct"


class StructSchemas:
    """The structs in the signature of one function."""

    def __init__(self) -> None:
        self._schemas: dict[str, Any] = {}

    def adapted(self, annotation: Any) -> Any:
        """Return a type with every struct and typed dictionary in it read by msgspec."""
        if _is_for_msgspec(annotation):
            return Annotated[annotation, _ByMsgspec(annotation, self._schemas)]
        origin, inside = get_origin(annotation), get_args(annotation)
        if origin is None or not inside:
            return annotation
        adapted = tuple(self.adapted(each) for each in inside)
        if all(new is old for new, old in zip(adapted, inside, strict=True)):
            return annotation
        if origin is Annotated:
            return Annotated[(adapted[0], *inside[1:])]
        if origin in {Union, UnionType}:
            return Union[adapted]  # noqa: UP007 -- of as many as there are
        whole: Any = origin
        return whole[adapted]

    def finished(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return a schema of pydantic's with those of the structs in it."""
        if not self._schemas:
            return schema
        whole: dict[str, Any] = _referring(schema)
        whole["$defs"] = {**whole.get("$defs", {}), **self._schemas}
        return whole


def _referring(schema: Any) -> Any:
    """Put references where pydantic, which wants to follow them itself, had only a name."""
    if isinstance(schema, list):
        return [_referring(each) for each in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    named = cast("dict[str, Any]", schema)
    return {"$ref" if key == _NAME else key: _referring(value) for key, value in named.items()}


def _is_for_msgspec(annotation: Any) -> bool:
    if is_typeddict(annotation):
        return True
    return isinstance(annotation, type) and issubclass(annotation, Struct)


class _ByMsgspec:
    """A pydantic annotation that leaves a type to msgspec."""

    def __init__(self, tp: Any, schemas: dict[str, Any]) -> None:
        self._type: Any = tp
        self._schemas = schemas

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        (described,), components = msgspec.json.schema_components(
            [self._type], ref_template="#/$defs/{name}"
        )
        self._schemas.update(components)
        return {_NAME: described["$ref"]}

    def _read(self, value: Any) -> Any:
        try:
            return msgspec.convert(value, self._type)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error
