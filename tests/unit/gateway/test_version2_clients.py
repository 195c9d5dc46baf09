"""Clients that speak only version 2, as the page does, with agents of either version."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.errors import RequestCancelled
from parley.gateway import AgentHost

from .agent_hosts import (
    DEMO,
    INITIALIZE_RESULT,
    OBSERVER,
    Message,
    RawPeer,
    client,
    open_host,
    open_raw_host,
    raw_client,
    texts,
    wait_until,
)

PARAMS: Message = {
    "protocolVersion": 2,
    "info": {"name": "page", "version": "1"},
    "capabilities": {"elicitation": {"form": {}}},
    "clientInfo": {"name": "page", "version": "1"},
    "clientCapabilities": {"elicitation": {"form": {}}},
    "_meta": {"parley": {"onlyVersion": 2}},
}
PROMPT = {"sessionId": "s", "prompt": [{"type": "text", "text": "hello"}]}
CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}


@asynccontextmanager
async def version_2_client(host: AgentHost) -> AsyncGenerator[RawPeer]:
    """Connect a client that speaks only version 2; nothing is sent yet."""
    end, serving = raw_client(host)
    try:
        yield end
    finally:
        await end.transport.aclose()
        await serving


@asynccontextmanager
async def translated_session() -> AsyncGenerator[tuple[RawPeer, RawPeer]]:
    """Yield an agent of version 1 and a client of version 2 with the session `s`, in bytes."""
    async with open_raw_host() as (host, agent), version_2_client(host) as end:
        end.send(id=1, method="initialize", params=PARAMS)
        agent.answer(await agent.take("initialize"), INITIALIZE_RESULT)
        await end.take()
        end.send(id=2, method="session/new", params={"cwd": "/", "mcpServers": []})
        agent.answer(await agent.take("session/new"), {"sessionId": "s"})
        await end.take()
        yield agent, end


async def updates_until_response(end: RawPeer, id: int) -> list[str]:
    """Return the kinds of the updates before the response to a request."""
    kinds: list[str] = []
    while (message := await end.received.get()).get("id") != id:
        kinds.append(message["params"]["update"]["sessionUpdate"])
    assert "result" in message, message
    return kinds


async def updates(end: RawPeer, count: int) -> list[Message]:
    return [(await end.take("session/update"))["params"]["update"] for _ in range(count)]


async def test_the_client_gets_version_2_from_an_agent_of_version_1() -> None:
    async with open_raw_host() as (host, agent), version_2_client(host) as end:
        end.send(id="hello", method="initialize", params=PARAMS)
        asked = await agent.take("initialize")
        assert asked["params"] == PARAMS, "the agent gets what the client has sent"
        agent.answer(asked, {**INITIALIZE_RESULT, "agentInfo": {"name": "old", "version": "3"}})
        answer = await end.take()
        assert answer["id"] == "hello"
        assert answer["result"]["protocolVersion"] == 2
        assert answer["result"]["info"]["name"] == "old"
        assert "agentCapabilities" not in answer["result"]


@pytest.mark.parametrize("version", [1, 2])
async def test_other_clients_get_the_version_that_the_agent_speaks(version: int) -> None:
    async with open_host(version=version) as host, client(host) as plain:
        assert plain.version == version
        async with client(host, versions=(1,)) as old:
            assert old.version == 1


async def test_an_agent_of_version_2_is_passed_on_as_it_is() -> None:
    odd = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "odd": [1.0, {"a": None}]}
    async with open_raw_host() as (host, agent), version_2_client(host) as end:
        end.send(id=1, method="initialize", params=PARAMS)
        agent.answer(await agent.take("initialize"), odd)
        assert (await end.take())["result"] == odd
        end.send(id=2, method="_own", params={"a": 1})
        assert (await agent.take("_own"))["params"] == {"a": 1}


async def test_a_turn_is_told_in_the_words_of_version_2() -> None:
    async with translated_session() as (agent, end):
        end.send(id=3, method="session/prompt", params=PROMPT)
        prompt = await agent.take("session/prompt")
        assert prompt["params"] == PROMPT
        message_id = None
        kinds: list[str] = []
        for _ in range(3):
            message = await end.received.get()
            if message.get("id") == 3:
                message_id = message["result"]["messageId"]
            else:
                kinds.append(message["params"]["update"]["sessionUpdate"])
        assert kinds == ["user_message", "state_update"]
        assert message_id
        agent.update("s", CHUNK)
        agent.answer(prompt, {"stopReason": "end_turn"})
        said, ended = await updates(end, 2)
        assert said["content"]["text"] == "hi"
        assert said["messageId"]
        assert (ended["state"], ended["stopReason"]) == ("idle", "end_turn")


async def test_a_question_and_its_answer_are_translated() -> None:
    options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    async with translated_session() as (agent, end):
        call = {"toolCallId": "t", "title": "Run", "rawInput": {"command": "ls"}}
        params = {"sessionId": "s", "toolCall": call, "options": options}
        agent.send(id=7, method="session/request_permission", params=params)
        asked = await end.take("session/request_permission")
        assert asked["params"]["subject"]["toolCall"]["rawInput"] == {"command": "ls"}
        outcome = {"outcome": {"outcome": "selected", "optionId": "yes"}}
        end.answer(asked, outcome)
        answer = await agent.take()
        assert answer["result"]["outcome"] == outcome["outcome"]


async def test_an_agent_of_version_1_gets_one_prompt_at_a_time() -> None:
    async with translated_session() as (agent, end):
        for id in (3, 4):
            end.send(id=id, method="session/prompt", params=PROMPT)
        first = await agent.take("session/prompt")
        assert await updates_until_response(end, 3) == []
        assert await agent.is_silent()
        agent.answer(first, {"stopReason": "end_turn"})
        second = await agent.take("session/prompt")
        kinds = await updates_until_response(end, 4)
        assert kinds == ["user_message", "state_update", "state_update"]
        agent.answer(second, {"stopReason": "end_turn"})
        assert [each["sessionUpdate"] for each in await updates(end, 3)] == [
            "user_message", "state_update", "state_update",
        ]  # fmt: skip


async def test_cancelling_rejects_the_prompts_that_wait() -> None:
    async with translated_session() as (agent, end):
        for id in (3, 4):
            end.send(id=id, method="session/prompt", params=PROMPT)
        first = await agent.take("session/prompt")
        assert await updates_until_response(end, 3) == []
        end.send(method="session/cancel", params={"sessionId": "s"})
        await agent.take("session/cancel")
        agent.answer(first, {"stopReason": "cancelled"})
        while (message := await end.received.get()).get("id") != 4:
            pass
        assert message["error"]["code"] == RequestCancelled.code
        assert await agent.is_silent(), "the second prompt is never sent"


async def test_a_prompt_that_the_client_withdraws_is_not_sent() -> None:
    async with translated_session() as (agent, end):
        for id in (3, 4, 5):
            end.send(id=id, method="session/prompt", params=PROMPT)
        first = await agent.take("session/prompt")
        assert await updates_until_response(end, 3) == []
        end.send(method="$/cancel_request", params={"requestId": 4})
        while (message := await end.received.get()).get("id") != 4:
            pass
        assert message["error"]["code"] == RequestCancelled.code
        agent.answer(first, {"stopReason": "end_turn"})
        await agent.take("session/prompt")
        await updates_until_response(end, 5)
        assert await agent.is_silent()


async def test_a_turn_fails_and_the_client_learns_why_when_the_agent_ends() -> None:
    async with translated_session() as (agent, end):
        end.send(id=3, method="session/prompt", params=PROMPT)
        await agent.take("session/prompt")
        await updates_until_response(end, 3)
        await agent.transport.aclose()
        said = await updates(end, 3)
        assert [each["sessionUpdate"] for each in said[:2]] == ["user_message", "state_update"]
        assert said[2]["stopReason"] == "error"
        assert "the agent" in said[2]["error"]["message"]
        await end.lost.wait()


async def test_a_request_under_way_is_answered_when_the_agent_ends() -> None:
    async with translated_session() as (agent, end):
        end.send(id=3, method="session/list", params={})
        await agent.transport.aclose()
        assert "error" in await end.take()
        await end.lost.wait()


async def test_a_request_before_the_response_to_initialize_never_reaches_an_older_agent() -> None:
    async with open_raw_host() as (host, agent), version_2_client(host) as end:
        end.send(id=1, method="initialize", params=PARAMS)
        end.send(id=2, method="session/new", params={"cwd": "/", "mcpServers": []})
        asked = await agent.take("initialize")
        assert await agent.is_silent()
        agent.answer(asked, INITIALIZE_RESULT)
        answers = {each["id"]: each for each in (await end.take(), await end.take())}
        assert answers[1]["result"]["protocolVersion"] == 2
        assert "initialize" in answers[2]["error"]["message"]
        assert await agent.is_silent()


async def test_a_request_before_the_response_to_initialize_reaches_a_newer_agent() -> None:
    async with open_raw_host() as (host, agent), version_2_client(host) as end:
        end.send(id=1, method="initialize", params=PARAMS)
        end.send(id=2, method="session/new", params={"cwd": "/", "mcpServers": []})
        asked = await agent.take("initialize")
        agent.answer(asked, {"protocolVersion": 2, "info": {"name": "a", "version": "1"}})
        assert (await end.take())["id"] == 1
        assert (await agent.take("session/new"))["params"]["cwd"] == "/"


async def test_a_client_whose_initialize_was_refused_tries_again() -> None:
    async with open_raw_host() as (host, agent), version_2_client(host) as end:
        end.send(id=1, method="initialize", params=PARAMS)
        asked = await agent.take("initialize")
        agent.send(id=asked["id"], error={"code": -32603, "message": "not yet"})
        assert (await end.take())["error"]["message"] == "not yet"
        end.send(id=2, method="initialize", params=PARAMS)
        agent.answer(await agent.take("initialize"), INITIALIZE_RESULT)
        assert (await end.take())["result"]["protocolVersion"] == 2


@pytest.mark.parametrize("owner", [1, 2])
async def test_the_client_attaches_to_a_session_of_another_client(owner: int) -> None:
    async with (
        open_host(DEMO, is_shared=True, versions=(1,)) as host,
        client(host, versions=(1,) if owner == 1 else (1, 2)) as one,
        version_2_client(host) as end,
    ):
        session = await one.new_session()
        await session.ask("before")
        end.send(id=1, method="initialize", params=PARAMS)
        assert (await end.take())["result"]["protocolVersion"] == 2
        params: dict[str, Any] = {"sessionId": session.id, "cwd": "/", "mcpServers": []}
        params["replayFrom"] = {"type": "start"}
        end.send(id=2, method="session/resume", params=params | {"_meta": OBSERVER})
        kinds = await updates_until_response(end, 2)
        assert "user_message_chunk" in kinds or "user_message" in kinds
        prompt = {"sessionId": session.id, "prompt": [{"type": "text", "text": "mine"}]}
        end.send(id=3, method="session/prompt", params=prompt)
        while (message := await end.received.get()).get("method") is None:
            assert message["id"] == 3
        said = await session.ask("after")
        assert said == "echo: after"


async def test_another_client_attaches_to_a_session_of_the_client() -> None:
    async with (
        open_host(DEMO, is_shared=True, versions=(1,)) as host,
        client(host) as two,
        version_2_client(host) as end,
    ):
        end.send(id=1, method="initialize", params=PARAMS)
        await end.take()
        end.send(id=2, method="session/new", params={"cwd": "/", "mcpServers": []})
        while (message := await end.received.get()).get("id") != 2:
            pass
        session = await two.resume_session(message["result"]["sessionId"])
        prompt = {"sessionId": session.id, "prompt": [{"type": "text", "text": "mine"}]}
        end.send(id=3, method="session/prompt", params=prompt)
        await wait_until(lambda: texts(session) == ["mine", "echo: mine"])
