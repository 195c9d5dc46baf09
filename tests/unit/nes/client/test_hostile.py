"""Agents that do not behave, texts that are strange, and ends at the wrong moment."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from parley.errors import LocalProtocolError, Overloaded
from parley.nes._documents.change import Span, Spot
from parley.nes.client import EditSuggestion, Timing
from parley.nes.client._client import MOST_LOOKED_AT
from parley.nes.engine import Diagnostic, Outcome, TextEdit
from parley.peer import Limits

from .editor import (
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
from .test_meanwhile import stall

OTHER = "file:///w/b.py"
SOON = Timing(response_timeout=0.01, start_timeout=0.01)


# Agents that do not answer


class Silent(NesAgent):
    """An agent that never answers some requests."""

    def __init__(self, *silent: str) -> None:
        super().__init__(1, EVERY_EVENT)
        for each in silent:
            del self.answers[each]


async def test_an_agent_that_does_not_start_a_session_is_not_waited_for_for_ever() -> None:
    with pytest.raises(TimeoutError, match=r"has not answered nes/start within 0\.01 s"):
        async with open_editor("a", agent=Silent("nes/start"), timing=SOON):
            pass


async def test_an_agent_that_does_not_close_a_session_does_not_keep_the_editor(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        async with open_editor("a", agent=Silent("nes/close"), timing=SOON):
            pass
    assert "nes/close was not answered" in caplog.text


async def test_an_agent_that_reads_nothing_does_not_keep_the_editor() -> None:
    async with open_editor("a\nb", timing=Timing(response_timeout=0.05)) as editor:
        await editor.suggested("s", (1, 1), "c", "x")
        stalled, opening = await stall(editor)
        await editor.nes.aclose()
        assert editor.nes.shown is None
        stalled.end()
        await opening


async def test_nothing_is_asked_when_the_session_has_ended_meanwhile() -> None:
    async with open_editor("a\nb") as editor:
        stalled, opening = await stall(editor)
        typing = asyncio.create_task(editor.type("x", 0, 0))
        await stalled.another()
        ending = asyncio.create_task(editor.nes.aclose())
        await stalled.another()
        stalled.end()
        await asyncio.gather(opening, ending, typing, return_exceptions=True)
        editor.clock.advance(10)
        assert not editor.nes._in_flight._tasks
        await editor.settle()
        assert editor.agent.questions == 0
        with pytest.raises(LocalProtocolError, match="not open"):
            await editor.nes.ask()


async def test_an_agent_that_was_too_slow_for_a_change_gets_the_whole_text() -> None:
    async with open_editor("ab\n", limits=Limits(connection_bytes=1000)) as editor:
        stalled, opening = await stall(editor)
        with pytest.raises(Overloaded):
            await editor.type("x", 0, 0)
        stalled.end()
        await opening
        await editor.type("y", 0, 3)
        await editor.settle()
        (note,) = editor.agent.got("document/didChange")
        assert note["contentChanges"] == [
            {"text": "xab\n"},
            {"range": range_(0, 3, 0, 3), "text": "y"},
        ]
        assert note["version"] > 2


async def test_an_answer_that_comes_when_nobody_wants_it_any_more_has_a_fate() -> None:
    async with open_editor("a\nb") as editor:
        await editor.type("x", 0, 0)
        first = await editor.question()
        await editor.type("y", 0, 0)
        second = await editor.question()
        editor.agent.suggest(second, editor.agent.edit("new", ((1, 1, 1, 1), "!")))
        editor.agent.suggest(first, editor.agent.edit("old", ((1, 1, 1, 1), "?")))
        await editor.settle()
        assert editor.target == "yxa\nb!"
        assert editor.agent.outcomes == [("old", "cancelled")]


async def test_an_answer_that_comes_when_it_is_too_late_for_it_has_a_fate() -> None:
    async with open_editor("a\nb", timing=Timing(response_timeout=3)) as editor:
        asking = asyncio.create_task(editor.nes.ask())
        question = await editor.agent.asked()
        # Both happen in the same turn of the loop.
        editor.agent.suggest(question, editor.agent.edit("late", ((1, 1, 1, 1), "!")))
        editor.clock.advance(3)
        with pytest.raises(TimeoutError, match="has not answered within 3 s"):
            await asking
        await editor.agent.on_outcome("late")
        assert editor.agent.outcomes == [("late", "cancelled")]


# What fails on the way


async def test_a_change_that_cannot_be_sent_does_not_keep_a_fate_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_editor("a\nb") as editor:
        await editor.suggested("s", (1, 1), "c", "x")
        monkeypatch.setattr(editor.nes.session, "changed", overloaded)
        with pytest.raises(Overloaded):
            await editor.nes.change(URI, TextEdit(span(1, 0, 1, 1), ""))
        await editor.settle()
        assert editor.agent.outcomes == [("s", "ignored")]
        assert "s" not in editor.nes._cache._entries.values()


async def test_an_accepted_edit_is_sent_even_if_reporting_the_outcome_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_editor("a\nb") as editor:
        await editor.suggested("s", (1, 1), "c", "x")
        monkeypatch.setattr(editor.nes.session, "report_outcome", overloaded)
        with pytest.raises(Overloaded):
            await editor.nes.accept()
        monkeypatch.undo()
        await editor.settle()
        assert editor.agent.got("document/didChange")[-1]["contentChanges"][0]["text"] == "c"


async def test_an_outcome_that_cannot_be_reported_does_not_hold_back_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_editor("a\nb") as editor:
        report, failed = editor.nes.session.report_outcome, list[str]()

        async def first_fails(id: str, outcome: Outcome) -> None:
            if not failed:
                failed.append(id)
                raise Overloaded("too slow")
            await report(id, outcome)

        monkeypatch.setattr(editor.nes.session, "report_outcome", first_fails)
        await editor.type("x", 0, 0)
        none = [editor.agent.edit(id, ((0, 0, 0, 0), "")) for id in "qrs"]
        editor.agent.suggest(await editor.question(), *none)
        await editor.agent.on_outcome("s")
        assert failed == ["q"]
        assert editor.agent.outcomes == [("r", "cancelled"), ("s", "cancelled")]


async def overloaded(*given: object) -> None:
    raise Overloaded("too slow")


async def test_what_came_to_the_front_is_told_when_there_is_room_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_editor("a") as editor:
        await editor.nes.open(OTHER, "python", "b")
        monkeypatch.setattr(editor.nes.session, "focused", overloaded)
        with pytest.raises(Overloaded):
            await editor.nes.move(OTHER, Spot(0, 1))
        monkeypatch.undo()
        await editor.nes.move(OTHER, Spot(0, 0))
        await editor.settle()
        assert [each["uri"] for each in editor.agent.got("document/didFocus")] == [OTHER]


# What an answer is about


def counted(editor: Editor, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which is added what is read from the disk."""
    files, read = editor.nes._disk_files, list[str]()
    original = files.read

    async def reading(uri: str) -> str | None:
        read.append(uri)
        return await original(uri)

    monkeypatch.setattr(files, "read", reading)
    return read


