from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.client import Session
from parley.gateway.agent_host import AgentHost
from parley.schema import v2
from parley.testing import Recorder

from .agent_hosts import OBSERVER, VERSION_MATRIX, attach, client, open_host, versions, wait_until

SELECTED = 'perm:{"outcome":"selected","optionId":"%s"}'


def says_yes(*_: object) -> str:
    return "yes"


def says_no(*_: object) -> str:
    return "no"


def is_ada(*_: object) -> dict[str, Any]:
    return {"name": "Ada"}


class Desk:
    """Answers questions when a test says so."""

    def __init__(self) -> None:
        self.asked: list[v2.RequestPermissionRequest] = []
        self.was_cancelled = asyncio.Event()
        self._answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __call__(self, request: v2.RequestPermissionRequest, session: Session) -> str:
        self.asked.append(request)
        try:
            return await asyncio.shield(self._answer)
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise

    def say(self, option: str) -> None:
        self._answer.set_result(option)


@asynccontextmanager
async def two_desks(
    agent: int, owner: int, other: int
) -> AsyncGenerator[tuple[AgentHost, Session, Session, Desk, Desk]]:
    """Yield a session, as its owner and as another client has it, and the desks of the two."""
    hers, his = Desk(), Desk()
    async with (
        open_host(version=agent) as host,
        client(host, versions=versions(owner), permission=hers) as one,
        client(host, versions=versions(other), permission=his) as two,
    ):
        session = await one.new_session()
        yield host, session, await attach(two, session), hers, his


@VERSION_MATRIX
@pytest.mark.parametrize("first", ["owner", "other"])
async def test_the_first_answer_counts_and_the_other_is_taken_back(
    agent: int, owner: int, other: int, first: str
) -> None:
    async with two_desks(agent, owner, other) as (_, session, followed, hers, his):
        asking = asyncio.create_task(session.ask("perm"))
        await wait_until(lambda: bool(hers.asked and his.asked))
        titles = {each.asked[0].subject.tool_call.title for each in (hers, his)}  # type: ignore[union-attr]
        assert titles == {"Do something that needs permission"}
        quick, late = (hers, his) if first == "owner" else (his, hers)
        quick.say("yes")
        assert await asking == SELECTED % "yes"
        await late.was_cancelled.wait()
        await wait_until(lambda: followed.transcript.text == SELECTED % "yes")
        (call,) = followed.transcript.tool_calls.values()
        assert call.status == "completed"


async def test_who_is_late_gets_a_cancellation_and_its_answer_goes_nowhere() -> None:
    seen = Recorder()
    his = Desk()
    async with (
        open_host() as host,
        client(host, permission=says_no) as one,
        client(host, permission=his, observer=seen) as two,
    ):
        session = await one.new_session()
        await attach(two, session)
        assert await session.ask("perm") == SELECTED % "no"
        await wait_until(lambda: any(b"$/cancel_request" in each.frame for each in seen.frames))


async def test_an_observer_is_asked_nothing() -> None:
    his = Desk()
    async with (
        open_host() as host,
        client(host, permission=says_yes) as one,
        client(host, permission=his) as two,
    ):
        session = await one.new_session()
        followed = await attach(two, session, meta=OBSERVER)
        assert await session.ask("perm") == SELECTED % "yes"
        await wait_until(lambda: followed.transcript.text == SELECTED % "yes")
        assert his.asked == []


@VERSION_MATRIX
async def test_a_client_without_a_user_decides_nothing(agent: int, owner: int, other: int) -> None:
    his = Desk()
    async with (
        open_host(version=agent) as host,
        client(host, versions=versions(owner)) as one,
        client(host, versions=versions(other), permission=his) as two,
        client(host, versions=versions(other)) as three,
    ):
        session = await one.new_session()
        await attach(two, session)
        await attach(three, session)
        asking = asyncio.create_task(session.ask("perm"))
        await wait_until(lambda: bool(his.asked))
        his.say("yes")
        assert await asking == SELECTED % "yes"


async def test_where_nobody_decides_the_question_is_cancelled() -> None:
    async with open_host() as host, client(host) as one, client(host) as two:
        session = await one.new_session()
        await attach(two, session)
        assert await session.ask("perm") == 'perm:{"outcome":"cancelled"}'


@VERSION_MATRIX
@pytest.mark.parametrize("who", ["owner", "other"])
async def test_cancelling_ends_the_question_everywhere(
    agent: int, owner: int, other: int, who: str
) -> None:
    async with two_desks(agent, owner, other) as (host, session, followed, hers, his):
        turn = session.prompt("perm")
        done = turn._state.begin()
        await wait_until(lambda: bool(hers.asked and his.asked))
        await (session if who == "owner" else followed).cancel()
        assert (await done).stop_reason == "cancelled"
        await hers.was_cancelled.wait()
        await his.was_cancelled.wait()
        await wait_until(lambda: followed.transcript.state == "idle")
        assert next(iter(host.sessions)).questions == {}


@VERSION_MATRIX
async def test_a_question_is_answered_by_who_is_left(agent: int, owner: int, other: int) -> None:
    his = Desk()
    async with (
        open_host(version=agent) as host,
        client(host, versions=versions(other), permission=his) as two,
    ):
        async with client(host, versions=versions(owner), permission=Desk()) as one:
            session = await one.new_session()
            done = session.prompt("perm")._state.begin()
            await wait_until(lambda: session.transcript.state == "requires_action")
            followed = await attach(two, session)
        await wait_until(lambda: len(host.connections) == 1 and bool(his.asked))
        done.exception()
        his.say("yes")
        await wait_until(lambda: followed.transcript.text == SELECTED % "yes")


@VERSION_MATRIX
async def test_forms_are_filled_in_by_whoever_is_first(agent: int, owner: int, other: int) -> None:
    never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def later(*_: Any) -> Any:
        return await never

    async with (
        open_host(version=agent) as host,
        client(host, versions=versions(owner), elicit=later) as one,
        client(host, versions=versions(other), elicit=is_ada) as two,
    ):
        session = await one.new_session()
        await attach(two, session)
        said = await session.ask("elicit")
        assert '"name":"Ada"' in said


@VERSION_MATRIX
async def test_who_has_opened_a_page_learns_that_it_is_done(
    agent: int, owner: int, other: int
) -> None:
    served = Agent("pages", versions=versions(agent))
    done: list[str] = []

    @served.prompt
    async def reply(turn: Turn) -> None:
        page = await turn.elicit_url("Log in", "https://example.org")
        await page.complete()
        await turn.say(page.id)

    async def later(*_: object) -> Any:
        return await asyncio.get_running_loop().create_future()

    async with (
        open_host(served) as host,
        client(host, versions=versions(owner), elicit_url=later) as one,
        client(
            host,
            versions=versions(other),
            elicit_url=lambda request, session: "accept",
            on_elicitation_complete=done.append,
        ) as two,
    ):
        session = await one.new_session()
        await attach(two, session)
        said = await session.ask("log in")
        await wait_until(lambda: done == [said])
