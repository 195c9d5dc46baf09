"""The store in the journal: what was said is written once, as it is said, and told again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent, AgentFeatures, AgentSession, MemoryStore, StoredSession, Turn
from parley.agent.journal_store import JournalStore
from parley.errors import InvalidParams, RequestCancelled, ResourceNotFound
from parley.journal import Journal, MemoryJournal, SqliteJournal
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods

from .agent_clients import connected_client, connected_raw_client, list_session_ids, texts

LOUD = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=True)
GREET = v2.Command(name="greet", description="Greets.")
ALL = AgentFeatures(fork=True, archive=True, status=True, title=True)

Make = Callable[[Path], Journal]


def in_memory(path: Path) -> Journal:
    return MemoryJournal()


def on_disk(path: Path) -> Journal:
    return SqliteJournal(path / "journal.db")


JOURNALS = pytest.mark.parametrize("make", [in_memory, on_disk])


def notes(journal: Journal, name: str = "notes", features: AgentFeatures = ALL) -> Agent:
    agent = Agent(name, store=JournalStore(journal), features=features)

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if session.origin == "new":
            await session.set_config_options([LOUD])
            await session.set_commands([GREET])

    @agent.set_config_option
    async def change(session: AgentSession, config_id: str, value: str | bool) -> None:
        if session.data.get("is_frozen"):
            raise InvalidParams("It stays as it is")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        texts = turn.session.data.setdefault("said", [])
        texts.append(turn.text)
        if turn.text == "freeze":
            turn.session.data["is_frozen"] = True
        await turn.session.set_title(texts[0])
        async with turn.tool("Count") as call:
            await call.add("one")
        await turn.say(f"{len(texts)}: ")
        await turn.say(turn.text)

    return agent


def kept(journal: Journal, role: Any = "agent") -> list[bytes]:
    """Return everything that was written of the only session."""
    [record] = journal.list(role=role)
    return [entry.data for entry in journal.entries(record.key)]


@JOURNALS
async def test_sessions_survive_the_agent(make: Make, tmp_path: Path) -> None:
    journal = make(tmp_path)
    async with connected_client(notes(journal)) as client:
        session = await client.new("/a")
        await client.turn(session, "Hello")
        await client.request(
            methods.SET_SESSION_CONFIG_OPTION,
            v2.SetSessionConfigBooleanRequest(session_id=session, config_id="loud", value=False),
        )
    async with connected_client(notes(journal)) as client:
        assert await list_session_ids(client) == [session]
        assert await list_session_ids(client, cwd="/a") == [session]
        assert await list_session_ids(client, cwd="/b") == []
        response = await client.resume(session, replays=True)
        [option] = response.config_options
        assert isinstance(option, v2.SessionConfigBoolean)
        assert (option.current_value, response.available_commands) == (False, [GREET])
        assert texts(client.unread()) == ["1: Hello"]
        assert texts(await client.turn(session, "again")) == ["2: ", "again"]
        [info] = (await client.request(methods.LIST_SESSIONS, v2.ListSessionsRequest())).sessions
        assert info.title == "Hello"
    await journal.aclose()


@JOURNALS
async def test_what_was_written_is_never_written_again(make: Make, tmp_path: Path) -> None:
    journal = make(tmp_path)
    async with connected_client(notes(journal)) as client:
        session = await client.new()
        await client.turn(session, "one")
        before = kept(journal)
        await client.turn(session, "two")
        after = kept(journal)
        await client.close(session)
        await client.resume(session, replays=True)
        assert after[: len(before)] == before
        assert kept(journal) == after
    assert sum(b'"two"' in each and b"user_message" in each for each in after) == 1
    assert all(each.startswith(b'{"jsonrpc":"2.0","method":"session/update"') for each in after)
    await journal.aclose()


@JOURNALS
async def test_a_session_is_deleted_archived_named_and_forked(make: Make, tmp_path: Path) -> None:
    journal = make(tmp_path)
    async with connected_client(notes(journal)) as client:
        one = await client.new()
        await client.turn(one, "Hello")
        fork = v2.ForkSessionRequest(session_id=one, cwd="/elsewhere")
        two = (await client.request(methods.FORK_SESSION, fork)).session_id
        assert texts(await client.turn(two, "fork")) == ["2: ", "fork"]
        await client.close(two)
        name = v2.SetSessionTitleRequest(session_id=two, title="A fork")
        await client.request(methods.SET_SESSION_TITLE, name)
        away = v2.ArchiveSessionRequest(session_id=one)
        await client.request(methods.ARCHIVE_SESSION, away)
    async with connected_client(notes(journal)) as client:
        assert await list_session_ids(client) == [two]
        assert sorted(await list_session_ids(client, archived="include")) == sorted([one, two])
        await client.resume(two, replays=True, cwd="/elsewhere")
        seen = client.unread()
        assert texts(seen) == ["1: Hello", "2: fork"]
        assert [each.title for each in seen if isinstance(each, v2.SessionInfoUpdate)] == ["A fork"]
        for session in (one, two, "unknown"):
            request = v2.DeleteSessionRequest(session_id=session)
            await client.request(methods.DELETE_SESSION, request)
        assert await list_session_ids(client, archived="include") == []
        with pytest.raises(ResourceNotFound):
            await client.resume(one)
    assert journal.list() == []
    await journal.aclose()


async def test_several_agents_share_a_journal_and_see_their_own_sessions() -> None:
    journal = MemoryJournal()
    async with connected_client(notes(journal, "one")) as client:
        session = await client.new()
    async with connected_client(notes(journal, "two")) as client:
        assert await list_session_ids(client) == []
        with pytest.raises(ResourceNotFound):
            await client.resume(session)
    assert JournalStore(journal, agent="other").agent == "other"
    store = JournalStore(journal, agent="other")
    Agent("one", store=store)
    assert store.agent == "other"


def stored(id: str = "s") -> StoredSession:
    return StoredSession(id=id, cwd="/w", updated_at="2026-01-01T00:00:00.000000Z")


async def test_a_session_that_is_put_for_the_first_time_is_written_whole() -> None:
    store = JournalStore(MemoryJournal(), agent="a")
    session = stored()
    updates = (
        v2.UserMessage(message_id="u", content=[v2.TextContent(text="Hello")]),
        v2.AgentMessageChunk(message_id="a", content=v2.TextContent(text="Hi")),
        Unknown("_gauge", b'{"sessionUpdate":"_gauge","level":3}'),
        v2.ConfigOptionUpdate(config_options=[LOUD]),
    )
    for update in updates:
        session.transcript.fold(update)
        store.append("s", update)  # passed over: it is not there yet
    await store.put(session)
    again = await JournalStore(store.journal, agent="a").get("s")
    assert again is not None
    assert again.updates() == session.updates()


async def test_work_that_was_left_is_cancelled() -> None:
    store = JournalStore(MemoryJournal())
    await store.put(stored())
    for update in (
        v2.StateUpdated(state="running"),
        v2.ToolCallUpdated(tool_call_id="c", title="Work", status="in_progress"),
    ):
        store.append("s", update)
    again = await store.get("s")
    assert again is not None
    assert again.transcript.tool_calls["c"].status == "cancelled"
    assert (again.transcript.state, again.transcript.stop_reason) == ("idle", "cancelled")


async def test_what_cannot_be_read_is_skipped() -> None:
    store = JournalStore(MemoryJournal())
    await store.put(stored())
    [record] = store.journal.list()
    broken = v2.TerminalOutputChunk(terminal_id="t", data="not base64!")
    for data in (b"", b"{}", b'{"params":{"sessionId":"s","update":5}}', b"\xff"):
        store.journal.append(record.key, "to_client", data)
    store.journal.append(record.key, "note", b'{"note":"lost"}')
    store.append("s", broken)
    store.append("s", v2.AgentMessageChunk(message_id="a", content=v2.TextContent(text="Hi")))
    again = await store.get("s")
    assert again is not None
    assert [each.text for each in again.transcript.messages] == ["Hi"]
    store.journal.delete(record.key)
    assert await store.get("s") is None


async def test_data_that_json_cannot_hold_is_the_programs_mistake() -> None:
    store = JournalStore(MemoryJournal())
    session = stored()
    session.updated_at = "some day"
    await store.put(session)
    session.data["x"] = object()
    store.append("s", v2.AgentMessageChunk(message_id="a", content=v2.TextContent(text="Hi")))
    with pytest.raises(TypeError):
        await store.put(session)
    again = await store.get("s")
    assert again is not None
    assert (again.transcript.text, again.data) == ("Hi", {})


class Slow(MemoryJournal):
    """Commits when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_commit = asyncio.Event()
        self.may_commit.set()
        self.commits = 0
        self.waiting = asyncio.Event()

    async def commit(self) -> None:
        self.waiting.set()
        await self.may_commit.wait()
        self.commits += 1


