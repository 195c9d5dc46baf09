"""Serving an agent on this process's stdin and stdout."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable

from parley.transport._base import Transport
from parley.transport._stdio import HINT, serve_stdio


def run_on_stdio(serve: Callable[[Transport], Awaitable[None]]) -> None:
    """Serve the parent process until the connection ends; see `transport/_stdio.py`.

    If stdin is a terminal, the user gets a hint with a command that tries the agent.
    """
    command = shlex.join(["parley", "run", "Hello", "-a", shlex.join(sys.orig_argv)])
    serve_stdio(serve, f"{HINT}; try {command}")
