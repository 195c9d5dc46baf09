"""Both engines as one: who answers, who is asked, who is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.unit.nes.serving.test_serving import URI as SERVED
from tests.unit.nes.serving.test_serving import joined, open_text, start

from parley.agent import Agent
from parley.nes import EmbeddedEngine, Suggestions
from parley.nes._documents.document import Document
from parley.nes.engine import (
    Change,
    EditProposal,
    Outcome,
    Predictor,
    Proposal,
    Question,
    Span,
    Spot,
    TextEdit,
    Workspace,
)
from parley.nes.model import CombinedEngine, ModelEngine
from parley.schema import v2
from parley.schema.v2 import methods

from .model_server import failing, saying, scripted

TEXT = "def total(items):\n    return su\n"
DONE = "```\ndef total(items):\n    return sum(items)\n```"
URI = "file:///project/a.py"


class Rules(Predictor):
    """An engine that proposes one thing, and remembers what it hears."""

    context = frozenset({"userActions"})

    def __init__(self, score: float | None) -> None:
        self.score = score
        self.heard: list[Any] = []

    def options(self) -> Sequence[Any]:
        return ("nes_aggressiveness",)

    def begin(self, workspace: Workspace) -> Rules:
        return self

    def opened(self, document: Document) -> None:
        self.heard.append("opened")

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        self.heard.append("changed")

    def closed(self, document: Document) -> None:
        self.heard.append("closed")

    def saved(self, document: Document) -> None:
        self.heard.append("saved")

    def focused(self, document: Document, spot: Spot, visible: Span) -> None:
        self.heard.append("focused")

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        self.heard.append("suggest")
        if self.score is None:
            return ()
        edit = TextEdit(Span(Spot(0, 4), Spot(0, 9)), "amount")
        return [EditProposal(uri=URI, edits=(edit,), score=self.score, rule="rename")]

    def on_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        self.heard.append((proposal.rule, outcome))

    def set_option(self, config_id: str, value: str | bool) -> None:
        self.heard.append((config_id, value))

    def close(self) -> None:
        self.heard.append("close")


@pytest.mark.parametrize(
    ("which", "score", "rules"),
    [
        ("both", 0.9, ["rename"]),
        ("both", 0.7, ["rename"]),
        ("both", 0.6, ["model", "rename"]),
        ("both", None, ["model"]),
        ("model", 0.9, ["model"]),
        ("embedded", 0.3, ["rename"]),
        ("embedded", None, []),
    ],
)
async def test_the_embedded_engine_answers_when_it_is_sure(
    which: str, score: float | None, rules: list[str]
) -> None:
    async with scripted(saying(DONE)) as server:
        engine = CombinedEngine(Rules(score), ModelEngine(server.url, "m"))
        predictor = engine.begin(Workspace(folders=("/project",)))
        document = Document(URI, "python", 1, TEXT)
        predictor.opened(document)
        predictor.set_option("nes_predictor", which)
        found = await predictor.suggest(Question(document=document, spot=Spot(1, 13)))
        assert [each.rule for each in found] == rules
        assert len(server.requests) == ("model" in rules)
        predictor.close()


async def test_the_model_is_told_what_the_other_would_change() -> None:
    async with scripted(saying("NO_EDIT")) as server:
        engine = CombinedEngine(Rules(0.6), ModelEngine(server.url, "m"))
        predictor = engine.begin(Workspace(folders=("/project",)))
        document = Document(URI, "python", 1, TEXT)
        predictor.opened(document)
        found = await predictor.suggest(Question(document=document, spot=Spot(1, 13)))
        assert [each.rule for each in found] == ["rename"]
        said = server.requests[0].json["messages"][1]["content"]
        assert "Perhaps to be changed next:\n- a.py:1: def total(items):\n" in said
        predictor.close()


async def test_what_both_propose_is_proposed_once() -> None:
    renamed = DONE.replace("total", "amount").replace("sum(items)", "su")
    async with scripted(saying(renamed)) as server:
        predictor = CombinedEngine(Rules(0.6), ModelEngine(server.url, "m")).begin(Workspace())
        document = Document(URI, "python", 1, TEXT)
        predictor.opened(document)
        [only] = await predictor.suggest(Question(document=document, spot=Spot(1, 13)))
        assert only.rule == "rename"
        assert len(server.requests) == 1
        predictor.close()


async def test_who_made_a_proposal_learns_what_became_of_it() -> None:
    rules = Rules(0.6)
    async with scripted(saying(DONE)) as server:
        predictor = CombinedEngine(rules, ModelEngine(server.url, "m")).begin(Workspace())
        document = Document(URI, "python", 1, TEXT)
        predictor.opened(document)
        model, rename = await predictor.suggest(Question(document=document, spot=Spot(1, 13)))
        predictor.on_outcome(model, "rejected")
        predictor.on_outcome(rename, "accepted")
        assert rules.heard == ["opened", "suggest", ("rename", "accepted")]
        again = await predictor.suggest(Question(document=document, spot=Spot(1, 13)))
        assert [each.rule for each in again] == ["rename"]
        predictor.close()


def test_both_hear_of_everything() -> None:
    rules = Rules(0.6)
    engine = CombinedEngine(rules, ModelEngine("http://localhost", "m"), which="embedded")
    predictor = engine.begin(Workspace())
    document = Document(URI, "python", 1, TEXT)
    predictor.opened(document)
    predictor.focused(document, Spot(0, 0), Span(Spot(0, 0), Spot(1, 0)))
    predictor.changed(document, [document.edit(Span(Spot(0, 0), Spot(0, 0)), "x")])
    predictor.saved(document)
    predictor.closed(document)
    predictor.set_option("nes_aggressiveness", "eager")
    predictor.close()
    assert rules.heard == [
        "opened",
        "focused",
        "changed",
        "saved",
        "closed",
        ("nes_aggressiveness", "eager"),
        "close",
    ]


def test_the_choice_is_an_option_beside_those_of_the_engines() -> None:
    engine = CombinedEngine(Rules(None), ModelEngine("http://localhost", "m"), which="model")
    aggressiveness, choice = engine.options()
    assert aggressiveness == "nes_aggressiveness"
    assert (choice.config_id, choice.current_value) == ("nes_predictor", "model")
    assert [each.value for each in choice.options] == ["embedded", "model", "both"]
    assert engine.context >= {"userActions", "editHistory"}


async def test_it_is_known_whether_the_model_has_answered() -> None:
    async with scripted(saying("NO_EDIT"), failing(503, "busy")) as server:
        rules = Rules(0.3)
        session = CombinedEngine(rules, ModelEngine(server.url, "m", format="chat", timeout=20))
        both = session.begin(Workspace())
        question = Question(document=Document(URI, "python", 1, TEXT), spot=Spot(1, 13))
        await both.suggest(question)
        assert both.model_state == ""
        await both.suggest(question)
        assert both.model_state is not None
        assert "responds with 503" in both.model_state
        await both.suggest(question)  # it is left alone for a while
        assert len(server.requests) == 2
        assert "responds with 503" in both.model_state
        rules.score = 0.9
        await both.suggest(question)
        assert both.model_state is None
        both.close()


async def test_a_client_is_told_whether_the_model_has_answered() -> None:
    async with scripted(saying("NO_EDIT"), failing(503, "busy")) as server:
        model = ModelEngine(server.url, "m", format="chat", timeout=20)
        agent = Agent("test")
        Suggestions(agent, CombinedEngine(EmbeddedEngine(), model, which="model"))
        async with joined(agent) as client:
            session = await start(client)
            await open_text(client, session, TEXT)
            place = v2.Position(line=1, character=13)
            request = v2.SuggestNesRequest(
                session_id=session,
                uri=SERVED,
                version=1,
                position=place,
                trigger_kind="automatic",
            )
            answer = await client.request(methods.SUGGEST_NES, request)
            assert answer.meta == {"parley": {"model": {"answered": True}}}
            answer = await client.request(methods.SUGGEST_NES, request)
            assert answer.meta is not None
            told = answer.meta["parley"]["model"]
            assert told["answered"] is False
            assert "responds with 503" in told["why"]