async def test_a_prompt_is_kept_when_it_is_accepted() -> None:
    journal = Slow()
    async with connected_client(notes(journal)) as client:
        session = await client.new()
        journal.may_commit.clear()
        journal.waiting.clear()
        prompt = asyncio.create_task(client.prompt(session, "Hello"))
        await journal.waiting.wait()
        assert b'"Hello"' in kept(journal)[-1]
        assert not prompt.done()
        assert client.updates.empty()
        journal.may_commit.set()
        await prompt


async def test_prompts_that_wait_are_kept_and_reported_where_their_turn_begins() -> None:
    store = JournalStore(MemoryJournal())
    agent = Agent("slow", store=store)
    may_end = asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("I heard ")
        await may_end.wait()
        async with turn.tool(f"Look for {turn.text}"):
            pass
        await turn.say(turn.text)

    async with connected_client(agent) as client:
        session = await client.new()
        await client.prompt(session, "one")
        await client.until(v2.AgentMessageChunk)
        await client.prompt(session, "two")
        assert await transcript_texts(store, session) == ["one", "I heard ", "two"]
        may_end.set()
        for _ in range(2):
            await client.until_idle()
        whole = ["one", "I heard ", "Look for one", "one", "two", "I heard ", "Look for two", "two"]
        assert await transcript_texts(store, session) == whole


