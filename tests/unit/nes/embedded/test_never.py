"""What is never suggested, whatever is edited: random sessions in every language with a grammar."""

from __future__ import annotations

import asyncio
import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from parley.nes._documents.document import Document, content, split_lines
from parley.nes._eval.syntax import errors_in
from parley.nes.engine import EditProposal, Proposal, Span, Spot, TextEdit

from .editing_session import EditingSession, Session
from .sessions_languages import SESSIONS as LANGUAGES
from .sessions_python import SESSIONS as PYTHON

SESSIONS = tuple(x for x in (*LANGUAGES, *PYTHON) if not x.history and x.trigger == "automatic")
EXAMPLES = settings(max_examples=120, deadline=None)
ANY = st.tuples(st.sampled_from(SESSIONS), st.integers(0, 2**32), st.integers(1, 7))


class User:
    """Edits a document at random, and knows which lines were edited."""

    def __init__(self, session: Session, seed: int) -> None:
        self.chance = random.Random(seed)
        self.editing = EditingSession(session)
        self.editing.predictor.set_option("nes_aggressiveness", "eager")
        self.todo = list(session.typed)
        self.origins: list[str | None] = [*self.document.lines]
        """For each line what it was in the beginning; None for one that was not there."""
        self.states = [self.document.text]
        self.word = ("", "")

    @property
    def document(self) -> Document:
        return self.editing.document

    def edit(self) -> None:
        """Make one change; most are those of the session, or a word for another one again."""
        kind = self.chance.randrange(8)
        if self.todo and kind < 3:
            old, new = self.todo.pop(0)
            if self.document.text.count(old) == 1:
                start = self.editing.find(old)
                end = _after(start, old)
                self.replace(Span(start, end), new)
        elif kind < 6:
            self.rename(is_again=kind > 4)
        else:
            line = self.chance.randrange(len(self.document.lines))
            text = self.document.lines[line]
            other = self.chance.choice(self.document.lines)
            end = Spot(line + 1, 0)
            if not text.endswith("\n") or not other.endswith("\n"):
                return
            if kind == 6:
                self.replace(Span(Spot(line, 0), end), "")
            elif other.strip() and other not in self.document.lines[line : line + 2]:
                # Of two same lines nobody can tell which one is new.
                self.replace(Span(end, end), other)

    def rename(self, *, is_again: bool) -> None:
        old, new = self.word
        if not is_again or not old:
            words = sorted(set(re.findall(r"[^\W\d]\w*", self.document.text)))
            if not words:
                return
            old = self.chance.choice(words)
            new = self.chance.choice([f"{old}_2", f"x{old}", self.chance.choice(words)])
            self.word = old, new
        if old == new:
            return
        found = [
            (line, at.start())
            for line, text in enumerate(self.document.lines)
            for at in re.finditer(rf"\b{old}\b", text)
        ]
        if found:
            line, at = found[0] if is_again else self.chance.choice(found)
            self.replace(Span(Spot(line, at), Spot(line, at + len(old))), new)

    def replace(self, span: Span, text: str) -> None:
        first, last = span.start.line, span.end.line
        tail = len(self.document.lines) - last - 1
        old = self.document.lines[first : last + 1]
        self.editing.replace(span, text)
        new = self.document.lines[first : len(self.document.lines) - tail]
        while old and new and old[0] == new[0]:
            old, new, first = old[1:], new[1:], first + 1
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        if len(old) != len(new):
            self.origins[first : first + len(old)] = [None] * len(new)
        self.states.append(self.document.text)

    def has_edited(self, line: int) -> bool:
        """Tell whether a line is other than it was; who has put it back has not edited it."""
        return self.origins[line] != self.document.lines[line]

    def ask(self) -> list[Proposal]:
        return asyncio.run(self.editing.ask())


def _after(start: Spot, text: str) -> Spot:
    lines = text.split("\n")
    return Spot(start.line + len(lines) - 1, len(lines[-1]) + start.column * (len(lines) == 1))


def edits_of(user: User, found: list[Proposal]) -> list[EditProposal]:
    own = user.document.uri
    return [x for x in found if isinstance(x, EditProposal) and x.uri == own]


def applied(document: Document, proposal: EditProposal) -> str:
    copy = document.copy()
    for edit in sorted(proposal.edits, key=lambda edit: edit.span, reverse=True):
        copy.edit(edit.span, edit.text)
    return copy.text


def lines_in(edit: TextEdit, document: Document) -> list[int]:
    """The lines of which an edit changes something; none if it puts lines between two."""
    (first, column), end = edit.span
    if edit.span.start == end and (column == 0 or column == len(content(document.lines[first]))):
        is_between = edit.text.endswith("\n") if column == 0 else edit.text.startswith("\n")
        return [] if is_between else [first]
    if column and column == len(content(document.lines[first])) and edit.text[:1] in ("", "\n"):
        first += 1  # it begins with the end of that line
    return list(range(first, end.line + (end.column > 0)))


@EXAMPLES
@given(ANY)
def test_what_was_edited_is_not_touched_and_nothing_is_taken_back(
    drawn: tuple[Session, int, int],
) -> None:
    session, seed, steps = drawn
    user = User(session, seed)
    for _ in range(steps):
        user.edit()
        for proposal in edits_of(user, user.ask()):
            after = applied(user.document, proposal)
            assert after not in user.states, proposal
            for edit in proposal.edits:
                touched = lines_in(edit, user.document)
                assert not any(map(user.has_edited, touched)), (proposal, user.document.text)


@EXAMPLES
@given(ANY)
def test_a_suggestion_has_no_more_syntax_errors_than_the_text(
    drawn: tuple[Session, int, int],
) -> None:
    session, seed, steps = drawn
    user = User(session, seed)
    for _ in range(steps):
        user.edit()
        for proposal in edits_of(user, user.ask()):
            document = user.document
            after = applied(document, proposal)
            path = session.path
            assert errors_in(path, [after]) <= errors_in(path, [document.text]), proposal


def lines_of(document: Document, proposal: EditProposal) -> tuple[str, str]:
    """The lines that a proposal changes and what they become, wherever they are."""
    first, last = proposal.edits[0].span.start.line, proposal.edits[-1].span.end.line
    below = len(document.lines) - last - 1
    after = split_lines(applied(document, proposal))
    return "".join(document.lines[first : last + 1]), "".join(after[first : len(after) - below])


@EXAMPLES
@given(ANY)
def test_what_was_rejected_does_not_come_again(drawn: tuple[Session, int, int]) -> None:
    session, seed, steps = drawn
    user = User(session, seed)
    rejected: set[tuple[str, str]] = set()
    for _ in range(steps):
        user.edit()
        for _ in range(2):
            found = user.ask()
            for edit in edits_of(user, found):
                sign = lines_of(user.document, edit)
                assert sign not in rejected
                rejected.add(sign)
            for proposal in found:
                user.editing.predictor.on_outcome(proposal, "rejected")


@EXAMPLES
@given(ANY)
def test_nothing_is_said_while_changes_are_taken_back(drawn: tuple[Session, int, int]) -> None:
    session, seed, steps = drawn
    user = User(session, seed)
    done: list[tuple[Spot, str, str]] = []
    replace = user.editing.replace

    def noted(span: Span, new: str) -> None:
        done.append((span.start, user.document.between(span), new))
        replace(span, new)

    user.editing.replace = noted  # type: ignore[method-assign]
    for _ in range(steps):
        user.edit()
    for start, old, new in reversed(list(done)):
        replace(Span(start, _after(start, new)), old)
        assert user.ask() == []
    assert user.document.text == session.text
