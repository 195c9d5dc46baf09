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
from parley.nes._documents.change import Spot
from parley.nes._documents.document import Document
from parley.nes.client import EditSuggestion, Timing
from parley.nes.engine import Diagnostic, TextEdit
from parley.transport._base import HIGH_WATER_BYTES
from parley.transport._memory import MemoryTransport

from .editor import EVERY_CONTEXT, EVERY_EVENT, URI, Editor, NesAgent, Stalled, open_editor, span

OTHER = "file:///w/b.py"


async def stall(editor: Editor) -> tuple[Stalled, asyncio.Task[Any]]:
    """Have the agent read nothing more; returns what lets it, and what waits for it."""
    transport = editor.agent.transport
    assert isinstance(transport, MemoryTransport)
    stalled = Stalled(transport)
    long = "z" * (HIGH_WATER_BYTES + 1)
    opening = asyncio.create_task(editor.nes.open(OTHER, "python", long))
    await stalled.another()
    return stalled, opening


def replayed(editor: Editor, text: str) -> str:
    """Return the text as the agent has it, made by the changes that it was told."""
    document = Document(URI, "python", 1, text)
    for note in editor.agent.got("document/didChange"):
        assert note["version"] > document.version
        document.version = note["version"]
        for each in note["contentChanges"]:
            start, end = (Spot(*each["range"][name].values()) for name in ("start", "end"))
            document.edit(span(*start, *end), each["text"])
    return document.text


async def test_what_is_typed_while_something_is_taken_is_a_change_of_the_new_text() -> None:
    async with open_editor("a\nb\n") as editor:
        await editor.suggested("s", (1, 1), "cd", "x")
        stalled, opening = await stall(editor)
        taking = asyncio.create_task(editor.nes.accept())
        await stalled.another()
        assert not taking.done()
        assert editor.text == "xa\nbcd\n"
        typing = asyncio.create_task(editor.type("y\n", 0, 0))
        await stalled.another()
        assert editor.text == "y\nxa\nbcd\n"
        stalled.end()
        await asyncio.gather(opening, taking, typing)
        await editor.settle()
        assert replayed(editor, "a\nb\n") == editor.text
        assert editor.agent.outcomes == [("s", "accepted")]


async def test_a_document_that_is_closed_while_something_is_taken_is_told_no_more() -> None:
    async with open_editor("a\nb\n") as editor:
        await editor.suggested("s", (1, 1), "cd", "x")
        stalled, opening = await stall(editor)
        taking = asyncio.create_task(editor.nes.accept())
        await stalled.another()
        closing = asyncio.create_task(editor.nes.close(URI))
        await stalled.another()
        stalled.end()
        await asyncio.gather(opening, taking, closing)
        await editor.settle()
        assert len(editor.agent.got("document/didChange")) == 1
        assert editor.agent.questions == 1


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


async def reading(editor: Editor, uri: str) -> None:
    """Have an edit of a file suggested that is not open and has to be read."""
    await editor.type("x", 0, 0)
    edit = editor.agent.edit("k", ((1, 0, 1, 3), "2"), uri=uri)
    assert await editor.shown(edit) is None


