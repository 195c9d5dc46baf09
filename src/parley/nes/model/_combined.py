"""Two engines as one: what needs no model answers when it is sure, the model otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from parley.nes._documents.document import Document
from parley.nes.engine import (
    Change,
    EditProposal,
    Engine,
    Outcome,
    Predictor,
    Proposal,
    Question,
    Span,
    Spot,
    Workspace,
)
from parley.schema.v2.config import SessionConfigSelect, SessionConfigSelectOption

from ._engine import ModelEngine
from ._predictor import RULE, ModelPredictor

OPTION = "nes_predictor"
"""The option that says which engine answers."""
Which: TypeAlias = Literal["embedded", "model", "both"]

_VALUES: dict[Which, tuple[str, str]] = {
    "embedded": ("Embedded", "Rules that learn from your edits; nothing leaves this machine."),
    "model": ("Model", "The model that is configured."),
    "both": ("Both", "The rules where they are sure, the model otherwise."),
}
_SURE = 0.7


class CombinedEngine:
    """The embedded engine and a model."""

    def __init__(
        self, embedded: Engine, model: ModelEngine, *, which: Which = "both", sure: float = _SURE
    ) -> None:
        """Combine two engines.

        Args:
            embedded: The one that answers at once.
            model: The one that is asked when the other is not sure.
            which: Which of them answers, until the option says otherwise.
            sure: From which score on the embedded one is sure.
        """
        self._embedded = embedded
        self._model = model
        self._which: Which = which
        self._sure = sure

    @property
    def context(self) -> frozenset[str]:
        """The context that either engine wants with each question."""
        return self._embedded.context | self._model.context

    def options(self) -> Sequence[Any]:
        """Return the options of both, and the choice between them."""
        choice = SessionConfigSelect(
            config_id=OPTION,
            name="Predictor",
            description="What predicts the next edit",
            current_value=self._which,
            options=[
                SessionConfigSelectOption(value=value, name=name, description=text)
                for value, (name, text) in _VALUES.items()
            ],
        )
        return (*self._embedded.options(), *self._model.options(), choice)

    def begin(self, workspace: Workspace) -> _CombinedPredictor:
        """Start a session of both."""
        return _CombinedPredictor(
            self._embedded.begin(workspace),
            self._model.begin(workspace),
            which=self._which,
            sure=self._sure,
        )


class _CombinedPredictor(Predictor):
    """One session of both engines."""

    def __init__(
        self, embedded: Predictor, model: ModelPredictor, *, which: Which, sure: float
    ) -> None:
        self._embedded = embedded
        self._model = model
        self._both: tuple[Predictor, Predictor] = (embedded, model)
        self._which: str = which
        self._sure = sure
        self.model_state: str | None = None
        """As `ModelPredictor` has it; None where the embedded engine was sure."""

    def opened(self, document: Document) -> None:
        """Report it to both."""
        for each in self._both:
            each.opened(document)

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        """Report it to both."""
        for each in self._both:
            each.changed(document, changes)

    def closed(self, document: Document) -> None:
        """Report it to both."""
        for each in self._both:
            each.closed(document)

    def saved(self, document: Document) -> None:
        """Report it to both."""
        for each in self._both:
            each.saved(document)

    def focused(self, document: Document, spot: Spot, visible: Span) -> None:
        """Report it to both."""
        for each in self._both:
            each.focused(document, spot, visible)

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        """Ask the embedded engine, and the model if that is not sure."""
        is_alone = self._which == "model"
        known = () if is_alone else await self._embedded.suggest(question)
        if self._which == "embedded" or any(each.score >= self._sure for each in known):
            self.model_state = None
            return known
        found = await self._model.suggest(question, known)
        self.model_state = self._model.model_state
        return (*(each for each in found if not _is_among(each, known)), *known)

    def on_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        """Report it to the one that made the proposal."""
        (self._model if proposal.rule == RULE else self._embedded).on_outcome(proposal, outcome)

    def set_option(self, config_id: str, value: str | bool) -> None:
        """Choose between the two, or change an option of one."""
        if config_id == OPTION:
            self._which = str(value)
        else:
            for each in self._both:
                each.set_option(config_id, value)

    def close(self) -> None:
        """End both."""
        for each in self._both:
            each.close()


def _is_among(proposal: Proposal, known: Sequence[Proposal]) -> bool:
    """Return whether somebody else proposes the very same edits."""
    return isinstance(proposal, EditProposal) and any(
        isinstance(each, EditProposal) and (each.uri, each.edits) == (proposal.uri, proposal.edits)
        for each in known
    )
