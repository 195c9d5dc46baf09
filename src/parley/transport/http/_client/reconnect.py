"""The state of a connection across interruptions, as reported to `on_state`.

A connection has several parts (streams, the queue of POSTs) that may be interrupted and reconnect
one by one. The state is `away` from the first interruption until the last part has reconnected.
The connection is given up when a part stays interrupted for longer than the server keeps it. How
long to wait between attempts is in `_backoff.py`; the attempts are made by the parts themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from parley.errors import ConnectionClosed
from parley.transport._notifier import Notifier
from parley.transport.http._negotiation import resume_parameter, resumes

from .address import OnState, State

logger = logging.getLogger(__name__)

_DEFAULT_GRACE = 60.0
_LAST_MESSAGES_AFTER = 2.0
"""Seconds for which messages may still arrive after the server has ended the connection."""


class ReconnectState:
    """Tracks which parts of a connection are interrupted, and since when."""

    def __init__(
        self, on_state: OnState | None, on_give_up: Callable[[ConnectionClosed], None]
    ) -> None:
        self._on_state = on_state
        self._on_give_up = on_give_up
        self._loop = asyncio.get_running_loop()
        self._grace = _DEFAULT_GRACE
        self._deadlines: dict[object, float] = {}
        self._reconnected = Notifier()
        self._timer: asyncio.TimerHandle | None = None
        self._reason = ""
        self._is_closed = False
        self.end_reason: ConnectionClosed | None = None
        """Why the server has ended the connection, while the last messages arrive."""
        self.gone_status: int | None = None
        """The status with which the server refused to resume: 404, it does not know the connection;
        410, it no longer has the missed events. None if it did not refuse."""

    def negotiated(self, header: str) -> bool:
        """Read the server's `Parley-Resume` header, and return whether it supports resuming."""
        if not resumes(header):
            return False
        grace = resume_parameter(header, "grace")
        self._grace = _DEFAULT_GRACE if grace is None else float(grace)
        return True

    def mark_interrupted(self, part: object, reason: str) -> None:
        """Mark a part as interrupted."""
        if self._is_closed:
            return
        self._reason = reason
        # A failed attempt to reconnect does not extend the deadline.
        self._deadlines.setdefault(part, self._loop.time() + self._grace)
        if self._timer is None:
            self._timer = self._loop.call_later(self._grace, self._check_deadline)
            self._report("away", reason)

    def mark_reconnected(self, part: object) -> None:
        """Mark a part as reconnected."""
        if self._deadlines.pop(part, None) is not None:
            self._reconnected.notify_all()
        if not self._deadlines and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._report("connected", "")

    async def wait_before_retry(self, seconds: float) -> None:
        """Wait before the next attempt; return early when another part reconnects."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._reconnected.wait()

    def server_ended(self, reason: ConnectionClosed) -> None:
        """Record that the server has ended the connection, and give it up shortly."""
        if self.end_reason is None and not self._is_closed:
            self.end_reason = reason
            self._loop.call_later(_LAST_MESSAGES_AFTER, self._on_give_up, reason)

    def close(self, reason: str, *, is_ours: bool) -> None:
        """Stop tracking; report `gone` unless we closed the connection ourselves."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._is_closed:
            self._is_closed = True
            if not is_ours:
                self._report("gone", reason)

    def _check_deadline(self) -> None:
        """Give up the connection if the part that was interrupted first has run out of time."""
        self._timer = None
        first = min(self._deadlines.values())
        if first > self._loop.time():
            self._timer = self._loop.call_at(first, self._check_deadline)
            return
        self._on_give_up(
            ConnectionClosed(
                f"the server has been unreachable for {self._grace:g} seconds: {self._reason}"
            )
        )

    def _report(self, state: State, reason: str) -> None:
        if self._on_state is None:
            return
        try:
            self._on_state(state, reason)
        except Exception:  # a bug in the program's callback must not break the connection
            logger.exception("the on_state callback failed")
