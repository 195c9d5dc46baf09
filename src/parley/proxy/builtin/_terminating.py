"""A component that is no `Proxy`: it does not forward, but talks to each side by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeAlias

from parley.proxy._chain.conductor import Conductor
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._proxy import Proxy
from parley.proxy._transports.mux import MuxTransport
from parley.transport._base import Transport
from parley.transport._memory import memory_pair
from parley.transport._stdio import serve_stdio
from parley.transport._target import Target


class TerminatingProxy:
    """Stands between a client and an agent, as a `Proxy` does; `join` says how."""

    def __init__(self, name: str) -> None:
        """Define a component.

        Args:
            name: What it is called in errors and logs.
        """
        self.name = name
        self.is_agent = False
        """Whether it may also stand where the agent does."""

    async def join(self, client: Transport, agent: Transport) -> None:
        """Stand between two connections until one of them ends; then both are closed."""
        raise NotImplementedError

    async def serve(self, transport: Transport, *, agent: Target | None = None) -> None:
        """Serve one connection until it ends, as `Proxy.serve` does.

        Args:
            transport: Leads to a conductor; with `agent` to a client.
            agent: Be a chain by yourself, with this agent at its end.
        """
        if agent is not None:
            await Conductor(self, agent=agent).serve(transport)
            return
        split = MuxTransport(transport)
        upper, client = memory_pair()
        agent_side, lower = memory_pair()
        front = ProxyConnection(Proxy(self.name), split.front, upper, is_proxied=True, split=split)
        back = ProxyConnection(Proxy(self.name), lower, split.back)
        await run_until_first(front.run(), self.join(client, agent_side), back.run())

    def run(self, *, agent: Target | None = None) -> None:
        """Serve whoever started this program, on stdin and stdout, until the connection ends."""
        hint = "this is a proxy, which a conductor talks to over stdin and stdout"
        serve_stdio(lambda transport: self.serve(transport, agent=agent), hint)


Component: TypeAlias = Proxy | TerminatingProxy
"""What a built-in proxy is."""


async def run_until_first(*works: Coroutine[Any, Any, None]) -> None:
    """Run some things until one of them is over; the others are ended then."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
