"""`/healthz`, for whoever starts servers and wants to know that this one answers."""

from __future__ import annotations

from collections.abc import Awaitable

from parley.transport.http.asgi_types import App, Receive, Scope, Send

from .access import Access
from .answers import Headers, Refused, answer, path_within, refuse

__all__ = ["HEALTHY", "WithHealth"]

HEALTHY = b'{"status":"ok"}'
"""What is answered: no more than that."""
_PATH = "/healthz"
_ALLOW = ((b"allow", b"GET, HEAD"),)
_NOT_STORED = ((b"cache-control", b"no-store"),)


class WithHealth:
    """An application that also says that it is there; Host and Origin are checked, no token."""

    def __init__(self, app: App, access: Access) -> None:
        """Stand in front of an application.

        Args:
            app: Serves all the rest.
            access: Which Host and Origin are ours.
        """
        self._app = app
        self._access = access

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer a request, or pass it on without keeping anything of it: there are many."""
        if scope["type"] != "http" or path_within(scope) != _PATH:
            return self._app(scope, receive, send)
        return self._answer(scope, send)

    async def _answer(self, scope: Scope, send: Send) -> None:
        try:
            self._access.check_source(scope, Headers(scope["headers"]))
            if scope["method"] not in ("GET", "HEAD"):
                raise Refused(405, "method_not_allowed", "Only GET is served here", headers=_ALLOW)
        except Refused as refused:
            await refuse(send, refused)
            return
        body = HEALTHY if scope["method"] == "GET" else b""
        await answer(send, 200, body, headers=_NOT_STORED)
