"""One request and its response, as an ASGI application sees them, for any version of HTTP.

The body waits here until the application consumes it; only then may the peer send more. The
response waits here until the protocol (a `ResponseWriter`: `_h1.py` or `_h2.py`) can send it, as
much as the peer's flow-control windows allow. `send` waits while more than
`ServerLimits.unsent_bytes` are queued here, or too much on all streams of the connection.
Everything sent in one event loop iteration is joined, so that frames are not tiny.
WebSockets are in `_ws.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ._asgi_types import (
    App,
    Headers,
    Message,
    Scope,
)
from ._notifier import Notifier
from ._request_head import checked_headers
from ._send_window import SendWindow
from ._socket_connection import log_failure
from .extensions import ON_DISCONNECT

_ERROR_BODIES = {408: b"Request Timeout", 413: b"Content Too Large", 500: b"Internal Server Error"}


class ResponseWriter(Protocol):
    """The protocol that sends the response of a cycle, and receives its body."""

    def response_ready(self, cycle: RequestResponseCycle, /) -> None:
        """Called when the cycle has something to send."""

    def body_wanted(self, cycle: RequestResponseCycle, /) -> None:
        """Called when the application waits for the body."""

    def body_consumed(self, cycle: RequestResponseCycle, size: int, /) -> None:
        """Called when the application consumed this many bytes, as flow control counts them."""

    def response_broken(self, cycle: RequestResponseCycle, /) -> None:
        """Called when a response that was started cannot be completed."""


class RequestResponseCycle:
    """A request and its response; calls the application with the one and sends the other."""

    __slots__ = (
        "_body",
        "_chunks",
        "_is_end_delivered",
        "_request_changed",
        "_scope",
        "_send_window",
        "_writable",
        "_writer",
        "body_bytes",
        "body_received_at",
        "headers",
        "is_awaiting_body",
        "is_bodiless",
        "is_body_ended",
        "is_disconnected",
        "is_ended",
        "is_head_pending",
        "on_disconnect",
        "status",
        "stream_id",
        "unread_bytes",
        "unsent_bytes",
    )

    def __init__(
        self, writer: ResponseWriter, scope: Scope, send_window: SendWindow, *, stream_id: int = 0
    ) -> None:
        self._scope: Scope | None = scope
        self.stream_id = stream_id
        self._writer = writer
        self._send_window = send_window
        self._body: bytes | bytearray = b""
        self.unread_bytes = 0
        """The unconsumed bytes of the body, as flow control counts them."""
        self.body_bytes = 0
        """The length of the body so far."""
        self.body_received_at = 0.0
        """The time when the last part of the body arrived."""
        self.is_body_ended = False
        self._is_end_delivered = False
        self.is_awaiting_body = False
        """Whether the application waits for more of the body."""
        self.status = 0
        self.headers: Headers = []
        self.is_head_pending = False
        """Whether the head of the response is ready but not sent."""
        self.is_bodiless: bool = scope["method"] == "HEAD"
        self._chunks: list[bytes | memoryview] = []
        self.unsent_bytes = 0
        self.is_ended = False
        """Whether the application has completed its response."""
        self.is_disconnected = False
        """Whether the peer has disconnected, or the request was rejected."""
        self.on_disconnect: Callable[[], None] | None = None
        """Called once, at a disconnect, so that no task waits in `receive`."""
        scope["extensions"] = {**scope["extensions"], ON_DISCONNECT: self.set_on_disconnect}
        self._request_changed = Notifier()
        self._writable = Notifier()

    async def run(self, app: App) -> None:
        """Call the application; send an error response if it fails or does not respond."""
        try:
            await app(self._take_scope(), self.receive, self.send)
        except Exception as error:  # noqa: BLE001  boundary: this task runs the application
            if not (self.is_disconnected and isinstance(error, OSError)):
                log_failure("The application failed", error)
                self._fail()
        else:
            if not self.is_ended and not self.is_disconnected:
                log_failure(
                    "The application returned without completing the response", RuntimeError()
                )
                self._fail()

    def _take_scope(self) -> Scope:
        """Return the scope and drop our reference: it is most of the memory of an idle request."""
        scope, self._scope = self._scope, None
        assert scope is not None
        return scope

    def set_on_disconnect(self, callback: Callable[[], None]) -> None:
        """Set the callback for a disconnect; it is called at once if the peer has disconnected."""
        if self.is_disconnected:
            callback()
        else:
            self.on_disconnect = callback

    async def receive(self) -> Message:
        """Return what was received of the body, or a disconnect; the ASGI `receive`."""
        while True:
            if self.is_body_ended or not self.is_disconnected:
                if self._body or (self.is_body_ended and not self._is_end_delivered):
                    return self._take_body()
                if not self.is_ended and not self.is_body_ended:
                    self.is_awaiting_body = True
                    self._writer.body_wanted(self)
            if self.is_disconnected or self.is_ended:
                return {"type": "http.disconnect"}
            try:
                await self._request_changed.wait()
            finally:
                self.is_awaiting_body = False

    async def send(self, message: Message) -> None:
        """Queue a message of the response, and wait while too much is unsent; the ASGI `send`.

        Raises:
            OSError: The peer has disconnected.
        """
        if self.is_disconnected:
            raise ConnectionResetError("the peer closed the request")
        kind = message["type"]
        if kind == "http.response.body":
            self._send_body(message)
            while self.unsent_bytes > self._send_window.allowed and not self.is_disconnected:
                await self._writable.wait()
        elif kind == "http.response.start":
            if self.status:
                raise RuntimeError("the response has already been started")
            headers = checked_headers(message.get("headers", ()))
            self.start(message["status"], headers)
        else:
            raise RuntimeError(f"unexpected ASGI message {kind!r} in an HTTP response")

    def start(self, status: int, headers: Headers) -> None:
        """Start the response."""
        self.status = status
        self.headers = headers
        self.is_bodiless = self.is_bodiless or status in (204, 304)
        self.is_head_pending = True
        self._writer.response_ready(self)

    def feed(self, data: bytes, flow_controlled_bytes: int) -> None:
        """Buffer received bytes of the body for the application."""
        if not self._body:
            self._body = data
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)
            self._body += data
        self.unread_bytes += flow_controlled_bytes
        self.body_bytes += len(data)
        self._request_changed.notify_all()

    def feed_end(self) -> None:
        """Record that the body is complete."""
        self.is_body_ended = True
        self._request_changed.notify_all()

    def take_unsent(self, size: int) -> bytes | memoryview:
        """Take at most `size` bytes of the response, to send them."""
        chunks = self._chunks
        data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if self.unsent_bytes <= size:
            chunks.clear()
            self.unsent_bytes = 0
        else:
            view = memoryview(data)
            chunks[:] = [view[size:]]
            self.unsent_bytes -= size
            data = view[:size]
        self._send_window.remove(len(data))
        self.wake_if_writable()
        return data

    def wake_if_writable(self) -> None:
        """Wake the application if it may send again."""
        if self._writable and self.unsent_bytes <= self._send_window.allowed:
            self._writable.notify_all()

    def reject(self, status: int) -> None:
        """Send an error response; the application sees a disconnect."""
        if self.status and not self.is_head_pending:
            self._writer.response_broken(self)
            return
        text = _ERROR_BODIES[status]
        self._chunks = [] if self.is_bodiless else [text]
        self._send_window.remove(self.unsent_bytes)
        self.unsent_bytes = sum(map(len, self._chunks))
        self._send_window.add(self.unsent_bytes)
        self.is_ended = True
        self.start(status, [(b"content-length", b"%d" % len(text))])
        self.disconnect()

    def disconnect(self) -> None:
        """Report a disconnect to the application, which may still consume a complete body."""
        self.is_disconnected = True
        unread, self.unread_bytes = self.unread_bytes, 0
        if unread:
            self._writer.body_consumed(self, unread)
        if not self.is_body_ended:
            self._body = b""
        self._request_changed.notify_all()
        self._writable.notify_all()
        callback, self.on_disconnect = self.on_disconnect, None
        if callback is not None:
            callback()

    def _take_body(self) -> Message:
        body, self._body = self._body, b""
        unread, self.unread_bytes = self.unread_bytes, 0
        self._is_end_delivered = self.is_body_ended
        if unread:
            self._writer.body_consumed(self, unread)
        more_body = not self.is_body_ended
        return {"type": "http.request", "body": bytes(body), "more_body": more_body}

    def _send_body(self, message: Message) -> None:
        if not self.status or self.is_ended:
            raise RuntimeError("the response has not been started, or is already complete")
        body = message.get("body", b"")
        if body and not self.is_bodiless:
            self._chunks.append(body)
            self.unsent_bytes += len(body)
            self._send_window.add(len(body))
        if not message.get("more_body", False):
            self.is_ended = True
            self._request_changed.notify_all()
        self._writer.response_ready(self)

    def _fail(self) -> None:
        if self.is_disconnected or (self.is_ended and self.status):
            return
        self.reject(500)
