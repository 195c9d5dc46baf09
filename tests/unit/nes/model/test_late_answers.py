"""An answer that comes while the user types: it follows the typing, or is not shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from parley.agent import Agent
from parley.nes import ModelEngine, NesClient, Span, Spot, Suggestions, TextEdit
from parley.nes.client import EditSuggestion, NesOptions, Suggestion, Timing

from .model_server import URI, Exchange, saying, scripted

TEXT = "import os\n\n\ndef total(items):\n    return su\n"
DONE = TEXT.replace("return su", "return sum(items)")


class Desk:
    """An editor with an agent, and a model that answers when it is told to."""

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.shows: asyncio.Queue[Suggestion | None] = asyncio.Queue()
        self.nes: NesClient
        self.asking: asyncio.Task[Suggestion | None]

    async def answer(self, exchange: Exchange) -> None:
        self.is_asked.set()
        await self.may_answer.wait()
        await saying(f"```\n{DONE}```")(exchange)

    async def insert(self, line: int, column: int, text: str) -> None:
        await self.nes.change(URI, TextEdit(Span(Spot(line, column), Spot(line, column)), text))


@asynccontextmanager
async def asked() -> AsyncGenerator[Desk]:
    """Ask the model, which has not answered yet."""
    desk = Desk()
    async with scripted(desk.answer) as server:
        agent = Agent("model")
        Suggestions(agent, ModelEngine(server.url, "m", timeout=60))
        # What is typed later asks nothing: there is one question, and its answer is late.
        options = NesOptions(
            folders=(), on_show=desk.shows.put_nowait, timing=Timing(debounce_after=600)
        )
        async with NesClient.connect(agent, "/", **options) as desk.nes:
            await desk.nes.open(URI, "python", TEXT)
            await desk.nes.move(URI, Spot(4, 13))
            desk.asking = asyncio.create_task(desk.nes.ask())
            await desk.is_asked.wait()
            yield desk
            await desk.asking


async def shown(desk: Desk) -> tuple[TextEdit, ...]:
    desk.may_answer.set()
    suggestion = await desk.shows.get()
    assert isinstance(suggestion, EditSuggestion)
    return suggestion.edits


def insertion(line: int, column: int, text: str) -> tuple[TextEdit, ...]:
    return (TextEdit(Span(Spot(line, column), Spot(line, column)), text),)


async def test_it_is_shown_as_far_as_it_was_not_typed_meanwhile() -> None:
    async with asked() as desk:
        await desk.insert(4, 13, "m")
        assert await shown(desk) == insertion(4, 14, "(items)")


async def test_it_moves_with_what_was_typed_elsewhere() -> None:
    async with asked() as desk:
        await desk.insert(0, 9, "\nimport sys")
        assert await shown(desk) == insertion(5, 13, "m(items)")


async def test_it_is_not_shown_where_something_else_was_typed() -> None:
    async with asked() as desk:
        await desk.insert(4, 13, "btract")
        desk.may_answer.set()
        assert await desk.asking is None
        assert desk.shows.empty()
