"""Positions and suggestions in an editor's client, and the outcomes that it reports.

https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.nes.client.desk import (
    EVERY_CONTEXT,
    EVERY_EVENT,
    URI,
    Desk,
    NesAgent,
    at_desk,
    position,
    range_,
    span,
)

from parley.client import connect
from parley.nes.client import EditSuggestion, NesClient, NesSession, ReplaceSuggestion
from parley.nes.documents.change import Span, Spot
from parley.nes.engine import TextEdit

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", [1, 2])


async def one(desk: Desk, method: str) -> list[Any]:
    await desk.settle()
    return desk.agent.got(method)


@requirement("V1-NES-12")
@in_both_versions
async def test_the_client_lists_what_it_counts_in_and_what_it_shows(version: int) -> None:
    async with at_desk(None, version=version, kinds=["jump", "rename"]) as desk:
        (hello,) = desk.agent.got("initialize")
        capabilities = hello["clientCapabilities" if version == 1 else "capabilities"]
        assert capabilities["positionEncodings"] == ["utf-32", "utf-16", "utf-8"]
        older: Any = {"ideActions": {"rename": {}}} if version == 1 else {}
        assert capabilities["nes"] == {"jump": {}, "rename": {}, **older}


@requirement("V1-NES-10", "V1-NES-11", "V1-NES-14", "V1-NES-15", "V1-NES-16", "V2-NES-05")
@in_both_versions
@pytest.mark.parametrize(("encoding", "b"), [(None, 3), ("utf-16", 3), ("utf-32", 2), ("utf-8", 5)])
async def test_all_positions_count_as_the_agent_has_chosen(
    version: int, encoding: str | None, b: int
) -> None:
    chosen = {} if encoding is None else {"positionEncoding": encoding}
    agent = NesAgent(version, EVERY_EVENT, EVERY_CONTEXT, **chosen)
    async with at_desk("a😀b", agent=agent) as desk:
        await desk.nes.focus(URI, Spot(0, 0), Span(Spot(0, 2), Spot(0, 3)))
        (focus,) = await one(desk, "document/didFocus")
        assert focus["position"] == position(0, 0)
        assert focus["visibleRange"] == range_(0, b, 0, b + 1)
        await desk.type("c", 0, 3)
        await desk.nes.move(URI, Spot(0, 2), Span(Spot(0, 2), Spot(0, 3)))
        (change,) = await one(desk, "document/didChange")
        assert change["contentChanges"] == [{"range": range_(0, b + 1, 0, b + 1), "text": "c"}]
        question = (await desk.question())["params"]
        assert question["position"] == position(0, b)
        assert question["selection"] == range_(0, b, 0, b + 1)
        assert question["context"]["userActions"][-1]["position"] == position(0, b)
        found = agent.edit("s", ((0, b, 0, b + 1), "B"), cursorPosition=position(0, b + 1))
        agent.suggest(agent.log[-1], found)
        await desk.settle()
        shown = desk.nes.shown
        assert isinstance(shown, EditSuggestion)
        assert (shown.edits, shown.cursor) == ((TextEdit(span(0, 2, 0, 3), "B"),), Spot(0, 3))


@requirement("V1-NES-14")
@in_both_versions
async def test_a_client_that_lists_no_encodings_counts_in_utf_16(version: int) -> None:
    agent = NesAgent(version, EVERY_EVENT, positionEncoding="utf-8")
    async with connect(agent, "/") as connection:
        session = await NesSession.start(connection)
        assert session.encoding == "utf-16"


@requirement("V1-NES-14")
async def test_an_older_agent_names_the_encoding_beside_its_capabilities() -> None:
    agent = NesAgent(1, EVERY_EVENT)
    agent.hello["positionEncoding"] = "utf-8"
    async with at_desk(None, agent=agent) as desk:
        assert desk.nes.session.encoding == "utf-8"


@requirement("V1-NES-18")
@in_both_versions
async def test_a_range_includes_its_start_and_not_its_end(version: int) -> None:
    async with at_desk("abc", version=version) as desk:
        await desk.type("x", 0, 3)
        await desk.shown(desk.agent.edit("s", ((0, 1, 0, 2), "B")))
        await desk.nes.accept()
        assert desk.text == "aBcx"


@requirement("V1-NES-26")
@in_both_versions
async def test_every_client_takes_edits(version: int) -> None:
    agent = NesAgent(version, EVERY_EVENT)
    async with connect(agent, "/") as connection:
        assert "nes" not in str(agent.got("initialize"))
        async with NesClient(connection) as nes:
            await nes.open(URI, "python", "a")
            asking = asyncio.create_task(nes.ask())
            question = await agent.asked()
            jump = {"kind": "jump", agent.id_key: "j", "uri": URI, "position": position(0, 0)}
            agent.suggest(question, jump, agent.edit("s", ((0, 1, 0, 1), "b")))
            suggestion = await asking
            assert isinstance(suggestion, EditSuggestion)
            await nes.accept()
    assert agent.outcomes == [("j", "cancelled"), ("s", "accepted")]


@requirement("V1-NES-29")
@in_both_versions
async def test_an_answer_may_mix_kinds_of_which_the_first_is_shown(version: int) -> None:
    async with at_desk("a\nb", version=version) as desk:
        key = desk.agent.id_key
        jump = {"kind": "jump", key: "j", "uri": URI, "position": position(1, 0)}
        await desk.type("x", 0, 0)
        shown = await desk.shown(jump, desk.agent.edit("s", ((0, 1, 0, 1), "b")))
        assert shown is not None
        assert shown.id == "j"


@requirement("V1-NES-29")
async def test_a_kind_that_nobody_knows_is_passed_over() -> None:
    async with at_desk("a", version=2) as desk:
        await desk.type("x", 0, 0)
        odd = {"kind": "_dance", "suggestionId": "d"}
        shown = await desk.shown(odd, desk.agent.edit("s", ((0, 2, 0, 2), "b")))
        assert shown is not None
        assert shown.id == "s"


@requirement("V1-NES-30")
@in_both_versions
@pytest.mark.parametrize("given", [{}, {"isRegex": None}, {"isRegex": False}, {"isRegex": True}])
async def test_a_search_is_no_regular_expression_by_default(
    version: int, given: dict[str, Any]
) -> None:
    async with at_desk("a", version=version) as desk:
        await desk.type("x", 0, 0)
        found = {"kind": "searchAndReplace", desk.agent.id_key: "s", "uri": URI}
        shown = await desk.shown({**found, "search": "a", "replace": "b", **given})
        assert isinstance(shown, ReplaceSuggestion)
        assert shown.is_regex is (given.get("isRegex") is True)


@requirement("V1-NES-40")
async def test_actions_of_older_agents_are_renames_and_replacements() -> None:
    async with at_desk("a", version=1) as desk:
        await desk.type("x", 0, 0)
        rename = {"uri": URI, "position": position(0, 1), "newName": "c"}
        shown = await desk.shown(
            {"kind": "action", "id": "o", "actionId": "own", "arguments": {}},
            {"kind": "action", "id": "r", "actionId": "rename", "arguments": rename},
        )
        assert shown is not None
        assert shown.id == "r"
        await desk.nes.accept()
        await desk.type("y", 0, 0)
        search = {"uri": URI, "search": "a", "replace": "b"}
        shown = await desk.shown(
            {"kind": "action", "id": "s", "actionId": "searchAndReplace", "arguments": search}
        )
        assert shown == ReplaceSuggestion(id="s", uri=URI, search="a", replace="b")


@requirement("V1-NES-31", "V1-NES-32", "V2-NES-08")
@in_both_versions
async def test_the_fate_of_each_suggestion_is_told_by_its_id(version: int) -> None:
    async with at_desk("a\nb", version=version) as desk:
        agent = desk.agent

        async def suggest(id: str, text: str) -> None:
            await desk.type("x", 0, 0)
            await desk.shown(agent.edit(id, ((1, 1, 1, 1), text)))

        await suggest("first", "c")
        await suggest("longer", "cd")
        await desk.type("!", 1, 1)
        await suggest("taken", "!")
        await desk.nes.accept()
        await suggest("refused", "?")
        await desk.nes.reject()
        await desk.settle()
        assert agent.outcomes == [
            ("first", "replaced"),
            ("longer", "ignored"),
            ("taken", "accepted"),
            ("refused", "rejected"),
        ]


@requirement("V1-NES-32", "V1-NES-37")
@in_both_versions
async def test_a_suggestion_for_an_older_text_is_adjusted_or_dropped(version: int) -> None:
    async with at_desk("a\nb", version=version) as desk:
        await desk.type("x", 0, 0)
        question = await desk.question()
        await desk.type("\n", 0, 0)
        desk.agent.suggest(
            question,
            desk.agent.edit("over", ((0, 0, 0, 1), "y")),
            desk.agent.edit("moves", ((1, 0, 1, 1), "B")),
        )
        await desk.settle()
        assert desk.target == "\nxa\nB"
        assert desk.agent.outcomes == [("over", "cancelled")]


@requirement("V1-NES-36")
@in_both_versions
async def test_a_question_that_is_stale_is_taken_back_with_its_id(version: int) -> None:
    async with at_desk("", version=version) as desk:
        questions: list[Any] = []
        for number in range(3):
            await desk.type("x", 0, number)
            questions.append(await desk.question())
        await desk.settle()
        assert desk.agent.cancelled == [questions[1]["id"]]
        desk.agent.send(id=questions[1]["id"], error={"code": -32800, "message": "cancelled"})
        desk.agent.suggest(questions[2], desk.agent.edit("s", ((0, 3, 0, 3), "y")))
        await desk.settle()
        assert desk.target == "xxxy"
