"""When a client asks, how many questions are under way, and what becomes of late answers."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from parley.errors import ConnectionClosed, RequestError
from parley.nes.client import EditSuggestion, Timing
from parley.nes.documents.change import Spot
from parley.nes.engine import TextEdit

from .desk import EVERY_EVENT, URI, Desk, NesAgent, at_desk, position, span

INSTANT = Timing(debounce_after=0, throttle_after=0)


async def two_questions(desk: Desk) -> tuple[Any, Any]:
    """Have the user type twice, with a question each time."""
    await desk.type("a", 0, 0)
    first = await desk.question()
    await desk.type("b", 0, 1)
    return first, await desk.question()


# When


async def test_a_question_waits_until_the_user_pauses() -> None:
    async with at_desk(timing=Timing(debounce_after=0.1, throttle_after=0)) as desk:
        for column, letter in enumerate("abc"):
            await desk.type(letter, 0, column)
            desk.clock.advance(0.09)
        await desk.settle()
        assert desk.agent.questions == 0
        question = await desk.question(0.01)
        assert (question["params"]["version"], question["params"]["position"]) == (
            4,
            position(0, 3),
        )
        desk.clock.advance(10)
        await desk.settle()
        assert desk.agent.questions == 1


async def test_what_had_no_answer_is_asked_once_more_when_the_user_has_rested() -> None:
    async with at_desk("a\nb\n") as desk:
        await desk.type("x", 0, 0)
        desk.agent.suggest(await desk.question(0.1))
        await desk.settle()
        desk.clock.advance(0.69)
        await desk.settle()
        assert desk.agent.questions == 1
        edit = desk.agent.edit("1", ((1, 1, 1, 1), "x"))
        assert await desk.shown(edit, pause=0.01) is not None
        desk.clock.advance(10)
        await desk.settle()
        assert desk.agent.questions == 2


async def test_what_had_no_answer_twice_is_not_asked_again() -> None:
    async with at_desk() as desk:
        await desk.type("x", 0, 0)
        for pause in (0.1, 0.7):
            desk.agent.suggest(await desk.question(pause))
            await desk.settle()
        await desk.nes.move(URI, Spot(0, 0))  # and it is remembered that there is nothing
        desk.clock.advance(5)
        await desk.settle()
        assert desk.agent.questions == 2


async def test_who_types_on_is_asked_about_what_they_typed() -> None:
    async with at_desk() as desk:
        await desk.type("x", 0, 0)
        desk.agent.suggest(await desk.question(0.1))
        await desk.settle()
        await desk.type("y", 0, 1)
        assert (await desk.question(0.3))["params"]["version"] == 3
        desk.clock.advance(0.4)
        await desk.settle()
        assert desk.agent.questions == 2


async def test_without_a_debounce_each_change_is_asked_about_at_once() -> None:
    async with at_desk(timing=INSTANT) as desk:
        await desk.type("a", 0, 0)
        assert (await desk.agent.asked())["params"]["version"] == 2


async def test_a_question_is_a_while_away_from_the_one_before() -> None:
    async with at_desk(timing=Timing(debounce_after=0.01, throttle_after=0.3)) as desk:
        await desk.type("a", 0, 0)
        await desk.question(0.01)
        await desk.type("b", 0, 1)
        desk.clock.advance(0.29)
        await desk.settle()
        assert desk.agent.questions == 1
        assert (await desk.question(0.01))["params"]["version"] == 3


async def test_a_moved_cursor_asks_only_soon_after_a_change() -> None:
    async with at_desk("a\nb\nc\n") as desk:
        await desk.nes.move(URI, Spot(1, 0))
        desk.clock.advance(1)
        await desk.settle()
        assert desk.agent.questions == 0
        await desk.type("x", 0, 0)
        desk.agent.suggest(await desk.question())
        desk.clock.advance(8)
        await desk.nes.move(URI, Spot(2, 0))
        assert (await desk.question(0.9))["params"]["position"] == position(2, 0)
        desk.clock.advance(1)
        await desk.nes.move(URI, Spot(1, 0))
        desk.clock.advance(1)
        await desk.settle()
        assert desk.agent.questions == 2


async def test_a_document_that_comes_to_the_front_is_asked_about() -> None:
    async with at_desk("a") as desk:
        await desk.nes.focus(URI, Spot(0, 1))
        assert (await desk.question())["params"]["position"] == position(0, 1)


async def test_nothing_is_asked_while_changes_are_taken_back_and_right_after() -> None:
    async with at_desk("a") as desk:
        await desk.type("b", 0, 1)
        desk.agent.suggest(await desk.question())
        await desk.nes.set_text(URI, "a")
        await desk.nes.set_text(URI, "ab")
        desk.clock.advance(0.9)
        await desk.type("c", 0, 2)
        desk.clock.advance(0.05)
        await desk.settle()
        assert desk.agent.questions == 1
        assert (await desk.question())["params"]["version"] == 5


async def test_a_change_that_is_taken_back_takes_back_question_and_suggestion() -> None:
    async with at_desk("a\nb") as desk:
        await desk.type("c", 0, 1)
        await desk.shown(desk.agent.edit("s", ((1, 1, 1, 1), "!")))
        await desk.type("d", 0, 2)
        question = await desk.question()
        await desk.nes.set_text(URI, "ac\nb")
        assert desk.nes.shown is None
        await desk.settle()
        assert desk.agent.outcomes == [("s", "ignored")]
        assert desk.agent.cancelled == [question["id"]]


async def test_a_change_of_nothing_is_no_reason_to_ask_and_disturbs_nothing() -> None:
    async with at_desk("a") as desk:
        await desk.nes.change(URI, TextEdit(span(0, 0, 0, 1), "a"))
        desk.clock.advance(10)
        await desk.settle()
        assert desk.agent.questions == 0
        await desk.type("b", 0, 1)
        await desk.shown(desk.agent.edit("s", ((0, 2, 0, 2), "c")))
        await desk.nes.change(URI, TextEdit(span(0, 0, 0, 2), "ab"))
        assert desk.target == "abc"


async def test_a_closed_document_is_not_asked_about() -> None:
    async with at_desk() as desk:
        await desk.type("a", 0, 0)
        await desk.nes.close(URI)
        desk.clock.advance(10)
        await desk.settle()
        assert desk.agent.questions == 0
        assert await desk.nes.ask() is None


# What the user asks for


async def test_what_the_user_asks_for_does_not_wait() -> None:
    async with at_desk("a", timing=Timing(debounce_after=60, throttle_after=60)) as desk:
        asking = asyncio.create_task(desk.nes.ask())
        question = await desk.agent.asked()
        assert question["params"]["triggerKind"] == "manual"
        desk.agent.suggest(question, desk.agent.edit("s", ((0, 1, 0, 1), "b")))
        suggestion = await asking
        assert isinstance(suggestion, EditSuggestion)
        assert suggestion.edits == (TextEdit(span(0, 1), "b"),)
        assert desk.nes.shown is suggestion


async def test_what_the_user_asks_for_fails_where_the_agent_does() -> None:
    async with at_desk("a") as desk:
        asking = asyncio.create_task(desk.nes.ask())
        question = await desk.agent.asked()
        desk.agent.send(id=question["id"], error={"code": -32603, "message": "no"})
        with pytest.raises(RequestError):
            await asking


async def test_who_no_longer_waits_takes_the_question_back() -> None:
    async with at_desk("a") as desk:
        asking = asyncio.create_task(desk.nes.ask())
        question = await desk.agent.asked()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await desk.settle()
        assert desk.agent.cancelled == [question["id"]]


async def test_a_question_that_gives_way_to_newer_ones_ends_without_an_answer() -> None:
    async with at_desk("a", timing=INSTANT) as desk:
        await desk.type("b", 0, 1)
        await desk.agent.asked()
        asking = asyncio.create_task(desk.nes.ask())
        await desk.agent.asked()
        await desk.type("c", 0, 2)
        await desk.agent.asked()
        assert await asking is None


async def test_a_failure_of_the_agent_is_logged_and_the_next_question_is_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with at_desk() as desk:
        await desk.type("a", 0, 0)
        question = await desk.question()
        desk.agent.send(id=question["id"], error={"code": -32603, "message": "no"})
        with caplog.at_level(logging.WARNING):
            await desk.settle()
        assert "nes/suggest failed" in caplog.text
        await desk.type("b", 0, 1)
        await desk.question()


# How many


async def test_a_third_question_takes_the_place_of_the_second() -> None:
    async with at_desk() as desk:
        first, second = await two_questions(desk)
        await desk.type("c", 0, 2)
        await desk.question()
        await desk.settle()
        assert desk.agent.cancelled == [second["id"]]
        assert first["id"] not in desk.agent.cancelled


async def test_when_the_newest_is_answered_the_older_one_is_cancelled() -> None:
    async with at_desk() as desk:
        first, second = await two_questions(desk)
        desk.agent.suggest(second, desk.agent.edit("s", ((0, 2, 0, 2), "c")))
        await desk.settle()
        assert desk.agent.cancelled == [first["id"]]
        assert desk.target == "abc"


async def test_the_same_is_not_asked_twice_at_the_same_time() -> None:
    async with at_desk("a", timing=INSTANT) as desk:
        await desk.nes.focus(URI)
        await desk.agent.asked()
        await desk.nes.focus(URI)
        await desk.settle()
        assert desk.agent.questions == 1


async def test_at_the_end_everything_under_way_is_taken_back_and_the_session_is_closed() -> None:
    async with at_desk() as desk:
        first, second = await two_questions(desk)
        await desk.type("c", 0, 2)
    agent = desk.agent
    assert agent.cancelled == [first["id"], second["id"]]
    assert agent.methods[-1] == "nes/close"
    desk.clock.advance(10)
    assert agent.questions == 2


# Late answers


async def test_a_late_first_answer_is_shown_if_the_user_types_what_it_says() -> None:
    async with at_desk() as desk:
        first, _ = await two_questions(desk)
        desk.agent.suggest(first, desk.agent.edit("s", ((0, 1, 0, 1), "bcd")))
        await desk.settle()
        assert desk.target == "abcd"
        assert desk.agent.cancelled == []


async def test_an_answer_moves_with_what_was_changed_since_the_question() -> None:
    async with at_desk("one\ntwo\n") as desk:
        await desk.type("x", 0, 3)
        question = await desk.question()
        await desk.type("\n\n", 0, 4)
        desk.agent.suggest(question, desk.agent.edit("s", ((1, 0, 1, 3), "three")))
        await desk.settle()
        assert desk.target == "onex\n\n\nthree\n"


async def test_an_answer_that_does_not_fit_any_more_is_dropped_and_that_is_told() -> None:
    async with at_desk() as desk:
        first, _ = await two_questions(desk)
        desk.agent.suggest(first, desk.agent.edit("s", ((0, 1, 0, 1), "xyz")))
        await desk.settle()
        assert desk.nes.shown is None
        assert desk.agent.outcomes == [("s", "cancelled")]


async def test_positions_of_an_answer_are_those_of_the_text_that_was_asked_about() -> None:
    agent = NesAgent(1, EVERY_EVENT, positionEncoding="utf-16")
    async with at_desk("😀😀 a", agent=agent) as desk:
        await desk.type("b", 0, 4)
        question = await desk.question()
        assert question["params"]["position"] == position(0, 7)
        await desk.nes.change(URI, TextEdit(span(0, 0, 0, 2), ""))
        desk.agent.suggest(question, desk.agent.edit("s", ((0, 7, 0, 7), "c")))
        await desk.settle()
        assert desk.target == " abc"


async def test_an_answer_about_a_document_that_was_closed_is_dropped() -> None:
    async with at_desk() as desk:
        await desk.type("a", 0, 0)
        question = await desk.question()
        await desk.nes.close(URI)
        await desk.nes.open(URI, "python", "a")
        desk.agent.suggest(question, desk.agent.edit("s", ((0, 1, 0, 1), "b")))
        await desk.settle()
        assert desk.nes.shown is None
        assert desk.agent.outcomes == [("s", "cancelled")]


async def test_a_connection_that_ends_is_seen_where_something_is_told() -> None:
    async with at_desk() as desk:
        await desk.type("a", 0, 0)
        await desk.question()
        await desk.agent.transport.aclose()
        await desk.nes.connection.peer.wait_closed()
        with pytest.raises(ConnectionClosed):
            await desk.type("b", 0, 1)
        with pytest.raises(ConnectionClosed):
            await desk.nes.ask()


async def test_what_is_taken_moves_answers_that_are_under_way() -> None:
    async with at_desk("a\nb\n", timing=INSTANT) as desk:
        await desk.type("x", 0, 0)
        desk.agent.suggest(await desk.agent.asked(), desk.agent.edit("s", ((0, 2, 0, 2), "\n\n")))
        await desk.settle()
        await desk.type("y", 1, 1)
        question = await desk.agent.asked()
        await desk.nes.accept()
        desk.agent.suggest(question, desk.agent.edit("t", ((1, 0, 1, 1), "B")))
        await desk.settle()
        assert desk.target == "xa\n\n\nBy\n"


async def test_a_moved_cursor_asks_nothing_while_something_is_shown() -> None:
    async with at_desk("a\nb\n") as desk:
        await desk.type("x", 0, 0)
        await desk.shown(desk.agent.edit("s", ((1, 1, 1, 1), "c")))
        await desk.nes.move(URI, Spot(1, 0))
        desk.clock.advance(1)
        await desk.settle()
        assert desk.agent.questions == 1


async def test_a_question_is_about_what_is_there_when_it_is_sent() -> None:
    async with at_desk("a\nb\n", timing=INSTANT) as desk:
        await desk.type("x", 0, 0)
        await desk.type("y", 0, 1)
        question = await desk.agent.asked()
        assert question["params"]["version"] == 3
        desk.agent.suggest(question, desk.agent.edit("s", ((1, 1, 1, 1), "c")))
        await desk.settle()
        assert desk.target == "xya\nbc\n"
        assert desk.agent.questions == 1


async def test_a_document_that_is_closed_at_once_is_not_asked_about() -> None:
    async with at_desk("a", timing=INSTANT) as desk:
        await desk.type("x", 0, 0)
        await desk.nes.close(URI)
        await desk.settle()
        assert desk.agent.questions == 0


async def test_a_jump_to_where_the_cursor_is_is_none() -> None:
    async with at_desk("a\nb\n") as desk:
        await desk.type("x", 0, 0)
        jump = {"kind": "jump", "id": "j", "uri": URI, "position": position(0, 1)}
        assert await desk.shown(jump) is None
        assert desk.agent.outcomes == [("j", "cancelled")]
