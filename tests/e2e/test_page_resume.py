"""The page through interruptions: reloads, cuts, a long sleep, and more than one of it."""

from __future__ import annotations

import asyncio
import ssl
import sys
from pathlib import Path

import pytest
from tests.e2e.browser import CHROMIUM, DESKTOP
from tests.e2e.page_session import open_page
from tests.unit.transport.http.certificate import written

from parley.agent import Agent, Turn
from parley.gateway import AgentHost
from parley.testing.demo import demo_agent
from parley.transport.http._app.limits import AppLimits

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

READABLE = "document.querySelector('.card') && !document.querySelector('.card.early')"
COUNT = 200


class Counter:
    """An agent that counts, as far as it is let."""

    def __init__(self, *, version: int = 2) -> None:
        self.agent = Agent("counter", versions=range(1, version + 1))
        self.until = 0
        self.moved = asyncio.Event()
        self.agent.prompt(self._reply)

    def let(self, until: int) -> None:
        self.until = until
        self.moved.set()

    async def _reply(self, turn: Turn) -> None:
        for number in range(COUNT):
            while self.until <= number:
                self.moved.clear()
                await self.moved.wait()
            await turn.say(f"{number}\n\n")
        await turn.say("end")


DEMO = [sys.executable, "-m", "parley", "demo"]
QUESTION = {1: "Do something that needs permission", 2: "May I?"}
"""What the demo agent asks, in each version."""
EVERYTHING = [*map(str, range(COUNT)), "end"]
SAID = "[...document.querySelectorAll('.agent p')].map((each) => each.textContent)"


@pytest.mark.parametrize("version", [1, 2])
async def test_a_page_that_is_loaded_again_goes_on_with_the_turn(
    tmp_path: Path, version: int
) -> None:
    counter = Counter(version=version)
    async with open_page(tmp_path, counter.agent) as session:
        page = session.page
        await session.ready()
        await session.say("count")
        counter.let(50)
        await page.when(f"{SAID}.length === 50")
        await page.reload()
        await page.when(f"{SAID}.length === 50")
        assert await page.text(".user") == "count"
        counter.let(COUNT)
        await page.when(f"{SAID}.at(-1) === 'end'")
        assert await page.run(SAID) == EVERYTHING


@pytest.mark.parametrize("version", [1, 2])
async def test_a_question_waits_for_a_page_that_is_loaded_again(
    tmp_path: Path, version: int
) -> None:
    async with open_page(tmp_path, demo_agent(versions=range(1, version + 1))) as session:
        page = session.page
        await session.ready()
        await session.say("perm")
        await page.sees(QUESTION[version], ".card")
        await page.reload()
        await page.sees('"harm": "none"', ".card .action")
        await page.when(READABLE)
        await page.click(".card button", "Yes")
        await page.sees('"optionId":"yes"', ".agent")
        await session.ready()


@pytest.mark.requirement("SAFE-LIVE-05")
@pytest.mark.parametrize("version", [1, 2])
async def test_a_cut_network_loses_and_repeats_nothing(tmp_path: Path, version: int) -> None:
    counter = Counter(version=version)
    async with open_page(tmp_path, counter.agent) as session:
        page = session.page
        await session.ready()
        await session.say("count")
        for number in range(20, COUNT, 20):
            counter.let(number)
            await page.when(f"{SAID}.length >= {number - 10}")
            session.proxy.cut()
        session.proxy.go_down()
        await page.sees("Disconnected", "#status")
        counter.let(COUNT)
        session.proxy.come_back()
        await page.run("dispatchEvent(new Event('online'))")
        await page.when(f"{SAID}.at(-1) === 'end'")
        assert await page.run(SAID) == EVERYTHING
        await session.ready()


@pytest.mark.parametrize("version", [1, 2])
async def test_what_is_said_while_the_network_is_away_is_sent_once_it_is_back(
    tmp_path: Path, version: int
) -> None:
    async with open_page(tmp_path, demo_agent(versions=range(1, version + 1))) as session:
        page = session.page
        await session.ready()
        session.proxy.go_down()
        await page.sees("Disconnected", "#status")
        await session.say("anybody?")
        await page.sees("anybody?", ".user.pending")
        session.proxy.come_back()
        await page.run("dispatchEvent(new Event('online'))")
        await page.sees("echo: anybody?", ".agent")
        assert await page.count(".user") == 1
        assert await page.count(".agent") == 1


