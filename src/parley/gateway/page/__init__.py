"""The page with which a user talks to a hosted agent from a browser; it is off by default.

The files next to this one are served unchanged: no build step, no framework, nothing from other
servers. Their content security policy lets the browser load from and connect to this server only,
and makes it refuse to turn text into script or markup (Trusted Types), so that text of an agent
cannot act on the page. The files are public and contain no secrets. Talking to an agent, and
listing the agents, requires the same access as for every client.

The user types the token once. It stays in the tab and is sent in the header of each request. It is
never taken from the address, which browsers remember.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from parley.transport.http._app.access import Access
from parley.transport.http._app.responses import (
    Headers,
    HttpError,
    path_within,
    send_error,
    send_response,
)
from parley.transport.http._asgi_types import Receive, Scope, Send

from .static_files import GUARDS, POLICY, StaticFiles

__all__ = ["PATH", "POLICY", "Page", "PageApp"]

PATH = "/chat/"
"""The path of the page; its files are below it."""

_ABOUT = f"{PATH}about.json"
_ALLOW = ((b"allow", b"GET, HEAD"),)


class Page(Struct, frozen=True, kw_only=True):
    """The settings of the page."""

    cwd: str
    """The directory in which new sessions begin, unless the user names another one."""


class PageApp:
    """Serves the page; an ASGI application for the paths that it `serves`."""

    def __init__(self, page: Page, *, agents: Iterable[str], access: Access | None = None) -> None:
        """Prepare to serve the page.

        Args:
            page: The settings of the page.
            agents: The names of the agents.
            access: Who gets in; the local user alone, if not given.
        """
        self._access = access or Access()
        self._about = msgspec.json.encode({"agents": list(agents), "cwd": page.cwd})
        self._files = StaticFiles(Path(__file__).parent, PATH)

    def serves(self, scope: Scope) -> bool:
        """Return whether a request is for the page."""
        path = path_within(scope)
        return path in ("/", PATH, PATH.rstrip("/"), _ABOUT) or path in self._files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        del receive
        headers = Headers(scope["headers"])
        try:
            self._access.check_host_and_origin(scope, headers)
            if scope["method"] not in ("GET", "HEAD"):
                raise HttpError(405, "method_not_allowed", "The page is only read", headers=_ALLOW)
            path = path_within(scope)
            if path == _ABOUT:
                self._access.principal(scope, headers)
                fields = [*GUARDS, (b"cache-control", b"no-store")]
                await send_response(send, 200, self._about, headers=fields)
            elif path in self._files:
                await self._files.send(path, scope["method"], headers, send)
            else:
                where = (scope.get("root_path") or "").rstrip("/") + PATH
                fields = [*GUARDS, (b"location", where.encode()), (b"cache-control", b"no-store")]
                await send_response(send, 307, headers=fields)
        except HttpError as refused:
            await send_error(send, refused, headers=GUARDS)
