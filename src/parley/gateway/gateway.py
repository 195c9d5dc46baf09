"""Several hosted agents under their names."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from .histories import Histories
from .hosted import Hosted

__all__ = ["Gateway"]


class Gateway:
    """The agents of one server; `/acp/NAME` is one of them, `/acp` the first."""

    def __init__(self, hosted: Iterable[Hosted]) -> None:
        """Take the agents.

        Raises:
            ValueError: There is none, or two have the same name.
        """
        self._hosted: dict[str, Hosted] = {}
        for each in hosted:
            if each.name in self._hosted:
                raise ValueError(f"two agents have the name {each.name!r}")
            self._hosted[each.name] = each
        if not self._hosted:
            raise ValueError("there is no agent to host")
        histories = Histories(min(each.limits.total_history_bytes for each in self))
        for each in self:
            each.histories = histories

    def __iter__(self) -> Iterator[Hosted]:
        return iter(self._hosted.values())

    @property
    def is_ready(self) -> bool:
        """Whether new clients are taken."""
        return not any(each.is_draining for each in self)

    async def settle(self, grace_after: float) -> None:
        """Take nobody new, and let what is under way end, for some seconds at most."""
        await asyncio.gather(*(each.settle(grace_after) for each in self))

    async def aclose(self) -> None:
        """Hang up on everybody and end the agents."""
        await asyncio.gather(*(each.aclose() for each in self))
