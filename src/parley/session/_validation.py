"""Checks of a program's arguments, so that a mistake is reported where the program makes it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, TypeVar

from parley.schema import v2
from parley.schema.base import Unknown

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
    """Return a content block; a string becomes a text block.

    Raises:
        TypeError: The content is neither a string nor a content block; the error names `verb`.
    """
    if isinstance(content, str):
        return v2.TextContent(text=content)
    if not isinstance(content, _BLOCKS):
        kind = type(content).__name__
        raise TypeError(f"{verb} takes text or a content block, not {kind}")
    return content


def as_list(values: Iterable[T], verb: str, wanted: str, *types: type) -> list[T]:
    """Return the values as a list, after checking that all are of these types.

    Raises:
        TypeError: A value has another type, or `values` is a single string or not iterable.
    """
    argument: Any = values
    if isinstance(argument, str | bytes) or not isinstance(argument, Iterable):
        raise TypeError(f"{verb} takes a list of {wanted}, not {type(argument).__name__}")
    listed = list(values)
    for each in listed:
        if not isinstance(each, types):
            raise TypeError(f"{verb} takes a list of {wanted}, not of {type(each).__name__}")
    return listed


def check_text(value: object, what: str) -> None:
    """Raise `TypeError` if the value is not a string."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {type(value).__name__}")


def check_type(value: object, what: str, wanted: type | tuple[type, ...], description: str) -> None:
    """Raise `TypeError` if the value is not of a wanted type; `True` is not a number here."""
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise TypeError(f"{what} must be {description}, not {type(value).__name__}")


def check_handler(handler: object, where: str, *parameters: str, is_async: bool = False) -> None:
    """Check a handler when it is registered rather than when a peer first triggers it.

    Args:
        handler: The function.
        where: The place where it is registered, such as `@agent.prompt` or `permission=`.
        parameters: Names for the positional arguments that it is called with.
        is_async: Whether it must be a coroutine function.

    Raises:
        TypeError: The handler is not callable, does not accept these arguments, or is not a
            coroutine function although it must be.
    """
    if not callable(handler):
        raise TypeError(f"{where} takes a function, not {type(handler).__name__}")
    name = getattr(handler, "__name__", type(handler).__name__)
    if is_async and not any(map(inspect.iscoroutinefunction, (handler, type(handler).__call__))):
        raise TypeError(
            f"{where} takes a coroutine function: define {name} with `async def`, without `yield`"
        )
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):  # some functions written in C have no signature
        return
    try:
        signature.bind(*parameters)
    except TypeError as error:
        call = f"{name}({', '.join(parameters)})"
        raise TypeError(
            f"{where} calls its function as {call}, "
            f"which {name}{signature} does not accept: {error}"
        ) from None
