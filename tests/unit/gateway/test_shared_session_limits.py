"""What is bounded for further clients of a session, and what they miss."""

from __future__ import annotations

import asyncio

import pytest

from parley.client import Session
from parley.errors import RequestError
from parley.gateway import Gateway, HostLimits
from parley.gateway.history_budget import HistoryBudget
from parley.gateway.metrics import Metrics
from parley.schema import v2

from .agent_hosts import attach, client, open_host, texts, wait_until


async def test_no_more_clients_attach_than_allowed_and_leaving_makes_room() -> None:
    limits = HostLimits(attached=1)
    async with (
        open_host(limits=limits) as host,
        client(host) as one,
        client(host) as two,
        client(host) as three,
    ):
        session = await one.new_session()
        followed = await attach(two, session)
        with pytest.raises(RequestError, match="1 further clients"):
            await attach(three, session)
        await followed.close()
        assert await (await attach(three, session)).ask("in") == "echo: in"
        assert await session.ask("owner") == "echo: owner"


async def test_a_session_that_is_too_long_is_told_from_where_it_is_known() -> None:
    limits = HostLimits(history_bytes=50_000)
    async with open_host(limits=limits) as host, client(host) as one, client(host) as two:
        session = await one.new_session()
        await session.ask("flood 3000")
        await session.ask("the end")
        live = next(iter(host.sessions))
        followed = await attach(two, session)
        assert live.is_truncated
        assert len(followed.transcript.text) < 50_000
        assert await followed.ask("more") == "echo: more"


@pytest.mark.requirement("SAFE-LIVE-06")
async def test_all_sessions_together_are_bounded_and_the_least_recently_used_is_forgotten() -> None:
    seen: list[v2.SessionUpdate] = []
    limits = HostLimits(total_history_bytes=250_000)
    async with (
        open_host(limits=limits) as host,
        client(host) as one,
        client(host, on_update=lambda _, update: seen.append(update)) as two,
    ):
        first, second, third = [await one.new_session() for _ in range(3)]
        for session in (first, second):
            await session.ask("x" * 30_000)  # said three times: asked, reported, echoed
        await first.ask("used again")
        await third.ask("x" * 30_000)
        cut = [host.sessions.get(each.id) for each in (first, second, third)]
        assert [each is not None and each.is_truncated for each in cut] == [False, True, False]
        kept = sum(each.history_bytes for each in host.sessions)
        assert kept == host.histories.total_bytes <= 250_000
        await attach(two, second)
        assert isinstance(seen[0], v2.Notice)
        assert seen[0].title == "The beginning of the conversation is not available"
        assert texts(await attach(two, first))[-1] == "echo: used again"
        assert await second.ask("more") == "echo: more"
        for session in (first, second, third):
            await session.close()
        await wait_until(lambda: not len(host.sessions))
        assert host.histories.total_bytes == 0


async def test_agents_that_share_a_budget_are_bounded_together() -> None:
    histories = HistoryBudget(150_000)
    async with (
        open_host(histories=histories) as first,
        open_host(name="another", histories=histories) as second,
        client(first) as one,
        client(second) as two,
    ):
        forgotten, kept = await one.new_session(), await two.new_session()
        await forgotten.ask("x" * 30_000)
        await kept.ask("x" * 30_000)
        (before,), (after,) = first.sessions, second.sessions
        assert (before.is_truncated, after.is_truncated) == (True, False)
        assert before.history_bytes == 0
        metrics = Metrics(Gateway([first, second])).text()
        assert f'parley_history_bytes{{agent="another"}} {after.history_bytes}' in metrics


async def test_a_fork_counts_what_it_inherits() -> None:
    async with open_host() as host, client(host) as one:
        session = await one.new_session()
        await session.ask("x" * 30_000)
        (source,) = host.sessions
        source.is_truncated = True
        fork = host.sessions.get((await one.fork_session(session.id)).id)
        assert fork is not None
        assert fork.history_bytes >= source.history_bytes > 60_000
        assert fork.is_truncated
        assert host.histories.total_bytes == fork.history_bytes + source.history_bytes


async def test_a_client_that_is_too_far_behind_is_hung_up_on_and_others_are_not() -> None:
    limits = HostLimits(behind_bytes=100_000)
    stuck = asyncio.Event()

    async def slowly(session: Session, update: v2.SessionUpdate) -> None:
        if isinstance(update, v2.AgentMessageChunk):
            await stuck.wait()

    async with (
        open_host(limits=limits) as host,
        client(host) as one,
        client(host, on_update=slowly) as two,
    ):
        session = await one.new_session()
        await attach(two, session)
        said = await session.ask("flood 20000")
        assert said.endswith("chunk 19999")
        await wait_until(lambda: len(host.connections) == 1)
        stuck.set()
        await two.peer.wait_closed()
        assert await session.ask("fine") == "echo: fine"


async def test_prompts_that_wait_are_bounded_and_end_when_they_are_cancelled() -> None:
    limits = HostLimits(waiting_prompts=1)
    async with (
        open_host(version=1, limits=limits) as host,
        client(host) as one,
        client(host) as two,
    ):
        session = await one.new_session()
        first = session.prompt("slow")._state.begin()
        await wait_until(lambda: session.transcript.text != "")
        followed = await attach(two, session)
        waiting = followed.prompt("second")._state.begin()
        await wait_until(lambda: len(next(iter(host.sessions))._waiting) == 1)
        refused = followed.prompt("third")._state.begin()
        await followed.cancel()
        assert (await first).stop_reason == "cancelled"
        assert (await waiting).stop_reason == "cancelled"
        with pytest.raises(RequestError, match="1 prompts are queued"):
            await refused
        assert await followed.ask("fourth") == "echo: fourth"
        assert "second" not in texts(session)


async def test_what_was_said_before_a_session_was_resumed_is_said_to_be_missing() -> None:
    seen: list[v2.SessionUpdate] = []
    async with open_host() as host:
        async with client(host) as before:
            session = await before.new_session()
            await session.ask("long ago")
        await wait_until(lambda: not host.connections)
        async with (
            client(host) as one,
            client(host, on_update=lambda _, update: seen.append(update)) as two,
        ):
            session = await one.resume_session(session.id, replay=False)
            await session.ask("today")
            followed = await attach(two, session)
            assert texts(followed) == ["today", "echo: today"]
            assert isinstance(seen[0], v2.Notice)


async def test_an_owner_that_takes_nothing_does_not_hold_up_the_others_for_ever() -> None:
    limits = HostLimits(patience=0.05)
    stuck = asyncio.Event()

    async def never(session: Session, update: v2.SessionUpdate) -> None:
        await stuck.wait()

    async with (
        open_host(limits=limits) as host,
        client(host, on_update=never) as one,
        client(host) as two,
    ):
        session = await one.new_session()
        followed = await attach(two, session)
        said = await followed.ask("flood 30000")
        assert said.endswith("chunk 29999")
        await wait_until(lambda: len(host.connections) == 1)
        assert await followed.ask("alone") == "echo: alone"
        stuck.set()
