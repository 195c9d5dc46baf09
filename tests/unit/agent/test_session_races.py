"""Sessions that several requests want at once: one gets them, and none comes back from the dead."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.agent import AgentFeatures, AgentSession, MemoryStore, StoredSession
from parley.errors import InvalidRequest, Overloaded, ResourceNotFound
from parley.schema import v2
from parley.schema.v2 import methods

from .agent_clients import Client, connected_client, counting_agent, list_session_ids


class SlowStore(MemoryStore):
    """Returns sessions when its gates open, in the order in which they are requested."""

    def __init__(self) -> None:
        super().__init__()
        self.gates: list[asyncio.Event] = []
        self.get_started = asyncio.Semaphore(0)

    async def get(self, id: str) -> StoredSession | None:
        self.get_started.release()
        if self.gates:
            await self.gates.pop(0).wait()
        return await super().get(id)


async def delete(client: Client, session: str) -> None:
    await client.request(methods.DELETE_SESSION, v2.DeleteSessionRequest(session_id=session))


async def test_two_connections_that_open_a_session_at_once_do_not_both_have_it() -> None:
    store = SlowStore()
    agent = counting_agent(store=store)
    async with connected_client(agent) as one, connected_client(agent) as other:
        session = await one.new()
        await one.close(session)
        first, second = store.gates = [asyncio.Event(), asyncio.Event()]
        slow = asyncio.create_task(one.resume(session))
        await store.get_started.acquire()
        slower = asyncio.create_task(other.resume(session))
        await store.get_started.acquire()
        first.set()
        await slow
        second.set()
        await slower
        with pytest.raises(ResourceNotFound):
            await one.prompt(session)
        await other.turn(session)


async def test_a_refused_request_does_not_move_the_session_that_is_being_opened() -> None:
    agent, opening, may_open = counting_agent(), asyncio.Event(), asyncio.Event()
    seen: list[AgentSession] = []

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if session.origin == "resumed":
            seen.append(session)
            opening.set()
            await may_open.wait()

    async with connected_client(agent) as client:
        session = await client.new()
        await client.close(session)
        first = asyncio.create_task(client.resume(session, cwd="/here"))
        await opening.wait()
        with pytest.raises(InvalidRequest, match="being opened"):
            await client.resume(session, cwd="/there")
        may_open.set()
        await first
        assert [each.cwd for each in seen] == ["/here"]


async def test_a_session_that_is_deleted_while_it_is_opened_stays_deleted() -> None:
    agent, opening, may_open = counting_agent(), asyncio.Event(), asyncio.Event()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if session.origin == "resumed":
            opening.set()
            await may_open.wait()

    async with connected_client(agent) as client:
        session = await client.new()
        await client.close(session)
        resuming = asyncio.create_task(client.resume(session))
        await opening.wait()
        await delete(client, session)
        may_open.set()
        with pytest.raises(InvalidRequest, match="deleted meanwhile"):
            await resuming
        assert await list_session_ids(client) == []


async def test_a_session_that_is_deleted_while_an_option_is_set_stays_deleted() -> None:
    agent, setting, may_set = counting_agent(), asyncio.Event(), asyncio.Event()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        option = v2.SessionConfigBoolean(config_id="fast", name="Fast", current_value=False)
        await session.set_config_options([option])

    @agent.set_config_option
    async def change(session: AgentSession, config_id: str, value: str | bool) -> None:
        setting.set()
        await may_set.wait()

    async with connected_client(agent) as client:
        session = await client.new()
        params = v2.SetSessionConfigBooleanRequest(session_id=session, config_id="fast", value=True)
        changing = asyncio.create_task(client.request(methods.SET_SESSION_CONFIG_OPTION, params))
        await setting.wait()
        await delete(client, session)
        may_set.set()
        await changing
        assert await list_session_ids(client) == []


@pytest.mark.requirement("SAFE-COST-01")
async def test_a_flood_of_requests_for_a_session_reads_it_once() -> None:
    agent = counting_agent(store=(store := SlowStore()))
    opening, may_open = asyncio.Event(), asyncio.Event()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if session.origin == "resumed":
            opening.set()
            await may_open.wait()

    async with connected_client(agent) as client:
        session = await client.new()
        await client.close(session)
        gate = asyncio.Event()
        store.gates, store.get_started = [gate], asyncio.Semaphore(0)
        flood = [asyncio.create_task(client.resume(session)) for _ in range(20)]
        await store.get_started.acquire()
        gate.set()
        await opening.wait()
        for each in flood[1:]:
            with pytest.raises(InvalidRequest, match="being opened"):
                await each
        may_open.set()
        await flood[0]
        assert store.get_started.locked()


class CopyingStore(SlowStore):
    """Returns a copy of a session, as a store on disk does."""

    async def get(self, id: str) -> StoredSession | None:
        stored = await super().get(id)
        return None if stored is None else StoredSession.from_json(stored.to_json())


@pytest.mark.requirement("SAFE-COST-01")
async def test_a_flood_of_forks_reads_one_copy_at_a_time_and_keeps_a_bounded_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parley.agent._session_manager._MAX_FORKED_BYTES", 500_000)
    agent = counting_agent(features=AgentFeatures(fork=True), store=(store := CopyingStore()))
    async with connected_client(agent) as client:
        session = await client.new()
        await client.turn(session, "x" * 50_000)  # twice in the transcript: asked, and repeated
        params = v2.ForkSessionRequest(session_id=session, cwd="/fork")
        gate = asyncio.Event()
        store.gates, store.get_started = [gate], asyncio.Semaphore(0)
        flood = [
            asyncio.create_task(client.request(methods.FORK_SESSION, params)) for _ in range(20)
        ]
        await store.get_started.acquire()
        await client.request(methods.LIST_SESSIONS, v2.ListSessionsRequest())
        assert store.get_started.locked(), "a second copy is read before the first one is counted"
        gate.set()
        results = await asyncio.gather(*flood, return_exceptions=True)
        forks = [each for each in results if isinstance(each, v2.ForkSessionResponse)]
        refused = [each for each in results if isinstance(each, Overloaded)]
        assert (len(forks), len(refused)) == (4, 16)
        assert "Close one of them" in str(refused[0])

        await client.close(forks[0].session_id)
        await client.request(methods.FORK_SESSION, params)


async def test_sessions_that_are_being_opened_count_as_open() -> None:
    store = SlowStore()
    agent = counting_agent(features=AgentFeatures(fork=True), store=store, max_sessions=2)
    opening, may_open = asyncio.Semaphore(0), asyncio.Event()
    may_open.set()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        opening.release()
        await may_open.wait()

    async with connected_client(agent) as client:
        source, closed = await client.new(), await client.new()
        await client.close(closed)
        opening = asyncio.Semaphore(0)
        may_open.clear()
        gates = [asyncio.Event(), asyncio.Event()]
        store.gates, store.get_started = [*gates], asyncio.Semaphore(0)
        fork = v2.ForkSessionRequest(session_id=source, cwd="/fork")
        forking = asyncio.create_task(client.request(methods.FORK_SESSION, fork))
        resuming = asyncio.create_task(client.resume(closed))
        await store.get_started.acquire()
        await store.get_started.acquire()
        first = asyncio.create_task(client.new())
        await opening.acquire()
        for gate in gates:
            gate.set()
        openings: list[asyncio.Task[Any]] = [forking, resuming, asyncio.create_task(client.new())]
        for each in openings:
            with pytest.raises(Overloaded, match="2 sessions are already open"):
                await asyncio.wait_for(each, 10)
        may_open.set()
        await first


async def test_a_session_that_is_read_slowly_does_not_delay_another() -> None:
    agent = counting_agent(store=(store := SlowStore()))
    async with connected_client(agent) as client:
        one, other = await client.new(), await client.new()
        await client.close(one)
        await client.close(other)
        gate = asyncio.Event()
        store.gates, store.get_started = [gate], asyncio.Semaphore(0)
        slow = asyncio.create_task(client.resume(one))
        await store.get_started.acquire()
        await client.resume(other)
        assert not slow.done()
        gate.set()
        await slow
