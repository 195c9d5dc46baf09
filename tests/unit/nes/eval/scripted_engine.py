"""An engine with scripted proposals that records its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parley.nes._documents.document import Document
from parley.nes.engine import Change, Outcome, Predictor, Proposal, Question, Workspace

Say = Callable[[Question], list[Proposal]]


class ScriptedEngine(Predictor):
    """One engine and one session at once."""

    def __init__(self, say: Say = lambda _: []) -> None:
        self._say = say
        self.heard: list[tuple[Any, ...]] = []
        self.folder = ""

    @property
    def context(self) -> frozenset[str]:
        return frozenset()

    def options(self) -> Sequence[Any]:
        return ()

    def begin(self, workspace: Workspace) -> ScriptedEngine:
        self.folder = workspace.folders[0]
        self.heard.append(("begin",))
        return self

    def opened(self, document: Document) -> None:
        self.heard.append(("opened", self._name(document), document.text))

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        (change,) = changes
        self.heard.append(("changed", self._name(document), change.old, change.new))

    def closed(self, document: Document) -> None:
        raise AssertionError("nothing is closed")

    def saved(self, document: Document) -> None:
        raise AssertionError("nothing is saved")

    async def settled(self) -> None:
        self.heard.append(("settled",))

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        self.heard.append(("asked", self._name(question.document), *question.spot))
        return self._say(question)

    def on_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        self.heard.append((outcome, proposal.rule))

    def set_option(self, config_id: str, value: str | bool) -> None:
        self.heard.append(("set", config_id, value))

    def close(self) -> None:
        self.heard.append(("close",))

    def _name(self, document: Document) -> str:
        return document.uri.removeprefix(f"file://{self.folder}/")
