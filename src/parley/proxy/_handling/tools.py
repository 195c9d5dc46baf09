"""MCP servers of a proxy, offered to the agent over the connection that passes through it.

Each session that is opened gets servers with ids of its own, which only it knows; they can be
used before the session is there, and are gone with it. What the agent sends to them is answered
here; what it sends to others is forwarded to the side that declared those.

`SessionTools` collects what one session gets: the tools and servers of the proxy, and those that a
handler adds to the request that opens the session. `ToolSession` is that session as a tool sees it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, structs

from parley._user_code import reraise_if_ending
from parley.errors import (
    AcpError,
    InternalError,
    LocalProtocolError,
    RequestCancelled,
    RequestError,
)
from parley.mcp._current_request import current_request
from parley.mcp._provider import MCP_METHODS, Provider, check_server, new_function_server
from parley.proxy._switch.messages import (
    PendingRequest,
    RawMessage,
    RawNotification,
    Route,
)
from parley.proxy._switch.patching import patch_object
from parley.rpc import _codec as codec
from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._message import Success
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema._session_methods import (
    BEGINS,
    CLOSES,
    OPENS,
    REOPENS,
)
from parley.transport._frame_head import peek_session

from .direction import Direction, InternalRoute, cancel_soon, params_of

if TYPE_CHECKING:
    from .connection import ProxyConnection


logger = logging.getLogger(__name__)

_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode


class _Named(msgspec.Struct):
    name: Any = None


_decode_servers = msgspec.json.Decoder(list[_Named] | None).decode


class ToolSession:
    """The session in which an agent calls a tool of a proxy.

    A tool gets it in a parameter that is annotated with this type, which the agent does not see. In
    a server of the `mcp` package, use `ToolSession.current()`.
    """

    def __init__(self, connection: ProxyConnection, tools: SessionTools) -> None:
        self.connection = connection
        """The connection that the session is on: its client, its agent, and its state."""
        self._tools = tools

    @property
    def id(self) -> str:
        """The id of the session.

        Raises:
            LocalProtocolError: The agent calls the tool while it still opens the session, and has
                not sent its id yet.
        """
        if not self._tools.session_id:
            raise LocalProtocolError(
                "the session has no id yet: the agent calls the tool before it has opened it"
            )
        return self._tools.session_id

    async def update(self, update: v2.SessionUpdate) -> None:
        """Send the client an update of the session, as if the agent had sent it."""
        await self.connection.update(self.id, update)

    @classmethod
    def current(cls) -> ToolSession:
        """Return the session for which the running code works.

        Raises:
            LocalProtocolError: It is not called by a tool of a proxy.
        """
        now = current_request.get()
        if now is None or not isinstance(now.session, cls):
            raise LocalProtocolError("this code is not called by a tool of a proxy")
        return now.session

    def __repr__(self) -> str:
        return f"ToolSession({self._tools.session_id!r})"


class SessionTools:
    """The tools and MCP servers that one session gets when it is opened."""

    def __init__(self, connection: ProxyConnection, call: PendingRequest) -> None:
        self.session_id = call.session_id if call.method in REOPENS else ""
        """The session; empty until the agent has opened it and sent its id."""
        self.session = ToolSession(connection, self)
        """The session, as its tools see it."""
        self._name = connection.name
        self._functions = list(connection.proxy.tools)
        self._function_server: object | None = None
        self._servers = list(connection.proxy.mcp_servers)

    def add_tools(self, functions: Sequence[Callable[..., Any]]) -> None:
        """Add functions to the tools of the session.

        Raises:
            Unsupported: The `mcp` package is not installed.
            TypeError: One of them cannot be a tool, or the session has one of that name already.
        """
        together = [*self._functions, *functions]
        server = new_function_server(together, name=self._name, session=self.session)
        self._functions, self._function_server = together, server

    def add_mcp_server(self, server: object) -> None:
        """Add a server of the `mcp` package.

        Raises:
            Unsupported: The `mcp` package is not installed.
            TypeError: It is something else.
        """
        check_server(server)
        self._servers.append(server)

    def servers(self) -> list[object]:
        """Return all servers; the first one has the functions, if there are any.

        Raises:
            TypeError: A function of the proxy cannot be a tool.
        """
        if self._functions and self._function_server is None:
            self.add_tools(())
        first = [self._function_server] if self._functions else []
        return [*first, *self._servers]


class ConnectionTools:
    """The MCP servers that a proxy offers on one connection."""

    def __init__(self, connection: ProxyConnection) -> None:
        self._connection = connection
        self._provider = Provider(_Outlet(connection))
        self._opening: dict[PendingRequest, tuple[SessionTools, list[str]]] = {}
        self._sessions: dict[str, list[str]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self.is_taken = True
        """Whether the other side takes MCP servers over ACP."""

    def use(self, down: Direction, up: Direction) -> None:
        """Intercept the requests that open sessions, and the messages to the servers."""
        if self._connection.proxy.tools or self._connection.proxy.mcp_servers:
            for method in OPENS:
                handler = down.handlers.get(method, down.fallback)
                if handler is None:
                    down.handlers[method] = InternalRoute(
                        lambda message: down.handle(None, message)
                    )
        for method in MCP_METHODS:
            handler = up.handlers.get(method, up.fallback)
            assert not isinstance(handler, InternalRoute)
            up.handlers[method] = InternalRoute(self._route(up, handler))

    def _route(
        self, up: Direction, handler: Callable[[Any], Any] | None
    ) -> Callable[[RawMessage], Route]:
        def route(message: RawMessage) -> Route:
            params = params_of(message)
            if not self._provider.owns(params):
                up.handle(handler, message)
            elif isinstance(message, RawNotification):
                self._provider.notified(params)
            else:
                self._serve(message)
            return None

        return route

    def _serve(self, call: PendingRequest) -> None:
        task = asyncio.get_running_loop().create_task(self._respond(call))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        call.on_cancel = lambda _: cancel_soon(task)

    async def _respond(self, call: PendingRequest) -> None:
        try:
            call.respond(await self._provider.request(call.method, call.params, id=call.id))
        except asyncio.CancelledError:
            call.refuse(RequestCancelled())
            raise
        except RequestError as error:
            call.refuse(error)
        except (
            BaseException
        ) as error:  # of a server's program: its caller gets an answer in any case
            reraise_if_ending(error)
            logger.exception("%s: an MCP server failed", self._connection.name)
            call.refuse(InternalError(f"An MCP server of {self._connection.name} failed"))

    # Sessions

    def new_session_tools(self, call: PendingRequest) -> SessionTools:
        """Return the tools of the session that a request opens; more can be added to them."""
        return SessionTools(self._connection, call)

    def prepare(self, call: PendingRequest, session_tools: SessionTools | None) -> None:
        """Declare the servers in a request that opens a session, just before it is forwarded.

        Args:
            call: The request.
            session_tools: The tools of the session; None for those of every session.
        """
        if call.method not in OPENS or not self.is_taken:
            return
        session_tools = session_tools or self.new_session_tools(call)
        ids: list[str] = []
        try:
            for server in session_tools.servers():
                ids.append(self._provider.add(server, session=session_tools.session))
            if not ids:
                return
            declared = _renamed([self._provider.declaration(id) for id in ids], bytes(call.params))
            body = _with_servers(bytes(call.params), [encode(each) for each in declared])
        except (AcpError, TypeError, *DECODE_ERRORS) as error:
            logger.error("%s: its tools are not offered: %s", self._connection.name, error)
            self._withdraw(ids)
            return
        call.frame = patch_object(call.frame, {"params": body})
        call.params = Raw(body)
        self._opening[call] = (session_tools, ids)

    def settled(self, call: PendingRequest, frame: bytes, is_result: bool) -> None:
        """Record what was answered to a request that opens a session, or closes it."""
        opened = self._opening.pop(call, None)
        session_id = _affected_session(call, frame)
        if is_result and session_id:
            self._withdraw(self._sessions.pop(session_id, []))
        if opened is None:
            return
        session_tools, ids = opened
        if is_result and session_id:
            session_tools.session_id = session_id
            self._sessions[session_id] = ids
        else:
            self._withdraw(ids)

    def _withdraw(self, ids: list[str]) -> None:
        if ids:
            task = asyncio.get_running_loop().create_task(self._remove(ids))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _remove(self, ids: list[str]) -> None:
        for id in ids:
            await self._provider.remove(id)

    async def aclose(self) -> None:
        """Offer nothing any more."""
        for task in list(self._running):
            cancel_soon(task)
        await self._provider.aclose()


class _Outlet:
    """Sends the agent the messages of the servers."""

    def __init__(self, connection: ProxyConnection) -> None:
        self._connection = connection

    async def request(self, params: dict[str, Any]) -> Any:
        return await self._connection.agent.request("mcp/message", params)

    async def notify(self, params: dict[str, Any]) -> None:
        await self._connection.agent.notify("mcp/message", params)


def _affected_session(call: PendingRequest, frame: bytes) -> str:
    """Return the session that a request opens or closes; empty if it does neither."""
    if call.method in BEGINS:
        message = codec.decode(frame)
        return peek_session(message.result) if isinstance(message, Success) else ""
    return call.session_id if call.method in REOPENS | CLOSES else ""


def _renamed(declared: Sequence[v2.McpServerAcp], params: bytes) -> list[v2.McpServerAcp]:
    """Rename servers if their name is taken in the session, for example to `tools-2`."""
    servers = _decode_members(params or b"{}").get("mcpServers", Raw(b"null"))
    taken = {each.name for each in _decode_servers(servers) or ()}
    renamed: list[v2.McpServerAcp] = []
    for server in declared:
        names = (f"{server.name}-{number}" for number in count(2))
        name = next(each for each in chain([server.name], names) if each not in taken)
        taken.add(name)
        renamed.append(structs.replace(server, name=name))
    return renamed


def _with_servers(params: bytes, declared: list[bytes]) -> bytes:
    """Return params with further MCP servers; those that are there keep their bytes."""
    there = _decode_members(params or b"{}").get("mcpServers", Raw(b"[]"))
    items = [] if bytes(there) == b"null" else [bytes(item) for item in _decode_items(there)]
    return patch_object(params, {"mcpServers": b"[%b]" % b",".join([*items, *declared])})
