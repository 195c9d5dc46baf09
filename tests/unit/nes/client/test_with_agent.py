"""A client with an agent of Parley's: both versions, every encoding, on the network too."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.agent import Agent, AgentConnection, Login
from parley.client import Remote
from parley.errors import AuthRequired
from parley.gateway import Access, serve
from parley.nes import EditProposal, NesClient, Proposal, Question, Span, Spot, Suggestions
from parley.nes.client import EditSuggestion, Suggestion, Timing
from parley.nes.engine import Outcome, TextEdit
from parley.nes.serving import ServedSession

from .editor import URI

INSTANT = Timing(debounce_after=0, throttle_after=0)


class Shouter:
    """An agent that makes the first small letter large, and keeps what it is told."""

    def __init__(self) -> None:
        self.agent = Agent("shouter")
        self.told: asyncio.Queue[str] = asyncio.Queue()
        self.suggestions = Suggestions(self.agent)
        self.suggestions.suggest(self.guess)
        self.suggestions.accepted(self.took)
        self.suggestions.rejected(self.passed)

    async def guess(self, session: ServedSession, question: Question) -> list[Proposal]:
        for number, line in enumerate(question.document.lines):
            for column, letter in enumerate(line):
                if letter.islower():
                    place = Span(Spot(number, column), Spot(number, column + 1))
                    edit = TextEdit(place, letter.upper())
                    uri = question.document.uri
                    return [EditProposal(uri=uri, edits=(edit,), score=0.9, rule="shout")]
        return []

    async def took(self, session: ServedSession, proposal: Proposal) -> None:
        self.told.put_nowait("accepted")

    async def passed(self, session: ServedSession, proposal: Proposal, outcome: Outcome) -> None:
        self.told.put_nowait(outcome)


@asynccontextmanager
async def editing(
    target: Any, **connecting: Any
) -> AsyncGenerator[tuple[NesClient, asyncio.Queue[Suggestion | None]], None]:
    """Connect an editor."""
    shows: asyncio.Queue[Suggestion | None] = asyncio.Queue()
    options: Any = {"on_show": shows.put_nowait, "timing": INSTANT, "folders": []}
    async with NesClient.connect(target, "/", **options, **connecting) as nes:
        yield nes, shows


async def next_shown(shows: asyncio.Queue[Suggestion | None]) -> EditSuggestion:
    while (shown := await shows.get()) is None:
        pass
    assert isinstance(shown, EditSuggestion)
    return shown


async def shouted(target: Any, **connecting: Any) -> str:
    """Return a text after everything that is suggested was taken."""
    async with editing(target, **connecting) as (nes, shows):
        document = await nes.open(URI, "text", "😀a\r\né😀")
        await nes.change(URI, TextEdit(Span(Spot(1, 2), Spot(1, 2)), "z"))
        while document.text != "😀A\r\nÉ😀Z":
            await next_shown(shows)
            await nes.accept()
        return document.text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("version", [1, 2])
async def test_everything_that_is_suggested_is_taken(version: int, encoding: str) -> None:
    shouter = Shouter()
    options = {"versions": (version,), "position_encodings": (encoding,)}
    assert await shouted(shouter.agent, **options) == "😀A\r\nÉ😀Z"
    assert [shouter.told.get_nowait() for _ in range(3)] == ["accepted"] * 3


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_the_agent_may_be_on_the_network(scheme: str) -> None:
    token = secrets.token_urlsafe(32)
    async with serve(Shouter().agent, "127.0.0.1:0", access=Access({token: "ann"})) as serving:
        url = serving.url.replace("http", scheme, 1)
        assert await shouted(url, remote=Remote(token=token)) == "😀A\r\nÉ😀Z"


@pytest.mark.parametrize("version", [1, 2])
async def test_what_is_refused_is_told_and_not_shown_again(version: int) -> None:
    shouter = Shouter()
    async with editing(shouter.agent, versions=(version,)) as (nes, shows):
        await nes.open(URI, "text", "A")
        await nes.change(URI, TextEdit(Span(Spot(0, 1), Spot(0, 1)), "b"))
        await next_shown(shows)
        await nes.reject()
        assert await shouter.told.get() == "rejected"
        assert await nes.ask() is None
        assert await shouter.told.get() == "cancelled"


@pytest.mark.parametrize("version", [1, 2])
async def test_a_login_is_made_when_the_agent_wants_one(version: int) -> None:
    shouter = Shouter()
    is_open = False

    @shouter.agent.login("key", name="Key")
    async def log_in(login: Login) -> None:
        nonlocal is_open
        is_open = True

    @shouter.agent.logout
    async def log_out(connection: AgentConnection) -> None:
        nonlocal is_open
        is_open = False

    async def check(session: ServedSession) -> None:
        if not is_open:
            raise AuthRequired

    shouter.suggestions.started(check)

    def choose(methods: object) -> str:
        return "key"

    text = await shouted(shouter.agent, login=choose, versions=(version,))
    assert text == "😀A\r\nÉ😀Z"