async def transcript_texts(store: JournalStore, session: str) -> list[str | None]:
    """Return what was said and done, as it is told when the session is opened again."""
    again = await store.get(session)
    assert again is not None
    entries = again.transcript.entries
    return [getattr(each, "text", None) or getattr(each, "title", None) for each in entries]


async def test_a_prompt_that_is_withdrawn_while_it_is_kept_lets_the_next_begin() -> None:
    journal = Slow()
    async with connected_raw_client(notes(journal)) as client:
        session = await client.new()
        journal.may_commit.clear()
        ids: list[int] = []
        for text in ("one", "two"):
            journal.waiting.clear()
            ids.append(client.prompt(session, text))
            await journal.waiting.wait()
        client.notify("$/cancel_request", {"requestId": ids[0]})
        _, refused = await client.until(ids[0])
        assert refused["error"]["code"] == RequestCancelled.code
        journal.may_commit.set()
        await client.until(ids[1])
        messages: list[dict[str, Any]] = []
        while not messages or messages[-1].get("state") != "idle":
            messages.append((await client.receive())["params"]["update"])
        assert messages[0]["content"] == [{"type": "text", "text": "two"}]


async def test_a_session_that_is_closed_while_a_prompt_is_kept_refuses_it() -> None:
    journal = Slow()
    async with connected_client(notes(journal)) as client:
        session = await client.new()
        journal.may_commit.clear()
        journal.waiting.clear()
        prompt = asyncio.create_task(client.prompt(session, "one"))
        await journal.waiting.wait()
        journal.waiting.clear()
        close = asyncio.create_task(client.close(session))
        await journal.waiting.wait()
        journal.may_commit.set()
        await close
        with pytest.raises(ResourceNotFound):
            await prompt
        assert client.updates.empty()


async def test_a_subagents_session_is_not_kept() -> None:
    journal = MemoryJournal()
    agent = Agent("boss", store=JournalStore(journal))

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.session.subagent("Explore") as child:
            await child.session.say("not kept")
        await turn.say("kept")

    async with connected_client(agent) as client:
        await client.turn(await client.new())
    written = b"".join(kept(journal))
    assert b"not kept" not in written
    assert b"kept" in written


def test_the_memory_store_has_no_use_for_updates() -> None:
    store = MemoryStore()
    store.append("s", v2.StateUpdated(state="idle"))
    assert store.__dict__ == MemoryStore().__dict__
