"""The MCP clients of one ACP connection whose servers are on the other side of it.

They are those of an agent's sessions (`clients.py`) or those of an agent that does not know that
its servers come over ACP (`bridge.py`). `line.py` has what one of them says; here is which message
of the other side belongs to which.

Spec: https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Protocol, cast
from uuid import uuid4

import msgspec
from msgspec import Raw

from parley.errors import AcpError, InvalidParams, RemoteProtocolError
from parley.rpc._codec import DECODE_ERRORS
from parley.schema.base import JsonObject

from .failure import McpFailure
from .line import Deliver, Id, Line, with_subscription

__all__ = ["Lines", "Upstream"]

_encode = msgspec.json.encode
_decode = msgspec.json.decode


class Upstream(Protocol):
    """The side that has declared the servers."""

    async def request(self, method: str, params: Raw) -> Raw:
        """Send `mcp/message`, `mcp/connect` or `mcp/disconnect` and return the result.

        Whose task is cancelled meanwhile does not want it any more.

        Raises:
            RequestError: The other side refused.
        """
        ...

    async def notify(self, method: str, params: Raw) -> None:
        """Send `mcp/message` without wanting an answer."""
        ...


class Lines:
    """All lines over one ACP connection."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._open: set[Line] = set()
        self._connections: dict[str, Line] = {}
        self._requests: dict[tuple[str, str], tuple[Line, Id]] = {}

    def open(self, server_id: str, deliver: Deliver) -> Line:
        """Begin to talk to a server; nothing is sent before the MCP client says something."""
        line = Line(self, server_id, deliver)
        self._open.add(line)
        return line

    # To the servers

    async def connect(self, line: Line) -> str:
        """Return the id of a new connection."""
        answer = _fields(await self.ask("mcp/connect", {"serverId": line.server_id}))
        id = answer.get("connectionId")
        if not isinstance(id, str) or id in self._connections:
            raise RemoteProtocolError("mcp/connect was answered without a connection id of its own")
        self._connections[id] = line
        return id

    async def ask(self, method: str, params: JsonObject) -> Any:
        """Send a request and return its result."""
        return _decode(await self._upstream.request(method, Raw(_encode(params))))

    async def ask_alone(self, line: Line, id: Id, method: str, params: JsonObject | None) -> Any:
        """Send an MCP request that says everything by itself, and return its result.

        Raises:
            McpFailure: The server refused.
        """
        theirs = uuid4().hex
        key = line.server_id, theirs
        said = {} if params is None else {"params": params}
        message = {"serverId": line.server_id, "requestId": theirs, "method": method, **said}
        self._requests[key] = line, id
        try:
            outcome = _fields(await self.ask("mcp/message", message))
        finally:
            del self._requests[key]
        if "result" in outcome:
            return with_subscription(outcome["result"], theirs, id)
        if not isinstance(outcome.get("error"), dict):
            raise RemoteProtocolError("mcp/message was answered with neither result nor error")
        raise McpFailure({"code": -32603, "message": "", **outcome["error"]})

    async def tell(self, method: str, params: JsonObject) -> None:
        """Send a notification."""
        await self._upstream.notify(method, Raw(_encode(params)))

    async def dismiss(self, line: Line) -> None:
        """Forget a line that has ended, and give its connection back."""
        self._open.discard(line)
        if line.connection_id in self._connections:
            del self._connections[line.connection_id]
            with suppress(AcpError):
                await self.ask("mcp/disconnect", {"connectionId": line.connection_id})

    # From the servers

    def notified(self, params: Raw) -> None:
        """Take an `mcp/message` that wants no answer; of ids that nobody knows it is ignored."""
        message = _message(params)
        if message is None:
            return
        if message.connection_id in self._connections:
            self._connections[message.connection_id].tell(message.method, message.params)
            return
        theirs = message.request_id
        found = self._requests.get((message.server_id, theirs))
        if found is not None:
            line, ours = found
            line.tell(message.method, with_subscription(message.params, theirs, ours), ours)

    async def requested(self, params: Raw) -> Raw:
        """Answer an `mcp/message` that a server asks over a connection.

        Raises:
            InvalidParams: There is no such connection.
            RequestError: The MCP client refused.
        """
        message = _message(params)
        line = None if message is None else self._connections.get(message.connection_id)
        if message is None or line is None:
            raise InvalidParams("There is no such MCP connection")
        return Raw(_encode(await line.ask(message.method, message.params)))

    async def aclose(self) -> None:
        """End all of them."""
        await asyncio.gather(*(line.aclose() for line in list(self._open)))


class _Message(msgspec.Struct, rename="camel"):
    """An `mcp/message` of either form."""

    method: str
    server_id: str = ""
    request_id: str = ""
    connection_id: str = ""
    params: JsonObject | None = None


def _message(params: Raw) -> _Message | None:
    try:
        return _decode(params, type=_Message)
    except DECODE_ERRORS:
        return None


def _fields(value: object) -> JsonObject:
    if not isinstance(value, dict):
        raise RemoteProtocolError("an answer about MCP is no object")
    return cast("JsonObject", value)
