"""Calling the functions that a program gives us, plain ones and `async` ones."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

__all__ = ["called"]

T = TypeVar("T")


async def called(function: Callable[..., T | Awaitable[T]], *arguments: Any) -> T:
    """Call a function, await what it returns if that can be awaited, and return the result."""
    result: Any = function(*arguments)
    return cast(T, await result if inspect.isawaitable(result) else result)
