"""A prompt that was refused is not part of what the agent knows: neither of the next context, nor
of a replay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

import parley
from parley.agent import Agent, MemoryStore, SessionStore, StoredSession, Turn
from parley.agent.journal_store import JournalStore
from parley.errors import RequestError
from parley.journal import MemoryJournal
from parley.schema import v2
from parley.schema.v2 import methods

IN_BOTH_VERSIONS = pytest.mark.parametrize("version", [1, 2])
STORES = pytest.mark.parametrize(
    "store", [MemoryStore, lambda: JournalStore(MemoryJournal())], ids=["memory", "journal"]
)


def remembering(store: SessionStore) -> tuple[Agent, list[list[str]]]:
    """Return an agent that refuses some prompts, and what it knew at each."""
    agent, contexts = Agent("careful", store=store), list[list[str]]()

    @agent.prompt
    async def reply(turn: Turn) -> str | None:
        contexts.append([each.text for each in turn.session.transcript.messages])
        if turn.text == "bad":
            await turn.say("I will not.")
            return "refusal"
        await turn.say(f"Yes: {turn.text}")
        return None

    return agent, contexts


@IN_BOTH_VERSIONS
@STORES
@pytest.mark.requirement("V1-PROMPT-30")
async def test_a_refused_prompt_is_neither_in_the_next_context_nor_in_a_replay(
    store: Callable[[], SessionStore], version: int
) -> None:
    agent, contexts = remembering(store())
    async with parley.connect(agent, versions=(version,)) as client:
        session = await client.new_session()
        await session.prompt("one")
        refused = await session.prompt("bad")
        assert (refused.stop_reason, refused.text) == ("refusal", "I will not.")
        assert [each.text for each in session.transcript.messages][2:] == ["bad", "I will not."]
        await session.prompt("two")
    assert contexts[2] == ["one", "Yes: one", "two"]
    async with parley.connect(agent, versions=(version,)) as client:
        again = await client.resume_session(session.id)
        kept = ["one", "Yes: one", "two", "Yes: two"]
        assert [each.text for each in again.transcript.messages] == kept


async def test_a_refused_prompt_is_not_written_with_the_session() -> None:
    store = MemoryStore()
    agent, _ = remembering(store)
    async with parley.connect(agent) as client:
        session = await client.new_session()
        await session.prompt("bad")
        stored = await store.get(session.id)
    assert stored is not None
    assert StoredSession.from_json(stored.to_json()).transcript.messages == []


class SlowStore(JournalStore):
    """Writes nothing down before it is told to."""

    def __init__(self) -> None:
        super().__init__(MemoryJournal())
        self.is_writing = asyncio.Event()
        self.may_write = asyncio.Event()
        self.may_write.set()

    async def put(self, session: StoredSession) -> None:
        self.is_writing.set()
        await self.may_write.wait()
        await super().put(session)


@pytest.mark.requirement("V1-PROMPT-30")
async def test_a_prompt_that_was_never_accepted_is_not_in_a_replay() -> None:
    store = SlowStore()
    agent, contexts = remembering(store)
    async with parley.connect(agent, versions=(2,)) as client:
        session = await client.new_session()
        await session.prompt("one")
        store.may_write.clear()
        store.is_writing.clear()
        sent = asyncio.create_task(
            client.peer.request(
                methods.PROMPT,
                v2.PromptRequest(session_id=session.id, prompt=[v2.TextContent(text="gone")]),
            )
        )
        await store.is_writing.wait()
        sent.cancel()
        await asyncio.wait({sent})
        store.may_write.set()
        await session.prompt("two")
    assert contexts == [["one"], ["one", "Yes: one", "two"]]
    async with parley.connect(agent, versions=(2,)) as client:
        again = await client.resume_session(session.id)
        kept = ["one", "Yes: one", "two", "Yes: two"]
        assert [each.text for each in again.transcript.messages] == kept


async def test_a_prompt_that_is_refused_by_its_content_leaves_nothing() -> None:
    agent, contexts = remembering(JournalStore(MemoryJournal()))
    async with parley.connect(agent, versions=(2,)) as client:
        session = await client.new_session()
        picture = v2.ImageContent(data="", mime_type="image/png")
        with pytest.raises(RequestError, match="does not support images"):
            await client.peer.request(
                methods.PROMPT, v2.PromptRequest(session_id=session.id, prompt=[picture])
            )
        assert session.transcript.messages == []
    async with parley.connect(agent, versions=(2,)) as client:
        assert (await client.resume_session(session.id)).transcript.messages == []
    assert contexts == []
