"""An agent and a client of it, joined in one process."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Unpack

from parley.client import Connection, ConnectOptions, connect
from parley.transport.target import Servable

__all__ = ["pair"]


def pair(
    agent: Servable, cwd: str | Path = ".", **options: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[Connection]:
    """Join an agent with a client.

    `async with pair(agent) as client: …` gives the client's connection. Everything is as over a
    wire, frames included, but nothing leaves the process.

    Args:
        agent: Your `Agent`, or a `ScriptedPeer`.
        cwd: Where sessions work that say nothing else.
        options: As for `parley.connect`: `permission=`, `versions=(1,)`, `observer=Recorder()`, …
    """
    return connect(agent, cwd, **options)
