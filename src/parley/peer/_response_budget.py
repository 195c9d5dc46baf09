"""A limit on the bytes of responses that are pending on a connection.

A peer that sends requests and does not read the responses must not make us hold them all. So every
response that the peer has not read yet counts against one budget, and so do the bytes that a
handler reserves before it builds a large value. Nothing is dropped; instead, work waits for the
peer:

- Above the budget, no request handler starts. Handlers that have started keep running.
- If a handler without a reservation ends while the budget is exceeded, its result is encoded only
  when there is room. Such a handler takes precedence over those that have not started.
- A handler that is about to build a large value, such as the text of a file, calls
  `reserve_response` first and waits there until the value fits.

The responses to a batch of requests are sent together, so none of them can wait for another. Such a
request never waits here: if its response does not fit, it fails with `Overloaded`.

Why no wait lasts forever: every counted byte is either on its way to the peer, which reads it or
disconnects, or belongs to a handler that is building its value and waits for nothing. A single
reservation, and the held responses to batches together, count as at most half of the budget, so a
reservation fits as soon as the peer has read everything. Reading continues meanwhile: what a peer
sends while it does not read is limited by `Limits.in_flight` and `Limits.connection_bytes`.
"""

from __future__ import annotations

import asyncio

from parley.errors import Overloaded
from parley.transport._notifier import Notifier


class ResponseBudget:
    """The budget for bytes of responses that are being built or wait to be sent on a connection."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._half_bytes = limit_bytes // 2
        self._held_bytes = 0
        self._released = Notifier()
        # Each lock is a fair queue: the task that holds it waits for room, the others for the lock.
        self._starting = asyncio.Lock()
        self._finishing = asyncio.Lock()
        self._reserving = asyncio.Lock()
        self._starters = 0
        self.counted_bytes = 0
        """The number of bytes that are reserved, held back, or not yet read by the peer."""
        self.is_crowded = False
        """Whether the next handler must wait before it starts."""

    @property
    def is_exceeded(self) -> bool:
        """Whether a result must wait before it is encoded."""
        return self.counted_bytes > self._limit_bytes

    async def wait_to_start(self) -> None:
        """Wait until a handler may start, in call order."""
        self._starters += 1
        try:
            async with self._starting:
                while self.is_exceeded or self._finishing.locked():
                    await self._released.wait()
        finally:
            self._starters -= 1
            self.is_crowded = self.is_exceeded or self._starters > 0

    async def wait_to_finish(self) -> None:
        """Wait until the result of a handler may be encoded, in call order."""
        try:
            async with self._finishing:
                while self.is_exceeded:
                    await self._released.wait()
        finally:
            self._released.notify_all()  # `wait_to_start` waits for this

    async def reserve(self, size_bytes: int) -> int:
        """Wait until a response of this size fits, and count it.

        Returns:
            The number of bytes counted; pass it to `release` when the response is sent.
        """
        size_bytes = min(size_bytes, self._half_bytes)
        async with self._reserving:
            while self.counted_bytes + size_bytes > self._limit_bytes:
                await self._released.wait()
            self.counted_bytes += size_bytes
        return size_bytes

    def reserve_at_once(self, size_bytes: int) -> int:
        """Count a response of this size like `reserve`, but without waiting.

        Raises:
            Overloaded: The response does not fit now.
        """
        if self.counted_bytes + size_bytes > self._limit_bytes:
            raise self.overloaded()
        self.counted_bytes += size_bytes
        return size_bytes

    def hold(self, size_bytes: int) -> bool:
        """Count a response until its batch is complete; return whether it fits."""
        if self._held_bytes + size_bytes > self._half_bytes:
            return False
        self._held_bytes += size_bytes
        self.add(size_bytes)
        return True

    def release_held(self, size_bytes: int) -> None:
        """Stop counting a held response whose batch has been sent."""
        self._held_bytes -= size_bytes
        self.release(size_bytes)

    def add(self, size_bytes: int) -> None:
        """Count a response that waits to be sent."""
        self.counted_bytes += size_bytes
        if self.counted_bytes > self._limit_bytes:
            self.is_crowded = True

    def release(self, size_bytes: int) -> None:
        """Stop counting bytes that the peer has read or will never get."""
        self.counted_bytes -= size_bytes
        if self.is_crowded:
            self.is_crowded = self.is_exceeded or self._starters > 0
        self._released.notify_all()

    def overloaded(self) -> Overloaded:
        """Return the error for a batched request whose response does not fit."""
        return Overloaded(
            f"The responses to a batch may have {self._half_bytes} bytes in total. "
            "Send the requests one by one"
        )
