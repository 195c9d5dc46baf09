"""Sessions as data: a text, the user's edits, and the expected suggestion.

A session edits by replacing texts that stand in the document once, as a person would: each `type`
is one change. Then the engine is asked, with the cursor behind the last change.
"""

from __future__ import annotations

from msgspec import Struct

from parley.nes._documents.document import Document
from parley.nes.embedded import EmbeddedEngine
from parley.nes.embedded._engine import EmbeddedPredictor
from parley.nes.engine import (
    Diagnostic,
    EditProposal,
    HistoryEntry,
    JumpProposal,
    Proposal,
    Question,
    Span,
    Spot,
    Trigger,
    UserAction,
    Workspace,
)

__all__ = ["KINDS", "EditingSession", "Session", "applied", "line_of"]

KINDS = frozenset({"edit", "jump", "rename", "searchAndReplace"})


class Session(Struct, frozen=True, kw_only=True):
    """What happens, and what is to come of it."""

    name: str
    text: str
    typed: tuple[tuple[str, str], ...] = ()
    """What is replaced by what, one change each; what is replaced stands there once."""
    wanted: str | None = None
    """The line that the suggestion makes, without blanks around it; None for silence."""
    gone: str | None = None
    """A line that the suggestion takes away."""
    jump: str | None = None
    """A text in the line that the suggestion leads to."""
    path: str = "app.py"
    language: str = "python"
    others: dict[str, str] = {}
    """More files that are open: path and text."""
    keys: str = ""
    """Typed at the end, key by key."""
    problems: tuple[tuple[str, str], ...] = ()
    """Diagnostics: a text that stands in the document once, and a message."""
    history: tuple[str, ...] = ()
    """Diffs that come with the question."""
    actions: tuple[str, ...] = ()
    mood: str = "default"
    trigger: Trigger = "automatic"
    rejected: int = 0
    """How often the first suggestion is rejected before the last question."""
    undone: int = 0
    """How many changes are taken back at the end."""


class EditingSession:
    """An editor of a session, with an engine."""

    def __init__(self, session: Session, eol: str = "\n") -> None:
        self.session = session
        self.eol = eol
        self.now = 0.0
        self.engine = EmbeddedEngine(clock=lambda: self.now, cpu_clock=lambda: 0.0)
        self.predictor: EmbeddedPredictor = self.engine.begin(Workspace())
        self.predictor.set_option("nes_aggressiveness", session.mood)
        self.documents: dict[str, Document] = {}
        self.document = self.open(session.path, session.text)
        for path, text in session.others.items():
            self.open(path, text)
        self.spot = Spot(0, 0)

    def open(self, path: str, text: str) -> Document:
        language = self.session.language
        document = Document(f"file:///w/{path}", language, 1, text.replace("\n", self.eol))
        self.predictor.opened(document)
        self.documents[document.uri] = document
        return document

    def replace(self, span: Span, new: str) -> None:
        """Make one change and put the cursor behind it."""
        self.now += 5
        change = self.document.edit(span, new)
        self.document.version += 1
        self.predictor.changed(self.document, [change])
        self.spot = _after(span.start, new)

    def type(self, old: str, new: str) -> Span:
        """Replace a text that stands there once; return where the new one is."""
        old, new = old.replace("\n", self.eol), new.replace("\n", self.eol)
        start = self.find(old)
        self.replace(Span(start, _after(start, old)), new)
        return Span(start, self.spot)

    def find(self, text: str) -> Spot:
        """Return where a text stands; it must stand there once."""
        whole = self.document.text
        assert whole.count(text) == 1, (text, whole.count(text))
        before = whole[: whole.index(text)]
        return Spot(before.count("\n"), len(before) - before.rfind("\n") - 1)

    def play(self) -> None:
        """Do what the session does."""
        session, spans = self.session, list[tuple[Span, str]]()
        for old, new in session.typed:
            spans.append((self.type(old, new), old.replace("\n", self.eol)))
        for key in session.keys:
            self.replace(Span(self.spot, self.spot), key)
            self.now -= 5
        for span, old in reversed(spans[len(spans) - session.undone :] if session.undone else []):
            self.replace(span, old)

    def problems(self) -> list[tuple[Span, str]]:
        """Return the places of the diagnostics, and their messages."""
        spots = [(self.find(text), text, message) for text, message in self.session.problems]
        return [(Span(spot, _after(spot, text)), message) for spot, text, message in spots]

    async def ask(self) -> list[Proposal]:
        """Ask what comes next."""
        session = self.session
        uri = self.document.uri
        question = Question(
            document=self.document,
            spot=self.document.clamp(self.spot),
            kinds=KINDS,
            trigger=session.trigger,
            diagnostics=tuple(
                Diagnostic(uri, span, "error", message) for span, message in self.problems()
            ),
            history=tuple(HistoryEntry(uri, diff) for diff in session.history),
            actions=tuple(UserAction(x, uri, self.spot, 0) for x in session.actions),
        )
        found = list(await self.predictor.suggest(question))
        for _ in range(session.rejected):
            if found:
                self.predictor.on_outcome(found[0], "rejected")
            found = list(await self.predictor.suggest(question))
        return found


def _after(start: Spot, text: str) -> Spot:
    lines = text.replace("\r\n", "\n").split("\n")
    column = len(lines[-1]) + (start.column if len(lines) == 1 else 0)
    return Spot(start.line + len(lines) - 1, column)


def applied(document: Document, proposal: Proposal) -> list[str]:
    """Return the lines that a document has with a proposal, without their ends."""
    assert isinstance(proposal, EditProposal), proposal
    copy = Document(document.uri, document.language_id, 1, document.text)
    for edit in sorted(proposal.edits, key=lambda edit: edit.span, reverse=True):
        copy.edit(edit.span, edit.text)
    return [line.rstrip("\r\n") for line in copy.lines]


def line_of(document: Document, proposal: Proposal) -> str:
    """Return the line that a proposal leads to."""
    if isinstance(proposal, JumpProposal):
        return document.lines[proposal.spot.line]
    assert isinstance(proposal, EditProposal), proposal
    return document.lines[proposal.edits[0].span.start.line]
