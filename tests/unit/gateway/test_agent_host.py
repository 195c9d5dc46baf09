from __future__ import annotations

import asyncio
import sys

import pytest

from parley.agent import Agent, Turn
from parley.errors import (
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    Overloaded,
    RequestError,
    ResourceNotFound,
)
from parley.gateway import AgentHost, Gateway, HostLimits
from parley.testing.demo import demo_agent

from .agent_hosts import (
    DEMO,
    INITIALIZE_PARAMS,
    INITIALIZE_RESULT,
    client,
    open_host,
    open_raw_host,
    raw_client,
    wait_until,
)

BOTH = pytest.mark.parametrize("version", [1, 2])
DYING = "import sys; sys.stderr.write('no licence\\n'); sys.stdin.readline(); sys.exit(4)"


@BOTH
async def test_an_agent_of_this_process_serves_everybody(version: int) -> None:
    async with (
        open_host() as host,
        client(host, "ann", versions=(version,)) as ann,
        client(host, "bob", versions=(version,)) as bob,
    ):
        for each in (ann, bob):
            assert await (await each.new_session()).ask("hello") == "echo: hello"
        assert sorted(each.principal for each in host.sessions) == ["ann", "bob"]
    assert len(host.sessions) == 0


@BOTH
async def test_a_process_is_started_for_each_connection(version: int) -> None:
    async with open_host(DEMO) as host:
        async with (
            client(host, versions=(version,)) as one,
            client(host, versions=(version,)) as other,
        ):
            assert await (await one.new_session()).ask("hello") == "echo: hello"
            assert await (await other.new_session()).ask("hello") == "echo: hello"
            assert len(host._processes) == 2
        await wait_until(lambda: not host._processes and not host._tasks)


@BOTH
@pytest.mark.parametrize("has_attaching", [True, False])
async def test_a_turn_under_way_learns_how_its_agent_ended(
    version: int, has_attaching: bool
) -> None:
    async with (
        open_host(DEMO, has_attaching=has_attaching) as host,
        client(host, versions=(version,)) as one,
    ):
        session = await one.new_session()
        with pytest.raises(InternalError, match="the agent exited with code 3") as caught:
            await session.ask("crash")
        assert caught.value.data == {"gone": "the agent", "exitCode": 3, "lastWords": ""}
        reason = await one.peer.wait_closed()
        assert isinstance(reason, ConnectionClosed)


async def test_last_words_reach_a_client_whose_agent_dies_at_once() -> None:
    async with open_host([sys.executable, "-c", DYING]) as host:
        with pytest.raises(InternalError, match="the agent exited with code 4") as caught:
            async with client(host):
                pass
        words = {"gone": "the agent", "exitCode": 4, "lastWords": "no licence\n"}
        assert caught.value.data == words


async def test_an_agent_that_cannot_be_started_is_an_error_and_no_silence() -> None:
    async with open_host(["/nonexistent/agent"]) as host:
        with pytest.raises(InternalError, match="/nonexistent/agent"):
            async with client(host):
                pass


async def test_nothing_is_started_before_initialize() -> None:
    async with open_host(DEMO) as host:
        end, serving = raw_client(host)
        refused = await end.ask(1, "session/new", {})
        assert refused["error"]["code"] == -32600
        assert not host._processes
        await end.transport.aclose()
        await serving


async def test_what_follows_initialize_at_once_waits_for_the_agent() -> None:
    async with open_raw_host() as (host, agent):
        end, serving = raw_client(host)
        end.send(id="a", method="initialize", params=INITIALIZE_PARAMS)
        end.send(method="_note", params=[])
        end.send(id="b", method="session/list", params={})
        asked = await agent.take("initialize")
        await agent.take("_note")
        listed = await agent.take("session/list")
        agent.answer(asked, INITIALIZE_RESULT)
        agent.answer(listed, {"sessions": []})
        assert [(await end.take())["id"] for _ in range(2)] == ["a", "b"]
        assert (await end.ask("c", "initialize", INITIALIZE_PARAMS))["error"]["code"] == -32600
        await end.transport.aclose()
        await serving


async def test_a_client_whose_initialize_is_refused_may_try_again() -> None:
    async with open_raw_host() as (host, agent):
        end, serving = raw_client(host)
        end.send(id=1, method="initialize", params={})
        asked = await agent.take("initialize")
        agent.send(id=asked["id"], error={"code": -32602, "message": "Which version?"})
        assert (await end.take())["error"]["code"] == -32602
        end.send(id=2, method="initialize", params=INITIALIZE_PARAMS)
        asked = await agent.take("initialize")
        assert (await end.ask(3, "initialize", INITIALIZE_PARAMS))["error"]["code"] == -32600
        agent.answer(asked, INITIALIZE_RESULT)
        assert (await end.take())["result"] == INITIALIZE_RESULT
        assert (await end.ask(4, "initialize", INITIALIZE_PARAMS))["error"]["code"] == -32600
        await end.transport.aclose()
        await serving


