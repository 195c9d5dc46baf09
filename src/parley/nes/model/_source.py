"""A model that is asked with patience, but not with too much of it.

A server that does not answer in time, or fails, is left alone for a while; what is wrong is logged
once, until it is something else. Neither prompts nor answers are logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from parley.errors import ModelFailed, TransportError

from ._api import Completion, Prompt

logger = logging.getLogger(__name__)

_REFUSED_AFTER = 60.0
"""The seconds for which a server that refuses the key is not asked."""
_MAX_REST = 300.0
"""The most seconds for which it is not asked, whatever it says itself."""
_MAX_BABBLE = 3
"""The unusable answers in a row after which a server is not asked for a while."""
_MAX_IN_FLIGHT = 2


class Server(Protocol):
    """A server that runs a model."""

    async def complete(self, prompt: Prompt) -> Completion:
        """Ask the model."""
        ...

    def close(self) -> None:
        """Close all connections."""


class Source:
    """A model for any number of sessions."""

    def __init__(
        self, server: Server, *, timeout: float, retry_after: float, clock: Callable[[], float]
    ) -> None:
        self.server = server
        self.timeout = timeout
        """The seconds that an answer may take."""
        self._retry_after = retry_after
        self._clock = clock
        self._rests_until = 0.0
        self._babble = 0
        self._complaint = ""

    @property
    def is_resting(self) -> bool:
        """Whether the server is left alone for now."""
        return self._clock() < self._rests_until

    @property
    def complaint(self) -> str:
        """The last failure of the server; empty if it has answered since."""
        return self._complaint

    async def ask(self, prompt: Prompt) -> Completion | None:
        """Ask the model; None if there is no answer that can be used."""
        try:
            completion = await self.server.complete(prompt)
        except ModelFailed as error:
            self._failed(error)
            return None
        except TransportError as error:
            self._rest(self._retry_after)
            self._complain(str(error))
            return None
        self._complaint, self._babble = "", 0
        return completion

    def timed_out(self) -> None:
        """Record that an answer did not come in time."""
        self._rest(self._retry_after)
        self._complain(f"it does not answer in {self.timeout:g} seconds")

    def _failed(self, error: ModelFailed) -> None:
        if error.status in (401, 403, 404):
            self._rest(max(self._retry_after, _REFUSED_AFTER))
        elif error.status:
            self._rest(min(error.retry_after or self._retry_after, _MAX_REST))
        else:
            self._babble += 1
            if self._babble >= _MAX_BABBLE:
                self._rest(self._retry_after)
        self._complain(str(error))

    def _rest(self, seconds: float) -> None:
        self._rests_until = max(self._rests_until, self._clock() + seconds)

    def _complain(self, text: str) -> None:
        if text != self._complaint:
            self._complaint = text
            logger.warning("no suggestion from the model: %s", text)


class _Flight:
    """A request that is under way."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self.is_replaced = False

    def replace(self) -> None:
        """End it: a newer one counts."""
        if not self._limit.expired():
            self.is_replaced = True
            self._limit.reschedule(asyncio.get_running_loop().time())


class Flights:
    """The requests of one session that are under way: the first and the latest."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._flying: list[_Flight] = []

    async def ask(self, prompt: Prompt) -> Completion | None:
        """Ask the model; None if nothing comes in time, or something newer is asked meanwhile.

        An answer ends what was asked before it; a failure does not.
        """
        flying = [each for each in self._flying if not each.is_replaced]
        for each in flying[_MAX_IN_FLIGHT - 1 :]:
            each.replace()
        flight: _Flight | None = None
        try:
            async with asyncio.timeout(self._source.timeout) as limit:
                flight = _Flight(limit)
                self._flying.append(flight)
                completion = await self._source.ask(prompt)
                if completion is not None:
                    for earlier in self._flying[: self._flying.index(flight)]:
                        earlier.replace()
                return completion
        except TimeoutError:
            if flight is not None and not flight.is_replaced:
                self._source.timed_out()
            return None
        finally:
            if flight is not None:
                self._flying.remove(flight)

    def close(self) -> None:
        """End what is under way."""
        for each in self._flying:
            each.replace()
