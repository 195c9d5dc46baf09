"""The type of a value that an agent is asked for: its JSON Schema, and decoding to it.

msgspec decodes the types that it supports (structs, dataclasses, typed dictionaries, lists,
numbers, …); pydantic decodes all others.
"""

from __future__ import annotations

import json
import re
from typing import Any, Generic, TypeVar, cast

import msgspec

T = TypeVar("T")

_FENCE = re.compile(r"```(?:json)?[ \t]*\n")
_END = "\n```"


class ResultType(Generic[T]):
    """The type of the value that an agent returns from `think`."""

    def __init__(self, tp: type[T]) -> None:
        """Create the JSON Schema of a type.

        Raises:
            TypeError: Neither msgspec nor pydantic can decode the type.
        """
        self.type = tp
        self._adapter: Any = None
        try:
            self.schema: dict[str, Any] = msgspec.json.schema(tp)
            """The JSON Schema of the type."""
        except TypeError:
            self._adapter = _pydantic(tp)
            self.schema = self._adapter.json_schema()

    def read(self, value: Any) -> T:
        """Convert a parsed JSON value to the type.

        Raises:
            ValueError: The value does not fit; the message says where.
        """
        if self._adapter is not None:
            return cast("T", self._adapter.validate_python(value))
        try:
            return msgspec.convert(value, self.type)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error

    def find(self, text: str) -> T:
        """Return the value in a text: from its last fitting code fence, or from the whole text.

        Raises:
            ValueError: There is no JSON in the text, or it does not fit the type.
        """
        problem = "there is no JSON in the response"
        for found in (*reversed(_fenced_blocks(text)), text):
            try:
                value = json.loads(found)
            except (ValueError, RecursionError):
                continue
            try:
                return self.read(value)
            except ValueError as error:
                problem = str(error)
        raise ValueError(problem)


def _fenced_blocks(text: str) -> list[str]:
    """Return the contents of the code fences in a text."""
    found: list[str] = []
    position = 0
    while fence := _FENCE.search(text, position):
        end = text.find(_END, fence.end())
        if end < 0:
            break
        found.append(text[fence.end() : end])
        position = end + len(_END)
    return found


def _pydantic(tp: Any) -> Any:
    try:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUserError
    except ModuleNotFoundError as error:
        raise TypeError(f"{tp!r} is not a type that an agent can return") from error
    try:
        return TypeAdapter(tp)
    except PydanticUserError as error:
        raise TypeError(f"{tp!r} is not a type that an agent can return") from error
