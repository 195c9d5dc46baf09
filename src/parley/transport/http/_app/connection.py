"""One connection of a remote client, as the agent sees it: a transport.

Frames from the client arrive here one by one, from POSTs or from a WebSocket, and wait while the
agent does not read. Frames from the agent go to a `FrameSink`: the streams of
Streamable HTTP, or the WebSocket. A connection outlives its requests: it ends when the agent ends
it, when the client ends it, or when no request or stream has held it for a while.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Protocol

from parley.asgi_server.extensions import OnDisconnect
from parley.errors import ConnectionClosed
from parley.transport._base import Receiver, deliver_frames
from parley.transport._frame_head import FrameHead

from .limits import Clock, Timer

_POLICY_VIOLATION = 1008


class FrameSink(Protocol):
    """The destination of the frames that the agent sends: event streams or a WebSocket."""

    on_overflow: Callable[[], None] | None
    """Called when more bytes wait than the limit allows."""

    @property
    def unsent_bytes(self) -> int:
        """The number of bytes that wait for readers."""
        ...

    @property
    def open_sessions(self) -> int:
        """The number of sessions that are open on it, or being opened."""
        ...

    def send(self, frame: bytes, head: FrameHead | None = None, /) -> None:
        """Queue a frame; see `Transport.send`."""

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await after the last `send`; None while more may be sent."""

    async def flush(self) -> None:
        """Wait until the readers have taken everything."""

    def end(self, reason: str, /) -> None:
        """Accept no more frames; readers get the remaining ones, then the end with its reason."""

    def disconnect(self) -> None:
        """Disconnect the readers that have not read to the end."""


class ClientAddressInfo:
    """The principal, the address and the headers of the request that opened a connection."""

    def __init__(self, principal: str, remote: str, headers: Mapping[str, str]) -> None:
        self.principal = principal
        """The authenticated user; empty for the local user when authentication is off."""
        self.remote = remote
        """The address of the client, or of a reverse proxy; empty if there is none."""
        self.headers = headers
        """The headers of the first request, without its secrets; names in lower case."""


