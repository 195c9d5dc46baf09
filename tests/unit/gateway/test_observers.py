"""An observer is read-only, and nobody ends a session in the middle of another client's turn."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.schema.v1.methods import TABLE as V1
from parley.schema.v2.methods import TABLE as V2

from .agent_hosts import OBSERVER, RawPeer, two_initialized

OPENING: dict[str, Any] = {"cwd": "/", "mcpServers": []}
ALLOWED = {"session/load", "session/resume", "session/close"}
METHODS = sorted(
    {
        *(each.name for each in (*V1.methods, *V2.methods) if each.session and each.to != "client"),
        "session/set_title",
        "_vendor/anything",
        "anything/new",
    }
    - ALLOWED
)


@asynccontextmanager
async def joined(
    meta: dict[str, Any] | None,
) -> AsyncGenerator[tuple[RawPeer, RawPeer, RawPeer], None]:
    """Yield an agent, the client that owns the session `s`, and one that has joined it."""
    async with two_initialized() as (_, agent, owner, other):
        owner.send(id=1, method="session/new", params=OPENING)
        agent.answer(await agent.take("session/new"), {"sessionId": "s"})
        await owner.take()
        params = {"sessionId": "s", **OPENING, "_meta": meta}
        assert "result" in await other.ask(1, "session/load", params)
        yield agent, owner, other


@pytest.mark.requirement("SAFE-IN-10")
@pytest.mark.parametrize("method", METHODS)
async def test_an_observer_may_send_nothing_that_changes_a_session(method: str) -> None:
    async with joined(OBSERVER) as (agent, _, observer):
        answer = await observer.ask(2, method, {"sessionId": "s", "_meta": {}})
        assert answer["error"]["code"] == -32600
        assert "resume the session as a controller" in answer["error"]["message"]
        observer.send(method=method, params={"sessionId": "s"})
        assert await agent.is_silent()


@pytest.mark.requirement("SAFE-IN-10")
async def test_an_observer_is_one_from_the_moment_it_asks_to_be() -> None:
    async with two_initialized() as (_, agent, owner, other):
        owner.send(id=1, method="session/new", params=OPENING)
        agent.answer(await agent.take("session/new"), {"sessionId": "s"})
        await owner.take()
        params = {"sessionId": "s", **OPENING, "_meta": OBSERVER}
        other.send(id=1, method="session/load", params=params)
        other.send(id=2, method="session/delete", params={"sessionId": "s"})
        answers = {each["id"]: each for each in [await other.take(), await other.take()]}
        assert answers[2]["error"]["code"] == -32600
        assert "result" in answers[1]
        assert await agent.is_silent()


@pytest.mark.requirement("SAFE-IN-10")
@pytest.mark.parametrize("method", ["session/delete", "session/set_mode", "_vendor/anything"])
async def test_an_observer_whose_other_role_is_refused_stays_an_observer(method: str) -> None:
    async with joined(OBSERVER) as (agent, _, observer):
        params = {"sessionId": "s", **OPENING, "_meta": {"parley": {"role": "owner"}}}
        assert "error" in await observer.ask(2, "session/load", params)
        answer = await observer.ask(3, method, {"sessionId": "s"})
        assert "resume the session as a controller" in answer["error"]["message"]
        assert await agent.is_silent()


async def test_an_observer_can_become_a_controller_and_leave() -> None:
    async with joined(OBSERVER) as (agent, _, other):
        assert "result" in await other.ask(2, "session/load", {"sessionId": "s", **OPENING})
        other.send(id=3, method="session/delete", params={"sessionId": "s"})
        agent.answer(await agent.take("session/delete"), {})
        assert (await other.take())["result"] == {}
    async with joined(OBSERVER) as (agent, _, other):
        assert "result" in await other.ask(2, "session/close", {"sessionId": "s"})
        assert await agent.is_silent()


@pytest.mark.requirement("SAFE-IN-10")
@pytest.mark.parametrize("method", ["session/delete", "session/archive"])
async def test_a_session_is_not_deleted_in_the_middle_of_another_client_s_turn(
    method: str,
) -> None:
    async with joined(None) as (agent, owner, other):
        owner.send(id=2, method="session/prompt", params={"sessionId": "s", "prompt": []})
        prompt = await agent.take("session/prompt")
        answer = await other.ask(2, method, {"sessionId": "s"})
        assert "Another client's turn is running" in answer["error"]["message"]
        assert await agent.is_silent()
        agent.answer(prompt, {"stopReason": "end_turn"})
        await owner.take()
        other.send(id=3, method=method, params={"sessionId": "s"})
        agent.answer(await agent.take(method), {})


@pytest.mark.requirement("SAFE-IN-10")
@pytest.mark.parametrize("method", ["session/delete", "session/close"])
async def test_the_owner_does_not_end_the_turn_of_a_controller(method: str) -> None:
    async with joined(None) as (agent, owner, other):
        other.send(id=2, method="session/prompt", params={"sessionId": "s", "prompt": []})
        prompt = await agent.take("session/prompt")
        answer = await owner.ask(2, method, {"sessionId": "s"})
        assert "Another client's turn is running" in answer["error"]["message"]
        agent.answer(prompt, {"stopReason": "end_turn"})
        await other.take()
        owner.send(id=3, method=method, params={"sessionId": "s"})
        agent.answer(await agent.take(method), {})


async def test_a_client_may_delete_the_session_in_its_own_turn() -> None:
    async with joined(None) as (agent, owner, _):
        owner.send(id=2, method="session/prompt", params={"sessionId": "s", "prompt": []})
        await agent.take("session/prompt")
        owner.send(id=3, method="session/delete", params={"sessionId": "s"})
        agent.answer(await agent.take("session/delete"), {})
        assert (await owner.take())["id"] == 3


@pytest.mark.requirement("SAFE-IN-10")
@pytest.mark.parametrize("method", ["_vendor/anything", "session/set_mode", "session/prompt"])
async def test_who_has_not_joined_a_session_may_not_act_in_it(method: str) -> None:
    async with two_initialized() as (_, agent, owner, other):
        owner.send(id=1, method="session/new", params=OPENING)
        agent.answer(await agent.take("session/new"), {"sessionId": "s"})
        await owner.take()
        answer = await other.ask(2, method, {"sessionId": "s"})
        assert "load or resume it to join" in answer["error"]["message"]
        assert await agent.is_silent()
