from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from msgspec import Struct
from pydantic import BaseModel
from tests.work import calls_of

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
    near, transport = memory_pair()
    return near, ScriptedAgent(transport)


async def say(far: ScriptedAgent, *words: str, reason: str = "end_turn") -> str:
    """Take a prompt, answer it with words, and return what it was."""
    asked = await far.accept()
    for each in words:
        far.say(each, message=f"m{each}")
    far.idle(reason)
    return "\n".join(each["text"] for each in asked["params"]["prompt"])


async def call(far: ScriptedAgent, server: Message, tool: str, **arguments: Any) -> Message:
    params = {"name": tool, "arguments": arguments, "_meta": ENVELOPE}
    way = {"serverId": server["serverId"], "requestId": "r", "method": "tools/call"}
    far.call("c", "mcp/message", {**way, "params": params})
    answer = await far.take()
    result: Message = answer["result"]["result"]
    return result


async def close(far: ScriptedAgent) -> None:
    far.answer(await far.take("session/close"), {})


async def test_without_a_type_the_answer_is_what_was_said() -> None:
    near, far = await agent({})
    thought = start(parley.think(near, "What is up?", versions=(2,)))
    await far.initialize()
    await far.open()
    assert await say(far, "Not much") == "What is up?"
    await close(far)
    assert await thought == "Not much"


@pytest.mark.parametrize("kind", [City, Place, Town])
async def test_a_value_comes_through_a_tool_and_is_of_the_type(kind: type[Any]) -> None:
    near, far = await agent(TOOLS)
    seen: list[str] = []

    async def note(word: str) -> None:
        seen.append(word)

    thought = start(parley.think(near, "Which city?", result=kind, tools=[note], versions=(2,)))
    await far.initialize(capabilities=TOOLS)
    (server,) = (await far.open())["params"]["mcpServers"]
    asked = await far.accept()
    assert "give_result" in asked["params"]["prompt"][1]["text"]
    await call(far, server, "note", word="walnut")
    wrong = await call(far, server, "give_result", result={"name": "Paris", "people": "many"})
    assert wrong["isError"]
    right = await call(far, server, "give_result", result=PARIS)
    assert not right["isError"]
    far.idle()
    await close(far)
    assert await thought == kind(**PARIS)
    assert seen == ["walnut"]


@pytest.mark.parametrize("kind", [City, Place, Town])
async def test_an_agent_without_tools_answers_in_json(kind: type[Any]) -> None:
    near, far = await agent({})
    thought = start(parley.think(near, "Which city?", result=kind, versions=(2,)))
    await far.initialize()
    assert "mcpServers" not in (await far.open())["params"]
    prompt = await say(far, f"Here it is:\n```json\n{json.dumps(PARIS)}\n```\nBye.")
    assert '"people"' in prompt
    await close(far)
    assert await thought == kind(**PARIS)


async def test_an_agent_is_asked_once_more_and_told_what_was_wrong() -> None:
    near, far = await agent({})
    thought = start(parley.think(near, "Which cities?", result=list[City], versions=(2,)))
    await far.initialize()
    await far.open()
    await say(far, '[{"name": "Paris"}]')
    again = await say(far, json.dumps([PARIS]))
    assert "missing required field `people`" in again
    await close(far)
    assert await thought == [City(**PARIS)]  # type: ignore[arg-type]


async def test_no_result_is_an_error_that_says_why() -> None:
    near, far = await agent({})
    thought = start(parley.think(near, "Which city?", result=City, versions=(2,)))
    await far.initialize()
    await far.open()
    await say(far, "Paris")
    await say(far, "It is Paris")
    await close(far)
    with pytest.raises(NoResult, match="there is no JSON in the response") as failed:
        await thought
    assert failed.value.text == "It is Paris"
    assert failed.value.stop_reason == "end_turn"


async def test_who_refuses_is_not_asked_again() -> None:
    near, far = await agent({})
    thought = start(parley.think(near, "Which city?", result=City, versions=(2,)))
    await far.initialize()
    await far.open()
    await say(far, "No.", reason="refusal")
    await close(far)
    with pytest.raises(NoResult, match="ended with refusal"):
        await thought


async def test_a_connection_can_be_thought_with_and_stays_open() -> None:
    async with connected({"capabilities": TOOLS}) as (connection, far):
        thought = start(parley.think(connection, "Which city?", result=City))
        (server,) = (await far.open())["params"]["mcpServers"]
        await far.accept()
        await call(far, server, "give_result", result=PARIS)
        far.idle()
        await close(far)
        assert await thought == City(**PARIS)  # type: ignore[arg-type]
        assert connection.sessions == {}
        with pytest.raises(TypeError, match="does not accept name="):
            await parley.think(connection, "Hello", name="x")


async def test_a_type_that_no_answer_can_have_is_refused_at_once() -> None:
    near, _ = await agent({})
    with pytest.raises(TypeError, match="not a type that an agent can return"):
        await parley.think(near, "Which?", result=asyncio.Event)


def test_many_fences_without_an_end_are_looked_at_once() -> None:
    def find() -> None:
        with pytest.raises(ValueError, match="no JSON"):
            ResultType(int).find("```json\nx" * 20_000)

    assert calls_of(find) < 1_000
    assert ResultType(int).find("```\n1\n```\nor\n```json \n2\n```\nor ```json\n3") == 2
