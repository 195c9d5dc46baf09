"""A gateway offers to open a session again that is open, also where the agent does not."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from parley.errors import ResourceNotFound
from parley.gateway.initialize import add_reopening

from .agent_hosts import (
    INITIALIZE_PARAMS,
    attach,
    client,
    open_host,
    open_raw_host,
    raw_client,
    texts,
)

IN_MEMORY = """
from parley import Agent

agent = Agent("hello")

@agent.prompt
async def reply(turn):
    await turn.say(f"echo: {turn.text}")

agent.run()
"""


@pytest.mark.parametrize("is_shared", [False, True], ids=["each", "shared"])
@pytest.mark.parametrize("version", [1, 2])
async def test_a_session_in_the_memory_of_a_process_can_be_joined_while_it_is_open(
    version: int, is_shared: bool
) -> None:
    command = [sys.executable, "-c", IN_MEMORY]
    async with (
        open_host(command, is_shared=is_shared) as host,
        client(host, "ann", versions=(version,)) as one,
        client(host, "ann", versions=(version,)) as two,
    ):
        session = await one.new_session()
        await session.ask("hello")
        followed = await attach(two, session)
        assert texts(followed) == ["hello", "echo: hello"]
        assert await followed.ask("more") == "echo: more"


async def test_a_session_that_is_not_open_any_more_is_not_found() -> None:
    async with (
        open_host([sys.executable, "-c", IN_MEMORY]) as host,
        client(host, "ann", versions=(1,)) as one,
        client(host, "ann", versions=(1,)) as two,
    ):
        session = await one.new_session()
        await session.close()
        with pytest.raises(ResourceNotFound, match="cannot reopen sessions"):
            await attach(two, session)


@pytest.mark.parametrize("has_attaching", [True, False], ids=["attaching", "alone"])
async def test_nothing_is_offered_where_clients_cannot_join(has_attaching: bool) -> None:
    async with open_raw_host(has_attaching=has_attaching) as (host, agent):
        end, served = raw_client(host)
        end.send(id=1, method="initialize", params=INITIALIZE_PARAMS)
        agent.answer(await agent.take("initialize"), {"protocolVersion": 1})
        answer = (await end.take())["result"]
        added: dict[str, Any] = {"loadSession": True, "sessionCapabilities": {"resume": {}}}
        expected: dict[str, Any] = {"protocolVersion": 1}
        assert answer == (expected | {"agentCapabilities": added} if has_attaching else expected)
        await end.transport.aclose()
        await asyncio.gather(served)


@pytest.mark.parametrize(
    "result",
    [
        b'{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}',
        b'{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}',
        b'{"protocolVersion":2,"info":{"name":"x","version":"1"},"capabilities":{}}',
        b'{"protocolVersion":"one"}',
        b'{"protocolVersion":1,"agentCapabilities":{},"agentCapabilities":{}}',
    ],
    ids=["load", "resume", "v2", "malformed", "twice"],
)
def test_an_answer_that_needs_nothing_or_cannot_be_read_stays(result: bytes) -> None:
    assert add_reopening(result) is None
