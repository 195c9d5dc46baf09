"""The application for operators: health, readiness and metrics, and counting of refusals.

| path | response |
|---|---|
| `/healthz` | 200 while the process responds at all |
| `/readyz` | 200, or 503 during shutdown and when an agent cannot be started |
| `/metrics` | the metrics for Prometheus, for clients with a token, or also for this machine |

The first two reveal nothing private and need no token. Host and Origin are always checked. All
other requests are passed on; refusals are counted here.
"""

from __future__ import annotations

from collections.abc import Awaitable
from contextlib import suppress

import msgspec
from msgspec import Struct

from parley.rpc._codec import DECODE_ERRORS
from parley.transport.http._app.access import Access, is_loopback
from parley.transport.http._app.health import HEALTHY
from parley.transport.http._app.responses import (
    Headers,
    HttpError,
    path_within,
    send_error,
)
from parley.transport.http._asgi_types import (
    App,
    Message,
    Receive,
    Scope,
    Send,
)

from .config import WhoMeasures
from .events import Event, OnEvent, ignore
from .gateway import Gateway
from .metrics import CONTENT_TYPE, Metrics

__all__ = ["FORWARDED", "OperatorApp"]

_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
FORWARDED = (b"forwarded", b"x-forwarded-for", b"x-real-ip", b"via")
"""Headers of proxies: then the client is not on this machine, whatever the socket says."""
_LOGGED_HEADERS = {"foreign_host": b"host", "foreign_origin": b"origin"}
"""The headers whose rejected values are logged, so that the user knows what to allow."""
_SHOWN_CHARACTERS = 80
_LATE = "connection_ended"
"""The reason of late requests for an ended connection. They are not counted as refusals, because
the end of the connection has been reported."""
_ALLOW = ((b"allow", b"GET, HEAD"),)
_NOT_STORED = (b"cache-control", b"no-store")


class _Reason(Struct, frozen=True):
    code: str = ""


class _Body(Struct):
    error: _Reason = _Reason()


class OperatorApp:
    """The outermost ASGI application of a gateway."""

    def __init__(
        self,
        app: App,
        gateway: Gateway,
        *,
        access: Access,
        metrics: Metrics | None = None,
        who_measures: WhoMeasures = "token",
        on_event: OnEvent = ignore,
    ) -> None:
        """Wrap an application.

        Args:
            app: Serves the agents.
            gateway: The agents.
            access: The access rules, and the file of the user's token.
            metrics: The figures; None for none.
            who_measures: Who may see them.
            on_event: Called with each refusal.
        """
        self._app = app
        self._gateway = gateway
        self._access = access
        self._metrics = metrics if who_measures != "off" else None
        self._is_open_here = who_measures == "loopback"
        self._on_event = on_event

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or pass it on."""
        if scope["type"] == "http" and path_within(scope) in _PATHS:
            await self._respond(scope, send)
            return
        if scope["type"] in ("http", "websocket"):
            send = _Watched(scope, send, self._on_event)
        passed_on = self._app(scope, receive, send)
        del scope, receive, send  # a stream is kept long, and there are many
        await passed_on

    async def _respond(self, scope: Scope, send: Send) -> None:
        headers = Headers(scope["headers"])
        try:
            self._access.check_host_and_origin(scope, headers)
            if scope["method"] not in ("GET", "HEAD"):
                raise HttpError(
                    405, "method_not_allowed", "Only GET is served here", headers=_ALLOW
                )
            status, body, kind = self._page(scope, headers)
        except HttpError as refused:  # not to be ready is an answer, and no refusal
            await send_error(_Watched(scope, send, self._on_event), refused)
            return
        fields = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), _NOT_STORED]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        shown = b"" if scope["method"] == "HEAD" else body
        await send({"type": "http.response.body", "body": shown})

    def _page(self, scope: Scope, headers: Headers) -> tuple[int, bytes, bytes]:
        """Return the status, the body and its content type."""
        path = path_within(scope)
        if path == "/healthz":
            return 200, HEALTHY, b"application/json"
        if path == "/readyz":
            return self._ready()
        if self._metrics is None:
            raise HttpError(404, "not_found", "Metrics are turned off")
        if not (self._is_open_here and _is_here(scope, headers)):
            self._access.principal(scope, headers)
        return 200, self._metrics.text().encode(), CONTENT_TYPE.encode()

    def _ready(self) -> tuple[int, bytes, bytes]:
        if not self._gateway.is_ready:
            return 503, b'{"status":"draining"}', b"application/json"
        if any(each.start_error for each in self._gateway):
            return 503, b'{"status":"an agent cannot be started"}', b"application/json"
        return 200, b'{"status":"ready"}', b"application/json"


class _Watched:
    """Observes the response to a request, and passes it on unchanged."""

    __slots__ = ("_is_begun", "_on_event", "_scope", "_send", "_status")

    def __init__(self, scope: Scope, send: Send, on_event: OnEvent) -> None:
        self._scope: Scope = scope
        self._send = send
        self._on_event = on_event
        self._status = 0
        self._is_begun = False

    def __call__(self, message: Message) -> Awaitable[None]:
        if not self._is_begun:  # later messages are frequent and add nothing
            self._is_begun = True
            status: int = message.get("status", 0)
            self._status = status if status >= 400 else 0
            if not self._status:
                self._scope = {}  # a stream is kept long, and there are many
        elif self._status:
            self._refused(message.get("body", b""))
        return self._send(message)

    def _refused(self, body: bytes) -> None:
        reason = ""
        with suppress(*DECODE_ERRORS):
            reason = msgspec.json.decode(body, type=_Body).error.code
        status, self._status = self._status, 0
        if reason == _LATE:
            return
        client = self._scope.get("client")
        self._on_event(
            Event(
                event="refused",
                status=status,
                reason=reason or str(status),
                remote=str(client[0]) if client else "",
                asked=self._refused_header(reason),
            )
        )

    def _refused_header(self, reason: str) -> str:
        header = _LOGGED_HEADERS.get(reason)
        if header is None:
            return ""
        return ", ".join(Headers(self._scope["headers"]).get_all(header))[:_SHOWN_CHARACTERS]


def _is_here(scope: Scope, headers: Headers) -> bool:
    """Return whether the client is on this machine, without a proxy in between."""
    client = scope.get("client")
    peer = str(client[0]) if client else ""
    return is_loopback(peer) and not any(headers.get_all(name) for name in FORWARDED)
