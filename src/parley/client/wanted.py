"""The type of a value that an agent is asked for: its schema, and how an answer is read as it.

What msgspec knows (structs, dataclasses, typed dictionaries, lists, numbers, …) it reads; any other
type is pydantic's.
"""

from __future__ import annotations

import json
import re
from typing import Any, Generic, TypeVar, cast

import msgspec

__all__ = ["Wanted"]

T = TypeVar("T")

_FENCE = re.compile(r"```(?:json)?[ \t]*\n")
_END = "\n```"


class Wanted(Generic[T]):
    """What an agent is to answer."""

    def __init__(self, tp: type[T]) -> None:
        """Look at a type.

        Raises:
            TypeError: Neither msgspec nor pydantic can read values of it.
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
        """Return JSON, as it was parsed, as a value of the type.

        Raises:
            ValueError: It does not fit; the text says where.
        """
        if self._adapter is not None:
            return cast("T", self._adapter.validate_python(value))
        try:
            return msgspec.convert(value, self.type)
        except msgspec.ValidationError as error:
            raise ValueError(str(error)) from error

    def find(self, text: str) -> T:
        """Return the value that an answer in words has in it: all of it, or what it fences.

        Raises:
            ValueError: There is none, or it does not fit.
        """
        problem = "there is no JSON in the answer"
        for found in (*reversed(_fenced(text)), text):
            try:
                value = json.loads(found)
            except (ValueError, RecursionError):
                continue
            try:
                return self.read(value)
            except ValueError as error:
                problem = str(error)
        raise ValueError(problem)


def _fenced(text: str) -> list[str]:
    """Return what stands between fences."""
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
        raise TypeError(f"{tp!r} is no type that an agent can answer with") from error
    try:
        return TypeAdapter(tp)
    except PydanticUserError as error:
        raise TypeError(f"{tp!r} is no type that an agent can answer with") from error
