from __future__ import annotations

from pathlib import Path

import pytest

from parley.journal import MemoryJournal, SqliteJournal
from parley.proxy import builtin
from parley.session.frame_replay import transcript_from_frames
from parley.testing.demo import demo_agent

from .command_chain import VERSIONS, chain


@VERSIONS
async def test_what_passes_is_in_the_journal(version: int) -> None:
    journal = MemoryJournal()
    proxy = builtin.log(journal, agent="demo")
    async with chain(proxy, agent=demo_agent(), version=version) as client:
        session = await client.new_session()
        await session.ask("hello")
        await session.ask("tool")
    [kept] = journal.list()
    assert (kept.session_id, kept.agent, kept.protocol) == (session.id, "demo", version)
    assert kept.state == "idle"
    said = transcript_from_frames(journal.entries(kept.key))
    assert [each.text for each in said.messages] == ["hello", "echo: hello", "tool", "tool:done"]


@VERSIONS
async def test_a_session_goes_on_in_its_record(tmp_path: Path, version: int) -> None:
    path, agent = tmp_path / "journal.db", demo_agent()
    async with chain(builtin.log(path), agent=agent, version=version) as client:
        session = await client.new_session()
        await session.ask("one")
    async with chain(builtin.log(path), agent=agent, version=version) as client:
        await (await client.resume_session(session.id)).ask("two")
    journal = SqliteJournal(path)
    [kept] = journal.list()
    said = transcript_from_frames(journal.entries(kept.key))
    await journal.aclose()
    assert [each.text for each in said.messages] == ["one", "echo: one", "two", "echo: two"]


async def test_secrets_of_the_environment_are_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_TOKEN", "correct-horse")
    journal = MemoryJournal()
    async with chain(builtin.log(journal), agent=demo_agent(), version=2) as client:
        assert await (await client.new_session()).ask("correct-horse") == "echo: correct-horse"
    [kept] = journal.list()
    frames = b"".join(each.data for each in journal.entries(kept.key))
    assert b"[redacted]" in frames
    assert b"correct-horse" not in frames
