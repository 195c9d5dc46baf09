"""Data of a file as checked values, and what is wrong with it in words.

The words are those of a person who looks at the file: where it is, what is expected there. What is
there is not quoted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from parley._suggestions import suggest

T = TypeVar("T", bound=Struct)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""A valid name of an agent or an MCP server: one word that needs no quotes."""


class Wrong(Exception):
    """Something in a file is wrong: where and what."""


def check_entry(name: str, table: Any, place: str) -> None:
    """Refuse a value that is not a table with a name.

    Raises:
        Wrong: It is not.
    """
    if not NAME.fullmatch(name):
        rule = "a name has letters, digits, - and _, and begins with a letter or digit"
        raise Wrong(f"{place}: {rule}")
    if not isinstance(table, dict):
        raise Wrong(f"{place}: expected a table, as in [{place}] and below it command = …")


def checked(table: Mapping[str, Any], kind: type[T], place: str) -> T:
    """Return a table as a value, if it has only keys that are known, with what they take.

    Args:
        table: What was read.
        kind: What it should be.
        place: Where it is in the file, as in `agents.opencode`; empty for the whole.

    Raises:
        Wrong: It has other keys, or something else in them.
    """
    known = [field.name for field in msgspec.structs.fields(kind)]
    for key in table:
        if key not in known:
            name = f"{place}.{key}" if place else key
            raise Wrong(f"{name} is not known; {suggest(key, known)}")
    return converted(table, kind, place)


def converted(table: Any, kind: type[T], place: str) -> T:
    """Return a table as a value; what is not known in it is passed over.

    Raises:
        Wrong: It is not what it should be.
    """
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise Wrong(_in_words(str(error), place)) from error


_WORDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_PROBLEM = re.compile(r"Expected `(.*?)`, got `(.*?)`")
_MISSING = re.compile(r"Object missing required field `(.*?)`")


def _in_words(problem: str, place: str) -> str:
    """Return what msgspec found in the words of the file."""
    problem, _, at = problem.partition(" - at ")
    at = at.removeprefix("`key` in ").strip("`").removeprefix("$")
    where = (place + at).removeprefix(".")
    if missing := _MISSING.match(problem):
        return f"{where}.{missing[1]} is missing".removeprefix(".")
    if found := _PROBLEM.match(problem):
        names = [_WORDS.get(each, each) for each in found[1].split(" | ")]
        wanted = " or ".join(name for name in names if name != "nothing")
        problem = f"expected {wanted}, found {_WORDS.get(found[2], found[2])}"
    inside = "in it, " if where.endswith("[...]") else ""
    return f"{where.replace('[...]', '')}: {inside}{problem[:1].lower()}{problem[1:]}"
