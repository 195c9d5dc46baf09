"""Whether the remote side is there: what is told to user interfaces, and when it is given up.

Several parts of a connection may be interrupted and come back one by one. The remote side is away
from the first that is interrupted to the last that comes back. It is given up when one of them does
not come back for longer than the server keeps the connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from parley.errors import ConnectionClosed
from parley.transport.http.negotiation import resume_parameter, resumes
from parley.transport.waiters import Waiters

from .address import OnState, State

__all__ = ["Liaison"]

logger = logging.getLogger(__name__)

_DEFAULT_GRACE = 60.0
_LAST_SECONDS = 2.0
"""So long what is under way may still arrive when the server has ended the connection."""


class Liaison:
    """Counts who is interrupted."""

    def __init__(
        self, on_state: OnState | None, on_gone: Callable[[ConnectionClosed], None]
    ) -> None:
        self._on_state = on_state
        self._on_gone = on_gone
        self._loop = asyncio.get_running_loop()
        self._grace = _DEFAULT_GRACE
        self._away: dict[object, float] = {}
        self._returned = Waiters()
        self._timer: asyncio.TimerHandle | None = None
        self._reason = ""
        self._is_over = False
        self.ending: ConnectionClosed | None = None
        """Why the server has ended the connection, while the last messages arrive."""
        self.gone_status: int | None = None
        """How the server refused to resume: 404, the connection is unknown; 410, too much was
        missed. None if it did not."""

    def negotiated(self, header: str) -> bool:
        """Learn what the server says about resuming, and tell whether it does."""
        if not resumes(header):
            return False
        grace = resume_parameter(header, "grace")
        self._grace = _DEFAULT_GRACE if grace is None else float(grace)
        return True

    def is_away(self, part: object, reason: str) -> None:
        """Learn that a part is interrupted."""
        if self._is_over:
            return
        self._reason = reason
        self._away.setdefault(part, self._loop.time() + self._grace)
        if self._timer is None:
            self._timer = self._loop.call_later(self._grace, self._look)
            self._tell("away", reason)

    def is_back(self, part: object) -> None:
        """Learn that a part is there again."""
        if self._away.pop(part, None) is not None:
            self._returned.release()
        if not self._away and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._tell("connected", "")

    async def rest(self, seconds: float) -> None:
        """Wait before the next attempt; no longer when another part has come back meanwhile."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._returned.wait()

    def end(self, reason: ConnectionClosed) -> None:
        """Learn that the server has ended the connection; it is over soon."""
        if self.ending is None and not self._is_over:
            self.ending = reason
            self._loop.call_later(_LAST_SECONDS, self._on_gone, reason)

    def close(self, reason: str, *, is_ours: bool) -> None:
        """End; nobody is told of an end that we have wanted."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._is_over:
            self._is_over = True
            if not is_ours:
                self._tell("gone", reason)

    def _look(self) -> None:
        """Give up if the part that has been away for longest has no time left."""
        self._timer = None
        first = min(self._away.values())
        if first > self._loop.time():
            self._timer = self._loop.call_at(first, self._look)
            return
        self._on_gone(
            ConnectionClosed(
                f"the remote side has been away for {self._grace:g} seconds: {self._reason}"
            )
        )

    def _tell(self, state: State, reason: str) -> None:
        if self._on_state is None:
            return
        try:
            self._on_state(state, reason)
        except Exception:  # of the program: who only listens breaks nothing
            logger.exception("what wants to know the state of the connection failed")
