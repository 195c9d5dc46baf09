"""When to ask: not at every key, not too often, and not when the user does not want to hear it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct


class Timing(Struct, frozen=True, kw_only=True):
    """How long things take, in seconds."""

    debounce_after: float = 0.05
    """How long the user has to pause before a question is asked; 0 for an agent that is fast."""
    throttle_after: float = 0.3
    """How long one question is away from the next; what the user asks for does not wait."""
    rest_after: float = 0.8
    """How long the user has to rest before what had no answer is asked once more.

    Agents say nothing about a word that is half typed, and cannot know that it is whole before the
    user has paused for longer than between two keys.
    """
    cooldown_after: float = 5.0
    """How long nothing is asked when the user has rejected something."""
    calm_after: float = 1.0
    """How long nothing is asked when the user has taken back a change, or made it again."""
    stale_after: float = 10.0
    """How long after a change a moved cursor asks nothing any more."""
    answer_timeout: float = 10.0
    """How long the agent has for an answer; then the question is taken back."""
    start_timeout: float = 60.0
    """How long it has to start the session; it may have to load a model."""


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
        """Have something asked when the user has rested; returns whether that is still to come."""
        now = self._clock.time()
        due = self._edited - self._timing.stale_after + self._timing.rest_after
        if due <= now or self.is_quiet or self._timer is not None:
            return False
        self._timer = self._clock.call_later(due - now, lambda: self._fire(ask))
        return True

    def asked(self) -> None:
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
        """Have something asked when it is time; what waited before is not asked."""
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
        """Have nothing asked."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Timer(Protocol):
    """Something that will be called."""

    def cancel(self) -> None:
        """Have it not called."""


class Clock(Protocol):
    """Tells the time and calls later."""

    def time(self) -> float:
        """Return the seconds since some point in the past."""
        ...

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Timer:
        """Call something after some seconds."""
        ...
