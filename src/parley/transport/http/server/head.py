"""Heads of requests and answers: what is well formed, and what an application sees of it.

A request names its host exactly once, whichever way; one that names none, two, or two different
ones is refused before any application hears of it, because whoever stands in front of us may have
looked at the other one. Rules: https://www.rfc-editor.org/rfc/rfc9110, rfc9112, rfc9113.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import formatdate
from urllib.parse import unquote

from parley.transport.http.asgi_types import Headers, Scope
from parley.transport.http.limits import ServerLimits

from .wire import Wire

__all__ = ["Head", "MalformedHead", "checked_headers", "http_2_head", "scope_of"]

_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]+").fullmatch
_LOWER_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-z]+").fullmatch
_UNSAFE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]").search
_TARGET = re.compile(rb"[\x21-\x7e]+").fullmatch
_METHOD = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-zA-Z]{1,32}").fullmatch
_HOST = re.compile(
    rb"(?:[-._~%!$&'()*+,;=0-9A-Za-z]+|\[[0-9A-Fa-f:.%]+\])(?::[0-9]{0,5})?"
).fullmatch
_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]*)([^#]*)").fullmatch
_OF_CONNECTION = {
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"transfer-encoding",
    b"upgrade",
}
_PSEUDO = {b":method": 0, b":scheme": 1, b":path": 2, b":authority": 3}


class MalformedHead(Exception):
    """A request that is answered by its status; 0 stands for a reset of the stream."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(slots=True)
class Head:
    """The head of a request, before it is looked at closely."""

    http_version: str
    method: str
    target: bytes
    authority: bytes | None
    """What HTTP/2 says beside, or instead of, the header `host`."""
    headers: Headers


def scope_of(head: Head, wire: Wire, *, kind: str = "http") -> Scope:
    """Make the ASGI scope of a request.

    Raises:
        MalformedHead: The request is not to be heard.
    """
    target, authority = head.target, head.authority
    _check_size(head, wire.limits)
    if not target.startswith(b"/"):
        target, authority = _other_target(head)
    headers = _with_host(head.headers, authority)
    raw_path, _, query = target.partition(b"?")
    path = raw_path.decode("ascii")
    scheme = "ws" if kind == "websocket" else "http"
    scope: Scope = {
        "type": kind,
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": head.http_version,
        "scheme": scheme + "s" if wire.service.is_tls else scheme,
        "path": unquote(path) if "%" in path else path,
        "raw_path": raw_path,
        "query_string": query,
        "root_path": "",
        "headers": headers,
        "client": wire.peer,
        "server": wire.name,
        "extensions": {},
    }
    if kind == "http":
        scope["method"] = head.method
    return scope


def _check_size(head: Head, limits: ServerLimits) -> None:
    if len(head.headers) > limits.header_count:
        raise MalformedHead(431, "too many header fields")
    if len(head.target) > limits.target_bytes:
        raise MalformedHead(414, "the target is too long")
    if not _TARGET(head.target):
        raise MalformedHead(400, "a target of odd characters")


def _other_target(head: Head) -> tuple[bytes, bytes | None]:
    """Read a target that is no path: the whole address, or the `*` of OPTIONS."""
    if head.target == b"*" and head.method == "OPTIONS":
        return b"*", head.authority
    absolute = _ABSOLUTE(head.target)
    if absolute is None or head.authority is not None:
        raise MalformedHead(400, "a target that is no path")
    authority, path = absolute.groups()
    if [value for name, value in head.headers if name == b"host"] != [authority]:
        raise MalformedHead(400, "the target names another host")
    return (path if path.startswith(b"/") else b"/" + path), authority


def _with_host(headers: Headers, authority: bytes | None) -> Headers:
    hosts = [value for name, value in headers if name == b"host"]
    if authority is None:
        if len(hosts) != 1:
            raise MalformedHead(400, "no host, or more than one")
    elif hosts not in ([], [authority]):
        raise MalformedHead(400, "two hosts")
    host = hosts[0] if authority is None else authority
    if not _HOST(host):
        raise MalformedHead(400, "a malformed host")
    if not hosts:
        return [(b"host", host), *headers]
    return headers


def http_2_head(fields: Iterable[tuple[bytes, bytes]]) -> Head:
    """Sort the fields of an HTTP/2 request.

    Raises:
        MalformedHead: They are not those of a request.
    """
    pseudo: list[bytes | None] = [None, None, None, None]
    headers: Headers = []
    cookies: list[bytes] = []
    for name, value in fields:
        if name[:1] == b":":
            place = _PSEUDO.get(name)
            if place is None or pseudo[place] is not None or headers or cookies:
                raise MalformedHead(0, "odd pseudo-header fields")
            pseudo[place] = value
        elif name == b"cookie":
            cookies.append(value)
        elif name in _OF_CONNECTION or (name == b"te" and value != b"trailers"):
            raise MalformedHead(0, "a header field of HTTP/1.1")
        else:
            headers.append((name, value))
        if _UNSAFE(value) or value != value.strip(b" \t"):
            raise MalformedHead(0, "a malformed value")
        if name[:1] != b":" and not _LOWER_NAME(name):
            raise MalformedHead(0, "a malformed name")
    method, scheme, path, authority = pseudo
    if method is None or scheme is None or not path or not _METHOD(method):
        raise MalformedHead(0, "no method, scheme or path")
    if cookies:
        headers.append((b"cookie", b"; ".join(cookies)))
    return Head("2", method.decode("ascii"), path, authority, headers)


def checked_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Make sure that an application's headers are headers; names become lower-case.

    Raises:
        ValueError: One of them is none.
    """
    checked: Headers = []
    has_date = False
    for name, value in headers:
        if not _NAME(name) or _UNSAFE(value):
            raise ValueError("a header that the application sends is malformed")
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
