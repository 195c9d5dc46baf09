"""A chain of proxies and an agent, which is an agent to everybody else."""

from __future__ import annotations

from parley.errors import RequestError
from parley.proxy._chain.builtin_commands import is_builtin, parse
from parley.proxy._proxy import Proxy
from parley.transport._base import Transport
from parley.transport._stdio import HINT, serve_stdio
from parley.transport._target import Target

from .chain import MAX_COMPONENTS, Chain
from .component import Component, ComponentSpec
from .terminating import TerminatingProxy

PATIENCE = 100.0
"""How many seconds a component may keep the chain waiting; some are downloaded when they start."""


class Conductor:
    """Starts components, passes on what they say to each other, and ends them.

    It is served like an agent: by `connect`, by the gateway, on stdio. Its components are started
    when a client begins, for each client anew. If whoever begins is itself a conductor, the chain
    is a part of that one's, and has no agent of its own.
    """

    def __init__(
        self,
        *components: Target | Component | ComponentSpec,
        agent: Target | ComponentSpec | None = None,
        name: str = "conductor",
        patience: float = PATIENCE,
    ) -> None:
        """Define a chain.

        Args:
            components: The proxies, from the client to the agent: `Proxy` objects, names of
                built-in proxies with their options, commands that start one, or other targets; as a
                `ComponentSpec` also how they are started.
            agent: The agent at the end, or `replay FILE`; None to be part of another chain.
            name: What it is called in logs.
            patience: How many seconds a component has to answer initialize, and how long it may
                send more than its neighbours accept.

        Raises:
            ConfigError: A built-in proxy does not have such options.
            ValueError: There are too many, the agent is a proxy, or a proxy ends with an agent.
        """
        if len(components) > MAX_COMPONENTS:
            raise ValueError(f"a chain has at most {MAX_COMPONENTS} proxies")
        self.name = name
        self.components = [_proxy(each) for each in components]
        self.agent = None if agent is None else _agent(agent)
        self.patience = patience

    async def serve(self, transport: Transport) -> None:
        """Serve one client until its connection ends, or a component does."""
        await self.conduct(transport)

    async def conduct(self, transport: Transport) -> RequestError | None:
        """Serve one client; returns who has ended the chain, and how, if the client did not."""
        chain = Chain(self.components, self.agent, transport, patience=self.patience)
        await chain.run()
        return chain.failure

    def run(self) -> None:
        """Serve whoever started this program, on stdin and stdout, until the connection ends."""
        serve_stdio(self.serve, HINT)


def _proxy(given: Target | Component | ComponentSpec) -> ComponentSpec:
    found = _component(given)
    if isinstance(found.target, Conductor) and found.target.agent is not None:
        raise ValueError(
            f"{found.label} is a chain that ends with an agent, so it is no proxy; "
            "leave its agent out, or let it be the agent"
        )
    if not isinstance(found.target, str):
        return found
    return ComponentSpec(target=parse(found.target)) if is_builtin(found.target) else found


def _agent(given: Target | ComponentSpec) -> ComponentSpec:
    found = _component(given)
    if not isinstance(found.target, Conductor):
        found = _proxy(found)
    is_agent = getattr(found.target, "is_agent", False)
    if isinstance(found.target, Proxy | TerminatingProxy) and not is_agent:
        raise ValueError(f"{found.label} is a proxy, and a chain ends with an agent")
    return found


def _component(given: Target | Component | ComponentSpec) -> ComponentSpec:
    return given if isinstance(given, ComponentSpec) else ComponentSpec(target=given)
