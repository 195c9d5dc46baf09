"""Request headers, and responses that are complete at once, mostly errors.

Every error response has a small JSON body, `{"error": {"code": …, "message": …}}`: the code for
programs, the message for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from parley.transport.http._asgi_types import Scope, Send

Header: TypeAlias = tuple[bytes, bytes]

_DENIAL_RESPONSE = "websocket.http.response"
_NUMBER = re.compile(r"[0-9]{1,18}")


class HttpError(Exception):
    """An error response to an HTTP request."""

    def __init__(
        self, status: int, code: str, message: str, *, headers: Iterable[Header] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.code = code
        """The error in one word, for programs."""
        self.message = message
        """The error and its remedy in a sentence, for people."""
        self.headers = tuple(headers)
        """Additional response headers."""

    @property
    def body(self) -> bytes:
        """The JSON body of the response."""
        return msgspec.json.encode({"error": {"code": self.code, "message": self.message}})


class Headers:
    """The headers of one request, with case-insensitive names.

    Look them up by lower-case name.
    """

    def __init__(self, raw: Iterable[Header]) -> None:
        self._raw = [(name.lower(), value) for name, value in raw]

    def get_all(self, name: bytes) -> list[str]:
        """Return all values of a header, in order."""
        return [_text(value) for each, value in self._raw if each == name]

    def one(self, name: bytes) -> str | None:
        """Return the value of a header that must not be repeated; None if it is absent or empty.

        Raises:
            HttpError: The header is repeated, so its value is ambiguous.
        """
        values = self.get_all(name)
        if len(values) > 1:
            raise HttpError(
                400, "repeated_header", f"The header {name.decode()} must not be repeated"
            )
        return (values[0].strip() or None) if values else None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((_text(name), _text(value)) for name, value in self._raw)


def _text(value: bytes) -> str:
    """Decode a header, which should be ASCII; agents may choose any text as a session id."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def parse_number(text: str, name: str) -> int:
    """Parse a header as a non-negative number.

    Raises:
        HttpError: It is not a number, or has more than 18 digits.
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise HttpError(
            400, "bad_number", f"{name} must be a non-negative number of at most 18 digits"
        )
    return int(text)


def parse_resume(value: str | None) -> dict[str, int] | None:
    """Return the parameters of `Parley-Resume`; None for a peer that does not negotiate.

    An unknown version counts as none: both sides then behave as plain peers.

    Raises:
        HttpError: A parameter is not a number.
    """
    if value is None:
        return None
    number, *parameters = (item.strip() for item in value.split(";"))
    if number != "1":
        return None
    pairs = (parameter.partition("=") for parameter in parameters if parameter)
    return {name.strip(): parse_number(text, name.strip()) for name, _, text in pairs}


def path_within(scope: Scope) -> str:
    """Return the path of a request relative to the mount point of the application.

    In ASGI the path starts with `root_path`, but some servers leave it out.
    """
    path: str = scope["path"]
    root = (scope.get("root_path") or "").rstrip("/")
    is_below = path == root or path.startswith(f"{root}/")
    return (path.removeprefix(root) or "/") if is_below else path


async def send_response(
    send: Send, status: int, body: bytes = b"", *, headers: Iterable[Header] = ()
) -> None:
    """Send a complete response; the body, if any, is JSON."""
    fields = [(b"content-length", b"%d" % len(body)), *headers]
    if body:
        fields.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


async def send_error(send: Send, error: HttpError, *, headers: Iterable[Header] = ()) -> None:
    """Send an error response."""
    await send_response(send, error.status, error.body, headers=(*error.headers, *headers))


async def reject_upgrade(scope: Scope, send: Send, error: HttpError) -> None:
    """Reject a WebSocket upgrade.

    On a server without the ASGI extension for this, the status is always 403.
    """
    if _DENIAL_RESPONSE not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    body = error.body
    fields = [
        (b"content-length", b"%d" % len(body)),
        (b"content-type", b"application/json"),
        *error.headers,
    ]
    await send({"type": f"{_DENIAL_RESPONSE}.start", "status": error.status, "headers": fields})
    await send({"type": f"{_DENIAL_RESPONSE}.body", "body": body})
