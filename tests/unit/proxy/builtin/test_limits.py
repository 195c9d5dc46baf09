from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import (
    chunk,
    notification,
    proxied_pair,
    request,
    result,
    text_of,
)

from parley.agent import Agent, Turn
from parley.client import Connection, Session
from parley.errors import Overloaded
from parley.proxy import builtin
from parley.testing.demo import demo_agent

from .command_chain import VERSIONS, Heard, chain


@VERSIONS
async def test_a_message_that_is_too_long_is_refused(version: int) -> None:
    agent = Heard("yes")
    async with chain(builtin.limits(message_bytes=4096), agent=agent, version=version) as client:
        session = await client.new_session()
        with pytest.raises(Overloaded, match="at most 4096 bytes"):
            await session.ask("x" * 5000)
        assert await session.ask("x" * 2000) == "yes"
    assert agent.texts == ["x" * 2000]


@VERSIONS
async def test_an_answer_that_is_too_long_is_an_error_for_who_asked(version: int) -> None:
    talk = await proxied_pair(builtin.limits(message_bytes=1000), version)
    for talker, other in ((talk.client, talk.agent), (talk.agent, talk.client)):
        talker.say(request("a", "_x/y", {}))
        asked = await other.hear()
        other.say(result(asked["id"], {"long": "x" * 2000}))
        refused = await talker.hear()
        assert (refused["id"], refused["error"]["code"]) == ("a", -32005)


@VERSIONS
async def test_a_notification_that_is_too_long_is_left_out(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    talk = await proxied_pair(builtin.limits(message_bytes=1000), version)
    talk.agent.say(chunk("x" * 2000), chunk("short"))
    assert text_of(await talk.client.hear()) == "short"
    assert "session/update has" in caplog.text


def held() -> tuple[Agent, dict[str, asyncio.Event], dict[str, asyncio.Event]]:
    """Return an agent whose prompts begin, and end when they are let go."""
    agent = Agent("held")
    begun: dict[str, asyncio.Event] = {name: asyncio.Event() for name in "abcd"}
    let: dict[str, asyncio.Event] = {name: asyncio.Event() for name in "abcd"}

    @agent.prompt
    async def reply(turn: Turn) -> None:
        begun[turn.text].set()
        await let[turn.text].wait()

    return agent, begun, let


@VERSIONS
async def test_prompts_at_once_are_limited_until_one_has_ended(version: int) -> None:
    agent, begun, let = held()
    async with chain(builtin.limits(prompts=2), agent=agent, version=version) as client:
        one, two, three = [await client.new_session() for _ in range(3)]
        first, second = one.prompt("a"), two.prompt("b")
        running = [asyncio.ensure_future(awaited(each)) for each in (first, second)]
        await begun["a"].wait()
        await begun["b"].wait()
        with pytest.raises(Overloaded, match="Too many prompts are worked on at once"):
            await three.ask("c")
        let["a"].set()
        await running[0]
        let["c"].set()
        await three.ask("c")
        await two.cancel()
        await running[1]
        let["d"].set()
        await one.ask("d")


async def awaited(turn: Any) -> None:
    await turn


@VERSIONS
async def test_a_prompt_that_failed_is_not_counted_on(version: int) -> None:
    async with chain(builtin.limits(prompts=1), agent=demo_agent(), version=version) as client:
        session = await client.new_session()
        for _ in range(2):
            with pytest.raises(Exception, match="Boom"):
                await session.ask("boom")
        assert await session.ask("hello") == "echo: hello"


@VERSIONS
async def test_open_sessions_are_limited_until_one_is_closed(version: int) -> None:
    async with chain(builtin.limits(sessions=2), agent=demo_agent(), version=version) as client:
        one, two = await client.new_session(), await client.new_session()
        for opening in (client.new_session(), client.fork_session(one.id)):
            with pytest.raises(Overloaded, match="Too many sessions are open"):
                await opening
        await two.close()
        three = await client.new_session()
        assert await three.ask("hi") == "echo: hi"
        assert await opens_again(client, one) == "echo: again"


async def opens_again(client: Connection, session: Session) -> str:
    """Resume a session that is open: it counts once."""
    await session.close()
    again = await client.resume_session(session.id)
    return await again.ask("again")


@VERSIONS
async def test_requests_that_come_too_fast_are_refused(version: int) -> None:
    talk = await proxied_pair(
        builtin.limits(per_second=1 / 3600), version
    )  # initialize was the one
    talk.client.say(request("b", "_x/y", {}))
    refused = await talk.client.hear()
    assert (refused["id"], refused["error"]["code"]) == ("b", -32005)


async def test_notifications_that_come_too_fast_wait_and_cancelling_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    let = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await let.wait()

    monkeypatch.setattr("parley.proxy.builtin._limits.sleep", sleep)
    monkeypatch.setattr("parley.proxy.builtin._limits.monotonic", lambda: 100.0)
    talk = await proxied_pair(builtin.limits(per_second=2))
    talk.agent.say(*(chunk(str(number)) for number in range(4)))
    assert await talk.client.texts(2) == ["0", "1"]
    for _ in range(3):
        talk.client.say(notification("session/cancel", {"sessionId": "s"}))
        assert (await talk.agent.hear())["method"] == "session/cancel"
    assert len(waits) == 1
    let.set()
    assert await talk.client.texts(2) == ["2", "3"]
    assert waits == [0.5, 1.0]


@pytest.mark.parametrize("limits", [{}, {"prompts": 0}, {"per_second": -1.0}])
def test_limits_are_above_zero(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="limit"):
        builtin.limits(**limits)
