"""HTTP/1.1 to one server: a connection that carries one request at a time.

It is what is left when a server does not speak HTTP/2. A stream of events occupies a connection of
its own; requests that follow each other share one, as long as the server keeps it open.
Spec: https://www.rfc-editor.org/rfc/rfc9112
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from time import monotonic
from typing import cast

import h11

from .response import Headers, Interrupted, Response

__all__ = ["H1Client"]

_MAX_HEAD_BYTES = 64 * 1024
_IDLE_AFTER = 4.0
"""So long a connection may lie idle and is still used again; many servers close it after five."""
_BEGINNING = b"HTTP/"
_TIMEOUT = re.compile(r"timeout=(\d{1,9})")


class H1Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, authority: bytes, *, on_change: Callable[[], None]) -> None:
        """Prepare a connection.

        Args:
            authority: The server's name and port.
            on_change: Called when there may be room for another request, or never again.
        """
        self._authority = authority
        self._on_change = on_change
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._response: Response | None = None
        self._stale_at = monotonic() + _IDLE_AFTER
        self._awaits_head = False
        self._idle_after = _IDLE_AFTER
        self.lost: Interrupted | None = None
        """Why there are no more requests on this connection."""

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way."""
        return self._response is None

    def has_room(self) -> bool:
        """Tell whether another request may be begun."""
        return self.lost is None and self._response is None and monotonic() < self._stale_at

    def begin(self, method: bytes, path: bytes, headers: Headers, body: bytes) -> Response:
        """Send a request."""
        assert self._transport is not None
        head = [(b"host", self._authority), *headers]
        if body or method == b"POST":
            head.append((b"content-length", b"%d" % len(body)))
        response = self._response = Response(self)
        self._awaits_head = True
        request = h11.Request(method=method, target=path, headers=head)
        data = self._h11.send(request) or b""
        if body:
            data += self._h11.send(h11.Data(data=body)) or b""
        data += self._h11.send(h11.EndOfMessage()) or b""
        self._transport.write(data)
        return response

    # What a response asks for.

    def taken(self, response: Response, size: int) -> None:
        """Do nothing: the socket has its own window."""

    def hold(self, response: Response, is_held: bool) -> None:
        """Read nothing, or again."""
        if self._transport is None or response is not self._response:
            return
        if is_held:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def abandon(self, response: Response) -> None:
        """Close the connection: there is no other way to end a request."""
        if response is self._response:
            self._lose(Interrupted("nobody waits for the answer any more"))

    def close(self, reason: str = "the connection was closed by us") -> None:
        """End the connection; what is under way fails."""
        self._lose(Interrupted(reason), is_polite=True)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Take what the server sent."""
        response = self._response
        if response is None:
            self._lose(Interrupted("the server speaks without being asked; it is no HTTP server"))
        elif self._awaits_head and not data.startswith(_BEGINNING[: len(data)]):
            self._lose(Interrupted("the server does not speak HTTP"))
        else:
            self._awaits_head = False
            self._read(data)

    def eof_received(self) -> None:
        """Learn that the server sends no more."""
        if self._response is not None:
            self._read(b"")

    def connection_lost(self, exc: Exception | None) -> None:
        """Learn that the connection is gone."""
        text = "the server closed the connection" if exc is None else f"the connection broke: {exc}"
        self._lose(Interrupted(text))

    # Inside.

    def _read(self, data: bytes) -> None:
        try:
            self._h11.receive_data(data)
            while self._response is not None:
                event = self._h11.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    return
                self._take(event, self._response)
        except h11.RemoteProtocolError as error:
            text = "the server closed the connection" if not data else f"no HTTP/1.1: {error}"
            self._lose(Interrupted(text))

    def _take(self, event: object, response: Response) -> None:
        if isinstance(event, h11.Response):
            if found := _TIMEOUT.search(_header(event, b"keep-alive")):
                self._idle_after = max(0.0, min(_IDLE_AFTER, int(found[1]) - 1.0))
            response.head_received(event.status_code, list(event.headers))
        elif isinstance(event, h11.Data):
            response.data_received(bytes(event.data), len(event.data))
        elif isinstance(event, h11.EndOfMessage):
            self._finish(response)
        elif isinstance(event, h11.ConnectionClosed):
            self._lose(Interrupted("the server closed the connection"))

    def _finish(self, response: Response) -> None:
        """Be ready for the next request before anybody learns that this one is over."""
        self._response = None
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
            self._stale_at = monotonic() + self._idle_after
        else:
            self._lose(Interrupted("the server closed the connection"), is_polite=True)
        response.ended()
        self._on_change()

    def _lose(self, reason: Interrupted, *, is_polite: bool = False) -> None:
        """Fail what is under way, once, and close."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        self.lost = reason
        response, self._response = self._response, None
        if response is not None:
            response.ended(reason)
        if is_polite:
            transport.close()
        else:
            transport.abort()
        self._on_change()


def _header(event: h11.Response, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in event.headers if key == name), "")
