"""Translation of HTTP error statuses into exceptions and JSON-RPC error responses.

Which statuses are retried is decided in `post_queue.py` and `subscription.py`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec
from msgspec import Raw

from parley.errors import (
    ConnectFailed,
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    Overloaded,
    RequestError,
    TransportError,
    Unauthorized,
)
from parley.rpc._codec import DECODE_ERRORS, encode_failure
from parley.rpc._message import ErrorObject

from .frame_tracker import FrameRoute
from .response import Response

_REASON_BYTES = 4096
_REASON_TIMEOUT = 2.0
_SHOWN_CHARACTERS = 200
_STATUS_TEXTS = {
    401: "the token is missing or wrong",
    403: "the server does not allow it",
    404: "the server does not know this connection, or no longer has it",
    410: "the server no longer has what was missed; load or resume the session on a new connection",
}


class _Error(msgspec.Struct):
    message: str = ""


class _Body(msgspec.Struct):
    error: _Error | str = ""
    message: str = ""


async def read_reason(response: Response) -> str:
    """Read the reason in an error response, within limits of size and time, as one line."""
    body = b""
    with suppress(TransportError, TimeoutError):
        async with asyncio.timeout(_REASON_TIMEOUT):
            async for chunk in response.chunks():
                body += chunk
                if len(body) > _REASON_BYTES:
                    break
    return parse_reason(response, body)


def parse_reason(response: Response, body: bytes) -> str:
    """Return the reason in an error response as one line; for a redirect, its target."""
    if 300 <= response.status < 400:
        return f"it has moved to {response.header(b'location').partition('?')[0]!r}"
    return short_text(body[:_REASON_BYTES].decode("utf-8", "replace"))


def short_text(text: str) -> str:
    """Return a server's text on one line, shortened and printable; of JSON, its message only."""
    try:
        body = msgspec.json.decode(text, type=_Body)
        text = body.message or (body.error if isinstance(body.error, str) else body.error.message)
    except DECODE_ERRORS:
        pass
    line = "".join(each for each in " ".join(text.split()) if each.isprintable())
    return line[:_SHOWN_CHARACTERS]


def connect_error(url: str, status: int, reason: str) -> ConnectFailed:
    """Return the error for a server that did not accept the connection."""
    suffix = f": {reason}" if reason else ""
    if status == 401:
        return Unauthorized(f"{url} requires a token, or a different one (401){suffix}")
    if status == 200:
        return ConnectFailed(
            f"{url} did not return a connection id; is it the address of an agent?"
        )
    return ConnectFailed(f"{url} refused the connection ({status}){suffix}")


def resume_refused(url: str, status: int, reason: str) -> ConnectionClosed:
    """Return the error for a server that refused to continue an established connection."""
    text = _STATUS_TEXTS.get(status, reason or "the server refused to continue")
    if status == 410 and reason:  # a 410 can have several causes
        text = reason
    return ConnectionClosed(f"the connection to {url} ended: {text} ({status})")


def connection_ended(url: str, reason: str) -> ConnectionClosed:
    """Return the error for a connection that the server ended with this reason."""
    return ConnectionClosed(f"the connection to {url} ended: {short_text(reason)}")


def error_reply(route: FrameRoute, status: int, reason: str) -> bytes:
    """Return an error response to a request that the server did not accept."""
    kind: type[RequestError] = InternalError
    if status in (429, 503):
        kind = Overloaded
    elif 400 <= status < 500:
        kind = InvalidRequest
    text = f"The server did not accept the message ({status}){': ' + reason if reason else ''}"
    data = Raw(msgspec.json.encode({"status": status}))
    return encode_failure(route.id, ErrorObject(kind.code, text, data))
