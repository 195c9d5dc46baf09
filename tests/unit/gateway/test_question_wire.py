"""Who is asked and what each hears, on the wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.gateway import AgentHost

from .agent_hosts import RawPeer, two_initialized

QUESTION = {
    "sessionId": "s",
    "toolCall": {"toolCallId": "t", "title": "Remove everything"},
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}
YES = {"outcome": {"outcome": "selected", "optionId": "yes"}}
CANCELLED = {"outcome": {"outcome": "cancelled"}}
REFUSED = {"code": -32601, "message": "Method not found"}


@asynccontextmanager
async def two_clients() -> AsyncGenerator[tuple[AgentHost, RawPeer, RawPeer, RawPeer], None]:
    """An agent, the client that opened the session `s`, and one that is attached."""
    async with two_initialized() as (host, agent, owner, other):
        owner.send(id=1, method="session/new", params={"cwd": "/", "mcpServers": []})
        agent.answer(await agent.take("session/new"), {"sessionId": "s"})
        await owner.take()
        params: dict[str, Any] = {"sessionId": "s", "cwd": "/", "mcpServers": []}
        assert "result" in await other.ask("load", "session/load", params)
        yield host, agent, owner, other


async def _ask(agent: RawPeer, owner: RawPeer, other: RawPeer) -> tuple[Any, Any]:
    agent.send(id=77, method="session/request_permission", params=QUESTION)
    hers = await owner.take("session/request_permission")
    assert hers["params"] == QUESTION
    heard = [await other.received.get()]
    while heard[-1].get("method") != "session/request_permission":
        heard.append(await other.received.get())
    assert heard[-1]["params"]["options"] == QUESTION["options"]
    return hers, heard[-1]


async def _until_cancelled(end: RawPeer, asked: Any) -> None:
    message = await end.received.get()
    while message.get("method") != "$/cancel_request":
        message = await end.received.get()
    assert message["params"] == {"requestId": asked["id"]}


async def test_the_owner_is_first() -> None:
    async with two_clients() as (_, agent, owner, other):
        hers, his = await _ask(agent, owner, other)
        owner.answer(hers, {**YES, "_meta": {"n": 1}})
        assert await agent.take() == {
            "jsonrpc": "2.0",
            "id": 77,
            "result": {**YES, "_meta": {"n": 1}},
        }
        await _until_cancelled(other, his)
        other.answer(his, CANCELLED)
        assert await agent.is_silent()


async def test_the_other_is_first() -> None:
    async with two_clients() as (_, agent, owner, other):
        hers, his = await _ask(agent, owner, other)
        other.answer(his, YES)
        assert await agent.take() == {"jsonrpc": "2.0", "id": 77, "result": YES}
        await _until_cancelled(owner, hers)
        owner.answer(hers, CANCELLED)
        assert await agent.is_silent()


@pytest.mark.parametrize("is_owner", [True, False])
@pytest.mark.parametrize("refusal", [{"error": REFUSED}, {"result": CANCELLED}])
async def test_who_cannot_ask_leaves_it_to_the_other(
    is_owner: bool, refusal: dict[str, Any]
) -> None:
    async with two_clients() as (_, agent, owner, other):
        hers, his = await _ask(agent, owner, other)
        (end, asked), (decider, deciding) = (owner, hers), (other, his)
        if not is_owner:
            (end, asked), (decider, deciding) = (decider, deciding), (end, asked)
        end.send(id=asked["id"], **refusal)
        assert await agent.is_silent()
        decider.answer(deciding, YES)
        assert (await agent.take())["result"] == YES


@pytest.mark.parametrize("is_owner_last", [True, False])
async def test_when_nobody_can_ask_the_agent_learns_it(is_owner_last: bool) -> None:
    async with two_clients() as (host, agent, owner, other):
        hers, his = await _ask(agent, owner, other)
        order = [(owner, hers), (other, his)]
        for end, asked in reversed(order) if is_owner_last else order:
            assert await agent.is_silent()
            end.send(id=asked["id"], error=REFUSED)
        assert (await agent.take())["error"]["code"] == -32601
        session = host.sessions.get("s")
        assert session is not None
        assert session.questions == {}


@pytest.mark.parametrize("is_owner_last", [True, False])
async def test_when_one_decides_nothing_and_the_other_cannot_ask_nothing_is_allowed(
    is_owner_last: bool,
) -> None:
    async with two_clients() as (_, agent, owner, other):
        hers, his = await _ask(agent, owner, other)
        if is_owner_last:
            other.answer(his, CANCELLED)
            assert await agent.is_silent()
            owner.send(id=hers["id"], error=REFUSED)
        else:
            owner.answer(hers, CANCELLED)
            assert await agent.is_silent()
            other.send(id=his["id"], error=REFUSED)
        assert (await agent.take())["result"] == CANCELLED


async def test_a_question_that_the_agent_takes_back_is_taken_back_everywhere() -> None:
    async with two_clients() as (_, agent, owner, other):
        hers, his = await _ask(agent, owner, other)
        agent.send(method="$/cancel_request", params={"requestId": 77})
        await _until_cancelled(owner, hers)
        await _until_cancelled(other, his)
        owner.send(id=hers["id"], error={"code": -32800, "message": "Cancelled"})
        answer = await agent.take()
        assert (answer["id"], answer["error"]["code"]) == (77, -32800)
        assert await agent.is_silent()


async def test_a_question_that_is_taken_back_when_the_owner_has_left_is_answered() -> None:
    async with two_clients() as (_, agent, owner, other):
        _, his = await _ask(agent, owner, other)
        await owner.transport.aclose()
        assert await agent.is_silent(), "the other one may still answer"
        agent.send(method="$/cancel_request", params={"requestId": 77})
        await _until_cancelled(other, his)
        assert (await agent.take())["error"]["code"] == -32800


async def test_a_question_waits_for_nobody_when_everybody_has_left() -> None:
    async with two_clients() as (_, agent, owner, other):
        await _ask(agent, owner, other)
        await owner.transport.aclose()
        await other.transport.aclose()
        messages = [await agent.received.get() for _ in range(3)]
        assert {each.get("method") for each in messages} == {
            None,
            "session/cancel",
            "session/close",
        }
        assert next(each for each in messages if each.get("id") == 77)["error"]["code"] == -32603


async def test_what_only_the_owner_can_do_is_asked_of_it_alone() -> None:
    async with two_clients() as (_, agent, owner, other):
        agent.send(id=5, method="terminal/create", params={"sessionId": "s", "command": "ls"})
        asked = await owner.take("terminal/create")
        assert await other.is_silent()
        owner.answer(asked, {"terminalId": "t"})
        assert (await agent.take())["result"] == {"terminalId": "t"}
        await owner.transport.aclose()
        agent.send(id=6, method="terminal/create", params={"sessionId": "s", "command": "ls"})
        refused = await agent.take()
        while refused.get("id") != 6:
            refused = await agent.take()
        assert refused["error"]["data"] == {"gone": "the client", "sessionId": "s"}