async def test_what_changes_while_a_file_is_read_counts(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("one\ntwo\n")
    uri = (tmp_path / "k.py").as_uri()
    async with open_editor("a", options={"folders": [tmp_path]}) as editor, slow_disk() as ready:
        await reading(editor, uri)
        await editor.nes.open(uri, "python", "one\ntwo\n")
        await editor.nes.change(uri, TextEdit(span(0, 0), "zero\n"))
        ready.set()
        assert isinstance(await editor.shows.get(), EditSuggestion)
        assert editor.target == "zero\none\n2\n"


async def test_an_undo_while_a_file_is_read_drops_the_answer(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text("one\ntwo\n")
    uri = (tmp_path / "k.py").as_uri()
    async with open_editor("a", options={"folders": [tmp_path]}) as editor, slow_disk() as ready:
        await reading(editor, uri)
        await editor.nes.set_text(URI, "a")
        ready.set()
        await editor.agent.on_outcome("k")
        assert editor.agent.outcomes == [("k", "cancelled")]
        assert editor.nes.shown is None


# What goes wrong


async def test_an_error_of_the_program_reaches_who_asks() -> None:
    agent = NesAgent(1, EVERY_EVENT, EVERY_CONTEXT)
    async with open_editor("a", agent=agent, options={"related": _broken}) as editor:
        with pytest.raises(ZeroDivisionError):
            await editor.nes.ask()


async def test_an_error_of_the_program_is_logged_where_nobody_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = NesAgent(1, EVERY_EVENT, EVERY_CONTEXT)
    async with open_editor("a", agent=agent, options={"related": _broken}) as editor:
        await editor.type("x", 0, 0)
        with caplog.at_level(logging.ERROR, "parley.nes.client"):
            editor.clock.advance(1)
            await editor.settle()
        (record,) = [each for each in caplog.records if each.name.startswith("parley.nes.client")]
        assert record.exc_info is not None
        assert record.exc_info[0] is ZeroDivisionError
        assert editor.agent.questions == 0


def _broken(uri: str, spot: Spot) -> list[Any]:
    raise ZeroDivisionError


async def test_a_question_without_an_answer_is_taken_back_in_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    timing = Timing(response_timeout=3)
    async with open_editor("a", timing=timing) as editor:
        await editor.type("x", 0, 0)
        question = await editor.question()
        editor.clock.advance(2.9)
        await editor.settle()
        assert editor.agent.cancelled == []
        with caplog.at_level(logging.WARNING):
            editor.clock.advance(0.1)
            await editor.settle()
        assert editor.agent.cancelled == [question["id"]]
        assert "has not answered within 3 s" in caplog.text
        await editor.type("y", 0, 0)
        await editor.shown(editor.agent.edit("s", ((0, 3, 0, 3), "!")))
        assert editor.target == "yxa!"


async def test_who_asks_an_agent_that_does_not_answer_is_told_so() -> None:
    async with open_editor("a", timing=Timing(response_timeout=3)) as editor:
        asking = asyncio.create_task(editor.nes.ask())
        await editor.agent.asked()
        editor.clock.advance(3)
        with pytest.raises(TimeoutError, match="has not answered within 3 s"):
            await asking


async def test_diagnostics_of_a_document_that_is_not_open_are_not_kept() -> None:
    found = Diagnostic(OTHER, span(0, 0, 0, 1), "error", "no")
    agent = NesAgent(1, EVERY_EVENT, EVERY_CONTEXT)
    async with open_editor("a", agent=agent) as editor:
        with pytest.raises(LocalProtocolError, match="not open"):
            await editor.nes.diagnose(OTHER, [found])
        await editor.nes.open(OTHER, "python", "b")
        await editor.nes.focus(OTHER)
        assert (await editor.question())["params"]["context"]["diagnostics"] == []


# Small things


async def test_the_cursor_is_where_it_is_told_also_if_the_last_edit_changes_nothing() -> None:
    async with open_editor("ab\ncd\n") as editor:
        real, none = TextEdit(span(0, 0), "x"), TextEdit(span(1, 0, 1, 1), "c")
        await editor.nes.change(URI, real, none, cursor=Spot(1, 2))
        assert (await editor.question())["params"]["position"] == {"line": 1, "character": 2}
        await editor.nes.change(URI, none, cursor=Spot(0, 1))
        await editor.nes.focus(URI)
        assert (await editor.question())["params"]["position"] == {"line": 0, "character": 1}


async def test_a_keystroke_does_not_put_the_whole_text_together() -> None:
    async with open_editor("a\n" * 1000) as editor:
        document = editor.nes._buffers[URI].document
        await editor.type("x", 500, 0)
        editor.agent.suggest(await editor.question())
        assert document._text is None
        assert document.lines[500] == "xa\n"