class RemoteConnection:
    """A connection that carries frames to and from one client; implements `Transport`."""

    def __init__(
        self,
        sink: FrameSink,
        client: ClientAddressInfo,
        *,
        clock: Clock,
        linger: float,
        flush: float,
    ) -> None:
        """Create a connection that nothing holds yet.

        Args:
            sink: The destination of the agent's frames.
            client: The principal, the address and the headers of the client.
            clock: The source of time.
            linger: The seconds that it stays open while nothing holds it.
            flush: The seconds that closing waits for readers.
        """
        self.id = secrets.token_urlsafe(24)
        """The `Acp-Connection-Id`: not guessable, but not a credential."""
        self.principal = client.principal
        self.remote = client.remote
        self.headers = client.headers
        self.sink = sink
        sink.on_overflow = self._close_overflowing
        self.on_end: Callable[[], None] | None = None
        """Called when the connection has ended."""
        self._clock = clock
        self._linger_after = linger
        self._flush_timeout = flush
        self._loop = asyncio.get_running_loop()
        self._receiver: Receiver | None = None
        self._inbox: list[tuple[bytes, asyncio.Future[None]]] = []
        self._is_paused = False
        self._holds = 0
        self._timer: Timer | None = None
        self.close_reason: ConnectionClosed | None = None
        """The reason why it has ended; None while it is open."""
        self.close_code = 1000
        """The reason as a WebSocket close code."""
        self.client_reason = ""
        """The reason as the client gets it, which may differ."""
        self._agent_close_reason = "the agent ended the connection"

    def start(self, receiver: Receiver) -> None:
        """Start to deliver frames to the receiver."""
        self._receiver = receiver
        if self.close_reason is not None:
            self._loop.call_soon(receiver.connection_lost, self.close_reason)
        elif self._inbox:
            self._loop.call_soon(self._deliver)

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        """Send a frame to the client.

        Raises:
            ConnectionClosed: The connection has ended.
        """
        if self.close_reason is not None:
            raise ConnectionClosed("the connection is closed")
        self.sink.send(frame, head)

    def drained(self) -> asyncio.Future[None] | None:
        """Return a future to await before sending more to the stream of the last frame, or None."""
        return None if self.close_reason is not None else self.sink.drained()

    def pause_reading(self) -> None:
        """Stop delivering frames; the client's requests wait."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Resume the delivery of frames."""
        self._is_paused = False
        if self._inbox:
            self._loop.call_soon(self._deliver)

    def set_close_reason(self, reason: ConnectionClosed) -> None:
        """Set the reason that the client gets when the agent ends the connection."""
        self._agent_close_reason = " ".join(str(reason).split())

    async def aclose(self) -> None:
        """Give readers a moment to take the remaining frames, then end the connection."""
        try:
            if self.close_reason is None:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._flush_timeout):
                        await self.sink.flush()
        finally:
            reason = ConnectionClosed("the connection was closed by us")
            self.end(reason, client_reason=self._agent_close_reason)

    def deliver(self, frame: bytes) -> asyncio.Future[None] | None:
        """Deliver a frame from the client to the agent; return a future to await if it must wait.

        Raises:
            ConnectionClosed: The connection has ended.
        """
        if self.close_reason is not None:
            raise ConnectionClosed("the connection is closed")
        if self._receiver is not None and not self._is_paused and not self._inbox:
            self._pass_to_receiver(frame)
            return None
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._inbox.append((frame, waiter))
        return waiter

    def end(self, reason: ConnectionClosed, code: int = 1000, *, client_reason: str = "") -> None:
        """End the connection; further calls have no effect.

        Args:
            reason: The reason for the agent.
            code: The reason as a WebSocket close code.
            client_reason: The reason for the client; by default, the same.
        """
        if self.close_reason is not None:
            return
        self.close_reason = reason
        self.close_code = code
        self.client_reason = client_reason or str(reason)
        if self._timer is not None:
            self._timer.cancel()
        self.sink.end(self.client_reason)
        self._clock.call_later(self._flush_timeout, self.sink.disconnect)
        for _, waiter in self._inbox:
            if not waiter.done():
                waiter.set_result(None)
        self._inbox.clear()
        if self._receiver is not None:
            self._receiver.connection_lost(reason)
        if self.on_end is not None:
            self.on_end()

    @contextmanager
    def keep_open(self, on_disconnect: OnDisconnect | None = None) -> Generator[Callable[[], None]]:
        """Hold the connection while one of its requests runs and the client is connected.

        If the agent does not read, the request may wait forever. A client that disconnects must
        not hold the connection then. `on_disconnect` reports that, if the server supports it.
        Otherwise the caller can release the hold early by calling the yielded function.
        """
        self.hold()
        is_held = True

        def release_once() -> None:
            nonlocal is_held
            if is_held:
                is_held = False
                self.release()

        if on_disconnect is not None:
            on_disconnect(release_once)
        try:
            yield release_once
        finally:
            release_once()

    def hold(self) -> None:
        """Keep the connection open until `release` is called."""
        self._holds += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def release(self) -> None:
        """Release one hold; without any hold, the connection ends after `linger` seconds."""
        self._holds -= 1
        if not self._holds and self.close_reason is None:
            self._timer = self._clock.call_later(self._linger_after, self._linger_expired)

    def _linger_expired(self) -> None:
        self.end(
            ConnectionClosed(f"the client has been disconnected for {self._linger_after:g} seconds")
        )

    def _close_overflowing(self) -> None:
        """End a connection whose client does not read; deferred, because `send` is on the stack."""
        reason = ConnectionClosed("the client does not read, and too many bytes are waiting for it")
        self._loop.call_soon(self.end, reason, _POLICY_VIOLATION)

    def _deliver(self) -> None:
        """Deliver the waiting frames as long as the agent reads."""
        while self._inbox and not self._is_paused and self._receiver is not None:
            frame, waiter = self._inbox.pop(0)
            self._pass_to_receiver(frame)
            if not waiter.done():
                waiter.set_result(None)

    def _pass_to_receiver(self, frame: bytes) -> None:
        assert self._receiver is not None
        deliver_frames(self._receiver, [frame], self.end)
