"""Files of a page in a browser, served unchanged with a strict content security policy.

The policy lets the browser load from and connect to this server only, and makes it refuse to turn
text into script or markup (Trusted Types).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct

from parley.transport.http._app.responses import Header, Headers
from parley.transport.http._asgi_types import Send

__all__ = ["GUARDS", "POLICY", "StaticFiles"]

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

GUARDS: tuple[Header, ...] = (
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
"""The headers of every response to a page."""
_KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".svg": b"image/svg+xml",
}


class _File(Struct, frozen=True):
    kind: bytes
    tag: bytes
    body: bytes


class StaticFiles:
    """The files of a folder, by their paths; `index.html` has the path of the folder."""

    def __init__(self, folder: Path, prefix: str, *, suffixes: Collection[str] = _KINDS) -> None:
        """Read the files.

        Args:
            folder: The folder; folders in it are not served.
            prefix: The path of the folder, with a slash at its end.
            suffixes: The suffixes of the files to serve.
        """
        self._files = dict(_read(folder, prefix, suffixes))

    def __contains__(self, path: str) -> bool:
        return path in self._files

    async def send(self, path: str, method: str, headers: Headers, send: Send) -> None:
        """Send a file, unless the browser has it."""
        file = self._files[path]
        fields = [*GUARDS, (b"etag", file.tag), (b"cache-control", b"no-cache")]
        status, body = 200, file.body
        if file.tag.decode() in ",".join(headers.get_all(b"if-none-match")):
            status, body = 304, b""
        else:
            fields += [(b"content-type", file.kind), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": b"" if method == "HEAD" else body})


def _read(folder: Path, prefix: str, suffixes: Collection[str]) -> Iterator[tuple[str, _File]]:
    for path in sorted(folder.iterdir()):
        if path.suffix in suffixes and (kind := _KINDS.get(path.suffix)) is not None:
            body = path.read_bytes()
            tag = b'"%b"' % hashlib.sha256(body).hexdigest()[:32].encode()
            name = "" if path.name == "index.html" else path.name
            yield prefix + name, _File(kind, tag, body)
