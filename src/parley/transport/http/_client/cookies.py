"""The cookies of one origin, kept for the life of a connection.

A load balancer uses a cookie to find the machine that has our connection, so every later request
carries it. There is only one origin, so a cookie's domain and path are ignored; `Secure` and the
expiry are respected.
Spec: https://www.rfc-editor.org/rfc/rfc6265
"""

from __future__ import annotations

from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from time import time

_MAX_COOKIES = 50
_MAX_COOKIE_BYTES = 4096


class CookieJar:
    """The cookies that a server has set."""

    def __init__(self, *, is_secure: bool) -> None:
        """Start empty.

        Args:
            is_secure: Whether nobody can eavesdrop on the connection, so that `Secure` cookies are
                kept.
        """
        self._is_secure = is_secure
        self._cookies: dict[bytes, bytes] = {}
        self.header: bytes = b""
        """The value of the `Cookie` header; empty if there are no cookies to send."""

    def store(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Store the cookies that a response sets."""
        for name, value in headers:
            if name == b"set-cookie" and len(value) <= _MAX_COOKIE_BYTES:
                self._set(value)

    def _set(self, line: bytes) -> None:
        pair, *attributes = line.split(b";")
        name, equals, value = pair.partition(b"=")
        name, value = name.strip(), value.strip()
        if not equals or not name or any(byte < 0x20 or byte == 0x7F for byte in pair):
            return
        known = dict(_attribute(each) for each in attributes)
        if b"secure" in known and not self._is_secure:
            return
        if _is_expired(known):
            self._cookies.pop(name, None)
        elif name in self._cookies or len(self._cookies) < _MAX_COOKIES:
            self._cookies[name] = value
        self.header = b"; ".join(b"%b=%b" % each for each in self._cookies.items())


def _attribute(text: bytes) -> tuple[bytes, bytes]:
    name, _, value = text.partition(b"=")
    return name.strip().lower(), value.strip()


def _is_expired(attributes: dict[bytes, bytes]) -> bool:
    """Return whether a cookie has expired; `Max-Age` takes precedence over `Expires`."""
    if b"max-age" in attributes:
        age = attributes[b"max-age"]
        return age.startswith(b"-") or age == b"0"
    try:
        expires = parsedate_to_datetime(attributes.get(b"expires", b"").decode("latin-1"))
    except (TypeError, ValueError):
        return False
    return expires.timestamp() <= time()
