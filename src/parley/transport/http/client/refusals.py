"""What a status means for the one who waits: an error of a call, or the end of a connection."""

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
from parley.rpc.codec import NOT_FITTING, encode_failure
from parley.rpc.message import ErrorObject

from .response import Response
from .tracking import Way

__all__ = ["ended", "failure_of", "gone", "reason_in", "reason_of", "refusal_of", "said"]

_REASON_BYTES = 4096
_REASON_TIMEOUT = 2.0
_SHOWN_CHARACTERS = 200
_MEANS = {
    401: "the token is missing or wrong",
    403: "the server does not allow it",
    404: "the server does not know this connection, or no longer",
    410: "the server no longer has what was missed; load or resume the session on a new connection",
}


class _Error(msgspec.Struct):
    message: str = ""


class _Body(msgspec.Struct):
    error: _Error | str = ""
    message: str = ""


async def reason_of(response: Response) -> str:
    """Read what a server says about a refusal, on one line; nothing more is read, nor for long."""
    body = b""
    with suppress(TransportError, TimeoutError):
        async with asyncio.timeout(_REASON_TIMEOUT):
            async for chunk in response.chunks():
                body += chunk
                if len(body) > _REASON_BYTES:
                    break
    return reason_in(response, body)


def reason_in(response: Response, body: bytes) -> str:
    """Return what a server says about a refusal, on one line."""
    if 300 <= response.status < 400:
        return f"it is at {response.header(b'location').partition('?')[0]!r} now"
    return said(body[:_REASON_BYTES].decode("utf-8", "replace"))


def said(text: str) -> str:
    """Return what a server wrote, in words if it is JSON, short, inert and on one line."""
    try:
        read = msgspec.json.decode(text, type=_Body)
        text = read.message or (read.error if isinstance(read.error, str) else read.error.message)
    except NOT_FITTING:
        pass
    line = "".join(each for each in " ".join(text.split()) if each.isprintable())
    return line[:_SHOWN_CHARACTERS]


def refusal_of(shown: str, status: int, reason: str) -> ConnectFailed:
    """Return why a server does not let us in."""
    said = f": {reason}" if reason else ""
    if status == 401:
        return Unauthorized(f"{shown} wants a token, or another one (401){said}")
    if status == 200:
        return ConnectFailed(
            f"{shown} names no connection in its answer; is it an agent's address?"
        )
    return ConnectFailed(f"{shown} refuses the connection ({status}){said}")


def gone(shown: str, status: int, reason: str) -> ConnectionClosed:
    """Return why a server that was connected is not any more."""
    means = _MEANS.get(status, reason or "the server refuses to go on")
    if status == 410 and reason:  # it may be for more than one thing
        means = reason
    return ConnectionClosed(f"the connection to {shown} has ended: {means} ({status})")


def ended(shown: str, why: str) -> ConnectionClosed:
    """Return why a server has ended a connection, in its words."""
    return ConnectionClosed(f"the connection to {shown} has ended: {said(why)}")


def failure_of(way: Way, status: int, reason: str) -> bytes:
    """Return the answer to a request that the server refused to take."""
    kind: type[RequestError] = InternalError
    if status in (429, 503):
        kind = Overloaded
    elif 400 <= status < 500:
        kind = InvalidRequest
    text = f"The server did not take the message ({status}){': ' + reason if reason else ''}"
    data = Raw(msgspec.json.encode({"status": status}))
    return encode_failure(way.id, ErrorObject(kind.code, text, data))
