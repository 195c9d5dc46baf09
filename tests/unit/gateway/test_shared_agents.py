from __future__ import annotations

import asyncio

import pytest

from parley.errors import InternalError, InvalidRequest, Overloaded
from parley.gateway import HostLimits
from parley.gateway.events import Event
from parley.schema import v2
from parley.schema._session_methods import CLOSES
from parley.schema.v2 import methods

from .agent_hosts import (
    DEMO,
    INITIALIZE_PARAMS,
    INITIALIZE_RESULT,
    Message,
    RawPeer,
    client,
    open_host,
    open_raw_host,
    raw_client,
    two_initialized,
    wait_until,
)

BOTH = pytest.mark.parametrize("version", [1, 2])


@BOTH
async def test_one_process_serves_the_connections_of_a_principal(version: int) -> None:
    async with (
        open_host(DEMO, is_shared=True) as host,
        client(host, "ann", versions=(version,)) as one,
        client(host, "ann", versions=(version,)) as other,
        client(host, "bob", versions=(version,)) as bob,
    ):
        sessions = [await each.new_session() for each in (one, other, bob)]
        said = await asyncio.gather(*(each.ask(f"for {each.id}") for each in sessions))
        assert said == [f"echo: for {each.id}" for each in sessions]
        assert len(host._processes) == 2, "principals share nothing"
        close = v2.CloseSessionRequest(session_id=sessions[0].id)
        with pytest.raises(InvalidRequest, match="open on another connection"):
            await other.adapter.request(methods.CLOSE_SESSION, close)


async def test_a_shared_agent_that_ends_is_started_again_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[Event] = []
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("parley.gateway.agent_host.monotonic", lambda: 100.0)
    monkeypatch.setattr("parley.gateway.agent_host.sleep", sleep)
    async with open_host(DEMO, is_shared=True) as host:
        host.events.subscribe(events.append)
        async with client(host) as one, client(host) as other:
            session = await one.new_session()
            with pytest.raises(InternalError, match="exited with code 3"):
                await session.ask("crash")
            await one.peer.wait_closed()
            await other.peer.wait_closed()
        async with client(host) as again:
            assert await (await again.new_session()).ask("back") == "echo: back"
        assert sum(each.event == "agent_started" for each in events) == 2
        assert pauses == [0.0, 0.5]


async def _greet(agent: RawPeer, *ends: RawPeer) -> None:
    """Initialize clients: the agent is asked once."""
    for number, end in enumerate(ends):
        end.send(
            id=f"hello {number}",
            method="initialize",
            params={**INITIALIZE_PARAMS, "clientInfo": None},
        )
    agent.answer(await agent.take("initialize"), INITIALIZE_RESULT)
    for number, end in enumerate(ends):
        assert await end.take() == {
            "jsonrpc": "2.0",
            "id": f"hello {number}",
            "result": INITIALIZE_RESULT,
        }


async def test_what_is_said_before_a_session_is_known_finds_the_client_that_opens_it() -> None:
    async with two_initialized() as (_, agent, one, other):
        for end in (one, other):
            end.send(id=1, method="session/new", params={"cwd": "/", "mcpServers": []})
        asked = [await agent.take("session/new") for _ in range(2)]
        agent.update("b", {"sessionUpdate": "_early", "n": 1})
        agent.update("a", {"sessionUpdate": "_early", "n": 2})
        agent.answer(asked[0], {"sessionId": "a"})
        agent.update("b", {"sessionUpdate": "_early", "n": 3})
        agent.answer(asked[1], {"sessionId": "b"})
        agent.update("b", {"sessionUpdate": "_late", "n": 4})
        heard = [await one.received.get() for _ in range(2)]
        assert heard[0]["params"]["update"]["n"] == 2
        assert heard[1]["result"] == {"sessionId": "a"}
        heard = [await other.received.get() for _ in range(4)]
        assert [each["params"]["update"]["n"] for each in heard if "params" in each] == [1, 3, 4]
        assert heard[2]["result"] == {"sessionId": "b"}
        assert await one.is_silent()


