"""Tests of an agent with pytest, in one process and in both versions of the protocol."""

import asyncio

import pytest
from examples.hello_agent import agent

from parley import Session
from parley.schema import v2
from parley.testing import Recorder, pair
from parley.testing.demo import demo_agent


@pytest.mark.parametrize("version", [1, 2])
def test_it_repeats_what_it_hears(version: int) -> None:
    async def talk() -> str:
        async with pair(agent, versions=(version,)) as client:
            session = await client.new_session()
            return await session.ask("Hello")

    assert asyncio.run(talk()) == "You said: Hello"


def test_the_demo_agent_asks_before_it_acts() -> None:
    asked: list[str] = []

    def allow(request: v2.RequestPermissionRequest, session: Session) -> str:
        asked.append(request.title)
        return "yes"

    async def talk() -> str:
        async with pair(demo_agent(), permission=allow) as client:
            session = await client.new_session()
            answer = await session.ask("perm")
            [call] = session.transcript.tool_calls.values()
            assert call.status == "completed"
            return answer

    assert asyncio.run(talk()) == 'perm:{"outcome":"selected","optionId":"yes"}'
    assert asked == ["May I?"]


def test_what_went_over_the_wire() -> None:
    async def talk(recorder: Recorder) -> None:
        async with pair(agent, observer=recorder) as client:
            await (await client.new_session()).ask("Hello")

    asyncio.run(talk(recorder := Recorder()))
    assert recorder.methods("outbound") == ["initialize", "session/new", "session/prompt"]
    assert set(recorder.methods("inbound")) == {"session/update"}
