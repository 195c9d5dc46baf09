"""Agents that several connections share: which there are, who uses them, when they end.

There is one for each principal and each kind of client: version and capabilities. One that has no
clients and no sessions stays for a while for the next (`shared_idle`), and a principal has only so
many of them (`shared_per_principal`): then one that nobody uses makes room, or nobody new is taken.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from parley.errors import InvalidParams, Overloaded
from parley.rpc._codec import DECODE_ERRORS

from .agent_process import AgentProcess
from .limits import HostLimits

__all__ = ["PooledProcess", "ProcessPool"]

_Key: TypeAlias = tuple[str, bytes]
_STEADY_AFTER = 60.0
_MAX_PAUSE = 30.0


class PooledProcess:
    """An agent that several connections use."""

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.lock = asyncio.Lock()
        self.process: AgentProcess | None = None
        self.answer: asyncio.Future[bytes] | None = None
        """What it answers to initialize."""
        self.started_at = 0.0
        self.failures = 0
        self.comers = 0
        """How many connections are about to use it."""
        self.timer: asyncio.TimerHandle | None = None

    @property
    def pause(self) -> float:
        """How many seconds to wait before it is started again."""
        if not self.failures:
            return 0.0
        return max(0.0, self.started_at + min(_MAX_PAUSE, 0.25 * 2.0**self.failures) - monotonic())

    @property
    def is_wanted(self) -> bool:
        """Whether somebody uses it, or is about to."""
        return bool(self.comers) or (self.process is not None and self.process.is_wanted)


class ProcessPool:
    """The shared agents of one name."""

    def __init__(self, limits: HostLimits, end: Callable[[AgentProcess], None]) -> None:
        self._limits = limits
        self._end = end
        self._known: dict[_Key, PooledProcess] = {}

    def __len__(self) -> int:
        return len(self._known)

    @asynccontextmanager
    async def reaching(self, principal: str, params: Raw) -> AsyncGenerator[PooledProcess]:
        """Give the agent that a connection shares with others, to it alone for the moment.

        Raises:
            InvalidParams: What it initializes with cannot be read.
            Overloaded: Its principal uses too many.
        """
        key = (principal, _kind(params))
        shared = self._known.get(key)
        if shared is None:
            self._make_room(principal)
            shared = self._known[key] = PooledProcess(key)
        shared.comers += 1
        try:
            async with shared.lock:
                yield shared
        finally:
            shared.comers -= 1
            self._look(shared)

    def find(self, process: AgentProcess) -> PooledProcess | None:
        """Return what is known of an agent that is shared."""
        return next((each for each in self._known.values() if each.process is process), None)

    def left(self, process: AgentProcess) -> None:
        """Record that somebody does not use an agent any more."""
        shared = self.find(process)
        if shared is not None:
            self._look(shared)

    def lost(self, process: AgentProcess) -> None:
        """Record that an agent has ended by itself."""
        shared = self.find(process)
        if shared is not None:
            shared.process = None
            is_steady = monotonic() - shared.started_at > _STEADY_AFTER
            shared.failures = 1 if is_steady else shared.failures + 1
            self._look(shared)

    def close(self) -> None:
        """Forget all of them."""
        for shared in list(self._known.values()):
            self._forget(shared)

    def _look(self, shared: PooledProcess) -> None:
        """Let the time run of one that nobody uses."""
        if shared.timer is not None:
            shared.timer.cancel()
            shared.timer = None
        if not shared.is_wanted and self._known.get(shared.key) is shared:
            loop = asyncio.get_running_loop()
            shared.timer = loop.call_later(self._limits.shared_idle, self._expire, shared)

    def _expire(self, shared: PooledProcess) -> None:
        if not shared.is_wanted:
            self._forget(shared)

    def _make_room(self, principal: str) -> None:
        theirs = [each for each in self._known.values() if each.key[0] == principal]
        most = self._limits.shared_per_principal
        if len(theirs) < most:
            return
        unused = [each for each in theirs if not each.is_wanted]
        if not unused:
            raise Overloaded(
                f"{most} kinds of clients use this agent already, and each needs a process of its "
                "own; try again later"
            )
        self._forget(min(unused, key=lambda each: (each.process is not None, each.started_at)))

    def _forget(self, shared: PooledProcess) -> None:
        del self._known[shared.key]
        if shared.timer is not None:
            shared.timer.cancel()
        process, shared.process = shared.process, None
        if process is not None:
            self._end(process)


def _kind(params: Raw) -> bytes:
    """Return what connections have in common that may share an agent."""
    try:
        asked = msgspec.json.decode(params, type=dict[str, Any])
    except DECODE_ERRORS as error:
        raise InvalidParams() from error
    names = ("protocolVersion", "clientCapabilities", "capabilities")
    alike = {name: asked.get(name) for name in names}
    return msgspec.json.encode(alike, order="deterministic")
