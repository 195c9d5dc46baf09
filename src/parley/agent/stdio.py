"""Running an agent on this process's stdin and stdout."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable

from parley.transport import running
from parley.transport.base import Transport

__all__ = ["run_on_stdio"]


def run_on_stdio(serve: Callable[[Transport], Awaitable[None]]) -> None:
    """Serve until the connection ends; `transport/running.py` says how."""
    there = shlex.join(["parley", "run", "Hello", "-a", shlex.join(sys.orig_argv)])
    running.run_on_stdio(serve, f"{running.HINT}; try {there}")
