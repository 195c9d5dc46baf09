"""What a program gives, checked where it gives it: a mistake is told by name, not by the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from parley.schema import v2
from parley.schema.base import Unknown

__all__ = ["as_block", "as_list", "check_text"]

T = TypeVar("T")

_BLOCKS = (
    v2.TextContent,
    v2.ImageContent,
    v2.AudioContent,
    v2.ResourceLink,
    v2.EmbeddedResource,
    Unknown,
)


def as_block(content: object, verb: str) -> v2.ContentBlock:
    """Return a content block; a string becomes a text.

    Raises:
        TypeError: It is neither of both.
    """
    if isinstance(content, str):
        return v2.TextContent(text=content)
    if not isinstance(content, _BLOCKS):
        kind = type(content).__name__
        raise TypeError(f"{verb} takes text or a content block, not {kind}")
    return content


def as_list(values: Iterable[T], verb: str, wanted: str, *types: type) -> list[T]:
    """Return a list of values that are all of these types.

    Raises:
        TypeError: One is not, or it is a string that stands for one.
    """
    given: Any = values
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise TypeError(f"{verb} takes a list of {wanted}, not {type(given).__name__}")
    listed = list(values)
    for each in listed:
        if not isinstance(each, types):
            raise TypeError(f"{verb} takes a list of {wanted}, not of {type(each).__name__}")
    return listed


def check_text(value: object, what: str) -> None:
    """Raise `TypeError` for what is no text."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is text, not {type(value).__name__}")
