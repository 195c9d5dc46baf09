"""`/healthz`: a health check for service managers and load balancers.

The readiness and the metrics of a gateway are in `parley/gateway/operator_app.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable

from parley.transport.http._asgi_types import (
    App,
    Receive,
    Scope,
    Send,
)

from .access import Access
from .responses import (
    Headers,
    HttpError,
    path_within,
    send_error,
    send_response,
)

HEALTHY = b'{"status":"ok"}'
"""The body of the response; deliberately nothing more."""
_PATH = "/healthz"
_ALLOW = ((b"allow", b"GET, HEAD"),)
_NOT_STORED = ((b"cache-control", b"no-store"),)


class HealthMiddleware:
    """ASGI middleware that responds to `/healthz`; it checks Host and Origin, but no token."""

    def __init__(self, app: App, access: Access) -> None:
        """Wrap an application.

        Args:
            app: Serves all other requests.
            access: Checks Host and Origin.
        """
        self._app = app
        self._access = access

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Respond to a health check, or pass the request on without keeping any of it alive."""
        if scope["type"] != "http" or path_within(scope) != _PATH:
            return self._app(scope, receive, send)
        return self._respond(scope, send)

    async def _respond(self, scope: Scope, send: Send) -> None:
        try:
            self._access.check_host_and_origin(scope, Headers(scope["headers"]))
            if scope["method"] not in ("GET", "HEAD"):
                raise HttpError(
                    405,
                    "method_not_allowed",
                    "Only GET and HEAD are supported here",
                    headers=_ALLOW,
                )
        except HttpError as error:
            await send_error(send, error)
            return
        body = HEALTHY if scope["method"] == "GET" else b""
        await send_response(send, 200, body, headers=_NOT_STORED)
