"""When to ask: not at every key, not too often, and not when the user does not want to hear it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct


class Timing(Struct, frozen=True, kw_only=True):
    """Delays and timeouts, in seconds."""

    debounce_after: float = 0.05
    """The pause after a key before a question is asked; 0 for a fast agent."""
    throttle_after: float = 0.3
    """The time between two questions; a question of the user does not wait."""
    rest_after: float = 0.8
    """The rest after which a question without an answer is asked once more.

    Agents say nothing about a word that is half typed, and cannot know that it is whole before the
    user has paused for longer than between two keys.
    """
    cooldown_after: float = 5.0
    """The time without questions after a rejection."""
    calm_after: float = 1.0
    """The time without questions after undo or redo."""
    stale_after: float = 10.0
    """The time after a change from which a moved cursor asks nothing."""
    response_timeout: float = 10.0
    """The time for an answer; then the question is cancelled."""
    start_timeout: float = 60.0
    """The time to start the session; the agent may have to load a model."""


class RequestScheduler:
    """Decides when the next question is asked; there is never more than one that waits."""

    def __init__(self, clock: Clock, timing: Timing) -> None:
        self._clock = clock
        self._timing = timing
        self._timer: Timer | None = None
        self._throttled = self._cool = self._calm = self._edited = float("-inf")

    @property
    def is_quiet(self) -> bool:
        """Whether the user has rejected something a moment ago, or taken back a change."""
        return self._clock.time() < max(self._cool, self._calm)

    @property
    def is_fresh(self) -> bool:
        """Whether a change was made not long ago."""
        return self._clock.time() < self._edited

    def edited(self) -> None:
        """Record that the user has changed something."""
        self._edited = self._clock.time() + self._timing.stale_after

    def rest(self, ask: Callable[[], object]) -> bool:
        """Schedule a question for when the user has rested; returns whether there will be one."""
        now = self._clock.time()
        due = self._edited - self._timing.stale_after + self._timing.rest_after
        if due <= now or self.is_quiet or self._timer is not None:
            return False
        self._timer = self._clock.call_later(due - now, lambda: self._fire(ask))
        return True

    def request_sent(self) -> None:
        """Record that a question was asked."""
        self.cancel()
        self._throttled = self._clock.time() + self._timing.throttle_after

    def accepted(self) -> None:
        """Record that the user has taken something: there may be more."""
        self._cool = self._calm = float("-inf")
        self.edited()

    def rejected(self) -> None:
        """Record that the user has rejected something."""
        self.cancel()
        self._cool = self._clock.time() + self._timing.cooldown_after

    def undone(self) -> None:
        """Record that the user has taken back a change."""
        self.cancel()
        self._calm = self._clock.time() + self._timing.calm_after

    def schedule(self, ask: Callable[[], object], *, at_once: bool = False) -> None:
        """Schedule a question in place of the one that waits."""
        self.cancel()
        now = self._clock.time()
        if now < self._cool:
            return
        if at_once:
            ask()
            return
        due = max(now + self._timing.debounce_after, self._throttled, self._calm)
        if due <= now:
            ask()
        else:
            self._timer = self._clock.call_later(due - now, lambda: self._fire(ask))

    def _fire(self, ask: Callable[[], object]) -> None:
        self._timer = None
        ask()

    def cancel(self) -> None:
        """Cancel the question that waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Timer(Protocol):
    """Something that will be called."""

    def cancel(self) -> None:
        """Cancel the call."""


class Clock(Protocol):
    """The time, and delayed calls."""

    def time(self) -> float:
        """Return the seconds since some point in the past."""
        ...

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Timer:
        """Call something after some seconds."""
        ...
