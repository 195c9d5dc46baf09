"""A member of a chain: its target, its name, and how it is started."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from parley.proxy._proxy import Proxy
from parley.transport._base import Transport
from parley.transport._target import Target, TargetOptions, command_of

from .terminating import TerminatingProxy


class Component(Protocol):
    """A member of a chain that is an object: a `Proxy`, a built-in proxy, or a `Conductor`."""

    name: str
    """The name in errors and logs."""

    async def serve(self, transport: Transport, /) -> None:
        """Serve one connection, which leads to a conductor, until it ends."""
        ...


class ComponentSpec(Struct, frozen=True, kw_only=True):
    """A member of a chain: its target, its name, and the options to start it with."""

    target: Target | Component
    name: str = ""
    options: TargetOptions = {}

    @property
    def label(self) -> str:
        """The name in errors."""
        if self.name:
            return self.name
        if isinstance(self.target, Proxy | TerminatingProxy):
            return self.target.name
        words = command_of(self.target)
        if words is not None:
            return " ".join(words)
        if isinstance(self.target, str):
            return self.target
        name = getattr(self.target, "name", "")  # of an agent or a conductor of this process
        return name if name and isinstance(name, str) else type(self.target).__name__
