"""An agent as an ASGI application, for uvicorn, hypercorn or any other ASGI server.

`Agent.asgi` creates it. The application checks Host, Origin and token itself, whichever server runs
it. It ends its connections when the server shuts down (ASGI's lifespan protocol), or when `aclose`
is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from parley.errors import ConfigError
from parley.transport.http._app.app import HttpApp, lifespan
from parley.transport.http._app.health import HealthMiddleware
from parley.transport.http._asgi_types import Receive, Scope, Send
from parley.transport.http._tokens import MIN_LENGTH

from ._http_access import DRAIN_AFTER, AccessOptions, access_from, token_from_file

if TYPE_CHECKING:
    from ._agent import Agent

__all__ = ["AgentApp", "AsgiOptions"]


class AsgiOptions(AccessOptions, total=False):
    """Options of `Agent.asgi`."""

    tokens: Sequence[str]
    """The tokens that clients may use, instead of the one in `token_file`."""
    path: str
    """The path of the agent; `/acp` by default."""


class AgentApp:
    """An ASGI application that serves one agent to many clients, from `Agent.asgi`.

    Clients connect to `/acp`, over HTTP or WebSocket; `/healthz` responds to health checks. Run it
    with an ASGI server, or mount it in another application and call `aclose` when that one ends.
    """

    def __init__(
        self,
        agent: Agent,
        options: AsgiOptions,
        drained: Callable[[float], AbstractAsyncContextManager[None]],
    ) -> None:
        access = access_from(options, _tokens(options))
        self._http_app = HttpApp(agent, access=access, path=options.get("path", "/acp"))
        self._app = HealthMiddleware(self._http_app, access)
        self._drained = drained
        self._drain_after = options.get("drain_after", DRAIN_AFTER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, a WebSocket or the lifespan, as the ASGI specification says."""
        if scope["type"] == "lifespan":
            await lifespan(receive, send, self.aclose)
            return
        response = self._app(scope, receive, send)
        del scope, receive, send  # an idle stream keeps this frame alive
        await response

    async def aclose(self) -> None:
        """End all connections, after running turns have had `drain_after` seconds to end.

        Meanwhile the agent accepts no sessions and turns, on other connections neither. Afterwards
        it can be served again, by another application for example.
        """
        async with self._drained(self._drain_after if len(self._http_app.connections) else 0):
            await self._http_app.aclose()


def _tokens(options: AsgiOptions) -> Sequence[str]:
    """Return the tokens of the options, or the one in the token file.

    Raises:
        ConfigError: A token is too short, or the token file cannot be used.
        TypeError: `tokens` is a string, or there is a token file as well.
    """
    tokens = options.get("tokens")
    if tokens is None:
        return [token_from_file(options)[1]]
    if isinstance(tokens, str):
        raise TypeError("tokens must be a list of strings, not a string")
    if "token_file" in options:
        raise TypeError("set either tokens= or token_file=, not both")
    if any(len(token.strip()) < MIN_LENGTH for token in tokens):
        raise ConfigError(f"a token must have at least {MIN_LENGTH} characters")
    return tokens
