"""Which handler takes which method, and how its params are read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from parley.errors import LocalProtocolError
from parley.rpc.codec import NOT_FITTING
from parley.schema.base import Kind, Method, Table
from parley.schema.codec import decode

if TYPE_CHECKING:
    from .request import RequestContext

__all__ = [
    "NotificationHandler",
    "RequestHandler",
    "Role",
    "Route",
    "Typed",
    "build_routes",
]

Role: TypeAlias = Literal["agent", "client"]
RequestHandler: TypeAlias = Callable[[Any, "RequestContext"], Awaitable[Any]]
"""`async def handler(params, request)` returns the result."""
NotificationHandler: TypeAlias = Callable[[Any], Awaitable[None] | None]
"""`def handler(params)` or `async def handler(params)`."""


class Typed(Struct, frozen=True):
    """A handler with the type of its params, for an extension method or to read one otherwise."""

    handler: Callable[..., Any]
    params: Any
    """The type, or `Raw` for the bytes as they came."""


class _InSession(Struct):
    session_id: str | None = msgspec.field(name="sessionId", default=None)


class Route:
    """One method that is handled here."""

    __slots__ = ("handler", "has_session", "is_plain", "is_urgent", "name", "type")

    def __init__(
        self, name: str, handler: Callable[..., Any] | Typed, method: Method[Any, Any] | None
    ) -> None:
        self.name = name
        self.has_session = method is not None and method.session is not None
        self.is_urgent = method is not None and method.is_urgent
        self.is_plain = self.has_session and not self.is_urgent and not isinstance(handler, Typed)
        """Whether it is an update as the table has it: it waits for its turn in a session."""
        self.type: Any = Raw if method is None else method.params
        """The type of its params."""
        if isinstance(handler, Typed):
            self.type = handler.params
            handler = handler.handler
        self.handler = handler

    def read(self, params: Raw) -> Any:
        """Return the typed params; raw where the method has no type.

        Raises:
            MalformedValue: They do not have the shape of the type.
        """
        return params if self.type is Raw else decode(self.type, params if len(params) else None)

    def session_of(self, params: Any, raw: Raw) -> str | None:
        """Return the session that a message belongs to.

        Args:
            params: What `read` has made of it.
            raw: What it came as; looked at where the type has no session, as an unknown one.
        """
        if not self.has_session:
            return None
        if hasattr(params, "session_id"):
            session: str | None = params.session_id
            return session
        try:
            return msgspec.json.decode(raw, type=_InSession).session_id
        except NOT_FITTING:
            return None


def build_routes(
    handlers: Mapping[str, Callable[..., Any] | Typed],
    table: Table | None,
    kind: Kind,
    role: Role,
) -> dict[str, Route]:
    """Join handlers with the rows of the method table.

    Raises:
        LocalProtocolError: A handler is for a method that this role does not handle.
    """
    routes: dict[str, Route] = {}
    methods: Mapping[str, Method[Any, Any]] = {} if table is None else table.handled(kind, role)
    for name, handler in handlers.items():
        method = methods.get(name)
        if method is None and table is not None and not name.startswith("_"):
            raise LocalProtocolError(f"{name} is no {kind} that the {role} handles")
        routes[name] = Route(name, handler, method)
    return routes
