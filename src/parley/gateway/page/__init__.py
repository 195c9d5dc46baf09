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

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from parley.transport.http._app.access import Access
from parley.transport.http._app.responses import (
    Header,
    Headers,
    HttpError,
    path_within,
    send_error,
    send_response,
)
from parley.transport.http._asgi_types import Receive, Scope, Send

__all__ = ["PATH", "POLICY", "Page", "PageApp"]

PATH = "/chat/"
"""The path of the page; its files are below it."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
"""The content security policy of the page."""

_GUARDS: tuple[Header, ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
}
_ABOUT = f"{PATH}about.json"
_ALLOW = ((b"allow", b"GET, HEAD"),)


class Page(Struct, frozen=True, kw_only=True):
    """The settings of the page."""

    cwd: str
    """The directory in which new sessions begin, unless the user names another one."""


class _File(Struct, frozen=True):
    kind: bytes
    tag: bytes
    body: bytes


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
        self._files = dict(_files())

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
                fields = [*_GUARDS, (b"cache-control", b"no-store")]
                await send_response(send, 200, self._about, headers=fields)
            elif path in self._files:
                await self._send_file(self._files[path], scope["method"], headers, send)
            else:
                where = (scope.get("root_path") or "").rstrip("/") + PATH
                fields = [*_GUARDS, (b"location", where.encode()), (b"cache-control", b"no-store")]
                await send_response(send, 307, headers=fields)
        except HttpError as refused:
            await send_error(send, refused, headers=_GUARDS)

    async def _send_file(self, file: _File, method: str, headers: Headers, send: Send) -> None:
        """Send a file, unless the browser has it."""
        fields = [*_GUARDS, (b"etag", file.tag), (b"cache-control", b"no-cache")]
        status, body = 200, file.body
        if file.tag.decode() in ",".join(headers.get_all(b"if-none-match")):
            status, body = 304, b""
        else:
            fields += [(b"content-type", file.kind), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else body})


def _files() -> Iterable[tuple[str, _File]]:
    for path in sorted(Path(__file__).parent.iterdir()):
        if (kind := _KINDS.get(path.suffix)) is not None:
            body = path.read_bytes()
            tag = b'"%b"' % hashlib.sha256(body).hexdigest()[:32].encode()
            name = "" if path.name == "index.html" else path.name
            yield PATH + name, _File(kind, tag, body)
