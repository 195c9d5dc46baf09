"""The hosted agents of a server, by name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from .agent_host import AgentHost

__all__ = ["Gateway"]


class Gateway:
    """The agents of one server; `/acp/NAME` is one of them, `/acp` the first."""

    def __init__(self, hosts: Iterable[AgentHost]) -> None:
        """Take the agents.

        Raises:
            ValueError: The list is empty, or two agents have the same name.
        """
        self._hosts: dict[str, AgentHost] = {}
        for each in hosts:
            if each.name in self._hosts:
                raise ValueError(f"two agents have the name {each.name!r}")
            self._hosts[each.name] = each
        if not self._hosts:
            raise ValueError("there is no agent to host")

    def __iter__(self) -> Iterator[AgentHost]:
        return iter(self._hosts.values())

    @property
    def is_ready(self) -> bool:
        """Whether new clients are accepted."""
        return not any(each.is_draining for each in self)

    async def drain(self, grace_after: float) -> None:
        """Reject new clients, and let pending work end within some seconds."""
        await asyncio.gather(*(each.drain(grace_after) for each in self))

    async def aclose(self) -> None:
        """Close all connections and end the agents."""
        await asyncio.gather(*(each.aclose() for each in self))
