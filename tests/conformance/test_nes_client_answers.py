"""Positions and suggestions in an editor's client, and the outcomes that it reports.

https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.nes.client.editor import (
    EVERY_CONTEXT,
    EVERY_EVENT,
    URI,
    Editor,
    NesAgent,
    open_editor,
    position,
    range_,
    span,
)

from parley.client import connect
from parley.nes._documents.change import Span, Spot
from parley.nes.client import EditSuggestion, NesClient, NesSession, ReplaceSuggestion
from parley.nes.engine import TextEdit

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", [1, 2])


async def one(editor: Editor, method: str) -> list[Any]:
    await editor.settle()
    return editor.agent.got(method)


@requirement("V1-NES-12")
@in_both_versions
async def test_the_client_lists_what_it_counts_in_and_what_it_shows(version: int) -> None:
    async with open_editor(None, version=version, kinds=["jump", "rename"]) as editor:
        (hello,) = editor.agent.got("initialize")
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
    async with open_editor("a😀b", agent=agent) as editor:
        await editor.nes.focus(URI, Spot(0, 0), Span(Spot(0, 2), Spot(0, 3)))
        (focus,) = await one(editor, "document/didFocus")
        assert focus["position"] == position(0, 0)
        assert focus["visibleRange"] == range_(0, b, 0, b + 1)
        await editor.type("c", 0, 3)
        await editor.nes.move(URI, Spot(0, 2), Span(Spot(0, 2), Spot(0, 3)))
        (change,) = await one(editor, "document/didChange")
        assert change["contentChanges"] == [{"range": range_(0, b + 1, 0, b + 1), "text": "c"}]
        question = (await editor.question())["params"]
        assert question["position"] == position(0, b)
        assert question["selection"] == range_(0, b, 0, b + 1)
        assert question["context"]["userActions"][-1]["position"] == position(0, b)
        found = agent.edit("s", ((0, b, 0, b + 1), "B"), cursorPosition=position(0, b + 1))
        agent.suggest(agent.log[-1], found)
        await editor.settle()
        shown = editor.nes.shown
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
    async with open_editor(None, agent=agent) as editor:
        assert editor.nes.session.encoding == "utf-8"


@requirement("V1-NES-18")
@in_both_versions
async def test_a_range_includes_its_start_and_not_its_end(version: int) -> None:
    async with open_editor("abc", version=version) as editor:
        await editor.type("x", 0, 3)
        await editor.shown(editor.agent.edit("s", ((0, 1, 0, 2), "B")))
        await editor.nes.accept()
        assert editor.text == "aBcx"


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
    async with open_editor("a\nb", version=version) as editor:
        key = editor.agent.id_key
        jump = {"kind": "jump", key: "j", "uri": URI, "position": position(1, 0)}
        await editor.type("x", 0, 0)
        shown = await editor.shown(jump, editor.agent.edit("s", ((0, 1, 0, 1), "b")))
        assert shown is not None
        assert shown.id == "j"


@requirement("V1-NES-29")
async def test_a_kind_that_nobody_knows_is_passed_over() -> None:
    async with open_editor("a", version=2) as editor:
        await editor.type("x", 0, 0)
        odd = {"kind": "_dance", "suggestionId": "d"}
        shown = await editor.shown(odd, editor.agent.edit("s", ((0, 2, 0, 2), "b")))
        assert shown is not None
        assert shown.id == "s"


@requirement("V1-NES-30")
@in_both_versions
@pytest.mark.parametrize("given", [{}, {"isRegex": None}, {"isRegex": False}, {"isRegex": True}])
async def test_a_search_is_no_regular_expression_by_default(
    version: int, given: dict[str, Any]
) -> None:
    async with open_editor("a", version=version) as editor:
        await editor.type("x", 0, 0)
        found = {"kind": "searchAndReplace", editor.agent.id_key: "s", "uri": URI}
        shown = await editor.shown({**found, "search": "a", "replace": "b", **given})
        assert isinstance(shown, ReplaceSuggestion)
        assert shown.is_regex is (given.get("isRegex") is True)


@requirement("V1-NES-40")
async def test_actions_of_older_agents_are_renames_and_replacements() -> None:
    async with open_editor("a", version=1) as editor:
        await editor.type("x", 0, 0)
        rename = {"uri": URI, "position": position(0, 1), "newName": "c"}
        shown = await editor.shown(
            {"kind": "action", "id": "o", "actionId": "own", "arguments": {}},
            {"kind": "action", "id": "r", "actionId": "rename", "arguments": rename},
        )
        assert shown is not None
        assert shown.id == "r"
        await editor.nes.accept()
        await editor.type("y", 0, 0)
        search = {"uri": URI, "search": "a", "replace": "b"}
        shown = await editor.shown(
            {"kind": "action", "id": "s", "actionId": "searchAndReplace", "arguments": search}
        )
        assert shown == ReplaceSuggestion(id="s", uri=URI, search="a", replace="b")


@requirement("V1-NES-31", "V1-NES-32", "V2-NES-08")
@in_both_versions
async def test_the_fate_of_each_suggestion_is_told_by_its_id(version: int) -> None:
    async with open_editor("a\nb", version=version) as editor:
        agent = editor.agent

        async def suggest(id: str, text: str) -> None:
            await editor.type("x", 0, 0)
            await editor.shown(agent.edit(id, ((1, 1, 1, 1), text)))

        await suggest("first", "c")
        await suggest("longer", "cd")
        await editor.type("!", 1, 1)
        await suggest("taken", "!")
        await editor.nes.accept()
        await suggest("refused", "?")
        await editor.nes.reject()
        await editor.settle()
        assert agent.outcomes == [
            ("first", "replaced"),
            ("longer", "ignored"),
            ("taken", "accepted"),
            ("refused", "rejected"),
        ]


@requirement("V1-NES-32", "V1-NES-37")
@in_both_versions
async def test_a_suggestion_for_an_older_text_is_adjusted_or_dropped(version: int) -> None:
    async with open_editor("a\nb", version=version) as editor:
        await editor.type("x", 0, 0)
        question = await editor.question()
        await editor.type("\n", 0, 0)
        editor.agent.suggest(
            question,
            editor.agent.edit("over", ((0, 0, 0, 1), "y")),
            editor.agent.edit("moves", ((1, 0, 1, 1), "B")),
        )
        await editor.settle()
        assert editor.target == "\nxa\nB"
        assert editor.agent.outcomes == [("over", "cancelled")]


@requirement("V1-NES-36")
@in_both_versions
async def test_a_question_that_is_stale_is_taken_back_with_its_id(version: int) -> None:
    async with open_editor("", version=version) as editor:
        questions: list[Any] = []
        for number in range(3):
            await editor.type("x", 0, number)
            questions.append(await editor.question())
        await editor.settle()
        assert editor.agent.cancelled == [questions[1]["id"]]
        editor.agent.send(id=questions[1]["id"], error={"code": -32800, "message": "cancelled"})
        editor.agent.suggest(questions[2], editor.agent.edit("s", ((0, 3, 0, 3), "y")))
        await editor.settle()
        assert editor.target == "xxxy"