async def test_an_agent_asks_who_a_question_is_for_and_tells_everybody_the_rest() -> None:
    async with two_initialized() as (_, agent, one, other):
        for end, id in ((one, "a"), (other, "b")):
            end.send(id=1, method="session/new", params={"cwd": "/", "mcpServers": []})
            agent.answer(await agent.take("session/new"), {"sessionId": id})
            await end.take()
        agent.send(id=5, method="fs/read_text_file", params={"sessionId": "b", "path": "/x"})
        asked = await other.take("fs/read_text_file")
        other.answer(asked, {"content": "x"})
        assert (await agent.take())["id"] == 5
        one.send(id="login", method="authenticate", params={"methodId": "m"})
        about = (await agent.take("authenticate"))["id"]
        agent.send(id=6, method="elicitation/create", params={"requestId": about})
        assert (await one.take("elicitation/create"))["params"] == {"requestId": "login"}
        agent.send(id=7, method="_whoever", params={})
        assert (await agent.take())["error"]["code"] == -32600
        agent.send(method="_news", params={})
        await one.take("_news")
        await other.take("_news")
        agent.send(method="session/update", params={"sessionId": "unknown", "update": {}})
        assert await one.is_silent()
        assert await other.is_silent()


async def test_a_session_whose_client_leaves_is_closed_at_the_shared_agent() -> None:
    async with open_raw_host(is_shared=True) as (host, agent):
        one, serving = raw_client(host)
        await _greet(agent, one)
        one.send(id=1, method="session/new", params={"cwd": "/", "mcpServers": []})
        agent.answer(await agent.take("session/new"), {"sessionId": "a"})
        await one.take()
        one.send(id=2, method="session/prompt", params={"sessionId": "a", "prompt": []})
        prompt = await agent.take("session/prompt")
        await one.transport.aclose()
        assert (await agent.take("$/cancel_request"))["params"] == {"requestId": prompt["id"]}
        assert (await agent.take("session/cancel"))["params"] == {"sessionId": "a"}
        assert (await agent.take("session/close"))["params"] == {"sessionId": "a"}
        await serving
        assert len(host.sessions) == 0
        await wait_until(lambda: not host.connections)


@pytest.mark.parametrize("method", sorted(CLOSES))
async def test_what_closes_a_session_ends_it_here_too(method: str) -> None:
    async with open_raw_host(is_shared=True) as (host, agent):
        one, serving = raw_client(host)
        await _greet(agent, one)
        one.send(id=1, method="session/new", params={"cwd": "/", "mcpServers": []})
        agent.answer(await agent.take("session/new"), {"sessionId": "a"})
        await one.take()
        assert len(host.sessions) == 1
        one.send(id=2, method=method, params={"sessionId": "a"})
        agent.answer(await agent.take(method), {})
        await one.take()
        assert len(host.sessions) == 0
        await one.transport.aclose()
        await serving


async def test_a_client_that_leaves_before_it_is_initialized_keeps_nobody_waiting() -> None:
    async with open_raw_host(is_shared=True) as (host, agent):
        (one, first), (other, second) = raw_client(host), raw_client(host)
        one.send(id=1, method="initialize", params=INITIALIZE_PARAMS)
        asked = await agent.take("initialize")
        other.send(id=1, method="initialize", params=INITIALIZE_PARAMS)
        await one.transport.aclose()
        await first
        agent.answer(asked, INITIALIZE_RESULT)
        assert (await other.take())["result"] == INITIALIZE_RESULT
        assert await agent.is_silent()
        await other.transport.aclose()
        await second


async def test_a_session_that_opens_when_its_client_has_gone_is_closed() -> None:
    async with open_raw_host(is_shared=True) as (host, agent):
        one, serving = raw_client(host)
        await _greet(agent, one)
        one.send(id=1, method="session/new", params={"cwd": "/", "mcpServers": []})
        asked = await agent.take("session/new")
        await one.transport.aclose()
        await serving
        agent.answer(asked, {"sessionId": "late"})
        assert (await agent.take("session/cancel"))["params"] == {"sessionId": "late"}
        assert (await agent.take("session/close"))["params"] == {"sessionId": "late"}
        assert len(host.sessions) == 0