async def test_an_answer_that_is_lost_is_repeated_and_counts_once(tmp_path: Path) -> None:
    async with open_page(tmp_path) as session:
        page = session.page
        await session.ready()
        session.proxy.freeze_responses()
        await session.say("once")
        await page.sees("once", ".user.pending")
        await session.proxy.swallowed(b" 202 ")
        session.proxy.cut()
        await page.sees("echo: once", ".agent")
        assert await page.count(".user") == 1
        assert await page.count(".agent") == 1


async def test_a_stream_that_the_browser_itself_asks_for_again_has_lost_nothing(
    tmp_path: Path,
) -> None:
    async with open_page(tmp_path) as session:
        page = session.page
        await session.ready()
        await session.say("first")  # over sockets that are used again: such requests it repeats
        await page.sees("echo: first", ".agent")
        # The page itself has patience: here it is the browser that asks again.
        await page.run("{ const later = setTimeout; setTimeout = (f, ms) => later(f, ms * 20); }")
        # The stream of the new session: that of the connection may be opened late.
        session.proxy.freeze_responses(to=(b"accept: text/event-stream", b"acp-session-id"))
        await page.click("#open-sessions")
        await page.click("#new-session button")
        await page.when(f"{SAID}.length === 0")
        await session.proxy.frozen()  # until then, "Ready" may be that of the first session
        await session.ready()
        await session.say("once")
        await session.proxy.swallowed(b"end_turn")
        session.proxy.cut()
        await page.sees("echo: once", ".agent")
        assert await page.count(".user") == 1
        assert await page.count(".agent") == 1


async def test_a_half_open_connection_is_noticed_when_the_phone_wakes(tmp_path: Path) -> None:
    counter = Counter()
    async with open_page(tmp_path, counter.agent) as session:
        page = session.page
        await session.ready()
        await session.say("count")
        counter.let(5)
        await page.when(f"{SAID}.length === 5")
        session.proxy.freeze()
        counter.let(COUNT)
        # The clock of a phone that slept has gone on, its timers have not. Those that follow are
        # fast here: a socket of the browser's that is dead costs some seconds each.
        await page.run("{ const later = setTimeout; setTimeout = (f, ms) => later(f, ms / 20); }")
        await page.run("{ const now = Date.now; Date.now = () => now() + 30_000; }")
        await page.run("document.dispatchEvent(new Event('visibilitychange'))")
        await page.when(f"{SAID}.at(-1) === 'end'")
        assert await page.run(SAID) == EVERYTHING


async def test_a_sleep_that_was_too_long_opens_the_session_again(tmp_path: Path) -> None:
    limits = AppLimits(grace=0.2)
    async with open_page(tmp_path, limits=limits) as session:
        page = session.page
        await session.ready()
        await session.say("before")
        await page.sees("echo: before", ".agent")
        await session.say("slow")
        await page.sees("waiting to be cancelled")
        is_gone = session.happens("connection_closed")
        session.proxy.go_down()
        await is_gone.wait()
        await session.say("meanwhile")
        session.proxy.come_back()
        await page.run("dispatchEvent(new Event('online'))")
        await page.sees("the agent's work was interrupted", ".warning")
        assert "echo: before" in await page.text()
        assert await page.run("document.querySelector('textarea').value") == "meanwhile"
        await page.click(".send")
        await page.sees("echo: meanwhile", ".agent")


@pytest.mark.parametrize("version", [1, 2])
async def test_two_pages_share_a_session_and_the_first_answer_counts(
    tmp_path: Path, version: int
) -> None:
    async with open_page(tmp_path, demo_agent(versions=range(1, version + 1))) as session:
        first = session.page
        await session.ready()
        await session.say("hello")
        await first.sees("echo: hello", ".agent")
        id = await first.run("JSON.parse(sessionStorage['parley.location']).session")
        second = await session.second(f"&session={id}", size=DESKTOP)
        await second.sees("echo: hello", ".agent")
        await session.say("perm", second)
        for page in (first, second):
            await page.sees(QUESTION[version], ".card")
            await page.when(READABLE)
        await first.click(".card button", "Yes")
        for page in (first, second):
            await page.sees('"optionId":"yes"', ".agent")
            assert await page.count(".card") == 0


