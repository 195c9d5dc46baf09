from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from msgspec import Struct
from pydantic import BaseModel
from tests.work_counting import count_calls

import parley
from parley.client._result_type import ResultType
from parley.errors import NoResult
from parley.transport import memory_pair

from .scripted_agent import Message, ScriptedAgent, connected

TOOLS: Message = {"session": {"mcp": {"acp": {}}}}
ENVELOPE: Message = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
T = TypeVar("T")


class City(Struct):
    name: str
    people: int


@dataclass
class Place:
    name: str
    people: int


class Town(BaseModel):
    name: str
    people: int


PARIS = {"name": "Paris", "people": 2_100_000}


def start(work: Awaitable[T]) -> asyncio.Future[T]:
    return asyncio.ensure_future(work)


async def agent(capabilities: Message) -> tuple[Any, ScriptedAgent]:
    """Return what to think with, and the agent's end."""
    local, transport = memory_pair()
    return local, ScriptedAgent(transport)


async def say(remote: ScriptedAgent, *words: str, reason: str = "end_turn") -> str:
    """Respond to a prompt with these words, and return its text."""
    request = await remote.accept()
    for each in words:
        remote.say(each, message=f"m{each}")
    remote.idle(reason)
    return "\n".join(each["text"] for each in request["params"]["prompt"])


async def call(remote: ScriptedAgent, server: Message, tool: str, **arguments: Any) -> Message:
    params = {"name": tool, "arguments": arguments, "_meta": ENVELOPE}
    way = {"serverId": server["serverId"], "requestId": "r", "method": "tools/call"}
    remote.call("c", "mcp/message", {**way, "params": params})
    response = await remote.take()
    result: Message = response["result"]["result"]
    return result


async def close(remote: ScriptedAgent) -> None:
    remote.respond(await remote.take("session/close"), {})


async def test_without_a_type_the_answer_is_what_was_said() -> None:
    local, remote = await agent({})
    thought = start(parley.think(local, "What is up?", versions=(2,)))
    await remote.initialize()
    await remote.open()
    assert await say(remote, "Not much") == "What is up?"
    await close(remote)
    assert await thought == "Not much"


@pytest.mark.parametrize("kind", [City, Place, Town])
async def test_a_value_comes_through_a_tool_and_is_of_the_type(kind: type[Any]) -> None:
    local, remote = await agent(TOOLS)
    seen: list[str] = []

    async def note(word: str) -> None:
        seen.append(word)

    thought = start(parley.think(local, "Which city?", result=kind, tools=[note], versions=(2,)))
    await remote.initialize(capabilities=TOOLS)
    (server,) = (await remote.open())["params"]["mcpServers"]
    request = await remote.accept()
    assert "give_result" in request["params"]["prompt"][1]["text"]
    await call(remote, server, "note", word="walnut")
    wrong = await call(remote, server, "give_result", result={"name": "Paris", "people": "many"})
    assert wrong["isError"]
    right = await call(remote, server, "give_result", result=PARIS)
    assert not right["isError"]
    remote.idle()
    await close(remote)
    assert await thought == kind(**PARIS)
    assert seen == ["walnut"]


@pytest.mark.parametrize("kind", [City, Place, Town])
async def test_an_agent_without_tools_answers_in_json(kind: type[Any]) -> None:
    local, remote = await agent({})
    thought = start(parley.think(local, "Which city?", result=kind, versions=(2,)))
    await remote.initialize()
    assert "mcpServers" not in (await remote.open())["params"]
    prompt = await say(remote, f"Here it is:\n```json\n{json.dumps(PARIS)}\n```\nBye.")
    assert '"people"' in prompt
    await close(remote)
    assert await thought == kind(**PARIS)


async def test_an_agent_is_asked_once_more_with_the_reason() -> None:
    local, remote = await agent({})
    thought = start(parley.think(local, "Which cities?", result=list[City], versions=(2,)))
    await remote.initialize()
    await remote.open()
    await say(remote, '[{"name": "Paris"}]')
    again = await say(remote, json.dumps([PARIS]))
    assert "missing required field `people`" in again
    await close(remote)
    assert await thought == [City(**PARIS)]  # type: ignore[arg-type]


async def test_no_result_is_an_error_that_says_why() -> None:
    local, remote = await agent({})
    thought = start(parley.think(local, "Which city?", result=City, versions=(2,)))
    await remote.initialize()
    await remote.open()
    await say(remote, "Paris")
    await say(remote, "It is Paris")
    await close(remote)
    with pytest.raises(NoResult, match="there is no JSON in the response") as failed:
        await thought
    assert failed.value.text == "It is Paris"
    assert failed.value.stop_reason == "end_turn"


async def test_who_refuses_is_not_asked_again() -> None:
    local, remote = await agent({})
    thought = start(parley.think(local, "Which city?", result=City, versions=(2,)))
    await remote.initialize()
    await remote.open()
    await say(remote, "No.", reason="refusal")
    await close(remote)
    with pytest.raises(NoResult, match="ended with refusal"):
        await thought


async def test_a_connection_can_be_thought_with_and_stays_open() -> None:
    async with connected({"capabilities": TOOLS}) as (connection, remote):
        thought = start(parley.think(connection, "Which city?", result=City))
        (server,) = (await remote.open())["params"]["mcpServers"]
        await remote.accept()
        await call(remote, server, "give_result", result=PARIS)
        remote.idle()
        await close(remote)
        assert await thought == City(**PARIS)  # type: ignore[arg-type]
        assert connection.sessions == {}
        with pytest.raises(TypeError, match="does not accept name="):
            await parley.think(connection, "Hello", name="x")


async def test_a_type_that_no_answer_can_have_is_refused_at_once() -> None:
    local, _ = await agent({})
    with pytest.raises(TypeError, match="not a type that an agent can return"):
        await parley.think(local, "Which?", result=asyncio.Event)


def test_many_fences_without_an_end_are_looked_at_once() -> None:
    def find() -> None:
        with pytest.raises(ValueError, match="no JSON"):
            ResultType(int).find("```json\nx" * 20_000)

    assert count_calls(find) < 1_000
    assert ResultType(int).find("```\n1\n```\nor\n```json \n2\n```\nor ```json\n3") == 2
