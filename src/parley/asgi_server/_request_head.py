"""Validation of request and response heads, and the ASGI scope of a request.

A request must name exactly one host: in the Host header, the `:authority` of HTTP/2, or the target.
Others are rejected before the application sees them, because a reverse proxy may have checked the
other host. Host names are compared with the allowed ones in `_app/access.py`, not here.
Rules: https://www.rfc-editor.org/rfc/rfc9110, rfc9112, rfc9113.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import formatdate
from urllib.parse import unquote

from ._asgi_types import Headers, Scope
from ._socket_connection import SocketConnection
from .limits import ServerLimits

_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]+").fullmatch
_LOWER_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-z]+").fullmatch
_UNSAFE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]").search
_TARGET = re.compile(rb"[\x21-\x7e]+").fullmatch
_METHOD = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]{1,32}").fullmatch
_HOST = re.compile(
    rb"(?:[-._~%!$&'()*+,;=0-9A-Za-z]+|\[[0-9A-Fa-f:.%]+\])(?::[0-9]{0,5})?"
).fullmatch
_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]*)([^#]*)").fullmatch
_CONNECTION_HEADERS = {
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"transfer-encoding",
    b"upgrade",
}
_PSEUDO = {b":method": 0, b":scheme": 1, b":path": 2, b":authority": 3}


class MalformedRequestHead(Exception):
    """A request that is rejected with this status; 0 means that the stream is reset."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(slots=True)
class RequestHead:
    """The head of a request, before it is validated."""

    http_version: str
    method: str
    target: bytes
    authority: bytes | None
    """The `:authority` of HTTP/2, in addition to or instead of the header `host`."""
    headers: Headers


def scope_of(head: RequestHead, connection: SocketConnection, *, kind: str = "http") -> Scope:
    """Return the ASGI scope of a request.

    Raises:
        MalformedRequestHead: The head is malformed or too large.
    """
    target, authority = head.target, head.authority
    _check_size(head, connection.limits)
    if not target.startswith(b"/"):
        target, authority = _parse_other_target(head)
    headers = _with_host(head.headers, authority)
    raw_path, _, query = target.partition(b"?")
    path = raw_path.decode("ascii")
    scheme = "ws" if kind == "websocket" else "http"
    scope: Scope = {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": head.http_version,
        "scheme": scheme + "s" if connection.server_state.is_tls else scheme,
        "path": unquote(path) if "%" in path else path,
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": connection.peername,
        "server": connection.sockname,
        "extensions": {},
    }
    if kind == "http":
        scope["method"] = head.method
    return scope


def _check_size(head: RequestHead, limits: ServerLimits) -> None:
    if len(head.headers) > limits.header_count:
        raise MalformedRequestHead(431, "too many header fields")
    if len(head.target) > limits.target_bytes:
        raise MalformedRequestHead(414, "the target is too long")
    if not _TARGET(head.target):
        raise MalformedRequestHead(400, "invalid characters in the target")


def _parse_other_target(head: RequestHead) -> tuple[bytes, bytes | None]:
    """Parse a target that is not a path: an absolute URL, or the `*` of OPTIONS."""
    if head.target == b"*" and head.method == "OPTIONS":
        return b"*", head.authority
    absolute = _ABSOLUTE(head.target)
    if absolute is None or head.authority is not None:
        raise MalformedRequestHead(400, "the target is not a path")
    authority, path = absolute.groups()
    if [value for name, value in head.headers if name == b"host"] != [authority]:
        raise MalformedRequestHead(400, "the target names another host")
    return (path if path.startswith(b"/") else b"/" + path), authority


def _with_host(headers: Headers, authority: bytes | None) -> Headers:
    hosts = [value for name, value in headers if name == b"host"]
    if authority is None:
        if len(hosts) != 1:
            raise MalformedRequestHead(400, "no host, or more than one")
    elif hosts not in ([], [authority]):
        raise MalformedRequestHead(400, "Host and :authority differ")
    host = hosts[0] if authority is None else authority
    if not _HOST(host):
        raise MalformedRequestHead(400, "a malformed host")
    if not hosts:
        return [(b"host", host), *headers]
    return headers


def http_2_head(fields: Iterable[tuple[bytes, bytes]]) -> RequestHead:
    """Return the head of an HTTP/2 request from its header fields.

    Raises:
        MalformedRequestHead: The fields are not those of a valid request.
    """
    pseudo: list[bytes | None] = [None, None, None, None]
    headers: Headers = []
    cookies: list[bytes] = []
    for name, value in fields:
        if name[:1] == b":":
            place = _PSEUDO.get(name)
            if place is None or pseudo[place] is not None or headers or cookies:
                raise MalformedRequestHead(0, "invalid pseudo-header fields")
            pseudo[place] = value
        elif name == b"cookie":
            cookies.append(value)
        elif name in _CONNECTION_HEADERS or (name == b"te" and value != b"trailers"):
            raise MalformedRequestHead(0, "a connection-specific header field")
        else:
            headers.append((name, value))
        if _UNSAFE(value) or value != value.strip(b" \t"):
            raise MalformedRequestHead(0, "a malformed value")
        if name[:1] != b":" and not _LOWER_NAME(name):
            raise MalformedRequestHead(0, "a malformed name")
    method, scheme, path, authority = pseudo
    if method is None or scheme is None or not path or not _METHOD(method):
        raise MalformedRequestHead(0, "no method, scheme or path")
    if cookies:
        headers.append((b"cookie", b"; ".join(cookies)))
    return RequestHead("2", method.decode("ascii"), path, authority, headers)


def checked_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Validate the headers of an application, lower-case their names, and add a date.

    Raises:
        ValueError: A header is malformed.
    """
    checked: Headers = []
    has_date = False
    for name, value in headers:
        if not _NAME(name) or _UNSAFE(value):
            raise ValueError("the application sent a malformed header")
        lower = bytes(name).lower()
        has_date = has_date or lower == b"date"
        checked.append((lower, bytes(value)))
    if not has_date:
        checked.append((b"date", _date(int(time.time()))))
    return checked


_dates: dict[int, bytes] = {}


def _date(second: int) -> bytes:
    if second not in _dates:
        _dates.clear()
        _dates[second] = formatdate(second, usegmt=True).encode("ascii")
    return _dates[second]