async def test_a_file_is_read_once_for_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.py").write_text("one\ntwo\n")
    uri = (tmp_path / "k.py").as_uri()
    async with open_editor("a", options={"folders": [tmp_path]}) as editor:
        read = counted(editor, monkeypatch)
        await editor.type("x", 0, 0)
        places = [("same", "two"), ("k", "2")]
        edits = [editor.agent.edit(id, ((1, 0, 1, 3), text), uri=uri) for id, text in places]
        await editor.shown(*edits)
        shown = await editor.shows.get()
        assert shown is not None
        assert (shown.id, read) == ("k", [uri])


async def test_an_answer_without_end_is_not_looked_at_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uris = [(tmp_path / f"{each}.py").as_uri() for each in range(300)]
    async with open_editor("a", options={"folders": [tmp_path]}) as editor:
        read = counted(editor, monkeypatch)
        await editor.type("x", 0, 0)
        edits = [editor.agent.edit(each, ((0, 0, 0, 0), "x"), uri=each) for each in uris]
        editor.agent.suggest(await editor.question(), *edits)
        await editor.agent.on_outcome(uris[-1])
        assert read == uris[:MOST_LOOKED_AT]
        assert editor.agent.outcomes == [(each, "cancelled") for each in uris]


async def test_an_agent_may_spell_the_name_of_an_open_document_in_another_way() -> None:
    async with open_editor("a\nb") as editor:
        await editor.type("x", 0, 0)
        await editor.shown(editor.agent.edit("s", ((1, 1, 1, 1), "!"), uri="file:///w/%61.py"))
        await editor.nes.accept()
        assert editor.text == "xa\nb!"


