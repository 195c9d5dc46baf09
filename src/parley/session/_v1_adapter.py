"""The common base of both version 1 adapters, which apply the translation table to a connection.

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
from ._v1_method_translations import TRANSLATIONS, MethodTranslation
from ._v1_session_upgrader import SessionUpgrader

P = TypeVar("P")
R = TypeVar("R")

OnResult: TypeAlias = Callable[[Any], None] | None
"""A callback for a result, called as soon as it arrives."""
RequestOverride: TypeAlias = Callable[[Any, Method[Any, Any], Any, OnResult], Awaitable[Any]]
"""A method of an adapter that sends certain requests: `(self, method, params, on_result)`."""
HandlerWrapper: TypeAlias = Callable[[Any, MethodTranslation, RequestHandler], RequestHandler]
"""A method of an adapter that wraps a handler: `(self, translation, handler)`."""


class V1Adapter:
    """A version 1 connection whose program uses version 2 types."""

    version = 1
    _overrides: ClassVar[dict[str, RequestOverride]] = {}
    """The requests that change more than their params and result, by version 2 name."""
    _handler_wrappers: ClassVar[dict[str, HandlerWrapper]] = {}
    """The handlers of requests that do more than translate them, by version 1 name."""

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
            return cast("R", await override(self, method, params, on_result))
        forms = TRANSLATIONS.get(("request", method.name))
        if forms is None:
            return await self._request_untranslated(method, params, on_result)
        translation = forms[0]
        request = self._downgrade(translation, params)

        def upgrade(result: Any) -> Any:
            return translation.upgrade_result(result, None, request)

        return cast("R", await self._send(translation.v1, request, upgrade, on_result))

    async def _request_untranslated(
        self, method: Method[P, R], params: P, on_result: Callable[[R], None] | None
    ) -> R:
        """Send a request that only version 1 has, or an extension method."""
        self._check_untranslated(method)
        return await self.peer.request(method, params, on_result=on_result)

    def _downgrade(
        self, translation: MethodTranslation, params: Any, upgrader: SessionUpgrader | None = None
    ) -> Any:
        """Downgrade params; raise `Unsupported` if the peer does not offer the method."""
        self._peer_capabilities.check(translation.v1)
        return translation.downgrade(params, upgrader)

    async def _send(
        self,
        method: Method[Any, Any],
        request: Any,
        upgrade: Callable[[Any], Any],
        on_result: OnResult,
        on_error: Callable[[AcpError], None] | None = None,
    ) -> Any:
        """Send a version 1 request and return its result, upgraded as soon as it arrives."""
        results: list[Any] = []

        def upgrade_result(result: Any) -> None:
            results.append(upgrade(result))
            if on_result is not None:
                on_result(results[0])

        await self.peer.request(method, request, on_result=upgrade_result, on_error=on_error)
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
        forms = TRANSLATIONS.get(("notification", method.name))
        if forms is None:
            self._check_untranslated(method)
            return method, params
        return forms[0].v1, self._downgrade(forms[0], params)

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
        """Return the program's request handlers, by version 1 name."""
        handlers: dict[str, RequestHandler | TypedHandler] = {}
        methods1 = self._table.requests(self.peer.role)
        for name, handler in program.requests.items():
            if name.startswith("_") or (name in methods1 and _has_same_types(name)):
                handlers[name] = handler
                continue
            forms = TRANSLATIONS.get(("request", name), ())
            for form in (form for form in forms if form.v1.name in methods1):
                wrap = self._handler_wrappers.get(form.v1.name, V1Adapter._translating_handler)
                wrapped = wrap(self, form, untyped_handler(handler))
                handlers[form.v1.name] = TypedHandler(wrapped, form.v1.params)
        return handlers

    def _translating_handler(
        self, translation: MethodTranslation, handler: RequestHandler
    ) -> RequestHandler:
        async def handle(params: Any, request: RequestContext) -> Any:
            state = self._translation_state(getattr(params, "session_id", None))
            request.params = upgrade_params(translation, params, state)
            return translation.downgrade_result(await handler(request.params, request), state)

        return handle

    def _translation_state(self, session_id: str | None) -> Any:
        """Return the translation state of the session that a request of the peer names."""
        raise NotImplementedError

    def _notification_handlers(
        self, program: HandlerTable
    ) -> dict[str, NotificationHandler | TypedHandler]:
        """Return the program's notification handlers, by version 1 name."""
        handlers: dict[str, NotificationHandler | TypedHandler] = {}
        methods1 = self._table.notifications(self.peer.role)
        for name, handler in program.notifications.items():
            if name.startswith("_") or (name in methods1 and _has_same_types(name)):
                handlers[name] = handler
                continue
            forms = TRANSLATIONS.get(("notification", name), ())
            for form in (form for form in forms if form.v1.name in methods1):
                handlers[form.v1.name] = _translating_listener(form, untyped_listener(handler))
        return handlers


def _has_same_types(name: str) -> bool:
    """Return whether a method's handler takes the table's types, without translation."""
    return name.startswith(("fs/", "terminal/", "mcp/", "document/")) or _is_workspace(name)


def _is_workspace(name: str) -> bool:
    return name.startswith("workspace/")


def _translating_listener(
    translation: MethodTranslation, listener: NotificationHandler
) -> TypedHandler:
    def listen(params: Any) -> Awaitable[None] | None:
        return listener(translation.upgrade(params, None))

    return TypedHandler(listen, translation.v1.params)


def upgrade_params(translation: MethodTranslation, params: Any, state: Any) -> Any:
    """Upgrade params, given the translation state of the session.

    Raises:
        InvalidParams: Version 2 cannot express what the peer sent.
    """
    try:
        return translation.upgrade(params, state)
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