async def test_a_client_that_leaves_while_its_agent_starts_leaves_nothing() -> None:
    async with open_host(DEMO) as host:
        end, serving = raw_client(host)
        end.send(id=1, method="initialize", params=INITIALIZE_PARAMS)
        await wait_until(lambda: any(connection._starting for connection in host.connections))
        await end.transport.aclose()
        await serving
        await wait_until(lambda: not host._processes and not host._tasks)


async def test_agents_are_not_started_too_often() -> None:
    limits = HostLimits(spawns=1, spawns_within=60)
    async with open_host(DEMO, limits=limits) as host, client(host):
        with pytest.raises(Overloaded, match="1 agents were started within 60 seconds"):
            async with client(host):
                pass


@pytest.mark.requirement("V1-SESS-63")
@BOTH
async def test_nobody_sees_or_opens_the_sessions_of_another_principal(version: int) -> None:
    async with (
        open_host() as host,
        client(host, "ann", versions=(version,)) as ann,
        client(host, "bob", versions=(version,)) as bob,
    ):
        hers = await ann.new_session()
        his = await bob.new_session()
        assert [each.session_id async for each in bob.list_sessions()] == [his.id]
        for _ in range(2):  # live, and closed
            with pytest.raises(ResourceNotFound):
                await bob.resume_session(hers.id)
            with pytest.raises(ResourceNotFound):
                await bob.delete_session(hers.id)
            await hers.close()
        assert await (await ann.resume_session(hers.id)).ask("still hers") == "echo: still hers"


@pytest.mark.parametrize("result", [None, [], "none", 1, {"sessions": 1}, {"sessions": [1]}])
async def test_a_list_of_sessions_that_is_none_is_an_error_and_not_the_end(result: object) -> None:
    async with open_raw_host() as (host, agent):
        one, _ = raw_client(host)
        one.send(id=0, method="initialize", params=INITIALIZE_PARAMS)
        agent.answer(await agent.take("initialize"), INITIALIZE_RESULT)
        await one.take()
        for id in (1, 2):
            one.send(id=id, method="session/list", params={})
            agent.answer(await agent.take("session/list"), result)
            answer = await one.take()
            assert (answer["id"], answer["error"]["code"]) == (id, -32603)


async def test_without_attaching_a_session_moves_to_who_opens_it_again() -> None:
    async with (
        open_host(has_attaching=False) as host,
        client(host) as one,
        client(host) as other,
    ):
        session = await one.new_session()
        await session.ask("hello")
        moved = await other.resume_session(session.id)
        assert [each.text for each in moved.transcript.messages] == ["hello", "echo: hello"]
        assert await moved.ask("again") == "echo: again"
        with pytest.raises(InvalidRequest, match="open on another connection"):
            await session.ask("mine?")


async def test_draining_lets_a_turn_end_and_takes_nobody_new() -> None:
    agent, may_end = Agent("slow"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await may_end.wait()
        await turn.say("done")

    async with open_host(agent) as host, client(host, versions=(1,)) as one:
        session = await one.new_session()
        asking = asyncio.create_task(session.ask("wait"))
        await wait_until(lambda: session.transcript.state == "running")
        draining = asyncio.create_task(host.drain(10))
        await wait_until(lambda: host.is_draining)
        with pytest.raises(Overloaded, match="is being shut down"):
            await one.new_session()
        with pytest.raises(Overloaded, match="is being shut down"):
            async with client(host):
                pass
        may_end.set()
        assert await asking == "done"
        await draining
        await host.aclose()
        await one.peer.wait_closed()


async def test_draining_does_not_wait_longer_than_told() -> None:
    async with open_host() as host, client(host, versions=(1,)) as one:
        session = await one.new_session()
        asking = asyncio.create_task(session.ask("slow"))
        await wait_until(lambda: session.transcript.state == "running")
        await host.drain(0.1)
        await host.aclose()
        with pytest.raises((RequestError, ConnectionClosed)):
            await asking


async def test_a_gateway_has_agents_by_their_names() -> None:
    one, other = AgentHost("one", demo_agent()), AgentHost("other", demo_agent())
    gateway = Gateway([one, other])
    assert list(gateway) == [one, other]
    assert gateway.is_ready
    await gateway.drain(0.1)
    assert not gateway.is_ready
    with pytest.raises(ValueError, match="two agents have the name 'one'"):
        Gateway([one, AgentHost("one", demo_agent())])
    with pytest.raises(ValueError, match="there is no agent"):
        Gateway([])
