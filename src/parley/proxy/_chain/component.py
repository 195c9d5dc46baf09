"""A member of a chain: what it is, what it is called, and how it is started."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from msgspec import Struct

from parley.proxy._proxy import Proxy
from parley.transport._base import Transport
from parley.transport._target import Target, TargetOptions, command_of


@runtime_checkable
class Component(Protocol):
    """A member of a chain that runs in this process: a `Proxy`, or a built-in proxy."""

    name: str
    """The name in errors and logs."""

    async def join(self, client: Transport, agent: Transport) -> None:
        """Stand between two connections until one of them ends; then both are closed."""
        ...

    async def serve(self, transport: Transport, /) -> None:
        """Serve one connection, which leads to a conductor, until it ends."""
        ...


class ComponentSpec(Struct, frozen=True, kw_only=True):
    """A member of a chain: what reaches it, what it is called, how it is started."""

    target: Target | Proxy | Component
    name: str = ""
    options: TargetOptions = {}

    @property
    def label(self) -> str:
        """What it is called in errors."""
        if self.name:
            return self.name
        if isinstance(self.target, Proxy | Component):
            return self.target.name
        dialect = command_of(self.target)
        if dialect is not None:
            return " ".join(dialect)
        if isinstance(self.target, str):
            return self.target
        name = getattr(self.target, "name", "")  # of an agent of this process
        return name if name and isinstance(name, str) else type(self.target).__name__
