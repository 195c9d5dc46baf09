"""What the application reads of a request, and how it answers at once, mostly to say no.

Every answer that refuses has a small JSON body, `{"error": {"code": …, "message": …}}`: the code
for programs, the message for people.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec

from parley.transport.http.asgi_types import Scope, Send

__all__ = [
    "Header",
    "Headers",
    "Refused",
    "answer",
    "deny",
    "parse_number",
    "parse_resume",
    "path_within",
    "refuse",
]

Header: TypeAlias = tuple[bytes, bytes]

_DENIAL = "websocket.http.response"
_NUMBER = re.compile(r"[0-9]{1,18}")


class Refused(Exception):
    """A request is answered with a status that says no."""

    def __init__(
        self, status: int, code: str, message: str, *, headers: Iterable[Header] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        """The status of HTTP."""
        self.code = code
        """What happened, in one word for programs."""
        self.message = message
        """What happened and what to do, in a sentence for people."""
        self.headers = tuple(headers)
        """What else the answer says."""

    @property
    def body(self) -> bytes:
        """What the answer carries."""
        return msgspec.json.encode({"error": {"code": self.code, "message": self.message}})


class Headers:
    """The headers of one request; their names have no case."""

    def __init__(self, raw: Iterable[Header]) -> None:
        self._raw = [(name.lower(), value) for name, value in raw]

    def every(self, name: bytes) -> list[str]:
        """Return all values of a header, in their order."""
        return [_text(value) for each, value in self._raw if each == name]

    def one(self, name: bytes) -> str | None:
        """Return the value of a header that may be there once; None when it is absent or empty.

        Raises:
            Refused: It is there twice, and nobody could say which one counts.
        """
        values = self.every(name)
        if len(values) > 1:
            raise Refused(400, "repeated_header", f"The header {name.decode()} is there twice")
        return (values[0].strip() or None) if values else None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((_text(name), _text(value)) for name, value in self._raw)


def _text(value: bytes) -> str:
    """Read what should be ASCII; session ids may be anything that an agent has made up."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def parse_number(text: str, name: str) -> int:
    """Return a number of a header.

    Raises:
        Refused: It is none, or has more digits than anybody counts.
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise Refused(400, "bad_number", f"{name} is not a number: count from 0")
    return int(text)


def parse_resume(value: str | None) -> dict[str, int] | None:
    """Return the parameters of `Parley-Resume`; None for a peer that does not negotiate.

    A version that we do not know is none: both sides then behave as plain peers.

    Raises:
        Refused: A parameter is no number.
    """
    if value is None:
        return None
    number, *parameters = (part.strip() for part in value.split(";"))
    if number != "1":
        return None
    pairs = (parameter.partition("=") for parameter in parameters if parameter)
    return {name.strip(): parse_number(text, name.strip()) for name, _, text in pairs}


def path_within(scope: Scope) -> str:
    """Return the path of a request without that of an application around us.

    ASGI says that the path begins with `root_path`; some servers leave it out.
    """
    path: str = scope["path"]
    root = (scope.get("root_path") or "").rstrip("/")
    is_below = path == root or path.startswith(f"{root}/")
    return (path.removeprefix(root) or "/") if is_below else path


async def answer(
    send: Send, status: int, body: bytes = b"", *, headers: Iterable[Header] = ()
) -> None:
    """Answer a request at once, with JSON if there is a body."""
    fields = [(b"content-length", b"%d" % len(body)), *headers]
    if body:
        fields.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})


async def refuse(send: Send, refused: Refused, *, headers: Iterable[Header] = ()) -> None:
    """Answer a request with a refusal."""
    await answer(send, refused.status, refused.body, headers=(*refused.headers, *headers))


async def deny(scope: Scope, send: Send, refused: Refused) -> None:
    """Refuse an upgrade; a server without the extension makes 403 of everything."""
    if _DENIAL not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    body = refused.body
    fields = [
        (b"content-length", b"%d" % len(body)),
        (b"content-type", b"application/json"),
        *refused.headers,
    ]
    await send({"type": f"{_DENIAL}.start", "status": refused.status, "headers": fields})
    await send({"type": f"{_DENIAL}.body", "body": body})
