"""A chain of proxies and an agent, which is an agent to everybody else."""

from __future__ import annotations

from parley.errors import RequestError
from parley.proxy._chain.builtin_commands import is_builtin, parse
from parley.proxy._proxy import Proxy
from parley.recording import RecordingWriter
from parley.transport._base import Transport
from parley.transport._stdio import HINT, serve_stdio
from parley.transport._target import Target

from .chain import MAX_COMPONENTS, Chain
from .component import Component, ComponentSpec
from .terminating import TerminatingProxy

COMPONENT_TIMEOUT = 100.0
"""How many seconds a component may block the chain; some download themselves first."""


class Conductor:
    """A chain of proxies and an agent; it starts them, joins them, and ends them.

    It is served like an agent: by `connect`, by the gateway, on stdio. It starts its components for
    each client that connects. A conductor without an agent is a component of another conductor's
    chain.
    """

    def __init__(
        self,
        *components: Target | Component | ComponentSpec,
        agent: Target | ComponentSpec | None = None,
        name: str = "conductor",
        component_timeout: float = COMPONENT_TIMEOUT,
        recordings: RecordingWriter | None = None,
    ) -> None:
        """Define a chain.

        Args:
            components: The proxies, from the client to the agent: `Proxy` objects, built-in proxies
                by name and options, commands, or other targets. A `ComponentSpec` adds the options
                to start one with.
            agent: The agent at the end, or `replay FILE`; None for a part of another chain.
            name: The name in logs.
            component_timeout: How many seconds a component may take to answer initialize, and how
                long it may send more than its neighbors accept.
            recordings: Records each hop of each connection; None records nothing. The caller closes
                it.

        Raises:
            ConfigError: An option of a built-in proxy is wrong.
            ValueError: There are too many components, the agent is a proxy, or a component has an
                agent.
        """
        if len(components) > MAX_COMPONENTS:
            raise ValueError(f"a chain has at most {MAX_COMPONENTS} proxies")
        self.name = name
        self.components = [_proxy(each) for each in components]
        self.agent = None if agent is None else _agent(agent)
        self.component_timeout = component_timeout
        self._recordings = recordings

    async def serve(self, transport: Transport) -> None:
        """Serve one client until it disconnects, or a component ends."""
        await self.conduct(transport)

    async def conduct(self, transport: Transport) -> RequestError | None:
        """Serve one client; return why the chain has ended, or None if the client disconnected."""
        chain = Chain(
            self.components,
            self.agent,
            transport,
            component_timeout=self.component_timeout,
            recordings=self._recordings,
        )
        await chain.run()
        return chain.failure

    def run(self) -> None:
        """Serve the program that started this one, on stdin and stdout, until it disconnects."""
        serve_stdio(self.serve, HINT)


def _proxy(target: Target | Component | ComponentSpec) -> ComponentSpec:
    found = _component(target)
    if isinstance(found.target, Conductor) and found.target.agent is not None:
        raise ValueError(
            f"{found.label} is a chain with an agent of its own and cannot be a proxy; "
            "remove its agent, or use it as the agent"
        )
    if not isinstance(found.target, str):
        return found
    return ComponentSpec(target=parse(found.target)) if is_builtin(found.target) else found


def _agent(target: Target | ComponentSpec) -> ComponentSpec:
    found = _component(target)
    if not isinstance(found.target, Conductor):
        found = _proxy(found)
    is_agent = getattr(found.target, "is_agent", False)
    if isinstance(found.target, Proxy | TerminatingProxy) and not is_agent:
        raise ValueError(f"{found.label} is a proxy, and a chain ends with an agent")
    return found


def _component(target: Target | Component | ComponentSpec) -> ComponentSpec:
    return target if isinstance(target, ComponentSpec) else ComponentSpec(target=target)
