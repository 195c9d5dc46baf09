"""Serves MCP servers of this process over ACP, in both forms that are spoken.

The present form is stateless: an `mcp/message` names the server and itself, the outcome of MCP,
good or bad, is the result, and what the server reports meanwhile carries the same two names. The
older one, of peers of summer 2026, has connections: `mcp/connect` opens one, `mcp/message` goes
both ways on it with the bare MCP result, `mcp/disconnect` closes it. Which form a message has is
read off its keys.

A provider knows no connection of ACP: its owner passes it what arrives (`request`, `notified`)
and an `Outlet` for the messages of the servers. Both use plain JSON, which is the same in both
versions of the protocol. A server's id cannot be guessed, and only its own session gets it.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import msgspec
from msgspec import Raw, Struct

from parley.errors import (
    InvalidParams,
    McpLimitReached,
    McpServerUnknown,
    MethodNotFound,
    RequestError,
    Unsupported,
)
from parley.schema.v2 import McpServerAcp

from ._current_request import current_request
from ._errors import McpFailure

if TYPE_CHECKING:
    from ._hosted_server import HostedServer, ServerConversation


logger = logging.getLogger(__name__)

MCP_METHODS = ("mcp/connect", "mcp/message", "mcp/disconnect")
"""The requests that a provider answers; `mcp/message` is a notification as well."""

MAX_RUNNING = 256
"""How many requests may run in one server."""
MAX_CONNECTIONS = 256
"""How many connections of the older form may be open to one server."""
MAX_RESULT_BYTES = 60 * 1024 * 1024
"""How long an answer may be; the transport's limit, 64 MiB, is for the whole message."""

_CANCELLED = "notifications/cancelled"
Id: TypeAlias = str | int | None


class Outlet(Protocol):
    """The receiver of a provider's `mcp/message`, with params as plain JSON."""

    async def request(self, params: dict[str, Any]) -> Any:
        """Send it as a request and return its result; a `RequestError` is an error of MCP."""
        ...

    async def notify(self, params: dict[str, Any]) -> None:
        """Send it as a notification."""
        ...


class _Message(Struct, rename="camel"):
    """The routing members of a message, and its content."""

    server_id: str | None = None
    request_id: str | None = None
    connection_id: str | None = None
    method: str = ""
    params: dict[str, Any] | None = None


_decode = msgspec.json.Decoder(_Message).decode


