"""One connection of a client that is elsewhere, as the agent sees it: a transport.

What the client sends arrives here frame by frame, from POSTs or from a socket, and waits while the
agent reads nothing. What the agent sends goes to the outlet: the streams of Streamable HTTP, or the
socket. A connection outlives its requests: it ends when the agent ends, when the client says so, or
when nobody has held it for a while.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Protocol

from parley.errors import ConnectionClosed
from parley.transport.base import Receiver
from parley.transport.http.asgi_types import WhenGone

from .limits import Clock, Timer

__all__ = ["Facts", "Outlet", "RemoteConnection"]

logger = logging.getLogger(__name__)

_OVERFLOW = 1008


class Outlet(Protocol):
    """Where the frames of a connection go."""

    on_overflow: Callable[[], None] | None
    """Is called when more waits than may."""

    @property
    def unsent_bytes(self) -> int:
        """How much waits for those who read."""
        ...

    @property
    def open_sessions(self) -> int:
        """How many sessions are open on it, or being opened."""
        ...

    def send(self, frame: bytes, /) -> None:
        """Take a frame."""

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for after the last `send`; None while there is room."""

    async def flush(self) -> None:
        """Wait until those who read have taken everything."""

    def end(self, why: str, /) -> None:
        """Take nothing more; those who read get what is left, and then the end with its reason."""

    def cut(self) -> None:
        """Send away those who have not taken the end."""


class Facts:
    """Who asked for a connection, and how."""

    def __init__(self, principal: str, remote: str, headers: Mapping[str, str]) -> None:
        self.principal = principal
        """Who it is; empty for the one local user where nobody has to say it."""
        self.remote = remote
        """The address of the client, or of the proxy in front; empty if there is none."""
        self.headers = headers
        """What the first request said, without its secrets; names in lower case."""


class RemoteConnection:
    """Frames to and from one client; implements `Transport`."""

    def __init__(
        self, outlet: Outlet, facts: Facts, *, clock: Clock, linger: float, flush: float
    ) -> None:
        """Make a connection that nobody holds yet.

        Args:
            outlet: Where frames go.
            facts: Whose it is.
            clock: What time it is.
            linger: How many seconds it lives while nobody holds it.
            flush: How many seconds its end waits for readers.
        """
        self.id = secrets.token_urlsafe(24)
        """What the client calls it: nobody guesses it, and it is no credential."""
        self.principal = facts.principal
        self.remote = facts.remote
        self.headers = facts.headers
        self.outlet = outlet
        outlet.on_overflow = self._overflow
        self.on_end: Callable[[], None] | None = None
        """Is called when it has ended."""
        self._clock = clock
        self._linger = linger
        self._flush = flush
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._inbox: list[tuple[bytes, asyncio.Future[None]]] = []
        self._is_paused = False
        self._holds = 0
        self._timer: Timer | None = None
        self.lost: ConnectionClosed | None = None
        """Why it has ended."""
        self.code = 1000
        """The same as a close code of WebSocket."""
        self.told = ""
        """The same in words for the client."""
        self._farewell = "the agent has ended the connection"

    def start(self, receiver: Receiver) -> None:
        """Begin to deliver what arrives."""
        self._receiver = receiver
        if self.lost is not None:
            self._loop.call_soon(receiver.connection_lost, self.lost)
        elif self._inbox:
            self._loop.call_soon(self._deliver)

    def send(self, frame: bytes) -> None:
        """Take a frame to be sent."""
        if self.lost is not None:
            raise ConnectionClosed("the connection is closed")
        self.outlet.send(frame)

    def drained(self) -> asyncio.Future[None] | None:
        """Return what to wait for before sending more to where the last frame went."""
        return None if self.lost is not None else self.outlet.drained()

    def pause_reading(self) -> None:
        """Leave what arrives where it is; who sends it waits."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Go on delivering."""
        self._is_paused = False
        if self._inbox:
            self._loop.call_soon(self._deliver)

    def part(self, reason: ConnectionClosed) -> None:
        """Say what the client is told when the agent's side ends the connection."""
        self._farewell = " ".join(str(reason).split())

    async def aclose(self) -> None:
        """Wait a while for readers to take what is left, and end the connection."""
        try:
            if self.lost is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._flush):
                        await self.outlet.flush()
        finally:
            reason = ConnectionClosed("the connection was closed by us")
            self.lose(reason, told=self._farewell)

    def deliver(self, frame: bytes) -> asyncio.Future[None] | None:
        """Hand a frame of the client's to the agent; returns what to wait for if it must wait.

        Raises:
            ConnectionClosed: The connection has ended.
        """
        if self.lost is not None:
            raise ConnectionClosed("the connection is closed")
        if self._receiver is not None and not self._is_paused and not self._inbox:
            self._hand(frame)
            return None
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._inbox.append((frame, waiter))
        return waiter

    def lose(self, reason: ConnectionClosed, code: int = 1000, *, told: str = "") -> None:
        """End the connection, once.

        Args:
            reason: Why, for the agent.
            code: The same as a close code of WebSocket.
            told: The same for the client, where that is something else.
        """
        if self.lost is not None:
            return
        self.lost = reason
        self.code = code
        self.told = told or str(reason)
        if self._timer is not None:
            self._timer.cancel()
        self.outlet.end(self.told)
        self._clock.call_later(self._flush, self.outlet.cut)
        for _, waiter in self._inbox:
            if not waiter.done():
                waiter.set_result(None)
        self._inbox.clear()
        if self._receiver is not None:
            self._receiver.connection_lost(reason)
        if self.on_end is not None:
            self.on_end()

    @contextmanager
    def held(self, when_gone: WhenGone | None = None) -> Generator[Callable[[], None]]:
        """Keep the connection while a request of it is under way, and its client is there.

        An agent that reads nothing may make the request wait for ever: who has left then holds
        nothing, where the server tells. Gives out what does the same for who learns it otherwise.
        """
        self.hold()
        is_held = True

        def let_go() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                self.release()

        if when_gone is not None:
            when_gone(let_go)
        try:
            yield let_go
        finally:
            let_go()

    def hold(self) -> None:
        """Keep the connection until `release`."""
        self._holds += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def release(self) -> None:
        """Let it go; when nobody holds it for a while, it ends."""
        self._holds -= 1
        if not self._holds and self.lost is None:
            self._timer = self._clock.call_later(self._linger, self._expire)

    def _expire(self) -> None:
        self.lose(ConnectionClosed(f"the client has been away for {self._linger:g} seconds"))

    def _overflow(self) -> None:
        """End a connection that takes nothing; later, because a sender is on the stack."""
        reason = ConnectionClosed("too much waits for a client that takes nothing")
        self._loop.call_soon(self.lose, reason, _OVERFLOW)

    def _deliver(self) -> None:
        """Hand out what has waited, as long as the agent reads."""
        while self._inbox and not self._is_paused and self._receiver is not None:
            frame, waiter = self._inbox.pop(0)
            self._hand(frame)
            if not waiter.done():
                waiter.set_result(None)

    def _hand(self, frame: bytes) -> None:
        assert self._receiver is not None
        try:
            self._receiver.frames_received([frame])
        except Exception:  # a defect of the receiver's ends this connection only
            logger.exception("what a client sent could not be taken; its connection ends")
            self.lose(ConnectionClosed("we failed to take what the peer sent"))
