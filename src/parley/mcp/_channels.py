"""The MCP clients of one ACP connection whose servers are on the other side of it.

They belong to an agent's sessions (`_clients.py`), or to an agent that does not know that its
servers come over ACP (`_bridge.py`). A `McpChannel` is the conversation of one client with one
server; `McpChannels` decides which message of the other side belongs to which.

The messages of an MCP client are MCP's JSON-RPC. The first one shows in which form they travel:

- A client that begins with `initialize` gets a connection of its own by `mcp/connect`; its messages
  are passed unchanged in both directions. If the provider has no connections, the channel answers
  the handshake from `server/discover` and adds to each request the content of the handshake.
- Any other client sends everything with each request, which is one `mcp/message`. If the provider
  does not know that form, the first request fails with "method not found", and clients that know
  the handshake then try that.

Spec: https://agentclientprotocol.com/rfds/mcp-over-acp
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Protocol, TypeAlias, cast
from uuid import uuid4

import msgspec
from msgspec import UNSET, Raw

from parley._user_code import reraise_if_ending
from parley.errors import (
    AcpError,
    ConnectionClosed,
    InvalidParams,
    MethodNotFound,
    RemoteProtocolError,
    RequestError,
    request_error,
)
from parley.rpc._codec import DECODE_ERRORS
from parley.schema.base import JsonObject

from ._errors import McpFailure
from ._handshake import Handshake

logger = logging.getLogger(__name__)

Id: TypeAlias = str | int
Deliver: TypeAlias = Callable[[JsonObject, Id | None], None]
"""Gives the MCP client a message, and the id of its request that this is about, if one is known."""

_CLOSED: JsonObject = {"code": -32000, "message": "Connection closed"}
_TWICE: JsonObject = {"code": -32600, "message": "There is such a request already"}
_FAILED: JsonObject = {"code": -32603, "message": "Internal error"}
_CANCELLED: JsonObject = {"code": -32800, "message": "Request cancelled"}
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


_encode = msgspec.json.encode
_decode = msgspec.json.decode


class Upstream(Protocol):
    """The side that has declared the servers."""

    async def request(self, method: str, params: Raw) -> Raw:
        """Send `mcp/message`, `mcp/connect` or `mcp/disconnect` and return the result.

        A caller that was cancelled meanwhile does not need it any more.

        Raises:
            RequestError: The other side refused.
        """
        ...

    async def notify(self, method: str, params: Raw) -> None:
        """Send `mcp/message` without wanting an answer."""
        ...


class McpChannels:
    """All lines over one ACP connection."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._open: set[McpChannel] = set()
        self._connections: dict[str, McpChannel] = {}
        self._requests: dict[tuple[str, str], tuple[McpChannel, Id]] = {}

    def open(self, server_id: str, deliver: Deliver) -> McpChannel:
        """Open a channel to a server; nothing is sent before the MCP client sends something."""
        channel = McpChannel(self, server_id, deliver)
        self._open.add(channel)
        return channel

    # To the servers

    async def connect(self, channel: McpChannel) -> str:
        """Return the id of a new connection."""
        result = _fields(await self.request("mcp/connect", {"serverId": channel.server_id}))
        id = result.get("connectionId")
        if not isinstance(id, str) or id in self._connections:
            raise RemoteProtocolError("mcp/connect was answered without a connection id of its own")
        self._connections[id] = channel
        return id

    async def request(self, method: str, params: JsonObject) -> Any:
        """Send a request and return its result."""
        return _decode(await self._upstream.request(method, Raw(_encode(params))))

    async def request_stateless(
        self, channel: McpChannel, id: Id, method: str, params: JsonObject | None
    ) -> Any:
        """Send a self-contained MCP request, and return its result.

        Raises:
            McpFailure: The server refused.
        """
        remote_id = uuid4().hex
        key = channel.server_id, remote_id
        members = {} if params is None else {"params": params}
        message = {
            "serverId": channel.server_id,
            "requestId": remote_id,
            "method": method,
            **members,
        }
        self._requests[key] = channel, id
        try:
            outcome = _fields(await self.request("mcp/message", message))
        finally:
            del self._requests[key]
        if "result" in outcome:
            return with_subscription_id(outcome["result"], remote_id, id)
        if not isinstance(outcome.get("error"), dict):
            raise RemoteProtocolError("mcp/message was answered with neither result nor error")
        raise McpFailure({"code": -32603, "message": "", **outcome["error"]})

    async def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification."""
        await self._upstream.notify(method, Raw(_encode(params)))

    async def release(self, channel: McpChannel) -> None:
        """Forget a line that has ended, and give its connection back."""
        self._open.discard(channel)
        if channel.connection_id in self._connections:
            del self._connections[channel.connection_id]
            with suppress(AcpError):
                await self.request("mcp/disconnect", {"connectionId": channel.connection_id})

    # From the servers

    def notified(self, params: Raw) -> None:
        """Take an `mcp/message` that is a notification; one with an unknown id is ignored."""
        message = _message(params)
        if message is None:
            return
        if message.connection_id in self._connections:
            self._connections[message.connection_id].notify(message.method, message.params)
            return
        remote_id = message.request_id
        found = self._requests.get((message.server_id, remote_id))
        if found is not None:
            channel, local_id = found
            channel.notify(
                message.method, with_subscription_id(message.params, remote_id, local_id), local_id
            )

    async def requested(self, params: Raw) -> Raw:
        """Answer an `mcp/message` that a server asks over a connection.

        Raises:
            InvalidParams: The connection is unknown.
            RequestError: The MCP client refused.
        """
        message = _message(params)
        channel = None if message is None else self._connections.get(message.connection_id)
        if message is None or channel is None:
            raise InvalidParams("Unknown MCP connection")
        return Raw(_encode(await channel.request(message.method, message.params)))

    async def aclose(self) -> None:
        """End all of them."""
        await asyncio.gather(*(channel.aclose() for channel in list(self._open)))


class McpChannel:
    """The channel of an MCP client; `McpChannels.open` makes it."""

    def __init__(self, channels: McpChannels, server_id: str, deliver: Deliver) -> None:
        self.server_id = server_id
        """The server that it talks to."""
        self.connection_id: str | None = None
        """The connection that it has, in the older form."""
        self._channels = channels
        self._deliver = deliver
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._tokens: dict[Id, Id] = {}
        self._requests_to_client: dict[Id, asyncio.Future[Any]] = {}
        self._ids = count()
        self._background: set[asyncio.Task[None]] = set()
        self._handshake: Handshake | None = None
        self._is_understood = False
        self._is_closed = False

    # From the MCP client

    def receive(self, message: Mapping[str, Any]) -> None:
        """Take a message of the MCP client; anything else is ignored."""
        id, method = message.get("id"), message.get("method")
        if self._is_closed:
            return
        if not isinstance(method, str):
            self._resolve(id, message)
        elif isinstance(id, str | int):
            if id in self._running:
                self._deliver({"jsonrpc": "2.0", "id": id, "error": _TWICE}, id)
                return
            params = _object(message.get("params"))
            token = (_object((params or {}).get("_meta")) or {}).get("progressToken")
            if isinstance(token, str | int):
                self._tokens[token] = id
            self._running[id] = asyncio.create_task(self._serve(id, method, params))
        elif method == "notifications/cancelled":
            self.cancel((_object(message.get("params")) or {}).get("requestId"))
        elif self.connection_id is not None:
            self._spawn(self._notify_server(method, _object(message.get("params"))))

    def cancel(self, id: object) -> None:
        """Cancel a request of the MCP client; it is answered as such."""
        if isinstance(id, str | int) and id in self._running:
            self._running[id].cancel()

    async def _serve(self, id: Id, method: str, params: JsonObject | None) -> None:
        outcome: JsonObject
        try:
            outcome = {"result": await self._respond(id, method, params)}
        except McpFailure as failure:
            outcome = {"error": failure.error}
        except RequestError as error:
            data = {} if error.data is UNSET else {"data": error.data}
            outcome = {"error": {"code": error.code, "message": error.message, **data}}
        except ConnectionClosed:
            outcome = {"error": _CLOSED}
        except AcpError as error:
            outcome = {"error": {"code": -32603, "message": str(error)}}
        except asyncio.CancelledError:
            outcome = {"error": _CLOSED if self._is_closed else _CANCELLED}
        except BaseException as error:  # of a server's program: its caller gets a response
            reraise_if_ending(error)
            logger.exception("a request to an MCP server failed")
            outcome = {"error": _FAILED}
        if self._running.get(id) is asyncio.current_task():
            del self._running[id]
        self._tokens = {token: each for token, each in self._tokens.items() if each != id}
        self._deliver({"jsonrpc": "2.0", "id": id, **outcome}, id)

    async def _respond(self, id: Id, method: str, params: JsonObject | None) -> Any:
        if method == "initialize" and await self._connect():
            return await self._request_on_connection(method, params)
        if self.connection_id is not None:
            return await self._request_on_connection(method, params)
        if method == "initialize":
            self._handshake = Handshake(params or {})
            discover = Handshake.METHOD, self._handshake.with_envelope(None)
            return self._handshake.result(await self._request_stateless(id, *discover))
        if self._handshake is None:
            return await self._request_stateless(id, method, params)
        if method == "ping":
            return {}
        result = await self._request_stateless(id, method, self._handshake.with_envelope(params))
        return self._handshake.without_envelope(result)

    async def _connect(self) -> bool:
        """Open a connection; return whether the provider supports that."""
        if self.connection_id is not None:
            return True
        try:
            self.connection_id = await self._channels.connect(self)
        except MethodNotFound:
            return False
        return True

    async def _request_on_connection(self, method: str, params: JsonObject | None) -> Any:
        return await self._channels.request("mcp/message", self._message(method, params))

    async def _request_stateless(self, id: Id, method: str, params: JsonObject | None) -> Any:
        try:
            outcome = await self._channels.request_stateless(self, id, method, params)
        except (MethodNotFound, InvalidParams):
            if self._is_understood:
                raise
            raise McpFailure({"code": -32601, "message": "Method not found"}) from None
        self._is_understood = True
        return outcome

    async def _notify_server(self, method: str, params: JsonObject | None) -> None:
        await self._channels.notify("mcp/message", self._message(method, params))

    def _message(self, method: str, params: JsonObject | None) -> JsonObject:
        members = {} if params is None else {"params": params}
        return {"connectionId": self.connection_id, "method": method, **members}

    # From the server

    def notify(self, method: str, params: JsonObject | None, about: Id | None = None) -> None:
        """Pass on a notification of the server's."""
        token = (params or {}).get("progressToken")
        if about is None and method == "notifications/progress" and isinstance(token, str | int):
            about = self._tokens.get(token)
        members = {} if params is None else {"params": params}
        self._deliver({"jsonrpc": "2.0", "method": method, **members}, about)

    async def request(self, method: str, params: JsonObject | None) -> Any:
        """Pass on a request of the server's, which only the older form has.

        Raises:
            RequestError: The MCP client refused, or has gone.
        """
        id = f"acp-{next(self._ids)}"
        members = {} if params is None else {"params": params}
        waiting = self._requests_to_client[id] = asyncio.get_running_loop().create_future()
        self._deliver({"jsonrpc": "2.0", "id": id, "method": method, **members}, None)
        try:
            return await waiting
        except asyncio.CancelledError:
            self.notify("notifications/cancelled", {"requestId": id})
            raise
        finally:
            del self._requests_to_client[id]

    def _resolve(self, id: object, message: Mapping[str, Any]) -> None:
        """Take the MCP client's answer to a request of the server's."""
        waiting = self._requests_to_client.get(id) if isinstance(id, str | int) else None
        if waiting is None or waiting.done():
            return
        error = _object(message.get("error"))
        if error is None:
            waiting.set_result(message.get("result"))
        else:
            code, data = error.get("code"), error.get("data", UNSET)
            code = code if isinstance(code, int) else -32603
            waiting.set_exception(request_error(code, str(error.get("message", "")), data))

    # The end

    async def aclose(self) -> None:
        """End the conversation: what runs is cancelled, the connection is closed."""
        if self._is_closed:
            return
        self._is_closed = True
        for waiting in self._requests_to_client.values():
            if not waiting.done():
                waiting.set_exception(MethodNotFound("The MCP client has gone"))
        tasks = {*self._running.values(), *self._background}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._channels.release(self)

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.create_task(self._run_quietly(coroutine))
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _run_quietly(self, coroutine: Any) -> None:
        with suppress(AcpError):  # a notification that does not arrive concerns no caller
            await coroutine


def _object(value: object) -> JsonObject | None:
    return cast("JsonObject", value) if isinstance(value, dict) else None


def with_subscription_id(value: Any, remote_id: str, local_id: Id) -> Any:
    """Give what belongs to a subscription the id by which the MCP client knows it."""
    meta = _object((_object(value) or {}).get("_meta"))
    if meta is not None and meta.get(_SUBSCRIPTION) == remote_id:
        return {**value, "_meta": {**meta, _SUBSCRIPTION: local_id}}
    return value


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
        raise RemoteProtocolError("a response about MCP is not an object")
    return cast("JsonObject", value)