@pytest.mark.parametrize(("text", "stays"), [("one\ntwo\n", True), ("zero\none\ntwo\n", False)])
async def test_a_file_is_opened_with_the_text_that_a_suggestion_is_about_or_it_is_over(
    tmp_path: Path, text: str, stays: bool
) -> None:
    (tmp_path / "k.py").write_text("one\ntwo\n")
    uri = (tmp_path / "k.py").as_uri()
    async with open_editor("a", options={"folders": [tmp_path]}) as editor:
        await editor.type("x", 0, 0)
        await editor.shown(editor.agent.edit("k", ((1, 0, 1, 3), "2"), uri=uri))
        assert await editor.shows.get() is not None
        await editor.nes.open(uri, "python", text)
        assert (editor.nes.shown is not None) == stays
        await editor.settle()
        assert editor.agent.outcomes == ([] if stays else [("k", "ignored")])


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_lines_that_are_suggested_end_as_those_of_the_document(end: str) -> None:
    async with open_editor(f"a{end}b") as editor:
        await editor.type("x", 0, 0)
        edits = [((0, 2, 0, 2), "\nq\r\n"), ((1, 1, 1, 1), "\nr")]
        await editor.shown(editor.agent.edit("s", *edits, cursorPosition=position(3, 1)))
        taken = await editor.nes.accept()
        assert isinstance(taken, EditSuggestion)
        assert taken.cursor == Spot(3, 1)
        assert editor.text == f"xa{end}q{end}{end}b{end}r"


async def test_nothing_is_an_answer_until_another_document_is_changed() -> None:
    async with open_editor("a\n") as editor:
        await editor.nes.open(OTHER, "python", "b\n")
        await editor.nes.focus(URI)
        await editor.shown()
        await editor.nes.change(OTHER, TextEdit(span(0, 0), "x"))
        await editor.shown()
        await editor.nes.focus(URI)
        assert (await editor.question())["params"]["uri"] == URI


async def test_nothing_is_an_answer_until_there_are_other_diagnostics() -> None:
    async with open_editor("a\n" * 9) as editor:
        await editor.nes.focus(URI)
        await editor.shown()
        far = Diagnostic(URI, span(8, 0, 8, 1), "error", "far away")
        await editor.nes.diagnose(URI, [far])
        await editor.nes.focus(URI)
        await editor.shown()
        await editor.nes.diagnose(URI, [far])
        await editor.nes.focus(URI)
        editor.clock.advance(1)
        await editor.settle()
        assert editor.agent.questions == 2


# Strange texts and places


async def test_a_piece_whose_end_is_before_its_start_is_told_the_right_way_round() -> None:
    async with open_editor("abc\n") as editor:
        await editor.nes.change(URI, TextEdit(Span(Spot(0, 3), Spot(0, 1)), "x"))
        await editor.nes.move(URI, Spot(0, 0), Span(Spot(0, 2), Spot(0, 0)))
        assert editor.text == "ax\n"
        question = (await editor.question())["params"]
        (note,) = editor.agent.got("document/didChange")
        assert note["contentChanges"] == [{"range": range_(0, 1, 0, 3), "text": "x"}]
        assert question["selection"] == range_(0, 0, 0, 2)


@pytest.mark.parametrize("kind", ["incremental", "full"])
async def test_what_json_cannot_have_is_replaced_where_it_is_sent(kind: str) -> None:
    events: dict[str, Any] = {**EVERY_EVENT, "didChange": {"syncKind": kind}}
    async with open_editor("a\ud800b", agent=NesAgent(1, events, EVERY_CONTEXT)) as editor:
        await editor.type("\udfff", 0, 0)
        assert editor.text == "\udfffa\ud800b"
        await editor.nes.diagnose(URI, [Diagnostic(URI, span(0, 0, 0, 1), "error", "no \ud800")])
        context = (await editor.question())["params"]["context"]
        assert context["diagnostics"][0]["message"] == "no \ufffd"
        assert "+\ufffda\ufffdb" in context["editHistory"][0]["diff"]
        assert editor.agent.got("document/didOpen")[0]["text"] == "a\ufffdb"
        (note,) = editor.agent.got("document/didChange")
        told = {"incremental": "\ufffd", "full": "\ufffda\ufffdb"}[kind]
        assert note["contentChanges"][0]["text"] == told