@pytest.mark.parametrize("version", [1, 2])
async def test_who_only_looks_on_sees_everything_and_says_nothing(
    tmp_path: Path, version: int
) -> None:
    async with open_page(tmp_path, demo_agent(versions=range(1, version + 1))) as session:
        await session.ready()
        await session.say("hello")
        await session.page.sees("echo: hello", ".agent")
        id = await session.page.run("JSON.parse(sessionStorage['parley.location']).session")
        second = await session.second()
        await session.ready(second)
        await second.click("#open-sessions")
        await second.sees(f"Session …{id[-8:]}", "#session-list")
        await second.click("#sessions details summary")
        await second.click("#session-id")
        await second.type(id)
        await second.click("#observe")
        await second.click("#join-session button")
        await second.sees("echo: hello", ".agent")
        await second.sees("Observing", "#status")
        assert await second.run("document.querySelector('textarea').disabled")
        await session.say("perm")
        await session.page.sees(QUESTION[version], ".card")
        await second.sees("Do something that needs permission", ".tool")
        assert await second.count(".card") == 0


async def test_sessions_are_listed_and_a_working_one_goes_on_in_the_background(
    tmp_path: Path,
) -> None:
    counter = Counter()
    async with open_page(tmp_path, counter.agent, demo_agent()) as session:
        page = session.page
        await session.ready()
        await session.say("count")
        counter.let(3)
        await page.when(f"{SAID}.length === 3")
        await page.click("#open-sessions")
        await page.sees("count", "#session-list")
        await page.click("#new-session button")
        await page.when(f"{SAID}.length === 0")
        await session.ready()
        counter.let(10)
        await page.click("#open-sessions")
        await page.click("#session-list .session", "count")
        await page.when(f"{SAID}.length === 10")
        counter.let(COUNT)
        await page.when(f"{SAID}.at(-1) === 'end'")
        assert await page.run(SAID) == EVERYTHING
        await session.ready()
        await page.click("#open-sessions")
        await page.when("document.querySelector('#sessions').open")
        await page.run("document.querySelector('#agent').selectedIndex = 1")
        await page.click("#new-session button")
        await page.sees("Parley's demo agent", "#title")
        await session.ready()
        await session.say("you?")
        await page.sees("echo: you?", ".agent")


@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_that_dies_is_told_and_started_again(tmp_path: Path, version: int) -> None:
    host = AgentHost("demo", DEMO, versions=range(1, version + 1))
    async with open_page(tmp_path, host) as session:
        page = session.page
        await session.ready()
        await session.say("hello")
        await page.sees("echo: hello", ".agent")
        is_there_again = session.happens("connection_opened")
        await session.say("crash")
        await is_there_again.wait()
        await page.sees("exited with code 3", ".error")
        await session.ready()
        assert "echo: hello" in await page.text(".agent")
        await session.say("again")
        await page.sees("echo: again", ".agent")


async def test_over_tls_it_is_http_2_and_many_tabs_do_not_wait_for_each_other(
    tmp_path: Path,
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*written(tmp_path))
    async with open_page(tmp_path, tls=tls) as session:
        await session.ready()
        id = await session.page.run("JSON.parse(sessionStorage['parley.location']).session")
        for _ in range(4):
            page = await session.second(f"&session={id}")
            await session.ready(page)
        await session.say("to all")
        for page in session.pages:
            await page.sees("echo: to all", ".agent")
            used = await page.run(
                "[...new Set(performance.getEntriesByType('resource').map("
                "(each) => each.nextHopProtocol))]"
            )
            assert used == ["h2"]
        session.proxy.cut()
        await session.say("and again")
        for page in session.pages:
            await page.sees("echo: and again", ".agent")
            assert await page.count(".user") == 2
