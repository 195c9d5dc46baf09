"""Calls to functions of the program, which may be plain or `async`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


async def call_maybe_async(function: Callable[..., T | Awaitable[T]], *arguments: Any) -> T:
    """Call a function and return its result, awaiting it if it is awaitable."""
    result: Any = function(*arguments)
    return cast(T, await result if inspect.isawaitable(result) else result)
