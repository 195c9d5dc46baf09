"""A connection with a journal: what is written, what is not, and when the end of a turn is seen."""

from __future__ import annotations

import asyncio
import sys

import pytest

from parley.client import Process, Session, connect
from parley.client._resolve import Resolved, agent_of
from parley.errors import ConnectFailed, JournalError, ProcessExited
from parley.journal import MemoryJournal
from parley.schema import v2
from parley.session.frame_replay import transcript_from_frames
from parley.testing.demo import demo_agent


class SlowJournal(MemoryJournal):
    """Takes its time for the end of a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = asyncio.Event()
        self.may_end = asyncio.Event()

    async def commit(self) -> None:
        if all(each.state == "idle" for each in self.list()):
            self.is_asked.set()
            await self.may_end.wait()


class WatchedJournal(MemoryJournal):
    """Remembers how sessions were when it was to commit."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[str] = []

    async def commit(self) -> None:
        self.commits += (each.state for each in self.list())


class FullJournal(MemoryJournal):
    """Cannot write."""

    async def commit(self) -> None:
        raise JournalError("the disk is full")


@pytest.mark.requirement("SAFE-LIVE-03")
@pytest.mark.parametrize("version", [1, 2])
async def test_the_end_of_a_turn_is_seen_when_it_is_kept(version: int) -> None:
    journal = SlowJournal()
    async with connect(demo_agent(), versions=(version,), journal=journal) as connection:
        session = await connection.new_session()
        asking = asyncio.ensure_future(session.ask("echo walnut"))
        await journal.is_asked.wait()
        was_done = asking.done()
        (record,) = journal.list()
        kept = transcript_from_frames(journal.entries(record.key))
        journal.may_end.set()
        text = await asking
    assert not was_done
    assert text == kept.text == "echo: echo walnut"


@pytest.mark.parametrize("version", [1, 2])
async def test_a_prompt_is_kept_while_its_turn_runs(version: int) -> None:
    journal = WatchedJournal()
    before_the_end: list[str] = []

    def decide(request: v2.RequestPermissionRequest, session: Session) -> None:
        before_the_end.extend(journal.commits)

    async with connect(
        demo_agent(), versions=(version,), journal=journal, permission=decide
    ) as connection:
        session = await connection.new_session()
        await session.ask("perm")
    assert before_the_end == ["running"]
    assert journal.commits[1] == "idle"


@pytest.mark.parametrize("version", [1, 2])
async def test_a_journal_that_cannot_be_written_ends_no_turn(version: int) -> None:
    async with connect(demo_agent(), versions=(version,), journal=FullJournal()) as connection:
        session = await connection.new_session()
        assert "walnut" in await session.ask("echo walnut")


@pytest.mark.requirement("SAFE-REACH-05")
async def test_what_the_environment_of_an_agent_was_given_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLANTED_PASSPHRASE", "marker-one")
    journal = MemoryJournal()
    env = {"PGPASSWORD": "marker-two", "PLACE": "marker-three"}
    async with connect(
        demo_agent(), journal=journal, process=Process(env=env, inherit=["PLANTED_PASSPHRASE"])
    ) as connection:
        session = await connection.new_session()
        await session.ask("echo marker-one marker-two marker-three")
    (record,) = journal.list()
    written = b"".join(entry.data for entry in journal.entries(record.key))
    assert b"marker-one" not in written + str(record).encode()
    assert b"marker-two" not in written + str(record).encode()
    assert b"echo [redacted] [redacted] marker-three" in written


@pytest.mark.requirement("SAFE-REACH-05")
async def test_a_secret_on_the_command_line_of_an_agent_is_not_written() -> None:
    journal = MemoryJournal()
    script = "from parley.testing.demo import demo_agent; demo_agent().run()"
    command = [sys.executable, "-c", script, "--api-key", "hunter2hunter2"]
    async with connect(command, journal=journal) as connection:
        session = await connection.new_session()
        await session.ask("echo hunter2hunter2")
    (record,) = journal.list()
    assert record.agent.endswith("--api-key '[redacted]'")
    written = b"".join(entry.data for entry in journal.entries(record.key))
    assert b"hunter2" not in written + str(record).encode()

    assert Resolved(target=command).label == record.agent
    with pytest.raises(ConnectFailed, match="Give the whole command line again"):
        agent_of(record)


async def test_a_secret_on_the_command_line_is_not_in_the_error_of_an_agent_that_ends() -> None:
    command = [sys.executable, "-c", "", "--token=hunter2hunter2", "http://me:walnut@host/"]
    with pytest.raises(ProcessExited, match=r"--token=\[redacted\]") as failed:
        async with connect(command):
            pass
    assert "hunter2" not in str(failed.value)
    assert "walnut" not in str(failed.value)
