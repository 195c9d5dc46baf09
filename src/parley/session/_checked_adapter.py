"""Adapters and handlers that check custom values before they are sent.

Agents and clients send through these. Code that forwards the messages of others, such as a proxy,
the gateway or the replay of a stored session, uses the wrapped adapters and the original bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from parley.peer import RequestContext, RequestHandler
from parley.schema import v2
from parley.schema._custom_values import check_custom_values
from parley.schema.base import Method

from ._adapter import AgentAdapter, ClientAdapter, ProtocolAdapter

P = TypeVar("P")
R = TypeVar("R")


class _CheckedAdapter:
    """A wrapper of an adapter that checks what a program sends."""

    def __init__(self, adapter: ProtocolAdapter) -> None:
        self._adapter = adapter
        self.version = adapter.version
        self.peer = adapter.peer

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
    ) -> Coroutine[Any, Any, R]:
        """Send a request; raise `LocalProtocolError` if a custom value has no underscore."""
        check_custom_values(params)
        return self._adapter.request(method, params, on_result=on_result)

    def notify(self, method: Method[P, None], params: P) -> Coroutine[Any, Any, None]:
        """Send a notification; raise `LocalProtocolError` if a custom value has no underscore."""
        check_custom_values(params)
        return self._adapter.notify(method, params)


class CheckedClientAdapter(_CheckedAdapter):
    """A client program's connection to an agent."""

    def __init__(self, adapter: ClientAdapter) -> None:
        super().__init__(adapter)
        self.unchecked = adapter
        """The wrapped adapter, for values that come from the agent itself."""
        self.agent = adapter.agent
        self.resume_fallback = adapter.resume_fallback
        self.unknown_content = adapter.unknown_content

    def begin_prompt(
        self,
        params: v2.PromptRequest,
        *,
        on_accepted: Callable[[v2.PromptResponse], None],
        on_failed: Callable[[BaseException], None],
    ) -> None:
        """Send a prompt; raise `LocalProtocolError` if a custom value has no underscore."""
        check_custom_values(params)
        self.unchecked.begin_prompt(params, on_accepted=on_accepted, on_failed=on_failed)

    def notify_now(self, method: Method[P, None], params: P) -> None:
        """Send a notification; raise `LocalProtocolError` if a custom value has no underscore."""
        check_custom_values(params)
        self.unchecked.notify_now(method, params)


class CheckedAgentAdapter(_CheckedAdapter):
    """An agent program's connection to a client.

    Updates are not checked here but where the program creates them, because a session also sends
    those that it replays.
    """

    def __init__(self, adapter: AgentAdapter) -> None:
        super().__init__(adapter)
        self.client = adapter.client
        self.client_info = adapter.client_info
        self.update = adapter.update

    def notify(self, method: Method[P, None], params: P) -> Coroutine[Any, Any, None]:
        """Send a notification; raise `LocalProtocolError` if a custom value has no underscore."""
        if isinstance(params, v2.UpdateSessionNotification):
            return self._adapter.notify(method, params)
        return super().notify(method, params)


def checked_handler(handler: RequestHandler) -> RequestHandler:
    """Return a handler whose result is checked before it is sent."""

    async def handle(params: Any, request: RequestContext) -> Any:
        result = await handler(params, request)
        check_custom_values(result)
        return result

    return handle
