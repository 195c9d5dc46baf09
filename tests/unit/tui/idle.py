"""How tests wait for the screen.

Textual's pilot sleeps until the process uses no CPU: at least 20 ms for each key, and much longer
on a busy machine. Ours waits until the loop has nothing to do and no timer is about to fire, which
is what that stands for. Work in the loop's threads counts as something to do.
"""

from __future__ import annotations

import asyncio
from typing import Any

SOON = 1 / 50
"""A timer that fires within so many seconds is waited for; that is Textual's shortest sleep."""
_STILL = 3
"""So many rounds of the loop must have nothing to do: what arrives is seen in the next one."""


async def wait_for_idle(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until nothing happens, as `textual._wait.wait_for_idle` does."""
    loop: Any = asyncio.get_running_loop()
    ends = loop.time() + max_sleep
    await asyncio.sleep(max(min_sleep, 0.001))  # threads have something to say too
    still = 0
    while still < _STILL and loop.time() < ends:
        await asyncio.sleep(0 if not _has_busy_threads(loop) else 0.001)
        still = 0 if loop._ready or _has_busy_threads(loop) else still + 1
        due = [each.when() for each in loop._scheduled if not each.cancelled()]
        if still == _STILL and due and (wait := min(due) - loop.time()) < SOON:
            await asyncio.sleep(max(wait, 0.0))
            still = 0


def _has_busy_threads(loop: Any) -> bool:
    """Return whether a thread of the default executor has work."""
    executor: Any = loop._default_executor
    if executor is None:
        return False
    # A thread releases the semaphore when it waits for work, after it has reported its last result.
    is_idle = executor._idle_semaphore._value >= len(executor._threads)
    return not (is_idle and executor._work_queue.empty())
