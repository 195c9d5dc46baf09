"""Routes: which handler serves a method, and how its params are decoded."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from parley.errors import LocalProtocolError
from parley.rpc._codec import DECODE_ERRORS
from parley.schema._codec import decode
from parley.schema.base import Kind, Method, MethodTable

if TYPE_CHECKING:
    from ._request import RequestContext


Role: TypeAlias = Literal["agent", "client"]
RequestHandler: TypeAlias = Callable[[Any, "RequestContext"], Awaitable[Any]]
"""An `async def handler(params, request)` that returns the result."""
NotificationHandler: TypeAlias = Callable[[Any], Awaitable[None] | None]
"""A `def handler(params)` or `async def handler(params)`."""


class TypedHandler(Struct, frozen=True):
    """A handler with an explicit params type; pass it to `Peer.set_handlers`.

    Use it for an extension method, or to decode the params of a method into another type.
    """

    handler: Callable[..., Any]
    params: Any
    """The params type, or `Raw` for the undecoded bytes."""


class _InSession(Struct):
    session_id: str | None = msgspec.field(name="sessionId", default=None)


class Route:
    """A method that this side handles, with its handler and params type."""

    __slots__ = ("handler", "has_session", "is_extension", "is_plain", "is_urgent", "name", "type")

    def __init__(
        self, name: str, handler: Callable[..., Any] | TypedHandler, method: Method[Any, Any] | None
    ) -> None:
        self.name = name
        self.is_extension = method is None
        """Whether the method is not in the method table, so the program defines it."""
        self.has_session = method is not None and method.session is not None
        self.is_urgent = method is not None and method.is_urgent
        self.is_plain = (
            self.has_session and not self.is_urgent and not isinstance(handler, TypedHandler)
        )
        """Whether it is handled in session order and has the params type of the method table."""
        self.type: Any = Raw if method is None else method.params
        """The params type."""
        if isinstance(handler, TypedHandler):
            self.type = handler.params
            handler = handler.handler
        self.handler = handler

    def read(self, params: Raw) -> Any:
        """Decode the params into their type, or return them raw if the method has none.

        Raises:
            MalformedValue: The params do not match the type.
        """
        return params if self.type is Raw else decode(self.type, params if len(params) else None)

    def session_of(self, params: Any, raw: Raw) -> str | None:
        """Return the session that a message belongs to.

        Args:
            params: The params that `read` returned.
            raw: The undecoded params, used if the params type has no session.
        """
        if not self.has_session:
            return None
        if hasattr(params, "session_id"):
            session: str | None = params.session_id
            return session
        try:
            return msgspec.json.decode(raw, type=_InSession).session_id
        except DECODE_ERRORS:
            return None


def build_routes(
    handlers: Mapping[str, Callable[..., Any] | TypedHandler],
    table: MethodTable | None,
    kind: Kind,
    role: Role,
) -> dict[str, Route]:
    """Return the routes of these handlers, with the types from the method table.

    Raises:
        LocalProtocolError: A handler is for a method that this role does not handle.
    """
    routes: dict[str, Route] = {}
    methods: Mapping[str, Method[Any, Any]] = {} if table is None else table.handled(kind, role)
    for name, handler in handlers.items():
        method = methods.get(name)
        if method is None and table is not None and not name.startswith("_"):
            raise LocalProtocolError(f"{name} is not a {kind} that the {role} handles")
        routes[name] = Route(name, handler, method)
    return routes
