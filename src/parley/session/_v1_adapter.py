"""The common base of both version 1 adapters: stateless translation of requests and notifications.

The adapters themselves are in `_v1_client_adapter.py` and `_v1_agent_adapter.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

from msgspec import Raw

from parley.errors import AcpError, InvalidParams, Unsupported
from parley.peer import NotificationHandler, Peer, RequestContext, RequestHandler, TypedHandler
from parley.schema._codec import decode, encode
from parley.schema.base import Method, MethodTable

from ._adapter import CapabilityCheck, HandlerTable
from ._v1_method_translations import NOTIFICATIONS, REQUESTS, MethodTranslation

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

OnResult: TypeAlias = Callable[[Any], None] | None
"""A callback for a result, called as soon as it arrives."""
RequestOverride: TypeAlias = Callable[[Any, Any, OnResult], Awaitable[Any]]
"""A method of an adapter that sends one particular request: `(self, params, on_result)`."""


class V1Adapter:
    """A version 1 connection whose program uses version 2 types."""

    version = 1
    _overrides: ClassVar[dict[str, RequestOverride]] = {}
    """The requests that need more than a stateless translation, by version 2 name."""

    def __init__(self, peer: Peer, table: MethodTable, capabilities: Any) -> None:
        self.peer = peer
        self._table = table
        self._peer_capabilities = CapabilityCheck(peer.name, capabilities)

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
    ) -> R:
        """Send a request and return its result, both as version 2 types."""
        override = self._overrides.get(method.name)
        if override is not None:
            return cast("R", await override(self, params, on_result))
        translation = REQUESTS.get(method.name)
        if translation is None:
            return await self._request_untranslated(method, params, on_result)
        return cast("R", await self._request_translated(translation, params, on_result))

    async def _request_untranslated(
        self, method: Method[P, R], params: P, on_result: Callable[[R], None] | None
    ) -> R:
        """Send a request that only version 1 has, or an extension method."""
        self._check_untranslated(method)
        return await self.peer.request(method, params, on_result=on_result)

    async def _request_translated(
        self,
        translation: MethodTranslation,
        params: Any,
        on_result: OnResult,
        on_error: Callable[[AcpError], None] | None = None,
    ) -> Any:
        """Send a request, translating its params and its result."""
        self._peer_capabilities.check(translation.v1)
        results: list[Any] = []

        def upgrade_result(result: Any) -> None:
            results.append(translation.upgrade_result(result))
            if on_result is not None:
                on_result(results[0])

        downgraded = translation.downgrade(params)
        await self.peer.request(
            translation.v1, downgraded, on_result=upgrade_result, on_error=on_error
        )
        return results[0]

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification, given as version 2 types."""
        await self.peer.notify(*self._downgrade_notification(method, params))

    def notify_now(self, method: Method[P, None], params: P) -> None:
        """Send a notification before returning, given as version 2 types."""
        self.peer.notify_now(*self._downgrade_notification(method, params))

    def _downgrade_notification(
        self, method: Method[Any, None], params: Any
    ) -> tuple[Method[Any, None], Any]:
        translation = NOTIFICATIONS.get(method.name)
        if translation is None:
            self._check_untranslated(method)
            return method, params
        self._peer_capabilities.check(translation.v1)
        return translation.v1, translation.downgrade(params)

    def _check_untranslated(self, method: Method[Any, Any]) -> None:
        """Raise `Unsupported` if version 1 lacks a method, or the peer does not offer it."""
        name = method.name
        if name.startswith("_"):
            return
        peer_role: Any = "client" if self.peer.role == "agent" else "agent"
        if name not in self._table.handled(method.kind, peer_role) and not _is_workspace(name):
            raise Unsupported(f"{name} does not exist in version 1 of the protocol")
        self._peer_capabilities.check(method)

    def _request_handlers(self, program: HandlerTable) -> dict[str, RequestHandler | TypedHandler]:
        """Return the program's handlers of statelessly translated requests, by version 1 name."""
        handlers: dict[str, RequestHandler | TypedHandler] = {}
        methods1 = self._table.requests(self.peer.role)
        for name, handler in program.requests.items():
            translation = REQUESTS.get(name)
            if name.startswith("_") or (name in methods1 and _has_same_types(name)):
                handlers[name] = handler
            elif translation is not None and translation.v1.name in methods1:
                translated = _translating_handler(translation, untyped_handler(handler))
                handlers[translation.v1.name] = translated
        return handlers

    def _notification_handlers(
        self, program: HandlerTable
    ) -> dict[str, NotificationHandler | TypedHandler]:
        """Return the program's notification handlers, by version 1 name."""
        handlers: dict[str, NotificationHandler | TypedHandler] = {}
        methods1 = self._table.notifications(self.peer.role)
        for name, handler in program.notifications.items():
            translation = NOTIFICATIONS.get(name)
            if name.startswith("_") or (name in methods1 and _has_same_types(name)):
                handlers[name] = handler
            elif translation is not None and translation.v1.name in methods1:
                translated = _translating_listener(translation, untyped_listener(handler))
                handlers[translation.v1.name] = translated
        return handlers


def _has_same_types(name: str) -> bool:
    """Return whether a method's handler takes the table's types, without translation."""
    return name.startswith(("fs/", "terminal/", "mcp/", "document/")) or _is_workspace(name)


def _is_workspace(name: str) -> bool:
    return name.startswith("workspace/")


def _translating_handler(translation: MethodTranslation, handler: RequestHandler) -> TypedHandler:
    async def handle(params: Any, request: RequestContext) -> Any:
        request.params = upgrade_params(translation.upgrade, params)
        return translation.downgrade_result(await handler(request.params, request))

    return TypedHandler(handle, translation.v1.params)


def _translating_listener(
    translation: MethodTranslation, listener: NotificationHandler
) -> TypedHandler:
    def listen(params: Any) -> Awaitable[None] | None:
        return listener(translation.upgrade(params))

    return TypedHandler(listen, translation.v1.params)


def upgrade_params(upgrade: Callable[[Any], T], params: Any) -> T:
    """Upgrade params.

    Raises:
        InvalidParams: Version 2 cannot express what the peer sent.
    """
    try:
        return upgrade(params)
    except Unsupported as error:
        raise InvalidParams(data={"problem": str(error)}) from error


def untyped_handler(handler: RequestHandler | TypedHandler) -> RequestHandler:
    """Return a handler that takes version 2 params, and converts them for a `TypedHandler`."""
    if not isinstance(handler, TypedHandler):
        return handler
    typed = handler

    async def handle(params: Any, request: RequestContext) -> Any:
        return await typed.handler(_convert_params(typed, params), request)

    return handle


def untyped_listener(handler: NotificationHandler | TypedHandler) -> NotificationHandler:
    """Return a handler that takes version 2 params, and converts them for a `TypedHandler`."""
    if not isinstance(handler, TypedHandler):
        return handler
    typed = handler
    return lambda params: typed.handler(_convert_params(typed, params))


def _convert_params(typed: TypedHandler, params: Any) -> Any:
    raw = encode(params)
    return Raw(raw) if typed.params is Raw else decode(typed.params, raw)
