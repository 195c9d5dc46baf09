"""One MCP client's conversation with one server, carried by `mcp/*` messages.

What comes from the MCP client and what goes to it are the messages of MCP's JSON-RPC. Which form
they travel in is seen from the first one:

- a client that begins with `initialize` has a connection of its own, by `mcp/connect`, and what it
  says is passed on as it is, both ways. If the provider knows no connections, the line answers the
  handshake from `server/discover` and adds to each request what the handshake would have said;
- any other client says everything with each request, which is one `mcp/message`. If the provider
  does not know that form, the first request fails as a method that does not exist, and clients that
  know the handshake then try that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from msgspec import UNSET

from parley._user_code import reraise_if_ending
from parley.errors import (
    AcpError,
    ConnectionClosed,
    InvalidParams,
    MethodNotFound,
    RequestError,
    request_error,
)
from parley.schema.base import JsonObject

from .failure import McpFailure
from .handshake import Handshake

if TYPE_CHECKING:
    from .lines import Lines

__all__ = ["Deliver", "Id", "Line", "with_subscription"]

logger = logging.getLogger(__name__)

Id: TypeAlias = str | int
Deliver: TypeAlias = Callable[[JsonObject, Id | None], None]
"""Gives the MCP client a message, and the id of its request that this is about, if one is known."""

_CLOSED: JsonObject = {"code": -32000, "message": "Connection closed"}
_TWICE: JsonObject = {"code": -32600, "message": "There is such a request already"}
_FAILED: JsonObject = {"code": -32603, "message": "Internal error"}
_CANCELLED: JsonObject = {"code": -32800, "message": "Request cancelled"}
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Line:
    """One MCP client; `Lines.open` makes it."""

    def __init__(self, lines: Lines, server_id: str, deliver: Deliver) -> None:
        self.server_id = server_id
        """The server that it talks to."""
        self.connection_id: str | None = None
        """The connection that it has, in the older form."""
        self._lines = lines
        self._deliver = deliver
        self._running: dict[Id, asyncio.Task[None]] = {}
        self._tokens: dict[Id, Id] = {}
        self._asked: dict[Id, asyncio.Future[Any]] = {}
        self._ids = count()
        self._beside: set[asyncio.Task[None]] = set()
        self._handshake: Handshake | None = None
        self._is_understood = False
        self._is_closed = False

    # From the MCP client

    def receive(self, message: Mapping[str, Any]) -> None:
        """Take a message of the MCP client; what is none is ignored."""
        id, method = message.get("id"), message.get("method")
        if self._is_closed:
            return
        if not isinstance(method, str):
            self._settle(id, message)
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
            self._start(self._tell(method, _object(message.get("params"))))

    def cancel(self, id: object) -> None:
        """Cancel a request of the MCP client; it is answered as such."""
        if isinstance(id, str | int) and id in self._running:
            self._running[id].cancel()

    async def _serve(self, id: Id, method: str, params: JsonObject | None) -> None:
        told: JsonObject
        try:
            told = {"result": await self._answer(id, method, params)}
        except McpFailure as failure:
            told = {"error": failure.error}
        except RequestError as error:
            data = {} if error.data is UNSET else {"data": error.data}
            told = {"error": {"code": error.code, "message": error.message, **data}}
        except ConnectionClosed:
            told = {"error": _CLOSED}
        except AcpError as error:
            told = {"error": {"code": -32603, "message": str(error)}}
        except asyncio.CancelledError:
            told = {"error": _CLOSED if self._is_closed else _CANCELLED}
        except BaseException as error:  # of a server's program: its caller gets a response
            reraise_if_ending(error)
            logger.exception("a request to an MCP server failed")
            told = {"error": _FAILED}
        if self._running.get(id) is asyncio.current_task():
            del self._running[id]
        self._tokens = {token: each for token, each in self._tokens.items() if each != id}
        self._deliver({"jsonrpc": "2.0", "id": id, **told}, id)

    async def _answer(self, id: Id, method: str, params: JsonObject | None) -> Any:
        if method == "initialize" and await self._connect():
            return await self._by_connection(method, params)
        if self.connection_id is not None:
            return await self._by_connection(method, params)
        if method == "initialize":
            self._handshake = Handshake(params or {})
            discover = Handshake.METHOD, self._handshake.completed(None)
            return self._handshake.answer(await self._by_itself(id, *discover))
        if self._handshake is None:
            return await self._by_itself(id, method, params)
        if method == "ping":
            return {}
        result = await self._by_itself(id, method, self._handshake.completed(params))
        return self._handshake.plain(result)

    async def _connect(self) -> bool:
        """Have a connection; tell whether the provider knows such."""
        if self.connection_id is not None:
            return True
        try:
            self.connection_id = await self._lines.connect(self)
        except MethodNotFound:
            return False
        return True

    async def _by_connection(self, method: str, params: JsonObject | None) -> Any:
        return await self._lines.ask("mcp/message", self._message(method, params))

    async def _by_itself(self, id: Id, method: str, params: JsonObject | None) -> Any:
        try:
            outcome = await self._lines.ask_alone(self, id, method, params)
        except (MethodNotFound, InvalidParams):
            if self._is_understood:
                raise
            raise McpFailure({"code": -32601, "message": "Method not found"}) from None
        self._is_understood = True
        return outcome

    async def _tell(self, method: str, params: JsonObject | None) -> None:
        await self._lines.tell("mcp/message", self._message(method, params))

    def _message(self, method: str, params: JsonObject | None) -> JsonObject:
        said = {} if params is None else {"params": params}
        return {"connectionId": self.connection_id, "method": method, **said}

    # From the server

    def tell(self, method: str, params: JsonObject | None, about: Id | None = None) -> None:
        """Pass on a notification of the server's."""
        token = (params or {}).get("progressToken")
        if about is None and method == "notifications/progress" and isinstance(token, str | int):
            about = self._tokens.get(token)
        said = {} if params is None else {"params": params}
        self._deliver({"jsonrpc": "2.0", "method": method, **said}, about)

    async def ask(self, method: str, params: JsonObject | None) -> Any:
        """Pass on a request of the server's, which only the older form has.

        Raises:
            RequestError: The MCP client refused, or has gone.
        """
        id = f"acp-{next(self._ids)}"
        said = {} if params is None else {"params": params}
        waiting = self._asked[id] = asyncio.get_running_loop().create_future()
        self._deliver({"jsonrpc": "2.0", "id": id, "method": method, **said}, None)
        try:
            return await waiting
        except asyncio.CancelledError:
            self.tell("notifications/cancelled", {"requestId": id})
            raise
        finally:
            del self._asked[id]

    def _settle(self, id: object, message: Mapping[str, Any]) -> None:
        """Take the MCP client's answer to a request of the server's."""
        waiting = self._asked.get(id) if isinstance(id, str | int) else None
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
        """End the conversation: what runs is cancelled, the connection is given back."""
        if self._is_closed:
            return
        self._is_closed = True
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(MethodNotFound("The MCP client has gone"))
        tasks = {*self._running.values(), *self._beside}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._lines.dismiss(self)

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(self._quietly(work))
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _quietly(self, work: Any) -> None:
        with suppress(AcpError):  # a notification that does not arrive is nobody's to hear of
            await work


def _object(value: object) -> JsonObject | None:
    return cast("JsonObject", value) if isinstance(value, dict) else None


def with_subscription(value: Any, theirs: str, ours: Id) -> Any:
    """Give what belongs to a subscription the id by which the MCP client knows it."""
    meta = _object((_object(value) or {}).get("_meta"))
    if meta is not None and meta.get(_SUBSCRIPTION) == theirs:
        return {**value, "_meta": {**meta, _SUBSCRIPTION: ours}}
    return value
