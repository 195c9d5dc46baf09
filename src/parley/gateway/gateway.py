"""Several hosted agents under their names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from .agent_host import AgentHost
from .history_budget import HistoryBudget

__all__ = ["Gateway"]


class Gateway:
    """The agents of one server; `/acp/NAME` is one of them, `/acp` the first."""

    def __init__(self, hosts: Iterable[AgentHost]) -> None:
        """Take the agents.

        Raises:
            ValueError: There is none, or two have the same name.
        """
        self._hosts: dict[str, AgentHost] = {}
        for each in hosts:
            if each.name in self._hosts:
                raise ValueError(f"two agents have the name {each.name!r}")
            self._hosts[each.name] = each
        if not self._hosts:
            raise ValueError("there is no agent to host")
        histories = HistoryBudget(min(each.limits.total_history_bytes for each in self))
        for each in self:
            each.histories = histories

    def __iter__(self) -> Iterator[AgentHost]:
        return iter(self._hosts.values())

    @property
    def is_ready(self) -> bool:
        """Whether new clients are taken."""
        return not any(each.is_draining for each in self)

    async def drain(self, grace_after: float) -> None:
        """Take nobody new, and let what is under way end, for some seconds at most."""
        await asyncio.gather(*(each.drain(grace_after) for each in self))

    async def aclose(self) -> None:
        """Hang up on everybody and end the agents."""
        await asyncio.gather(*(each.aclose() for each in self))
