"""From what a user calls an agent to a transport that reaches it.

A target is an agent in this process (anything with `serve(transport)`), a command line, as one
string or as a list, or a transport that is there already. Addresses of remote agents are known by
their scheme and refused. Names from a configuration are turned into one of these before.
"""

from __future__ import annotations

import asyncio
import logging
import re
import shlex
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol, TypeAlias, TypedDict, Unpack, runtime_checkable

from parley.errors import ConnectFailed

from .base import Transport
from .memory import memory_pair
from .process import ProcessTransport

__all__ = ["ProcessOptions", "Servable", "Target", "command_of", "open_target"]

logger = logging.getLogger(__name__)

_END_GRACE = 2.0
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


@runtime_checkable
class Servable(Protocol):
    """An agent that lives in this process."""

    async def serve(self, transport: Transport, /) -> None:
        """Talk over a transport until the connection ends."""
        ...


Target: TypeAlias = Servable | Transport | str | Sequence[str]
"""What `open_target` understands."""


class ProcessOptions(TypedDict, total=False):
    """How an agent is started; see `ProcessTransport.spawn`."""

    cwd: str | Path | None
    env: Mapping[str, str] | None
    inherit: Iterable[str]
    on_stderr: Callable[[bytes], None] | None
    grace_after: float
    max_message_bytes: int


@asynccontextmanager
async def open_target(
    target: Target, **options: Unpack[ProcessOptions]
) -> AsyncGenerator[Transport]:
    """Reach an agent for as long as the block runs; what was started for it ends with the block.

    Args:
        target: The agent.
        options: How to start it, if it is a command.

    Raises:
        ConnectFailed: It cannot be reached; the text says what to do.
    """
    if isinstance(target, Servable):
        async with _serving(target) as transport:
            yield transport
        return
    if isinstance(target, str | Sequence):
        transport = await ProcessTransport.spawn(_command(target), **options)
    elif _is_transport(target):
        transport = target
    else:
        raise ConnectFailed(
            f"{type(target).__name__} is no target: give a command, or an object with serve()"
        )
    try:
        yield transport
    finally:
        await transport.aclose()


@asynccontextmanager
async def _serving(agent: Servable) -> AsyncGenerator[Transport]:
    """Have an agent of this process serve the other end of a pair."""
    near, far = memory_pair()
    task = asyncio.create_task(_serve(agent, far))
    try:
        yield near
    finally:
        await near.aclose()
        await asyncio.wait({task}, timeout=_END_GRACE)
        task.cancel()
        await asyncio.wait({task}, timeout=_END_GRACE)


async def _serve(agent: Servable, transport: Transport) -> None:
    try:
        await agent.serve(transport)
    except Exception:  # of the program: nobody awaits this task
        logger.exception("the agent in this process failed; its connection ends")
    finally:
        await transport.aclose()


def command_of(target: Target) -> Sequence[str] | None:
    """Return the argument vector of a target that is a command; None for any other.

    Raises:
        ConnectFailed: It is a command line that cannot be read.
    """
    return _command(target) if isinstance(target, str | Sequence) else None


def _is_transport(target: object) -> bool:
    return all(hasattr(target, name) for name in ("start", "send", "drained", "aclose"))


def _command(target: str | Sequence[str]) -> Sequence[str]:
    """Return the argument vector of a command line; no shell ever sees it."""
    if not isinstance(target, str):
        return target
    if url := _URL.match(target):
        raise ConnectFailed(
            f"agents behind {url[1]}:// cannot be reached yet; give a command that starts one"
        )
    try:
        command = shlex.split(target)
    except ValueError as error:
        raise ConnectFailed(f"the command line cannot be read: {str(error).lower()}") from error
    if not command:
        raise ConnectFailed("there is no command to start: the command line is empty")
    return command