def _read(params: Raw | bytes) -> _Message:
    try:
        return _decode(params if len(params) else b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidParams(data={"problem": "these are not params of MCP over ACP"}) from error


class Provider:
    """The MCP servers that are offered over one connection of ACP."""

    def __init__(self, outlet: Outlet) -> None:
        self.outlet = outlet
        """The outlet for the messages of the servers."""
        self._servers: dict[str, HostedServer] = {}
        self._open: dict[str, ServerConversation] = {}

    # What is offered

    def add(self, server: object, *, name: str = "", session: object = None) -> str:
        """Offer a server and return its id; it can be used at once.

        Args:
            server: A server of the `mcp` package, `MCPServer` as well as the `Server` below it.
            name: The name that the agent sees; the server's own name by default.
            session: The session that the server is for, which `_current_request.py` then knows
                while the server works on a request.

        Raises:
            Unsupported: The `mcp` package is not installed.
            TypeError: It is not such a server.
        """
        server = _new_hosted_server(server, name, session)
        server_id = secrets.token_urlsafe(18)
        self._servers[server_id] = server
        return server_id

    def add_functions(self, functions: Sequence[Callable[..., Any]], *, name: str = "tools") -> str:
        """Offer functions as the tools of a server, and return its id.

        Args:
            functions: See `parley.mcp._function_server`.
            name: The name of the server for the agent.

        Raises:
            Unsupported: The `mcp` package is not installed.
            TypeError: Something is not a function that can be a tool.
        """
        return self.add(new_function_server(functions, name=name))

    def declaration(self, server_id: str) -> McpServerAcp:
        """Return how a server is declared to the agent."""
        return McpServerAcp(name=self._servers[server_id].name, server_id=server_id)

    def is_at_work(self, server_ids: Iterable[str]) -> bool:
        """Return whether what runs now is a function of one of these servers, not yet answered."""
        now = current_request.get()
        if now is None or now.is_over:
            return False
        return any(self._servers.get(each) is now.server for each in server_ids)

    def owns(self, params: Raw | bytes) -> bool:
        """Return whether a message, of whichever form, is for a server that is offered here."""
        if not self._servers:
            return False
        try:
            message = _read(params)
        except InvalidParams:
            return False
        return message.server_id in self._servers or message.connection_id in self._open

    async def remove(self, server_id: str) -> None:
        """Offer a server no longer; what runs in it is cancelled."""
        server = self._servers.pop(server_id, None)
        if server is None:
            return
        await self._disconnect([id for id, each in self._open.items() if each.server is server])
        await server.aclose()

    async def hang_up(self) -> None:
        """Close the connections to the servers, which the agent that had them cannot use again."""
        await self._disconnect(list(self._open))

    async def aclose(self) -> None:
        """Offer nothing any more."""
        for server_id in list(self._servers):
            await self.remove(server_id)

    # What arrives

    async def request(self, method: str, params: Raw | bytes, *, id: Id = None) -> Raw:
        """Answer a request of the agent, and return the JSON of the result.

        Args:
            method: One of `MCP_METHODS`.
            params: Its params, as they came.
            id: The id that it has on the wire. In the older form MCP's own cancelling names it.

        Raises:
            RequestError: The answer is an error. In the older form that may be one of MCP.
        """
        message = _read(params)
        if method == "mcp/message":
            if message.server_id is not None and message.request_id is not None:
                return await self._stateless(message, message.server_id, message.request_id)
            return await self._connected(message, id)
        if method == "mcp/connect":
            return await self._connect(message)
        if method == "mcp/disconnect":
            self._conversation(message)
            await self._disconnect([message.connection_id or ""])
            return Raw(b"{}")
        raise MethodNotFound(data={"method": method})

    def notified(self, params: Raw | bytes) -> None:
        """Take an `mcp/message` that is a notification; one with an unknown id is ignored."""
        try:
            message = _read(params)
        except InvalidParams as error:
            logger.warning("ignored mcp/message: %s", error)
            return
        inner: Mapping[str, Any] = message.params or {}
        if message.server_id in self._servers and message.method == _CANCELLED:
            server = self._servers[message.server_id]
            _cancel(server, message.request_id or inner.get("requestId"))
        elif (conversation := self._open.get(message.connection_id or "")) is None:
            logger.debug("ignored mcp/message for a server that is not offered")
        elif message.method == _CANCELLED:
            _cancel(conversation.server, (message.connection_id, inner.get("requestId")))
        else:
            notification = conversation.notify(message.method, message.params)
            conversation.server.run_in_background(notification)

    # The present form

    async def _stateless(self, message: _Message, server_id: str, request_id: str) -> Raw:
        server = self._servers.get(server_id)
        if server is None:
            raise McpServerUnknown(data={"serverId": server_id})
        if request_id in server.running:
            raise InvalidParams(data={"problem": "params.requestId: this one is under way already"})
        _check_room(server)
        address = {"serverId": server_id, "requestId": request_id}

        async def notify(method: str, params: Mapping[str, Any] | None) -> None:
            await self.outlet.notify(address | _inner(method, params))

        coroutine = server.ask(message.method, message.params, request_id, notify)
        try:
            return _written(server, {"result": await server.run(request_id, coroutine)})
        except McpFailure as failure:
            return _written(server, {"error": failure.error})

    # The older form

    async def _connect(self, message: _Message) -> Raw:
        server = self._servers.get(message.server_id or "")
        if server is None:
            raise InvalidParams(data={"problem": "params.serverId: no such server is offered"})
        if sum(each.server is server for each in self._open.values()) >= MAX_CONNECTIONS:
            raise McpLimitReached(f"{MAX_CONNECTIONS} connections to {server.name} are open")
        from ._hosted_server import ServerConversation

        connection_id = secrets.token_urlsafe(18)
        address = {"connectionId": connection_id}

        async def ask(method: str, params: Mapping[str, Any] | None) -> Any:
            return await self.outlet.request(address | _inner(method, params))

        async def notify(method: str, params: Mapping[str, Any] | None) -> None:
            await self.outlet.notify(address | _inner(method, params))

        state = await server.begin()
        self._open[connection_id] = ServerConversation(server, state, ask=ask, notify=notify)
        return Raw(msgspec.json.encode(address))

    async def _connected(self, message: _Message, id: Id) -> Raw:
        conversation = self._conversation(message)
        server = conversation.server
        _check_room(server)
        key = (message.connection_id, secrets.token_hex(8) if id is None else id)
        coroutine = conversation.ask(message.method, message.params, key[1] or "")
        try:
            return _written(server, await server.run(key, coroutine))
        except McpFailure as failure:
            error = failure.error
            data = error.get("data", msgspec.UNSET)
            raise RequestError(error["message"], data, code=error["code"]) from failure

    def _conversation(self, message: _Message) -> ServerConversation:
        conversation = self._open.get(message.connection_id or "")
        if conversation is None:
            raise InvalidParams(data={"problem": "params.connectionId: no such connection is open"})
        return conversation

    async def _disconnect(self, connection_ids: list[str]) -> None:
        for each in connection_ids:
            conversation = self._open.pop(each, None)
            if conversation is None:
                continue
            server = conversation.server
            for key in [key for key in server.running if _is_on(key, each)]:
                _cancel(server, key)
            await conversation.aclose()


def new_function_server(
    functions: Sequence[Callable[..., Any]], *, name: str = "tools", session: object = None
) -> object:
    """Return a server that has these functions as tools, which can be added to a provider.

    Args:
        functions: See `parley.mcp._function_server`.
        name: What the server is called.
        session: The value of parameters that have its type; see `function_server`.

    Raises:
        Unsupported: The `mcp` package is not installed.
        TypeError: Something is not a function that can be a tool, or two have the same name.
    """
    try:
        from ._function_server import function_server
    except ModuleNotFoundError as error:
        raise Unsupported(
            "mcp is not installed, which tools need: pip install 'parley-acp[mcp]'"
        ) from error
    return function_server(functions, name=name, session=session)


def check_server(server: object) -> None:
    """Raise `TypeError` unless this is a server of the `mcp` package.

    Raises:
        Unsupported: The `mcp` package is not installed.
        TypeError: It is not.
    """
    _new_hosted_server(server, "", None)


def _new_hosted_server(server: object, name: str, session: object) -> HostedServer:
    try:
        from ._hosted_server import HostedServer
    except ModuleNotFoundError as error:
        raise Unsupported(
            "mcp is not installed, which MCP servers of your own need: "
            "pip install 'parley-acp[mcp]'"
        ) from error
    return HostedServer(server, name, session)


def _inner(method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"method": method} if params is None else {"method": method, "params": dict(params)}


def _is_on(key: object, connection_id: str) -> bool:
    """Return whether a request came on this connection; those of the present form come on none."""
    return isinstance(key, tuple) and connection_id in key


def _cancel(server: HostedServer, key: object) -> None:
    try:
        task = server.running.get(key)
    except TypeError:  # what names it came from outside, and may be anything
        return
    if task is not None:
        task.cancel()


def _check_room(server: HostedServer) -> None:
    if len(server.running) >= MAX_RUNNING:
        raise McpLimitReached(f"{MAX_RUNNING} requests run in the MCP server {server.name}")


def _written(server: HostedServer, result: Any) -> Raw:
    """Return the JSON of an answer; half a surrogate pair in a text becomes U+FFFD.

    Raises:
        McpLimitReached: It is longer than a message may be.
    """
    try:
        written = msgspec.json.encode(result)
    except UnicodeEncodeError:
        written = msgspec.json.encode(_as_unicode(result))
    if len(written) > MAX_RESULT_BYTES:
        raise McpLimitReached(
            f"The MCP server {server.name} answers {len(written)} bytes; "
            f"{MAX_RESULT_BYTES} can be sent"
        )
    return Raw(written)


def _as_unicode(value: Any) -> Any:
    """Return the same with U+FFFD for each surrogate that stands alone, which JSON cannot have."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list | tuple):
        return [_as_unicode(each) for each in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {_as_unicode(name): _as_unicode(each) for name, each in members}
    return value
