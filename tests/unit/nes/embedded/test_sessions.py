"""The micro-suite: hand-made sessions that must all end with the right suggestion, or silence."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from parley.nes.engine import EditProposal, Proposal

from .editing_session import EditingSession, Session, applied, line_of
from .sessions_diagnostics import SESSIONS as DIAGNOSTICS
from .sessions_languages import SESSIONS as LANGUAGES
from .sessions_python import SESSIONS as PYTHON
from .sessions_silence import SESSIONS as SILENCE

SPEAKING = (*PYTHON, *LANGUAGES, *DIAGNOSTICS)
EOLS = {"lf": "\n", "crlf": "\r\n"}
MARKS = {"python": "# ", "markdown": "", "plaintext": ""}
STRANGE = "\U0001f600 \U00010348 \u00e9"
"""Characters outside the basic plane, and one outside of ASCII."""


def by_name(sessions: tuple[Session, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("session", sessions, ids=lambda session: session.name)


def check(editing: EditingSession, found: list[Proposal]) -> None:
    session = editing.session
    assert found, "it says nothing"
    top = found[0]
    document = editing.documents[top.uri]
    if session.jump is not None:
        assert session.jump in line_of(document, top)
        return
    assert isinstance(top, EditProposal), top
    before = Counter(line.rstrip("\r\n") for line in document.lines)
    after = Counter(applied(document, top))
    fresh = [line.strip() for line in after - before]
    lost = [line.strip() for line in before - after]
    if session.wanted is not None:
        assert session.wanted in fresh, fresh
    if session.gone is not None:
        assert session.gone in lost, lost


def test_there_are_enough_sessions() -> None:
    assert len(SPEAKING) >= 60
    assert len(SILENCE) >= 40
    assert len({session.name for session in (*SPEAKING, *SILENCE)}) == len(SPEAKING) + len(SILENCE)


@pytest.mark.parametrize("eol", EOLS)
@by_name(SPEAKING)
async def test_the_next_edit_is_found(session: Session, eol: str) -> None:
    editing = EditingSession(session, EOLS[eol])
    editing.play()
    found = await editing.ask()
    check(editing, found)
    if isinstance(found[0], EditProposal) and eol == "crlf":
        texts = [edit.text.replace("\r\n", "") for edit in found[0].edits]
        assert not any("\n" in text or "\r" in text for text in texts)


@by_name(tuple(x for x in SPEAKING if x.language == "python" and x.text.strip()))
async def test_it_is_found_below_strange_characters(session: Session) -> None:
    editing = EditingSession(replace(session, text=f"# {STRANGE}\n\n{session.text}"))
    editing.play()
    check(editing, await editing.ask())


@by_name(tuple(session for session in PYTHON if session.text.count("\n") > 1))
async def test_it_is_found_in_a_file_without_a_last_line_end(session: Session) -> None:
    text = session.text.removesuffix("\n")
    if any(
        old.endswith("\n") and text.endswith(old.removesuffix("\n")) for old, _ in session.typed
    ):
        text = session.text
    editing = EditingSession(replace(session, text=text))
    editing.play()
    check(editing, await editing.ask())


@pytest.mark.parametrize("session", PYTHON[:4], ids=lambda session: session.name)
async def test_it_is_found_in_a_file_of_10_000_lines(session: Session) -> None:
    body = "".join(f"def filler_{i}(a, b):\n    return a + b * {i}\n\n\n" for i in range(2_500))
    editing = EditingSession(replace(session, text=session.text + "\n\n" + body))
    editing.play()
    check(editing, await editing.ask())


@by_name(SILENCE)
async def test_nothing_is_said(session: Session) -> None:
    editing = EditingSession(session)
    editing.play()
    assert await editing.ask() == []


async def test_what_is_accepted_leads_to_the_next_place_at_once() -> None:
    names = ("one", "two", "three", "four", "five")
    text = "".join(f"{name} = get('{name}', timeout=5)\nx = 1\n" for name in names)
    typed = tuple((f"'{name}', timeout=5", f"'{name}'") for name in names[:2])
    editing = EditingSession(Session(name="a sweep", text=text, typed=typed))
    editing.play()
    for name in names[2:]:
        (top, *_) = await editing.ask()
        assert isinstance(top, EditProposal)
        assert f"{name} = get('{name}')" in applied(editing.document, top)
        assert top.meta["remaining"] == len(names) - names.index(name) - 1
        editing.predictor.on_outcome(top, "accepted")
        for edit in top.edits:
            editing.replace(edit.span, edit.text)
    assert await editing.ask() == []
