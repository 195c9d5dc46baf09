"""Keeps long work off the event loop.

Reading a question and deciding about it are bounded, but what is large, or names many paths, still
takes longer than an event loop may stand still. Small questions are decided at once: they are by
far the most, and so they stay in order with what the agent sends next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


async def run_off_loop(
    is_small: bool, function: Callable[P, T], *args: P.args, **more: P.kwargs
) -> T:
    """Call a function, in a thread unless the work is small."""
    if is_small:
        return function(*args, **more)
    return await asyncio.to_thread(function, *args, **more)
