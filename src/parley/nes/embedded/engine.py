"""The engine that needs no model and no network: it learns from the session's own edits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic, thread_time

from parley.nes.engine import Workspace
from parley.schema import v2

from .index import Library
from .predictor import AGGRESSIVENESS, EmbeddedPredictor

__all__ = ["EmbeddedEngine"]


class EmbeddedEngine:
    """Predicts the next edit from what was edited, and from the files around it."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = monotonic,
        cpu_clock: Callable[[], float] = thread_time,
    ) -> None:
        """Make an engine; tests bring clocks of their own.

        Args:
            clock: The time, for pauses between keys.
            cpu_clock: The time that was worked, for how long an answer is thought about.
        """
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._library = Library()

    @property
    def context(self) -> frozenset[str]:
        """What it wants with each question; the texts of files it knows without."""
        return frozenset(
            {
                "relatedSnippets",
                "editHistory",
                "userActions",
                "openFiles",
                "diagnostics",
            }
        )

    def options(self) -> Sequence[v2.SessionConfigSelect]:
        """Return how bold it can be."""
        values = (
            ("quiet", "Quiet", "Only what is almost sure"),
            ("default", "Default", "What is more likely right than not"),
            ("eager", "Eager", "Whatever might help"),
        )
        return [
            v2.SessionConfigSelect(
                config_id=AGGRESSIVENESS,
                name="Suggestions",
                description="How likely a suggestion must be to be shown",
                current_value="default",
                options=[
                    v2.SessionConfigSelectOption(value=value, name=name, description=about)
                    for value, name, about in values
                ],
            )
        ]

    def begin(self, workspace: Workspace) -> EmbeddedPredictor:
        """Start a session."""
        return EmbeddedPredictor(workspace, self._library, self._clock, self._cpu_clock)
