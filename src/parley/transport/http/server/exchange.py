"""One request and its answer, as an ASGI application sees them, whichever HTTP it came by.

The body waits here until the application takes it, and only then the front gives the peer room for
more. What the application sends waits here until the front can send it: a front takes as much as
the peer's windows allow, and `send` waits while more than `unsent_bytes` are here, or too much on
all streams of the connection. Everything that was sent in one turn of the event loop is joined, so
that frames are not tiny.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from parley.transport.http.asgi_types import WHEN_GONE, App, Headers, Message, Scope
from parley.transport.http.limits import Room

from .head import checked_headers
from .wire import Signal, log_failure

__all__ = ["Exchange", "Outlet"]

_TEXTS = {408: b"Request Timeout", 413: b"Content Too Large", 500: b"Internal Server Error"}


class Outlet(Protocol):
    """The front that an exchange belongs to."""

    def ready(self, exchange: Exchange, /) -> None:
        """There is something to send."""

    def wanted(self, exchange: Exchange, /) -> None:
        """The application waits for the body."""

    def taken(self, exchange: Exchange, size: int, /) -> None:
        """The application took so much of the body, as flow control counts it."""

    def broken(self, exchange: Exchange, /) -> None:
        """The answer was begun and cannot be ended."""


class Exchange:
    """A request, its answer, and the application between the two."""

    __slots__ = (
        "_body",
        "_changed",
        "_front",
        "_is_end_told",
        "_parts",
        "_room",
        "_scope",
        "_unsent",
        "awaits_body",
        "body_bytes",
        "fed_at",
        "headers",
        "held_bytes",
        "is_bodiless",
        "is_body_ended",
        "is_ended",
        "is_gone",
        "is_head_due",
        "on_gone",
        "status",
        "stream_id",
        "unsent_bytes",
    )

    def __init__(self, front: Outlet, scope: Scope, unsent: Room, *, stream_id: int = 0) -> None:
        self._scope: Scope | None = scope
        self.stream_id = stream_id
        self._front = front
        self._unsent = unsent
        self._body: bytes | bytearray = b""
        self.held_bytes = 0
        """What of it waits for the application, as flow control counts it."""
        self.body_bytes = 0
        """How long the body is so far."""
        self.fed_at = 0.0
        """When a part of it last came."""
        self.is_body_ended = False
        self._is_end_told = False
        self.awaits_body = False
        """The application waits for more of the body."""
        self.status = 0
        self.headers: Headers = []
        self.is_head_due = False
        """The head of the answer is known and not sent."""
        self.is_bodiless: bool = scope["method"] == "HEAD"
        self._parts: list[bytes | memoryview] = []
        self.unsent_bytes = 0
        self.is_ended = False
        """The application has ended its answer."""
        self.is_gone = False
        """The peer is gone, or the request was refused."""
        self.on_gone: Callable[[], None] | None = None
        """Is told that, once; set by an application that has nobody waiting in `receive`."""
        scope["extensions"] = {**scope["extensions"], WHEN_GONE: self.when_gone}
        self._changed = Signal()
        self._room = Signal()

    async def run(self, app: App) -> None:
        """Call the application; see that the request gets an answer whatever it does."""
        try:
            await app(self._take_scope(), self.receive, self.send)
        except Exception as error:  # noqa: BLE001  the edge: this task is the application's
            if not (self.is_gone and isinstance(error, OSError)):
                log_failure("The application failed", error)
                self._fail()
        else:
            if not self.is_ended and not self.is_gone:
                log_failure("The application ended without an answer", RuntimeError())
                self._fail()

    def _take_scope(self) -> Scope:
        """Let go of the scope: most of what an idle request would keep."""
        scope, self._scope = self._scope, None
        assert scope is not None
        return scope

    def when_gone(self, callback: Callable[[], None]) -> None:
        """Call back when the peer is gone, now if it is."""
        self.on_gone = callback
        if self.is_gone:
            callback()

    async def receive(self) -> Message:
        """Give the application what came, or tell it that the peer is gone."""
        while True:
            if self.is_body_ended or not self.is_gone:
                if self._body or (self.is_body_ended and not self._is_end_told):
                    return self._take_body()
                if not self.is_ended and not self.is_body_ended:
                    self.awaits_body = True
                    self._front.wanted(self)
            if self.is_gone or self.is_ended:
                return {"type": "http.disconnect"}
            try:
                await self._changed.wait()
            finally:
                self.awaits_body = False

    async def send(self, message: Message) -> None:
        """Take a part of the answer; wait while the peer has not taken enough of the others.

        Raises:
            OSError: The peer is gone.
        """
        if self.is_gone:
            raise ConnectionResetError("the peer has closed this request")
        kind = message["type"]
        if kind == "http.response.body":
            self._send_body(message)
            while self.unsent_bytes > self._unsent.allowed and not self.is_gone:
                await self._room.wait()
        elif kind == "http.response.start":
            if self.status:
                raise RuntimeError("the answer has been started")
            headers = checked_headers(message.get("headers", ()))
            self.start(message["status"], headers)
        else:
            raise RuntimeError(f"an answer has no {kind!r}")

    def start(self, status: int, headers: Headers) -> None:
        """Begin the answer."""
        self.status = status
        self.headers = headers
        self.is_bodiless = self.is_bodiless or status in (204, 304)
        self.is_head_due = True
        self._front.ready(self)

    def feed(self, data: bytes, held_bytes: int) -> None:
        """Keep a part of the body for the application."""
        if not self._body:
            self._body = data
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += data
        self.held_bytes += held_bytes
        self.body_bytes += len(data)
        self._changed.wake()

    def feed_end(self) -> None:
        """Note that the body is whole."""
        self.is_body_ended = True
        self._changed.wake()

    def take(self, size: int) -> bytes | memoryview:
        """Take at most so many bytes of the answer to send them."""
        parts = self._parts
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if self.unsent_bytes <= size:
            parts.clear()
            self.unsent_bytes = 0
        else:
            view = memoryview(data)
            parts[:] = [view[size:]]
            self.unsent_bytes -= size
            data = view[:size]
        self._unsent.remove(len(data))
        self.look()
        return data

    def look(self) -> None:
        """Let the application go on if there is room again."""
        if self._room and self.unsent_bytes <= self._unsent.allowed:
            self._room.wake()

    def refuse(self, status: int) -> None:
        """Answer in the application's place, which is told that the peer is gone."""
        if self.status and not self.is_head_due:
            self._front.broken(self)
            return
        text = _TEXTS[status]
        self._parts = [] if self.is_bodiless else [text]
        self._unsent.remove(self.unsent_bytes)
        self.unsent_bytes = sum(map(len, self._parts))
        self._unsent.add(self.unsent_bytes)
        self.is_ended = True
        self.start(status, [(b"content-length", b"%d" % len(text))])
        self.lose()

    def lose(self) -> None:
        """Tell the application that the peer is gone, which may still take a body that is whole."""
        self.is_gone = True
        held, self.held_bytes = self.held_bytes, 0
        if held:
            self._front.taken(self, held)
        if not self.is_body_ended:
            self._body = b""
        self._changed.wake()
        self._room.wake()
        if self.on_gone is not None:
            self.on_gone()

    def _take_body(self) -> Message:
        body, self._body = self._body, b""
        held, self.held_bytes = self.held_bytes, 0
        self._is_end_told = self.is_body_ended
        if held:
            self._front.taken(self, held)
        more_body = not self.is_body_ended
        return {"type": "http.request", "body": bytes(body), "more_body": more_body}

    def _send_body(self, message: Message) -> None:
        if not self.status or self.is_ended:
            raise RuntimeError("the answer is not started, or has ended")
        body = message.get("body", b"")
        if body and not self.is_bodiless:
            self._parts.append(body)
            self.unsent_bytes += len(body)
            self._unsent.add(len(body))
        if not message.get("more_body", False):
            self.is_ended = True
            self._changed.wake()
        self._front.ready(self)

    def _fail(self) -> None:
        if self.is_gone or (self.is_ended and self.status):
            return
        self.refuse(500)
