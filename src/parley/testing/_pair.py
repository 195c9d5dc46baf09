"""An agent and its client, connected in one process."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Unpack

from parley.client import Connection, ConnectOptions, connect
from parley.transport._target import Servable


def pair(
    agent: Servable, cwd: str | Path = ".", **options: Unpack[ConnectOptions]
) -> AbstractAsyncContextManager[Connection]:
    """Connect a client to an agent in memory.

    ```python
    async with pair(agent) as client:
        session = await client.new_session()
        assert await session.ask("Hello") == "Hello"
    ```

    The block gets the client's connection. Messages are encoded into frames as on any other
    transport, but nothing leaves the process.

    Args:
        agent: Your `Agent`, or a `ScriptedPeer`.
        cwd: The default directory of sessions.
        options: As for `parley.connect`: `permission=`, `versions=(1,)`, `observer=Recorder()`, …
    """
    return connect(agent, cwd, **options)
