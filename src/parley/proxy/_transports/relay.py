"""Two neighbours in a chain, joined by their conductor: everything passes as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from parley.errors import ConnectionClosed, MethodNotFound, RequestError
from parley.proxy._switch.disconnect import disconnect_error
from parley.proxy._switch.messages import DirectResponse, PendingRequest, RawMessage, Route
from parley.proxy._switch.patching import patch_object
from parley.proxy._switch.port import Port, PortOptions
from parley.proxy._switch.switch import Switch
from parley.transport._base import Transport

from .mux import ids_for
from .wrapping import CONDUCTOR_METHODS, INITIALIZE


class Relay:
    """A connection from one component to the next."""

    def __init__(
        self,
        upper: Transport,
        lower: Transport,
        names: tuple[str, str],
        *,
        is_proxied: bool = False,
        stays_open: bool = False,
        explain: Callable[[str, ConnectionClosed], RequestError] = disconnect_error,
    ) -> None:
        """Join two.

        Args:
            upper: Leads towards the client.
            lower: Leads towards the agent.
            names: What the two are called in errors.
            is_proxied: Whether the upper one sends `proxy/initialize` where a client sends
                `initialize`.
            stays_open: Whether it stays when the lower one is lost, until it is closed.
            explain: Returns the error of requests that the lower one leaves unanswered.
        """
        self._is_proxied = is_proxied
        self._switch = Switch()
        self._stays_open = stays_open
        options = PortOptions(on_lost=self._lost)
        self.upper = self._switch.add(upper, names[0], options=options, ids=ids_for(upper))
        options = PortOptions(skips_noise=True, on_lost=self._lost, explain=explain)
        self.lower = self._switch.add(lower, names[1], options=options, ids=ids_for(lower))
        self._over = asyncio.get_running_loop().create_future()

    def _route(self, port: Port, message: RawMessage) -> Route:
        if message.method in CONDUCTOR_METHODS and not self._is_beginning(port, message):
            return DirectResponse(MethodNotFound()) if isinstance(message, PendingRequest) else None
        return self.lower if port is self.upper else self.upper

    def _is_beginning(self, port: Port, message: RawMessage) -> bool:
        """Return whether a conductor begins; if so, make its request that of a client."""
        if not self._is_proxied or port is self.lower or message.method not in INITIALIZE:
            return False
        message.method = "initialize"
        message.frame = patch_object(message.frame, {"method": b'"initialize"'})
        return True

    async def run(self) -> None:
        """Pass on until one side is gone."""
        try:
            self._switch.start(self.lower, self._route)
            self._switch.start(self.upper, self._route)
            await self._over
        finally:
            await self._switch.aclose()

    def _lost(self, port: Port, reason: ConnectionClosed) -> None:
        if port is self.lower and self._stays_open:
            return
        if not self._over.done():
            self._over.set_result(reason)
