"""The engine where tree-sitter is not installed: what needs no grammar still works."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from types import ModuleType

import pytest

from parley.nes import _syntax as syntax
from parley.nes.embedded._names.table import names
from parley.nes.embedded._source import SourceFile
from parley.nes.engine import EditProposal, Span, Spot

from .editing_session import EditingSession, Session, applied
from .sessions_diagnostics import SESSIONS as DIAGNOSTICS
from .sessions_languages import SESSIONS as LANGUAGES
from .sessions_python import SESSIONS as PYTHON
from .sessions_silence import SESSIONS as SILENCE

EVERY = (*PYTHON, *LANGUAGES, *DIAGNOSTICS, *SILENCE)
REPEATED = Session(
    name="a third time",
    text="a = get(1)\nb = get(2)\nc = get(3)\n",
    typed=(("get(1)", "fetch(1)"), ("get(2)", "fetch(2)")),
    wanted="c = fetch(3)",
)


@pytest.fixture(autouse=True)
def _no_grammars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def load(name: str) -> ModuleType:
        if name.startswith("tree_sitter"):
            raise ImportError(f"No module named {name!r}")
        return importlib.import_module(name)

    monkeypatch.setattr(syntax, "import_module", load)
    monkeypatch.setattr(syntax, "_kept", type(syntax._kept)())
    syntax._parser.cache_clear()
    yield
    syntax._parser.cache_clear()


async def test_the_same_change_again_is_found(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "parley.nes._syntax"):
        editing = EditingSession(REPEATED)
        editing.play()
        (top, *_) = await editing.ask()
        await editing.ask()
    assert isinstance(top, EditProposal)
    assert REPEATED.wanted in applied(editing.document, top)
    (record,) = caplog.records
    assert "parley-acp[nes]" in record.getMessage()


async def test_a_word_that_is_missing_means_silence() -> None:
    editing = EditingSession(
        Session(name="gap", text="log.warning(1)\nlog.warning(2)\n" * 2, mood="eager")
    )
    for line in range(2):
        editing.replace(Span(Spot(line, 4), Spot(line, 11)), "")
    assert await editing.ask() == []
    editing.spot = Spot(2, 0)
    assert await editing.ask()


def test_nothing_is_known_of_names() -> None:
    file = SourceFile("file:///a.py", ["def f(a):", "    return a"])
    assert file.tree is None
    assert names(file) is None


@pytest.mark.parametrize("session", EVERY, ids=lambda session: session.name)
async def test_no_session_breaks(session: Session) -> None:
    editing = EditingSession(session)
    editing.play()
    for proposal in await editing.ask():
        assert proposal.uri in editing.documents
        if isinstance(proposal, EditProposal):
            document = editing.documents[proposal.uri]
            assert applied(document, proposal) != [x.rstrip("\r\n") for x in document.lines]
