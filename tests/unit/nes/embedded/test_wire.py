"""The micro-suite over the protocol, in each of the encodings of positions."""

from __future__ import annotations

import pytest

from parley import Agent, connect
from parley.nes import Document, EmbeddedEngine, Span, Suggestions, TextEdit
from parley.nes._documents.encoding import Encoding, position_of, range_of, span_of, spot_of
from parley.nes.client._session import NesSession, shown_kinds
from parley.nes.engine import EditProposal, JumpProposal, Proposal
from parley.schema import v2

from .editing_session import KINDS, EditingSession, Session
from .sessions_silence import SESSIONS as SILENCE
from .test_sessions import SPEAKING, by_name, check

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
STRANGE = (
    Session(
        name="a name behind characters outside the basic plane",
        text="def f(who):\n    x = 1\n    return '\U0001f600\U00010348' + who + '\u00e9'\n",
        typed=(("f(who)", "f(name)"),),
        wanted="return '\U0001f600\U00010348' + name + '\u00e9'",
    ),
    Session(
        name="an edit behind characters outside the basic plane",
        text="a = ['\U0001f600', get(1)]\nb = ['\U00010348', get(2)]\nc = ['\U0001f601', get(3)]\n",
        typed=(("get(1)", "fetch(1)"), ("get(2)", "fetch(2)")),
        wanted="c = ['\U0001f601', fetch(3)]",
    ),
)


class Wire(EditingSession):
    """An editor whose changes and questions go to an agent."""

    def __init__(self, session: Session, encoding: Encoding) -> None:
        self.encoding: Encoding = encoding
        self.made: list[tuple[float, Span, str]] = []
        """The changes, each with its time."""
        self.clock = 0.0
        super().__init__(session)

    def replace(self, span: Span, new: str) -> None:
        super().replace(span, new)
        self.made.append((self.now, span, new))

    async def ask(self) -> list[Proposal]:
        """Tell an agent all that was done, and ask it."""
        agent = Agent("suggests")
        Suggestions(agent, EmbeddedEngine(clock=lambda: self.clock, cpu_clock=lambda: 0.0))
        async with connect(
            agent, nes=shown_kinds(KINDS), position_encodings=(self.encoding,)
        ) as connection:
            nes = await NesSession.start(connection)
            assert nes.encoding == self.encoding
            document = await self._told(nes)
            found = await self._asked(nes, document)
            for _ in range(self.session.rejected):
                if found:
                    await nes.report_outcome(found[0].suggestion_id, "rejected")
                found = await self._asked(nes, document)
            return [self._proposal(suggestion) for suggestion in found]

    async def _told(self, nes: NesSession) -> Document:
        """Open the documents and make all changes again; each has arrived before the next one."""
        session = self.session
        document = Document(self.document.uri, session.language, 1, session.text)
        await nes.opened(document)
        for path, text in session.others.items():
            await nes.opened(Document(f"file:///w/{path}", session.language, 1, text))
        for now, span, new in self.made:
            self.clock = now
            _, events = nes.apply(document, [TextEdit(span, new)])
            await nes.changed(document, events)
            await nes.set_config_option("nes_aggressiveness", session.mood)
        self.clock = self.now
        await nes.set_config_option("nes_aggressiveness", session.mood)
        assert document.text == self.document.text
        return document

    async def _asked(
        self, nes: NesSession, document: Document
    ) -> list[v2.NesEditSuggestion | v2.NesJumpSuggestion]:
        session, uri = self.session, document.uri
        spot = document.clamp(self.spot)
        here = position_of(document, spot, self.encoding)
        actions = [
            v2.NesUserAction(action=x, uri=uri, position=here, timestamp_ms=0)
            for x in session.actions
        ]
        problems = [
            v2.NesDiagnostic(
                uri=uri,
                range=range_of(document, span, self.encoding),
                severity="error",
                message=message,
            )
            for span, message in self.problems()
        ]
        context = v2.NesSuggestContext(
            edit_history=[v2.NesEditHistoryEntry(uri=uri, diff=x) for x in session.history],
            user_actions=actions,
            diagnostics=problems,
        )
        trigger = session.trigger
        answer = await nes.suggest(document, spot, trigger=trigger, context=context)
        found = answer.suggestions
        plain = (v2.NesEditSuggestion, v2.NesJumpSuggestion)
        assert not found or isinstance(found[0], plain)
        return [x for x in found if isinstance(x, plain)]

    def _proposal(self, found: v2.NesEditSuggestion | v2.NesJumpSuggestion) -> Proposal:
        document = self.documents[found.uri]
        if isinstance(found, v2.NesJumpSuggestion):
            spot = spot_of(document, found.position, self.encoding)
            return JumpProposal(uri=found.uri, spot=spot, score=1.0, rule="")
        edits = tuple(
            TextEdit(span_of(document, edit.range, self.encoding), edit.new_text)
            for edit in found.edits
        )
        return EditProposal(uri=found.uri, edits=edits, score=1.0, rule="")


@pytest.mark.parametrize("encoding", ENCODINGS)
@by_name((*STRANGE, *SPEAKING))
async def test_the_next_edit_comes_over_the_wire(session: Session, encoding: Encoding) -> None:
    wire = Wire(session, encoding)
    wire.play()
    check(wire, await wire.ask())


@pytest.mark.parametrize("encoding", ENCODINGS)
@by_name(SILENCE)
async def test_nothing_comes_over_the_wire(session: Session, encoding: Encoding) -> None:
    wire = Wire(session, encoding)
    wire.play()
    assert await wire.ask() == []
