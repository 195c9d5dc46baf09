"""Stored sessions: listed page by page, deleted, forked, archived, renamed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.agent import Agent, AgentFeatures, MemoryStore, StoredSession, Turn
from parley.agent._session_listing import PAGE_SIZE
from parley.errors import (
    InvalidParams,
    MethodNotFound,
    RequestError,
    ResourceNotFound,
    Unsupported,
)
from parley.schema import v2
from parley.schema.v2 import methods

from .agent_clients import connected_client, counting_agent, list_session_ids, states, texts

ALL = AgentFeatures(fork=True, archive=True, status=True, title=True)


@pytest.mark.requirement("V2-SESS-26", "V2-SESS-27", "V2-SESS-28", "V1-SESS-38", "V1-SESS-40")
async def test_a_list_has_the_sessions_of_a_directory_newest_first() -> None:
    async with connected_client(counting_agent()) as client:
        first, second = await client.new("/a"), await client.new("/b")
        third = await client.new("/a")
        assert await list_session_ids(client) == [third, second, first]
        assert await list_session_ids(client, cwd="/a") == [third, first]
        assert await list_session_ids(client, cwd="/c") == []
        await client.turn(first)
        assert await list_session_ids(client) == [first, third, second]


@pytest.mark.requirement("V2-SESS-30", "V1-SESS-45")
async def test_a_long_list_comes_in_pages_that_do_not_shift() -> None:
    async with connected_client(counting_agent()) as client:
        ids = [await client.new() for _ in range(2 * PAGE_SIZE + 1)]
        seen: list[str] = []
        cursor: str | None = None
        sizes: list[int] = []
        while True:
            params = v2.ListSessionsRequest(cursor=cursor)
            response = await client.request(methods.LIST_SESSIONS, params)
            seen += [session.session_id for session in response.sessions]
            sizes.append(len(response.sessions))
            cursor = response.next_cursor
            if cursor is None:
                break
            await client.new()
        assert sizes == [PAGE_SIZE, PAGE_SIZE, 1]
        assert seen == ids[::-1]


@pytest.mark.requirement("V2-SESS-30", "V1-SESS-44")
@pytest.mark.parametrize("cursor", ["garbage", "", "bnVsbA==", "WyJhIl0=", "ü"])
async def test_a_cursor_that_is_not_ours_is_refused(cursor: str) -> None:
    async with connected_client(counting_agent()) as client:
        with pytest.raises(InvalidParams):
            await list_session_ids(client, cursor=cursor)


@pytest.mark.requirement("V2-SESS-33", "V2-SESS-34", "V1-SESS-52")
async def test_a_deleted_session_is_gone_and_deleting_again_is_not_an_error() -> None:
    async with connected_client(counting_agent()) as client:
        session = await client.new()
        for _ in range(2):
            params = v2.DeleteSessionRequest(session_id=session)
            await client.request(methods.DELETE_SESSION, params)
        assert await list_session_ids(client) == []
        with pytest.raises(ResourceNotFound):
            await client.resume(session)


@pytest.mark.requirement("V2-SESS-36", "V2-SESS-37", "V1-SESS-55")
async def test_a_fork_has_the_history_of_its_source_and_leaves_it_as_it_was() -> None:
    agent = counting_agent(ALL)
    async with connected_client(agent) as client:
        source = await client.new()
        await client.turn(source, "a")
        params = v2.ForkSessionRequest(session_id=source, cwd="/fork")
        fork = (await client.request(methods.FORK_SESSION, params)).session_id
        assert texts(await client.turn(fork, "b")) == ["2: b"]
        assert texts(await client.turn(source, "c")) == ["2: c"]
        await client.resume(fork, replays=True, cwd="/fork")
        assert texts(client.unread()) == ["1: a", "2: b"]


async def test_a_session_that_does_not_exist_cannot_be_forked_archived_or_named() -> None:
    async with connected_client(counting_agent(ALL)) as client:
        calls: list[Any] = [
            client.request(methods.FORK_SESSION, v2.ForkSessionRequest(session_id="no", cwd="/")),
            client.request(methods.ARCHIVE_SESSION, v2.ArchiveSessionRequest(session_id="no")),
            client.request(methods.UNARCHIVE_SESSION, v2.UnarchiveSessionRequest(session_id="no")),
            client.request(methods.SESSION_STATUS, v2.SessionStatusRequest(session_id="no")),
            client.request(
                methods.SET_SESSION_TITLE,
                v2.SetSessionTitleRequest(session_id="no", title="x"),
            ),
        ]
        for call in calls:
            with pytest.raises(ResourceNotFound):
                await call


async def test_an_archived_session_is_closed_and_left_out_of_lists_until_it_is_back() -> None:
    async with connected_client(counting_agent(ALL)) as client:
        kept, archived = await client.new(), await client.new()
        await client.request(methods.ARCHIVE_SESSION, v2.ArchiveSessionRequest(session_id=archived))
        with pytest.raises(ResourceNotFound):
            await client.prompt(archived)
        assert await list_session_ids(client) == [kept]
        assert await list_session_ids(client, archived="only") == [archived]
        assert await list_session_ids(client, archived="include") == [archived, kept]
        with pytest.raises(InvalidParams):
            await list_session_ids(client, archived="_some")
        await client.request(
            methods.UNARCHIVE_SESSION, v2.UnarchiveSessionRequest(session_id=archived)
        )
        assert await list_session_ids(client) == [archived, kept]


async def test_the_status_of_a_session_is_reported_without_touching_it() -> None:
    agent, may_end = Agent("slow", features=ALL), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await may_end.wait()

    async with connected_client(agent) as client:
        session = await client.new()
        params = v2.SessionStatusRequest(session_id=session)
        response = await client.request(methods.SESSION_STATUS, params)
        assert response == v2.SessionStatusResponse(status="open", state=v2.IdleStateUpdate())
        await client.prompt(session)
        await client.until(v2.StateUpdated)
        response = await client.request(methods.SESSION_STATUS, params)
        assert response.state == v2.RunningStateUpdate()
        may_end.set()
        await client.until_idle()
        await client.close(session)
        response = await client.request(methods.SESSION_STATUS, params)
        assert response == v2.SessionStatusResponse(status="saved")


async def test_a_title_is_kept_whether_the_session_is_open_or_not() -> None:
    async with connected_client(counting_agent(ALL)) as client:
        session = await client.new()
        for title in ("Open", "Closed"):
            params = v2.SetSessionTitleRequest(session_id=session, title=title)
            response = await client.request(methods.SET_SESSION_TITLE, params)
            assert response.title == title
            found = await client.request(methods.LIST_SESSIONS, v2.ListSessionsRequest())
            assert [each.title for each in found.sessions] == [title]
            if title == "Open":
                update = await client.next()
                assert isinstance(update, v2.SessionInfoUpdate)
                assert update.title == title
                await client.close(session)
        assert client.unread() == []


async def test_drafts_of_the_protocol_are_off_unless_they_are_claimed() -> None:
    params = v2.ForkSessionRequest(session_id="s", cwd="/")
    async with connected_client(counting_agent()) as client:
        features = client.adapter.agent.features
        assert not any((features.fork, features.archive, features.status, features.title))
        assert features.delete
        with pytest.raises(Unsupported):
            await client.request(methods.FORK_SESSION, params)
        with pytest.raises(MethodNotFound):
            await client.adapter.peer.request(methods.FORK_SESSION, params)


async def test_a_store_that_fails_does_not_end_the_work(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryStore):
        async def put(self, session: StoredSession) -> None:
            raise OSError("disk full")

    async with connected_client(counting_agent(store=Broken())) as client:
        assert states(await client.turn(await client.new())) == ["running", "idle"]
    assert "could not be stored" in caplog.text


async def test_the_store_in_memory_forgets_what_was_unchanged_longest() -> None:
    store = MemoryStore(max_sessions=2)
    for id in ("a", "b", "a", "c"):
        await store.put(StoredSession(id=id, cwd="/"))
    assert [each.session_id for each in await store.list()] == ["a", "c"]


async def test_so_many_sessions_may_be_open_and_no_more() -> None:
    agent = counting_agent(max_sessions=2)
    async with connected_client(agent) as client:
        first = await client.new()
        await client.new()
        with pytest.raises(RequestError, match="already open"):
            await client.new()
        await client.close(first)
        await client.new()