async def test_a_client_that_takes_nothing_does_not_hold_up_the_others_for_ever() -> None:
    limits = HostLimits(patience=0.05)
    async with open_raw_host(is_shared=True, limits=limits) as (host, agent):
        (slow, first), (other, second) = raw_client(host), raw_client(host)
        await _greet(agent, slow, other)
        for end, id in ((slow, "a"), (other, "b")):
            end.send(id=1, method="session/new", params={"cwd": "/", "mcpServers": []})
            agent.answer(await agent.take("session/new"), {"sessionId": id})
            await end.take()
        slow.transport.pause_reading()
        for _ in range(600):
            agent.update("a", {"sessionUpdate": "_x", "text": "x" * 1000})
        agent.update("b", {"sessionUpdate": "_x"})
        await other.take("session/update")
        await first
        await other.transport.aclose()
        await second


async def test_clients_that_offer_different_things_do_not_share_an_agent() -> None:
    async with (
        open_host(DEMO, is_shared=True) as host,
        client(host) as one,
        client(host, elicit=lambda request, session: None) as other,
    ):
        assert await (await other.new_session()).ask("elicit") == 'elicit:{"action":"cancel"}'
        assert "does not support forms" in await (await one.new_session()).ask("elicit")


async def test_a_shared_agent_that_nobody_uses_for_a_while_ends() -> None:
    events: asyncio.Queue[Event] = asyncio.Queue()
    async with open_host(DEMO, is_shared=True, limits=HostLimits(shared_idle=0.01)) as host:
        host.events.subscribe(events.put_nowait)
        async with client(host) as one:
            session = await one.new_session()
            async with client(host) as other:
                attached = await other.resume_session(session.id)
                await one.aclose()
                (shared,) = host._shared._known.values()
                assert shared.timer is None, "it does not end while somebody uses it"
                assert await attached.ask("still there") == "echo: still there"
        while (await events.get()).event != "agent_exited":
            pass
        assert (host.process_count, len(host._shared)) == (0, 0)
        async with client(host) as again:  # it did not fail: there is no pause
            assert await (await again.new_session()).ask("back") == "echo: back"


async def test_kinds_of_clients_that_are_not_used_make_room_for_others() -> None:
    limits = HostLimits(shared_per_principal=2)
    async with open_host(DEMO, is_shared=True, limits=limits) as host:

        async def greet(
            kind: int, principal: str = ""
        ) -> tuple[RawPeer, asyncio.Task[None], Message]:
            end, serving = raw_client(host, principal)
            params = {**INITIALIZE_PARAMS, "clientCapabilities": {"_meta": {"kind": kind}}}
            return end, serving, await end.ask(1, "initialize", params)

        ends = [await greet(kind) for kind in (1, 2)]
        _, hung_up, answer = await greet(3)
        assert answer["error"]["code"] == Overloaded.code
        assert "2 kinds of clients" in answer["error"]["message"]
        await hung_up
        ends.append(await greet(3, "somebody else"))
        await ends[0][0].transport.aclose()
        await ends[0][1]
        ends.append(await greet(3))
        assert ["result" in each[2] for each in ends] == [True] * 4
        assert len(host._shared) == 3
        for end, serving, _ in ends[1:]:
            await end.transport.aclose()
            await serving


async def test_everybody_who_waits_to_be_initialized_learns_why_it_failed() -> None:
    async with open_raw_host(is_shared=True) as (host, agent):
        (one, first), (other, second) = raw_client(host), raw_client(host)
        for end in (one, other):
            end.send(id=1, method="initialize", params=INITIALIZE_PARAMS)
        asked = await agent.take("initialize")
        agent.send(id=asked["id"], error={"code": -32000, "message": "Pay first", "data": [1]})
        for end in (one, other):
            error = {"code": -32000, "message": "Pay first", "data": [1]}
            assert (await end.take())["error"] == error
            await end.transport.aclose()
        await asyncio.gather(first, second)
