"""A component that does not forward messages, but is a peer of the client and of the agent."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from parley.proxy._handling.connection import ConnectionOptions, ProxyConnection
from parley.proxy._proxy import Proxy
from parley.proxy._transports.mux import MuxTransport
from parley.transport._base import Transport
from parley.transport._memory import memory_pair
from parley.transport._stdio import serve_stdio
from parley.transport._target import Target


class TerminatingProxy:
    """A component whose `join` talks to each side itself; everything else is as for a `Proxy`."""

    def __init__(self, name: str, *, is_agent: bool = False) -> None:
        """Define a component.

        Args:
            name: The name in errors and logs.
            is_agent: Whether it may also take the place of the agent.
        """
        self.name = name
        self.is_agent = is_agent
        """Whether it may also take the place of the agent."""

    async def join(self, client: Transport, agent: Transport) -> None:
        """Stand between two connections until one of them ends; then both are closed."""
        raise NotImplementedError

    async def serve(self, transport: Transport, *, agent: Target | None = None) -> None:
        """Serve one connection until it ends, as `Proxy.serve` does.

        Args:
            transport: The connection to a conductor; with `agent`, to a client.
            agent: The agent of a chain that has only this proxy.
        """
        if agent is not None:
            from .conductor import Conductor

            await Conductor(self, agent=agent).serve(transport)
            return
        mux = MuxTransport(transport)
        upper, client = memory_pair()
        agent_side, lower = memory_pair()
        options = ConnectionOptions(is_proxied=True, mux=mux)
        front = ProxyConnection(Proxy(self.name), mux.front, upper, options=options)
        back = ProxyConnection(Proxy(self.name), lower, mux.back)
        await run_until_first(front.run(), self.join(client, agent_side), back.run())

    def run(self, *, agent: Target | None = None) -> None:
        """Serve the program that started this one, on stdin and stdout, until it disconnects."""
        hint = "this is a proxy, which a conductor talks to over stdin and stdout"
        serve_stdio(lambda transport: self.serve(transport, agent=agent), hint)


async def run_until_first(*works: Coroutine[Any, Any, None]) -> None:
    """Run coroutines until one of them is over, and cancel the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
