"""What both sides of a version 1 connection do: translate what needs no memory of a session.

The sides themselves are in `v1_client.py` and `v1_agent.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

from msgspec import Raw

from parley.errors import AcpError, InvalidParams, Unsupported
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler, Typed
from parley.schema.base import Method, Table
from parley.schema.codec import decode, encode

from .nes import NES_NOTIFICATIONS, NES_REQUESTS
from .pairs import NOTIFICATIONS, REQUESTS, Pair
from .surface import Gate, Program

__all__ = ["Asked", "Told", "Wire", "lifted", "plain_handler", "plain_listener"]

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

Told: TypeAlias = Callable[[Any], None] | None
"""Whom to tell a result as soon as it arrives."""
Asked: TypeAlias = Callable[[Any, Any, Told], Awaitable[Any]]
"""A method of a surface that sends one request in its own way."""

_REQUESTS = REQUESTS | NES_REQUESTS
_NOTIFICATIONS = NOTIFICATIONS | NES_NOTIFICATIONS


class Wire:
    """A connection on which everything is translated."""

    version = 1
    special: ClassVar[dict[str, Asked]] = {}
    """The requests that this side sends in its own way, by their name in version 2."""

    def __init__(self, peer: Peer, table: Table, capabilities: Any) -> None:
        self.peer = peer
        self.table = table
        self.gate = Gate(peer.name, capabilities)

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
    ) -> R:
        """Send a request and return its result, both in version 2's words."""
        special = self.special.get(method.name)
        if special is not None:
            return cast("R", await special(self, params, on_result))
        pair = _REQUESTS.get(method.name)
        if pair is None:
            return await self.ask_native(method, params, on_result)
        return cast("R", await self.ask(pair, params, on_result))

    async def ask_native(
        self, method: Method[P, R], params: P, on_result: Callable[[R], None] | None
    ) -> R:
        """Send a request as it is: one of version 1 alone, or an extension."""
        self._check_native(method)
        return await self.peer.request(method, params, on_result=on_result)

    async def ask(
        self,
        pair: Pair,
        params: Any,
        told: Told,
        on_error: Callable[[AcpError], None] | None = None,
    ) -> Any:
        """Send a request that is translated both ways."""
        self.gate.check(pair.v1)
        results: list[Any] = []

        def answered(result: Any) -> None:
            results.append(pair.lift_result(result))
            if told is not None:
                told(results[0])

        lowered = pair.lower(params)
        await self.peer.request(pair.v1, lowered, on_result=answered, on_error=on_error)
        return results[0]

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification of version 2."""
        pair = _NOTIFICATIONS.get(method.name)
        if pair is None:
            self._check_native(method)
            await self.peer.notify(method, params)
        else:
            self.gate.check(pair.v1)
            await self.peer.notify(pair.v1, pair.lower(params))

    def _check_native(self, method: Method[Any, Any]) -> None:
        name = method.name
        if name.startswith("_"):
            return
        if name not in self.table.handled(method.kind, self.other) and not _is_workspace(name):
            raise Unsupported(f"{name} does not exist in version 1 of the protocol")
        self.gate.check(method)

    @property
    def other(self) -> Any:
        """The role of the other side."""
        return "client" if self.peer.role == "agent" else "agent"

    def requests(self, program: Program) -> dict[str, RequestHandler | Typed]:
        """Return the program's handlers of requests that need no memory, by version 1's names."""
        routes: dict[str, RequestHandler | Typed] = {}
        native = self.table.requests(self.peer.role)
        for name, handler in program.requests.items():
            pair = _REQUESTS.get(name)
            if name.startswith("_") or (name in native and _is_same(name)):
                routes[name] = handler
            elif pair is not None and pair.v1.name in native:
                routes[pair.v1.name] = _translated(pair, plain_handler(handler))
        return routes

    def notifications(self, program: Program) -> dict[str, NotificationHandler | Typed]:
        """Return the program's handlers of notifications, by version 1's names."""
        routes: dict[str, NotificationHandler | Typed] = {}
        native = self.table.notifications(self.peer.role)
        for name, handler in program.notifications.items():
            pair = _NOTIFICATIONS.get(name)
            if name.startswith("_") or (name in native and _is_same(name)):
                routes[name] = handler
            elif pair is not None and pair.v1.name in native:
                routes[pair.v1.name] = _told(pair, plain_listener(handler))
        return routes


def _is_same(name: str) -> bool:
    """Tell whether a method is handled with the types of the table as they are."""
    return name.startswith(("fs/", "terminal/", "mcp/", "document/")) or _is_workspace(name)


def _is_workspace(name: str) -> bool:
    return name.startswith("workspace/")


def _translated(pair: Pair, handler: RequestHandler) -> Typed:
    async def serve(params: Any, request: RequestContext) -> Any:
        request.params = lifted(pair.lift, params)
        return pair.lower_result(await handler(request.params, request))

    return Typed(serve, pair.v1.params)


def _told(pair: Pair, listener: NotificationHandler) -> Typed:
    def listen(params: Any) -> Awaitable[None] | None:
        return listener(pair.lift(params))

    return Typed(listen, pair.v1.params)


def lifted(lift: Callable[[Any], T], params: Any) -> T:
    """Lift what the peer sent; what version 2 has no words for is the peer's mistake here."""
    try:
        return lift(params)
    except Unsupported as error:
        raise InvalidParams(data={"problem": str(error)}) from error


def plain_handler(handler: RequestHandler | Typed) -> RequestHandler:
    """Return a handler of version 2's params, also for one that wants them as another type."""
    if not isinstance(handler, Typed):
        return handler
    typed = handler

    async def handle(params: Any, request: RequestContext) -> Any:
        return await typed.handler(_read(typed, params), request)

    return handle


def plain_listener(handler: NotificationHandler | Typed) -> NotificationHandler:
    """Return a handler of version 2's params, also for one that wants them as another type."""
    if not isinstance(handler, Typed):
        return handler
    typed = handler
    return lambda params: typed.handler(_read(typed, params))


def _read(typed: Typed, params: Any) -> Any:
    raw = encode(params)
    return Raw(raw) if typed.params is Raw else decode(typed.params, raw)
