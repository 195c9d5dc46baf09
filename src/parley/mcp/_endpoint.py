"""A place at which an agent finds a server that is really on the other side of an ACP connection.

It listens on loopback, on a random port, and admits clients with the token that was made for
this server and goes to the agent with its declaration.
"""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from parley.rpc._codec import DECODE_ERRORS
from parley.schema.base import JsonObject

logger = logging.getLogger(__name__)

MAX_BYTES = 64 * 1024 * 1024
"""How long a message of an MCP client may be."""
MAX_WAITING = 1000
"""How many messages may wait for an MCP client that does not read; later notifications are lost."""

_TOKEN_BYTES = 33
TOKEN_CHARS = _TOKEN_BYTES * 4 // 3
"""How long a token is, as text."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode
encode_message = msgspec.json.encode
"""Return the JSON of a message."""


class Endpoint:
    """A server, as an agent can reach it."""

    def __init__(self, server_id: str) -> None:
        self.server_id = server_id
        """The server that it stands for."""
        self.slot = secrets.token_urlsafe(9)
        """Its random name on this machine."""
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        """What opens it."""
        self.users: set[object] = set()
        """The sessions that have it, and those that are being opened with it."""
        self.hang_up: set[Callable[[], Awaitable[None]]] = set()
        """What ends each conversation that goes through it."""

    def fits(self, token: str) -> bool:
        """Return whether a token is the right one."""
        return hmac.compare_digest(token.encode(), self.token.encode())

    async def aclose(self) -> None:
        """End what goes through it."""
        for end in list(self.hang_up):
            await end()


class Listener(Protocol):
    """A listener for the conversations of endpoints."""

    async def open(self) -> None:
        """Begin to listen."""
        ...

    def declaration(self, endpoint: Endpoint) -> dict[str, Raw]:
        """Return the declaration of an endpoint for an agent, without the name of the server."""
        ...

    async def aclose(self) -> None:
        """Stop."""
        ...


def decode_message(data: bytes) -> JsonObject | None:
    """Return a message, or None if it is none."""
    try:
        return _decode(data)
    except DECODE_ERRORS:
        return None
