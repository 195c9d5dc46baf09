"""When a client asks, how many questions are under way, and what becomes of late answers."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from parley.errors import ConnectionClosed, RequestError
from parley.nes._documents.change import Spot
from parley.nes.client import EditSuggestion, Timing
from parley.nes.engine import TextEdit

from .editor import EVERY_EVENT, URI, Editor, NesAgent, open_editor, position, span

INSTANT = Timing(debounce_after=0, throttle_after=0)


async def two_questions(editor: Editor) -> tuple[Any, Any]:
    """Have the user type twice, with a question each time."""
    await editor.type("a", 0, 0)
    first = await editor.question()
    await editor.type("b", 0, 1)
    return first, await editor.question()


# When


async def test_a_question_waits_until_the_user_pauses() -> None:
    async with open_editor(timing=Timing(debounce_after=0.1, throttle_after=0)) as editor:
        for column, letter in enumerate("abc"):
            await editor.type(letter, 0, column)
            editor.clock.advance(0.09)
        await editor.settle()
        assert editor.agent.questions == 0
        question = await editor.question(0.01)
        assert (question["params"]["version"], question["params"]["position"]) == (
            4,
            position(0, 3),
        )
        editor.clock.advance(10)
        await editor.settle()
        assert editor.agent.questions == 1


async def test_what_had_no_answer_is_asked_once_more_when_the_user_has_rested() -> None:
    async with open_editor("a\nb\n") as editor:
        await editor.type("x", 0, 0)
        editor.agent.suggest(await editor.question(0.1))
        await editor.settle()
        editor.clock.advance(0.69)
        await editor.settle()
        assert editor.agent.questions == 1
        edit = editor.agent.edit("1", ((1, 1, 1, 1), "x"))
        assert await editor.shown(edit, pause=0.01) is not None
        editor.clock.advance(10)
        await editor.settle()
        assert editor.agent.questions == 2


async def test_what_had_no_answer_twice_is_not_asked_again() -> None:
    async with open_editor() as editor:
        await editor.type("x", 0, 0)
        for pause in (0.1, 0.7):
            editor.agent.suggest(await editor.question(pause))
            await editor.settle()
        await editor.nes.move(URI, Spot(0, 0))  # and it is remembered that there is nothing
        editor.clock.advance(5)
        await editor.settle()
        assert editor.agent.questions == 2


async def test_who_types_on_is_asked_about_what_they_typed() -> None:
    async with open_editor() as editor:
        await editor.type("x", 0, 0)
        editor.agent.suggest(await editor.question(0.1))
        await editor.settle()
        await editor.type("y", 0, 1)
        assert (await editor.question(0.3))["params"]["version"] == 3
        editor.clock.advance(0.4)
        await editor.settle()
        assert editor.agent.questions == 2


async def test_without_a_debounce_each_change_is_asked_about_at_once() -> None:
    async with open_editor(timing=INSTANT) as editor:
        await editor.type("a", 0, 0)
        assert (await editor.agent.asked())["params"]["version"] == 2


async def test_a_question_is_a_while_away_from_the_one_before() -> None:
    async with open_editor(timing=Timing(debounce_after=0.01, throttle_after=0.3)) as editor:
        await editor.type("a", 0, 0)
        await editor.question(0.01)
        await editor.type("b", 0, 1)
        editor.clock.advance(0.29)
        await editor.settle()
        assert editor.agent.questions == 1
        assert (await editor.question(0.01))["params"]["version"] == 3


async def test_a_moved_cursor_asks_only_soon_after_a_change() -> None:
    async with open_editor("a\nb\nc\n") as editor:
        await editor.nes.move(URI, Spot(1, 0))
        editor.clock.advance(1)
        await editor.settle()
        assert editor.agent.questions == 0
        await editor.type("x", 0, 0)
        editor.agent.suggest(await editor.question())
        editor.clock.advance(8)
        await editor.nes.move(URI, Spot(2, 0))
        assert (await editor.question(0.9))["params"]["position"] == position(2, 0)
        editor.clock.advance(1)
        await editor.nes.move(URI, Spot(1, 0))
        editor.clock.advance(1)
        await editor.settle()
        assert editor.agent.questions == 2


async def test_a_document_that_comes_to_the_front_is_asked_about() -> None:
    async with open_editor("a") as editor:
        await editor.nes.focus(URI, Spot(0, 1))
        assert (await editor.question())["params"]["position"] == position(0, 1)


async def test_nothing_is_asked_while_changes_are_taken_back_and_right_after() -> None:
    async with open_editor("a") as editor:
        await editor.type("b", 0, 1)
        editor.agent.suggest(await editor.question())
        await editor.nes.set_text(URI, "a")
        await editor.nes.set_text(URI, "ab")
        editor.clock.advance(0.9)
        await editor.type("c", 0, 2)
        editor.clock.advance(0.05)
        await editor.settle()
        assert editor.agent.questions == 1
        assert (await editor.question())["params"]["version"] == 5


async def test_a_change_that_is_taken_back_takes_back_question_and_suggestion() -> None:
    async with open_editor("a\nb") as editor:
        await editor.type("c", 0, 1)
        await editor.shown(editor.agent.edit("s", ((1, 1, 1, 1), "!")))
        await editor.type("d", 0, 2)
        question = await editor.question()
        await editor.nes.set_text(URI, "ac\nb")
        assert editor.nes.shown is None
        await editor.settle()
        assert editor.agent.outcomes == [("s", "ignored")]
        assert editor.agent.cancelled == [question["id"]]


async def test_a_change_of_nothing_is_no_reason_to_ask_and_disturbs_nothing() -> None:
    async with open_editor("a") as editor:
        await editor.nes.change(URI, TextEdit(span(0, 0, 0, 1), "a"))
        editor.clock.advance(10)
        await editor.settle()
        assert editor.agent.questions == 0
        await editor.type("b", 0, 1)
        await editor.shown(editor.agent.edit("s", ((0, 2, 0, 2), "c")))
        await editor.nes.change(URI, TextEdit(span(0, 0, 0, 2), "ab"))
        assert editor.target == "abc"


async def test_a_closed_document_is_not_asked_about() -> None:
    async with open_editor() as editor:
        await editor.type("a", 0, 0)
        await editor.nes.close(URI)
        editor.clock.advance(10)
        await editor.settle()
        assert editor.agent.questions == 0
        assert await editor.nes.ask() is None


# What the user asks for


async def test_what_the_user_asks_for_does_not_wait() -> None:
    async with open_editor("a", timing=Timing(debounce_after=60, throttle_after=60)) as editor:
        asking = asyncio.create_task(editor.nes.ask())
        question = await editor.agent.asked()
        assert question["params"]["triggerKind"] == "manual"
        editor.agent.suggest(question, editor.agent.edit("s", ((0, 1, 0, 1), "b")))
        suggestion = await asking
        assert isinstance(suggestion, EditSuggestion)
        assert suggestion.edits == (TextEdit(span(0, 1), "b"),)
        assert editor.nes.shown is suggestion


async def test_what_the_user_asks_for_fails_where_the_agent_does() -> None:
    async with open_editor("a") as editor:
        asking = asyncio.create_task(editor.nes.ask())
        question = await editor.agent.asked()
        editor.agent.send(id=question["id"], error={"code": -32603, "message": "no"})
        with pytest.raises(RequestError):
            await asking


async def test_who_no_longer_waits_takes_the_question_back() -> None:
    async with open_editor("a") as editor:
        asking = asyncio.create_task(editor.nes.ask())
        question = await editor.agent.asked()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await editor.settle()
        assert editor.agent.cancelled == [question["id"]]


async def test_a_question_that_gives_way_to_newer_ones_ends_without_an_answer() -> None:
    async with open_editor("a", timing=INSTANT) as editor:
        await editor.type("b", 0, 1)
        await editor.agent.asked()
        asking = asyncio.create_task(editor.nes.ask())
        await editor.agent.asked()
        await editor.type("c", 0, 2)
        await editor.agent.asked()
        assert await asking is None


async def test_a_failure_of_the_agent_is_logged_and_the_next_question_is_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_editor() as editor:
        await editor.type("a", 0, 0)
        question = await editor.question()
        editor.agent.send(id=question["id"], error={"code": -32603, "message": "no"})
        with caplog.at_level(logging.WARNING):
            await editor.settle()
        assert "nes/suggest failed" in caplog.text
        await editor.type("b", 0, 1)
        await editor.question()


# How many


async def test_a_third_question_takes_the_place_of_the_second() -> None:
    async with open_editor() as editor:
        first, second = await two_questions(editor)
        await editor.type("c", 0, 2)
        await editor.question()
        await editor.settle()
        assert editor.agent.cancelled == [second["id"]]
        assert first["id"] not in editor.agent.cancelled


async def test_when_the_newest_is_answered_the_older_one_is_cancelled() -> None:
    async with open_editor() as editor:
        first, second = await two_questions(editor)
        editor.agent.suggest(second, editor.agent.edit("s", ((0, 2, 0, 2), "c")))
        await editor.settle()
        assert editor.agent.cancelled == [first["id"]]
        assert editor.target == "abc"


async def test_the_same_is_not_asked_twice_at_the_same_time() -> None:
    async with open_editor("a", timing=INSTANT) as editor:
        await editor.nes.focus(URI)
        await editor.agent.asked()
        await editor.nes.focus(URI)
        await editor.settle()
        assert editor.agent.questions == 1


async def test_at_the_end_everything_under_way_is_taken_back_and_the_session_is_closed() -> None:
    async with open_editor() as editor:
        first, second = await two_questions(editor)
        await editor.type("c", 0, 2)
    agent = editor.agent
    assert agent.cancelled == [first["id"], second["id"]]
    assert agent.methods[-1] == "nes/close"
    editor.clock.advance(10)
    assert agent.questions == 2


# Late answers


async def test_a_late_first_answer_is_shown_if_the_user_types_what_it_says() -> None:
    async with open_editor() as editor:
        first, _ = await two_questions(editor)
        editor.agent.suggest(first, editor.agent.edit("s", ((0, 1, 0, 1), "bcd")))
        await editor.settle()
        assert editor.target == "abcd"
        assert editor.agent.cancelled == []


async def test_an_answer_moves_with_what_was_changed_since_the_question() -> None:
    async with open_editor("one\ntwo\n") as editor:
        await editor.type("x", 0, 3)
        question = await editor.question()
        await editor.type("\n\n", 0, 4)
        editor.agent.suggest(question, editor.agent.edit("s", ((1, 0, 1, 3), "three")))
        await editor.settle()
        assert editor.target == "onex\n\n\nthree\n"


async def test_an_answer_that_does_not_fit_any_more_is_dropped_and_that_is_told() -> None:
    async with open_editor() as editor:
        first, _ = await two_questions(editor)
        editor.agent.suggest(first, editor.agent.edit("s", ((0, 1, 0, 1), "xyz")))
        await editor.settle()
        assert editor.nes.shown is None
        assert editor.agent.outcomes == [("s", "cancelled")]


async def test_positions_of_an_answer_are_those_of_the_text_that_was_asked_about() -> None:
    agent = NesAgent(1, EVERY_EVENT, positionEncoding="utf-16")
    async with open_editor("😀😀 a", agent=agent) as editor:
        await editor.type("b", 0, 4)
        question = await editor.question()
        assert question["params"]["position"] == position(0, 7)
        await editor.nes.change(URI, TextEdit(span(0, 0, 0, 2), ""))
        editor.agent.suggest(question, editor.agent.edit("s", ((0, 7, 0, 7), "c")))
        await editor.settle()
        assert editor.target == " abc"


async def test_an_answer_about_a_document_that_was_closed_is_dropped() -> None:
    async with open_editor() as editor:
        await editor.type("a", 0, 0)
        question = await editor.question()
        await editor.nes.close(URI)
        await editor.nes.open(URI, "python", "a")
        editor.agent.suggest(question, editor.agent.edit("s", ((0, 1, 0, 1), "b")))
        await editor.settle()
        assert editor.nes.shown is None
        assert editor.agent.outcomes == [("s", "cancelled")]


async def test_a_connection_that_ends_is_seen_where_something_is_told() -> None:
    async with open_editor() as editor:
        await editor.type("a", 0, 0)
        await editor.question()
        await editor.agent.transport.aclose()
        await editor.nes.connection.peer.wait_closed()
        with pytest.raises(ConnectionClosed):
            await editor.type("b", 0, 1)
        with pytest.raises(ConnectionClosed):
            await editor.nes.ask()


async def test_what_is_taken_moves_answers_that_are_under_way() -> None:
    async with open_editor("a\nb\n", timing=INSTANT) as editor:
        await editor.type("x", 0, 0)
        editor.agent.suggest(
            await editor.agent.asked(), editor.agent.edit("s", ((0, 2, 0, 2), "\n\n"))
        )
        await editor.settle()
        await editor.type("y", 1, 1)
        question = await editor.agent.asked()
        await editor.nes.accept()
        editor.agent.suggest(question, editor.agent.edit("t", ((1, 0, 1, 1), "B")))
        await editor.settle()
        assert editor.target == "xa\n\n\nBy\n"


async def test_a_moved_cursor_asks_nothing_while_something_is_shown() -> None:
    async with open_editor("a\nb\n") as editor:
        await editor.type("x", 0, 0)
        await editor.shown(editor.agent.edit("s", ((1, 1, 1, 1), "c")))
        await editor.nes.move(URI, Spot(1, 0))
        editor.clock.advance(1)
        await editor.settle()
        assert editor.agent.questions == 1


async def test_a_question_is_about_what_is_there_when_it_is_sent() -> None:
    async with open_editor("a\nb\n", timing=INSTANT) as editor:
        await editor.type("x", 0, 0)
        await editor.type("y", 0, 1)
        question = await editor.agent.asked()
        assert question["params"]["version"] == 3
        editor.agent.suggest(question, editor.agent.edit("s", ((1, 1, 1, 1), "c")))
        await editor.settle()
        assert editor.target == "xya\nbc\n"
        assert editor.agent.questions == 1


async def test_a_document_that_is_closed_at_once_is_not_asked_about() -> None:
    async with open_editor("a", timing=INSTANT) as editor:
        await editor.type("x", 0, 0)
        await editor.nes.close(URI)
        await editor.settle()
        assert editor.agent.questions == 0


async def test_a_jump_to_where_the_cursor_is_is_none() -> None:
    async with open_editor("a\nb\n") as editor:
        await editor.type("x", 0, 0)
        jump = {"kind": "jump", "id": "j", "uri": URI, "position": position(0, 1)}
        assert await editor.shown(jump) is None
        assert editor.agent.outcomes == [("j", "cancelled")]
