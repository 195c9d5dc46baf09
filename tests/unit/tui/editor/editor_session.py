"""The editor with an engine that proposes what a test wants, and keys to press."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.unit.tui.dialog_app import screen_text
from textual.pilot import Pilot

from parley.nes._documents.document import Document
from parley.nes.client import Timing
from parley.nes.engine import (
    Change,
    EditProposal,
    Engine,
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
from parley.tui.editor.app import EditorApp, connect_engine
from parley.tui.editor.file import open_file

AT_ONCE = Timing(debounce_after=0.0, throttle_after=0.0, cooldown_after=0.0)
Propose = Callable[[Question], Sequence[Proposal]]


class Stub(Predictor):
    """An engine that proposes by a function, and remembers what became of it."""

    context: frozenset[str] = frozenset()

    def __init__(self, propose: Propose) -> None:
        self.propose = propose
        self.heard: list[Any] = []

    def options(self) -> Sequence[Any]:
        return ()

    def begin(self, workspace: Workspace) -> Stub:
        return self

    def opened(self, document: Document) -> None:
        self.heard.append(("opened", document.uri, document.language_id))

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        self.heard.append(("changed", [(each.old, each.new) for each in changes]))

    def saved(self, document: Document) -> None:
        self.heard.append("saved")

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        return self.propose(question)

    def on_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        self.heard.append((proposal.rule, outcome))


def replacing(old: str, new: str, *, after: str = "", first: int = -1) -> Propose:
    """Propose to replace a word wherever it is left, from the cursor down or from another line.

    Args:
        old: The word.
        new: What comes instead.
        after: What has to be in the text before.
        first: Where to begin; -1: at the cursor.
    """

    def propose(question: Question) -> Sequence[Proposal]:
        lines = question.document.lines
        places = [n for n, line in enumerate(lines) if old in line]
        if not places or (after and after not in question.document.text):
            return []
        top = question.spot.line if first < 0 else first
        line = next((n for n in places if n >= top), places[0])
        column = lines[line].index(old)
        span = Span(Spot(line, column), Spot(line, column + len(old)))
        return [
            EditProposal(
                uri=question.document.uri,
                edits=(TextEdit(span, new),),
                score=0.85,
                rule="repeat",
                meta={"remaining": len(places) - 1},
            )
        ]

    return propose


def jumping(line: int) -> Propose:
    """Propose to go to a line, until the cursor is there."""

    def propose(question: Question) -> Sequence[Proposal]:
        if question.spot.line == line:
            return []
        return [JumpProposal(uri=question.document.uri, spot=Spot(line, 0), score=0.6, rule="pair")]

    return propose


class EditorSession:
    """An editor that runs."""

    def __init__(self, app: EditorApp, pilot: Pilot[int]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait until something is so; the test is bounded."""
        while not is_so():
            await self.pilot.pause()

    async def until_painted(self, text: str) -> None:
        await self.until(lambda: text in self.painted)

    @property
    def text(self) -> str:
        return self.app.page.text

    @property
    def painted(self) -> str:
        return screen_text(self.app)


@asynccontextmanager
async def editing(
    engine: Engine,
    path: Path | None = None,
    *,
    size: tuple[int, int] = (80, 24),
    theme: str = "dark",
) -> AsyncGenerator[EditorSession]:
    """Run the editor."""
    app = EditorApp(open_file(path), theme=theme)
    async with connect_engine(app, engine, timing=AT_ONCE), app.run_test(size=size) as pilot:
        await pilot.pause()
        yield EditorSession(app, pilot)
