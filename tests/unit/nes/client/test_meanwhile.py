"""What happens while something else is under way, and what goes wrong there."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parley.errors import LocalProtocolError
from parley.nes.client import EditSuggestion, Timing
from parley.nes.documents.change import Spot
from parley.nes.documents.document import Document
from parley.nes.engine import Diagnostic, TextEdit
from parley.transport._base import HIGH_WATER_BYTES
from parley.transport._memory import MemoryTransport

from .desk import EVERY_CONTEXT, EVERY_EVENT, URI, Desk, NesAgent, Stalled, at_desk, span

OTHER = "file:///w/b.py"


async def stall(desk: Desk) -> tuple[Stalled, asyncio.Task[Any]]:
    """Have the agent read nothing more; returns what lets it, and what waits for it."""
    transport = desk.agent.transport
    assert isinstance(transport, MemoryTransport)
    stalled = Stalled(transport)
    long = "z" * (HIGH_WATER_BYTES + 1)
    opening = asyncio.create_task(desk.nes.open(OTHER, "python", long))
    await stalled.another()
    return stalled, opening


def replayed(desk: Desk, text: str) -> str:
    """Return the text as the agent has it, made by the changes that it was told."""
    document = Document(URI, "python", 1, text)
    for note in desk.agent.got("document/didChange"):
        assert note["version"] > document.version
        document.version = note["version"]
        for each in note["contentChanges"]:
            start, end = (Spot(*each["range"][name].values()) for name in ("start", "end"))
            document.edit(span(*start, *end), each["text"])
    return document.text


async def test_what_is_typed_while_something_is_taken_is_a_change_of_the_new_text() -> None:
    async with at_desk("a\nb\n") as desk:
        await desk.suggested("s", (1, 1), "cd", "x")
        stalled, opening = await stall(desk)
        taking = asyncio.create_task(desk.nes.accept())
        await stalled.another()
        assert not taking.done()
        assert desk.text == "xa\nbcd\n"
        typing = asyncio.create_task(desk.type("y\n", 0, 0))
        await stalled.another()
        assert desk.text == "y\nxa\nbcd\n"
        stalled.end()
        await asyncio.gather(opening, taking, typing)
        await desk.settle()
        assert replayed(desk, "a\nb\n") == desk.text
        assert desk.agent.outcomes == [("s", "accepted")]


async def test_a_document_that_is_closed_while_something_is_taken_is_told_no_more() -> None:
    async with at_desk("a\nb\n") as desk:
        await desk.suggested("s", (1, 1), "cd", "x")
        stalled, opening = await stall(desk)
        taking = asyncio.create_task(desk.nes.accept())
        await stalled.another()
        closing = asyncio.create_task(desk.nes.close(URI))
        await stalled.another()
        stalled.end()
        await asyncio.gather(opening, taking, closing)
        await desk.settle()
        assert len(desk.agent.got("document/didChange")) == 1
        assert desk.agent.questions == 1


@asynccontextmanager
async def slow_disk() -> AsyncGenerator[threading.Event]:
    """Have no file read until the event is set."""
    loop, ready = asyncio.get_running_loop(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))
    waits = loop.run_in_executor(None, ready.wait)
    try:
        yield ready
    finally:
        ready.set()
        await waits


async def reading(desk: Desk, uri: str) -> None:
    """Have an edit of a file suggested that is not open and has to be read."""
    await desk.type("x", 0, 0)
    edit = desk.agent.edit("k", ((1, 0, 1, 3), "2"), uri=uri)
    assert await desk.shown(edit) is None


async def test_what_changes_while_a_file_is_read_counts(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("one\ntwo\n")
    uri = (tmp_path / "k.py").as_uri()
    async with at_desk("a", options={"folders": [tmp_path]}) as desk, slow_disk() as ready:
        await reading(desk, uri)
        await desk.nes.open(uri, "python", "one\ntwo\n")
        await desk.nes.change(uri, TextEdit(span(0, 0), "zero\n"))
        ready.set()
        assert isinstance(await desk.shows.get(), EditSuggestion)
        assert desk.target == "zero\none\n2\n"


async def test_an_undo_while_a_file_is_read_drops_the_answer(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("one\ntwo\n")
    uri = (tmp_path / "k.py").as_uri()
    async with at_desk("a", options={"folders": [tmp_path]}) as desk, slow_disk() as ready:
        await reading(desk, uri)
        await desk.nes.set_text(URI, "a")
        ready.set()
        await desk.agent.on_outcome("k")
        assert desk.agent.outcomes == [("k", "cancelled")]
        assert desk.nes.shown is None


# What goes wrong


async def test_an_error_of_the_program_reaches_who_asks() -> None:
    agent = NesAgent(1, EVERY_EVENT, EVERY_CONTEXT)
    async with at_desk("a", agent=agent, options={"related": _broken}) as desk:
        with pytest.raises(ZeroDivisionError):
            await desk.nes.ask()


async def test_an_error_of_the_program_is_logged_where_nobody_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = NesAgent(1, EVERY_EVENT, EVERY_CONTEXT)
    async with at_desk("a", agent=agent, options={"related": _broken}) as desk:
        await desk.type("x", 0, 0)
        with caplog.at_level(logging.ERROR, "parley.nes.client"):
            desk.clock.advance(1)
            await desk.settle()
        (record,) = [each for each in caplog.records if each.name.startswith("parley.nes.client")]
        assert record.exc_info is not None
        assert record.exc_info[0] is ZeroDivisionError
        assert desk.agent.questions == 0


def _broken(uri: str, spot: Spot) -> list[Any]:
    raise ZeroDivisionError


async def test_a_question_without_an_answer_is_taken_back_in_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    timing = Timing(answer_timeout=3)
    async with at_desk("a", timing=timing) as desk:
        await desk.type("x", 0, 0)
        question = await desk.question()
        desk.clock.advance(2.9)
        await desk.settle()
        assert desk.agent.cancelled == []
        with caplog.at_level(logging.WARNING):
            desk.clock.advance(0.1)
            await desk.settle()
        assert desk.agent.cancelled == [question["id"]]
        assert "has not answered within 3 s" in caplog.text
        await desk.type("y", 0, 0)
        await desk.shown(desk.agent.edit("s", ((0, 3, 0, 3), "!")))
        assert desk.target == "yxa!"


async def test_who_asks_an_agent_that_does_not_answer_is_told_so() -> None:
    async with at_desk("a", timing=Timing(answer_timeout=3)) as desk:
        asking = asyncio.create_task(desk.nes.ask())
        await desk.agent.asked()
        desk.clock.advance(3)
        with pytest.raises(TimeoutError, match="has not answered within 3 s"):
            await asking


async def test_diagnostics_of_a_document_that_is_not_open_are_not_kept() -> None:
    found = Diagnostic(OTHER, span(0, 0, 0, 1), "error", "no")
    agent = NesAgent(1, EVERY_EVENT, EVERY_CONTEXT)
    async with at_desk("a", agent=agent) as desk:
        with pytest.raises(LocalProtocolError, match="not open"):
            await desk.nes.diagnose(OTHER, [found])
        await desk.nes.open(OTHER, "python", "b")
        await desk.nes.focus(OTHER)
        assert (await desk.question())["params"]["context"]["diagnostics"] == []


# Small things


async def test_the_cursor_is_where_it_is_told_also_if_the_last_edit_changes_nothing() -> None:
    async with at_desk("ab\ncd\n") as desk:
        real, none = TextEdit(span(0, 0), "x"), TextEdit(span(1, 0, 1, 1), "c")
        await desk.nes.change(URI, real, none, cursor=Spot(1, 2))
        assert (await desk.question())["params"]["position"] == {"line": 1, "character": 2}
        await desk.nes.change(URI, none, cursor=Spot(0, 1))
        await desk.nes.focus(URI)
        assert (await desk.question())["params"]["position"] == {"line": 0, "character": 1}


async def test_a_keystroke_does_not_put_the_whole_text_together() -> None:
    async with at_desk("a\n" * 1000) as desk:
        document = desk.nes._buffers[URI].document
        await desk.type("x", 500, 0)
        desk.agent.suggest(await desk.question())
        assert document._text is None
        assert document.lines[500] == "xa\n"
