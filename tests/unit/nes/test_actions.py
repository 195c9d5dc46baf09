"""IDE actions: an agent suggests one that the editor has offered, and the editor runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.conformance.nes_agent import URI, ScriptedEngine, serve_engine
from tests.unit.nes.client.editor import EVERY_EVENT, NesAgent, open_editor
from tests.unit.nes.client.editor import URI as OPEN

from parley.agent import Agent
from parley.client import connect
from parley.nes import ActionProposal, NesClient, Proposal, Question, Span, Spot, Suggestions
from parley.nes.client import ActionSuggestion, Timing, shown_kinds
from parley.nes.engine import Outcome, TextEdit
from parley.nes.serving import ServedSession

SCHEMA = {"type": "object", "properties": {"uri": {"type": "string"}}}
OFFERED: Any = {"organizeImports": SCHEMA, "format": {}}
ORGANIZE = ActionProposal(action_id="organizeImports", arguments={"uri": URI}, rule="imports")
MANUAL = Timing(debounce_after=1000)


@pytest.mark.requirement("V1-NES-39")
@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_suggests_the_actions_that_the_client_lists(version: int) -> None:
    engine = ScriptedEngine()
    engine.says(ActionProposal(action_id="selfDestruct"), ORGANIZE)
    async with serve_engine(version, engine, {"nes": {"ideActions": OFFERED}}) as client:
        client.open("text")
        (found,) = await client.suggest()
        id = found.pop(client.id_key)
        assert found.pop("_meta") == {"parley": {"rule": "imports", "score": 1.0}}
        assert found == {
            "kind": "action",
            "actionId": "organizeImports",
            "arguments": {"uri": URI},
        }
        (question,) = engine.predictor.questions
        assert question.ide_actions == OFFERED
        assert "action" in question.kinds
        client.outcome("accept", id)
        await client.suggest()
        assert engine.predictor.outcomes == [(ORGANIZE, "accepted")]


@pytest.mark.parametrize("version", [1, 2])
async def test_a_client_without_actions_is_suggested_none(version: int) -> None:
    engine = ScriptedEngine()
    engine.says(ORGANIZE)
    async with serve_engine(version, engine, {"nes": {"jump": {}}}) as client:
        client.open("text")
        assert await client.suggest() == []
        assert engine.predictor.questions[0].ide_actions == {}


@pytest.mark.parametrize("actions", [["organizeImports"], {"organizeImports": SCHEMA}])
@pytest.mark.parametrize("version", [1, 2])
async def test_an_action_goes_from_the_agent_s_author_to_the_editor_s(
    version: int, actions: Any
) -> None:
    agent = Agent("organizes")
    nes = Suggestions(agent)
    outcomes: list[Outcome] = []

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> Sequence[Proposal]:
        assert list(question.ide_actions) == ["organizeImports"]
        return [ORGANIZE]

    @nes.accepted
    async def took(session: ServedSession, proposal: Proposal) -> None:
        assert proposal == ORGANIZE
        outcomes.append("accepted")

    @nes.rejected
    async def passed(session: ServedSession, proposal: Proposal, outcome: Outcome) -> None:
        outcomes.append(outcome)

    options: Any = {"actions": actions, "timing": MANUAL, "versions": (version,)}
    async with NesClient.connect(agent, "/", **options) as editor:
        await editor.open(URI, "python", "import b\nimport a\n")
        shown = await editor.ask()
        assert isinstance(shown, ActionSuggestion)
        assert (shown.action_id, shown.uri) == ("organizeImports", URI)
        assert shown.arguments == {"uri": URI}
        assert await editor.accept() == shown
        assert await editor.ask() is not None
        # Its arguments may name places in the text, so a change ends it.
        await editor.change(URI, TextEdit(Span(Spot(0, 0), Spot(0, 0)), "x"))
        assert editor.shown is None
        assert await editor.ask() is not None
        await editor.reject()
        await editor.change(URI, TextEdit(Span(Spot(0, 0), Spot(0, 0)), "y"))
        assert await editor.ask() is None  # the user does not want it, whatever is typed
    told = [each for each in outcomes if each != "cancelled"]  # which never were shown
    assert told == ["accepted", "ignored", "rejected"]


@pytest.mark.requirement("V1-NES-39", "V1-NES-40")
async def test_an_agent_of_the_older_text_finds_all_actions_in_one_list() -> None:
    agent = NesAgent(1, EVERY_EVENT)
    options: Any = {"kinds": ["rename", "searchAndReplace"], "actions": OFFERED}
    async with open_editor("a", agent=agent, **options) as editor:
        (hello,) = agent.got("initialize")
        listed = hello["clientCapabilities"]["nes"]["ideActions"]
        assert listed == {"rename": {}, "searchAndReplace": {}, **OFFERED}
        await editor.type("x", 0, 0)
        shown = await editor.shown(
            {"kind": "action", "id": "unknown", "actionId": "selfDestruct"},
            {"kind": "action", "id": "f", "actionId": "format", "arguments": None},
        )
        assert shown == ActionSuggestion(id="f", uri=OPEN, action_id="format")
        assert ("unknown", "cancelled") in agent.outcomes


def test_a_kind_is_not_an_action() -> None:
    with pytest.raises(ValueError, match="'rename' is a kind of suggestion, not an action"):
        shown_kinds([], ["rename"])


async def test_actions_have_to_be_offered_when_the_connection_is_made() -> None:
    agent = Agent("mute")
    Suggestions(agent, ScriptedEngine())
    async with connect(agent, nes=shown_kinds(["jump"], ["format"])) as connection:
        NesClient(connection, kinds=[], actions=["format"])
        with pytest.raises(ValueError, match="does not offer the action 'other'"):
            NesClient(connection, actions=["other"])
