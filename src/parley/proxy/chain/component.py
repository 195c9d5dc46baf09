"""A member of a chain: what it is, what it is called, and how it is started."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from parley.proxy.proxy import Proxy
from parley.transport._base import Transport
from parley.transport._target import Target, TargetOptions, command_of

__all__ = ["Component", "Joiner"]


@runtime_checkable
class Joiner(Protocol):
    """A component of this process that is no `Proxy`, and stands between two all the same."""

    name: str

    def join(self, client: Transport, agent: Transport) -> Coroutine[Any, Any, None]:
        """Talk to both until one of them is gone."""
        ...


class Component(Struct, frozen=True, kw_only=True):
    """A member of a chain: what reaches it, what it is called, how it is started."""

    target: Target | Proxy | Joiner
    name: str = ""
    options: TargetOptions = {}

    @property
    def label(self) -> str:
        """What it is called in errors."""
        if self.name:
            return self.name
        if isinstance(self.target, Proxy | Joiner):
            return self.target.name
        words = command_of(self.target)
        if words is not None:
            return " ".join(words)
        if isinstance(self.target, str):
            return self.target
        name = getattr(self.target, "name", "")  # of an agent of this process
        return name if name and isinstance(name, str) else type(self.target).__name__
