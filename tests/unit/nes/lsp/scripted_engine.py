"""An engine with scripted proposals that records questions and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parley.nes._documents.document import Document
from parley.nes.engine import (
    Change,
    EditProposal,
    JumpProposal,
    Outcome,
    Predictor,
    Proposal,
    Question,
    Span,
    Spot,
    TextEdit,
    Workspace,
)
from parley.schema.v2.config import (
    SessionConfigBoolean,
    SessionConfigSelect,
    SessionConfigSelectOption,
)

URI = "file:///project/a.py"


def proposal(*edits: tuple[int, int, int, str], uri: str = URI) -> EditProposal:
    """Propose replacements in single lines."""
    spans = [Span(Spot(line, start), Spot(line, end)) for line, start, end, _ in edits]
    texts = [text for *_, text in edits]
    both = zip(spans, texts, strict=True)
    return EditProposal(uri=uri, edits=tuple(TextEdit(*each) for each in both), score=1, rule="r")


class Rules(Predictor):
    """The engine, and its only session."""

    context: frozenset[str] = frozenset()

    def __init__(self, *proposals: Proposal) -> None:
        self.proposals: Sequence[Proposal] = proposals
        self.heard: list[Any] = []
        self.questions: list[Question] = []
        self.workspace: Workspace | None = None
        self.meanwhile: Any = None
        self.silences = 0
        """So many questions have no answer."""

    def options(self) -> Sequence[Any]:
        loud = SessionConfigSelectOption(value="eager", name="Eager")
        return (
            SessionConfigSelect(
                config_id="nes_aggressiveness", name="A", current_value="normal", options=[loud]
            ),
            SessionConfigBoolean(config_id="nes_on", name="On", current_value=True),
        )

    def begin(self, workspace: Workspace) -> Rules:
        self.workspace = workspace
        return self

    def opened(self, document: Document) -> None:
        self.heard.append(("opened", document.uri, document.text))

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        self.heard.append(("changed", document.text))

    def closed(self, document: Document) -> None:
        self.heard.append(("closed", document.uri))

    def saved(self, document: Document) -> None:
        self.heard.append(("saved", document.uri))

    def focused(self, document: Document, spot: Spot, visible: Span) -> None:
        self.heard.append(("focused", spot, visible))

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        self.questions.append(question)
        if self.meanwhile is not None:
            self.meanwhile()
        if len(self.questions) <= self.silences:
            return []
        return [JumpProposal(uri=URI, spot=Spot(0, 0), score=1, rule="j"), *self.proposals]

    def on_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        self.heard.append((proposal.rule, outcome))

    def set_option(self, config_id: str, value: str | bool) -> None:
        self.heard.append((config_id, value))

    def close(self) -> None:
        self.heard.append("close")
