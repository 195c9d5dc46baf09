"""Clients that come, leave and come again at the same moment."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from .agent_hosts import (
    INITIALIZE_PARAMS,
    RawPeer,
    client,
    open_host,
    raw_client,
    texts,
    two_initialized,
    wait_until,
)
from .test_question_wire import CANCELLED, REFUSED, YES, _ask, _until_cancelled, two_clients

KEPT: dict[str, Any] = {"sessionId": "s", "cwd": "/", "mcpServers": []}
OLD = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "old"}}


async def _taken(end: RawPeer, id: Any) -> list[Any]:
    """Return what comes, up to the answer to a request."""
    heard = [await end.received.get()]
    while heard[-1].get("id") != id:
        heard.append(await end.received.get())
    return heard


async def test_the_last_client_on_a_session_may_load_it_again() -> None:
    async with two_clients() as (host, agent, owner, other):
        session = host.sessions.get("s")
        assert session is not None
        await owner.transport.aclose()
        await wait_until(lambda: session.owner is None)
        assert "result" in (await _taken_after(other, "again"))[-1]
        assert host.sessions.get("s") is session
        assert len(session.attached) == 1
        assert await agent.is_silent(), "nobody closes the session"


async def _taken_after(end: RawPeer, id: str, **more: Any) -> list[Any]:
    end.send(id=id, method="session/load", params={**KEPT, **more})
    return await _taken(end, id)


@pytest.mark.parametrize("leaves", [True, False])
async def test_who_leaves_or_only_looks_on_now_answers_no_question(leaves: bool) -> None:
    async with two_clients() as (_, agent, owner, other):
        hers, his = await _ask(agent, owner, other)
        if leaves:
            other.send(id="x", method="session/close", params={"sessionId": "s"})
        else:
            role = {"parley": {"role": "observer"}}
            other.send(id="x", method="session/load", params={**KEPT, "_meta": role})
        await _until_cancelled(other, his)
        other.answer(his, YES)
        assert await agent.is_silent(), "its answer does not count"
        owner.answer(hers, CANCELLED)
        assert (await agent.take())["result"] == CANCELLED


async def test_a_question_does_not_wait_for_a_client_that_has_left() -> None:
    async with two_clients() as (_, agent, owner, other):
        hers, his = await _ask(agent, owner, other)
        owner.send(id=hers["id"], error=REFUSED)
        other.send(id="x", method="session/close", params={"sessionId": "s"})
        await _until_cancelled(other, his)
        assert (await agent.take())["error"]["code"] == -32603


async def test_who_loads_again_while_a_question_waits_is_asked_once_more() -> None:
    async with two_clients() as (_, agent, owner, other):
        _, his = await _ask(agent, owner, other)
        other.send(id="again", method="session/load", params=KEPT)
        await _until_cancelled(other, his)
        message = await other.received.get()
        while message.get("method") != "session/request_permission":
            message = await other.received.get()
        other.answer(message, YES)
        assert (await agent.take())["result"] == YES


@pytest.mark.parametrize("version", [1, 2])
async def test_a_session_that_ends_while_somebody_comes_is_opened_by_its_own_agent(
    version: int,
) -> None:
    for turns in range(16):
        async with open_host() as host, client(host, versions=(version,)) as other:
            async with client(host) as owner:
                session = await owner.new_session()
                await session.ask("hello")
                coming = asyncio.create_task(other.resume_session(session.id))
                for _ in range(turns):
                    await asyncio.sleep(0)
            assert await (await coming).ask("still there?") == "echo: still there?"


async def test_two_who_load_a_session_at_once_are_on_the_same_one() -> None:
    async with two_initialized() as (_, agent, one, two):
        one.send(id="load", method="session/load", params=KEPT)
        two.send(id="load", method="session/load", params=KEPT)
        asked = await agent.take("session/load")
        assert await agent.is_silent(), "one of them opens it"
        agent.update("s", OLD)
        agent.answer(asked, {})
        for end in (one, two):
            update, answer = await _taken(end, "load")
            assert update["params"]["update"]["content"] == OLD["content"]
            assert "result" in answer
        two.send(
            id=3,
            method="session/prompt",
            params={"sessionId": "s", "prompt": [{"type": "text", "text": "hello"}]},
        )
        agent.answer(await agent.take("session/prompt"), {"stopReason": "end_turn"})
        assert (await _taken(two, 3))[-1]["result"] == {"stopReason": "end_turn"}


async def test_what_a_session_replays_goes_at_once_to_who_loads_it() -> None:
    async with two_initialized() as (_, agent, one, two):
        asked: list[Any] = []
        for end, session in ((one, "s"), (two, "t")):
            params = {**KEPT, "sessionId": session}
            end.send(id="load", method="session/load", params=params)
            asked.append(await agent.take("session/load"))
        for end, session in ((two, "t"), (one, "s")):
            agent.update(session, OLD)
            agent.send(
                id=session, method="session/request_permission", params={"sessionId": session}
            )
            assert (await end.take("session/update"))["params"]["sessionId"] == session
            await end.take("session/request_permission")
        for end, each in ((one, asked[0]), (two, asked[1])):
            agent.answer(each, {})
            assert "result" in await end.take()


async def test_a_replay_that_is_too_long_to_be_kept_is_told_once_and_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("parley.gateway.agent_process._EARLY_BYTES", 400)
    async with two_initialized() as (host, agent, one, _):
        one.send(id="load", method="session/load", params=KEPT)
        asked = await agent.take("session/load")
        for _ in range(9):
            agent.update("s", OLD)
        agent.answer(asked, {})
        assert len(await _taken(one, "load")) == 10, "its own client gets everything"
        assert sum("sends too much" in each.message for each in caplog.records) == 1
        session = host.sessions.get("s")
        assert session is not None
        assert session.is_truncated
        assert session.follower.transcript.text == ""


async def test_who_waits_for_another_to_load_a_session_does_not_wait_for_ever() -> None:
    async with two_initialized() as (_, agent, one, two):
        one.send(id="load", method="session/load", params=KEPT)
        two.send(id="load", method="session/load", params=KEPT)
        asked = await agent.take("session/load")
        agent.send(id=asked["id"], error={"code": -32603, "message": "Not now"})
        assert (await one.take())["error"]["message"] == "Not now"
        agent.answer(await agent.take("session/load"), {})
        assert "result" in await two.take()


async def test_nor_for_one_that_has_gone_with_its_agent() -> None:
    async with open_host() as host:
        async with client(host) as before:
            kept = await before.new_session()
            await kept.ask("hello")
        one, first = raw_client(host)
        one.send(id="hello", method="initialize", params=INITIALIZE_PARAMS)
        await one.take()
        async with client(host) as other:
            one.send(id="load", method="session/load", params={**KEPT, "sessionId": kept.id})
            coming = asyncio.create_task(other.resume_session(kept.id))
            await one.transport.aclose()
            assert texts(await coming) == ["hello", "echo: hello"]
        await first


def _prompt(end: RawPeer, id: int, text: str) -> None:
    prompt = [{"type": "text", "text": text}]
    end.send(id=id, method="session/prompt", params={"sessionId": "s", "prompt": prompt})


async def test_an_owner_s_prompt_waits_while_the_turn_of_another_runs() -> None:
    async with two_clients() as (_, agent, owner, other):
        _prompt(other, 1, "his")
        his = await agent.take("session/prompt")
        _prompt(owner, 1, "hers")
        _prompt(other, 2, "his second")
        assert await agent.is_silent(), "an agent of version 1 has one turn at a time"
        agent.answer(his, {"stopReason": "end_turn"})
        hers = await agent.take("session/prompt")
        assert hers["params"]["prompt"][0]["text"] == "hers"
        assert await agent.is_silent()
        agent.answer(hers, {"stopReason": "max_tokens"})
        assert (await _taken(owner, 1))[-1]["result"] == {"stopReason": "max_tokens"}
        second = await agent.take("session/prompt")
        assert second["params"]["prompt"][0]["text"] == "his second"
        agent.answer(second, {"stopReason": "end_turn"})
        assert (await _taken(other, 2))[-1]["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("how", ["session/cancel", "$/cancel_request"])
async def test_an_owner_s_prompt_that_waits_can_be_cancelled(how: str) -> None:
    async with two_clients() as (_, agent, owner, other):
        _prompt(other, 1, "his")
        his = await agent.take("session/prompt")
        _prompt(owner, 1, "hers")
        owner.send(method=how, params={"sessionId": "s", "requestId": 1})
        assert (await _taken(owner, 1))[-1]["result"] == {"stopReason": "cancelled"}
        if how == "session/cancel":
            await agent.take("session/cancel")
        agent.answer(his, {"stopReason": "end_turn"})
        assert (await _taken(other, 1))[-1]["result"] == {"stopReason": "end_turn"}
        assert await agent.is_silent(), "it does not begin"


async def test_an_owner_s_prompt_that_waits_begins_also_when_the_others_have_left() -> None:
    async with two_clients() as (host, agent, owner, other):
        session = host.sessions.get("s")
        assert session is not None
        _prompt(other, 1, "his")
        his = await agent.take("session/prompt")
        _prompt(owner, 1, "hers")
        assert await agent.is_silent()
        other.send(id=2, method="session/close", params={"sessionId": "s"})
        await wait_until(lambda: not session.attached)
        agent.answer(his, {"stopReason": "end_turn"})
        agent.answer(await agent.take("session/prompt"), {"stopReason": "end_turn"})
        assert (await _taken(owner, 1))[-1]["result"] == {"stopReason": "end_turn"}


async def test_an_owner_s_prompt_that_waits_learns_how_the_agent_ended() -> None:
    async with two_clients() as (_, agent, owner, other):
        _prompt(other, 1, "his")
        await agent.take("session/prompt")
        _prompt(owner, 1, "hers")
        assert await agent.is_silent()
        await agent.transport.aclose()
        assert "is gone" in (await _taken(owner, 1))[-1]["error"]["message"]


async def test_a_state_that_nobody_knows_keeps_no_prompt_waiting() -> None:
    async with open_host() as host, client(host) as owner, client(host, versions=(1,)) as other:
        session = await owner.new_session()
        followed = await other.resume_session(session.id)
        live = host.sessions.get(session.id)
        assert live is not None
        pondering = {"sessionUpdate": "state_update", "state": "pondering"}
        params = {"sessionId": session.id, "update": pondering}
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        live.observe(from_agent=True, frame=json.dumps(frame).encode())
        assert live.follower.transcript.state == "pondering"
        assert await followed.ask("hello") == "echo: hello"
