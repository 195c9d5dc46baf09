"""The proxy that a program defines: a name, and handlers for what passes through it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar

from parley.errors import LocalProtocolError, Unsupported
from parley.proxy._handling.connection import ConnectionOptions, ProxyConnection
from parley.proxy._handling.direction import Handler
from parley.proxy._handling.method_names import check_method
from parley.proxy._transports.mux import MuxTransport
from parley.schema.version import SUPPORTED
from parley.session._dialect import To
from parley.session._validation import check_handler
from parley.transport._base import Transport
from parley.transport._stdio import serve_stdio
from parley.transport._target import Target

H = TypeVar("H", bound=Handler)
T = TypeVar("T", bound=Callable[..., Any])

ConnectionHook: TypeAlias = Callable[[ProxyConnection], Awaitable[None]]
"""Called when a connection begins, or has ended."""
Watcher: TypeAlias = Callable[[ProxyConnection, bool, bytes, str], None]
"""Sees each frame at the client's side: whether it comes from the client, itself, its session."""


class Proxy:
    """A component between a client and an agent, for both versions of the protocol.

    A message without a handler passes as the bytes that it is. A handler sees a message in the
    version 2 vocabulary and can change it, answer it, drop it or send others; see `Message`.
    Methods have their names of version 2, or of version 1 where only that has them; `*` stands for
    every message without a handler of its own.
    """

    def __init__(
        self, name: str, *, versions: tuple[int, ...] = SUPPORTED, offers_mcp: bool = True
    ) -> None:
        """Define a proxy.

        Args:
            name: The name in errors and logs.
            versions: The versions of the protocol that its handlers understand.
            offers_mcp: Whether its response to initialize offers MCP servers over ACP.
        """
        if not name:
            raise ValueError("a proxy needs a name")
        if not versions or not set(versions) <= set(SUPPORTED):
            raise ValueError(f"versions of the protocol are {SUPPORTED}, not {versions}")
        self.name = name
        self.versions = versions
        self.client: dict[str, Handler] = {}
        """The handlers of messages from the client, by method."""
        self.agent: dict[str, Handler] = {}
        """The handlers of messages from the agent, by method."""
        self.tools: list[Callable[..., Any]] = []
        """The functions that the agent gets as MCP tools."""
        self.mcp_servers: list[object] = []
        """The MCP servers that the agent gets in addition."""
        self.offers_mcp = offers_mcp
        """Whether its response to initialize offers MCP servers over ACP."""
        self.watcher: Watcher | None = None
        self.openers: list[ConnectionHook] = []
        self.closers: list[ConnectionHook] = []

    # Handlers

    def from_client(self, method: str) -> Callable[[H], H]:
        """Register a handler of messages from the client: `def handle(message)`, also async.

        The message is a `Request` or a `Notification`. If the handler returns None, the message
        passes with the changes made to it. Any other value is the result of a request, and a
        `RequestError` rejects it.
        """
        return self._register(self.client, method, "agent")

    def from_agent(self, method: str) -> Callable[[H], H]:
        """Register a handler of messages from the agent, as `from_client` does for the client."""
        return self._register(self.agent, method, "client")

    def _register(self, handlers: dict[str, Handler], method: str, to: To) -> Callable[[H], H]:
        check_method(method, to)
        if method in handlers:
            raise LocalProtocolError(f"the proxy has a handler for {method} already")

        where = "@proxy.from_client" if to == "agent" else "@proxy.from_agent"

        def register(handler: H) -> H:
            check_handler(handler, where, "message")
            handlers[method] = handler
            return handler

        return register

    def tool(self, function: T) -> T:
        """Give this function to the agent as an MCP tool, in every session.

        The agent sees its name, its docstring and the annotations of its parameters.
        This needs the extra `parley-acp[mcp]`.

        Raises:
            Unsupported: The `mcp` package is not installed.
            TypeError: It is not a function.
        """
        _check_mcp()
        if not callable(function):
            raise TypeError(f"proxy.tool takes a function, not {function!r}")
        self.tools.append(function)
        return function

    def add_mcp_server(self, server: object) -> None:
        """Give a server of the `mcp` package to the agent, in every session.

        Raises:
            Unsupported: The `mcp` package is not installed.
        """
        _check_mcp()
        self.mcp_servers.append(server)

    def watch(self, watcher: Watcher) -> Watcher:
        """Call this function with each frame that passes between the client and this proxy.

        It is `def see(connection, is_from_client, frame, session_id)` and changes nothing.
        """
        if self.watcher is not None:
            raise LocalProtocolError("the proxy has a watcher already")
        parameters = ("connection", "is_from_client", "frame", "session_id")
        check_handler(watcher, "@proxy.watch", *parameters)
        self.watcher = watcher
        return watcher

    def open_connection(self, hook: ConnectionHook) -> ConnectionHook:
        """Register a function to call for each connection, before anything passes on it."""
        check_handler(hook, "@proxy.open_connection", "connection", is_async=True)
        self.openers.append(hook)
        return hook

    def close_connection(self, hook: ConnectionHook) -> ConnectionHook:
        """Register a function to call for each connection that has ended."""
        check_handler(hook, "@proxy.close_connection", "connection", is_async=True)
        self.closers.append(hook)
        return hook

    # Serving

    async def join(self, client: Transport, agent: Transport) -> None:
        """Stand between two connections until one of them ends; then both are closed."""
        await ProxyConnection(self, client, agent).run()

    async def serve(self, transport: Transport, *, agent: Target | None = None) -> None:
        """Serve one connection until it ends.

        Args:
            transport: The connection to a conductor, which carries those to the client and to the
                agent; with `agent`, the connection to a client.
            agent: Serve a chain of this proxy and this agent.
        """
        if agent is not None:
            from parley.proxy._chain.conductor import Conductor

            await Conductor(self, agent=agent).serve(transport)
            return
        mux = MuxTransport(transport)
        options = ConnectionOptions(is_proxied=True, mux=mux)
        await ProxyConnection(self, mux.front, mux.back, options=options).run()

    def run(self, *, agent: Target | None = None) -> None:
        """Serve the program that started this one, on stdin and stdout, until it disconnects.

        Args:
            agent: Serve a chain of this proxy and this agent.
        """
        hint = "this is a proxy, which a conductor talks to over stdin and stdout; try "
        serve_stdio(lambda transport: self.serve(transport, agent=agent), hint + _conduct())

    @property
    def not_an_agent(self) -> str:
        """The error for a client that takes the proxy for an agent."""
        start = f"{self.name} is a proxy and has no agent; start it as {_conduct()}"
        return f"{start}, or connect to a Conductor"


def _conduct() -> str:
    return f"parley conduct {shlex.quote(shlex.join(sys.orig_argv))} -- AGENT"


def _check_mcp() -> None:
    """Raise now what a session would raise later."""
    if find_spec("mcp") is None:
        raise Unsupported(
            "mcp is not installed, which tools of a proxy need: pip install 'parley-acp[mcp]'"
        )
