"""fast-agent uses all that a client lends: files and terminals, under a policy, with a journal.

Its model is `passthrough`, which calls the one tool that a prompt names.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.peers import FAST_AGENT, Peer

import parley
from parley.client import Process, Session, Workspace
from parley.journal import SqliteJournal
from parley.policy import Policy, Rule
from parley.session.frame_replay import transcript_from_frames

from .launch import Launch, fast_agent
from .turn import BOUND_SECONDS

PATIENT = "echo $$ && exec sleep 600"
RULES = [
    Rule(decision="deny", command="touch", source="no touching"),
    Rule(decision="allow", kind=["read", "edit"], path="*.txt", source="texts"),
    Rule(decision="allow", kind="execute", command=["pwd", PATIENT], source="commands"),
]


@pytest.fixture
def launch(find_peer: Callable[[Peer], Path], tmp_path: Path) -> Launch:
    return fast_agent(find_peer(FAST_AGENT), tmp_path / "home")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


@asynccontextmanager
async def open_session(
    launch: Launch, work: Path, on_output: Callable[[Session, str, bytes], object] | None = None
) -> AsyncGenerator[Session]:
    journal = SqliteJournal(work.parent / "journal.db")
    async with (
        asyncio.timeout(BOUND_SECONDS),
        parley.connect(
            launch.command,
            work,
            process=Process(env=launch.env),
            workspace=Workspace(work, on_output=on_output),
            policy=Policy(RULES, cwd=work),
            journal=journal,
        ) as connection,
    ):
        yield await connection.new_session()
    await journal.aclose()


def call(tool: str, **arguments: str) -> str:
    return f"***CALL_TOOL {tool} {json.dumps(arguments)}"


async def talk(launch: Launch, work: Path) -> list[str]:
    async with open_session(launch, work) as session:
        return [
            await session.ask(call("read_text_file", path=f"{work}/in.txt")),
            await session.ask(call("write_text_file", path=f"{work}/out.txt", content="hi")),
            await session.ask(call("execute", command="pwd")),
            await session.ask(call("execute", command="touch no.txt")),
            await session.ask(call("write_text_file", path=f"{work}/../no.txt", content="")),
        ]


def test_it_reads_writes_and_runs_what_the_policy_allows(launch: Launch, work: Path) -> None:
    (work / "in.txt").write_text("a parrot\n")
    read, _, ran, denied, outside = asyncio.run(talk(launch, work))
    assert "a parrot" in read
    assert (work / "out.txt").read_text() == "hi"
    assert str(work) in ran
    assert "declined" in denied
    assert not (work / "no.txt").exists()
    assert "declined" in outside
    assert not (work.parent / "no.txt").exists()

    journal = SqliteJournal(work.parent / "journal.db")
    (record,) = journal.list()
    assert (record.state, record.cwd) == ("idle", str(work))
    entries = list(journal.entries(record.key))
    said = [each.text for each in transcript_from_frames(entries).messages if each.role == "agent"]
    assert said[0] == read
    notes = [json.loads(each.data) for each in entries if each.kind == "note"]
    reasons = [(each["decision"], each["reason"].partition(":")[0]) for each in notes]
    assert reasons == [
        ("allow", "texts"),  # to read; that we then read for it needs no decision
        ("allow", "texts"),
        ("allow", "granted for a tool call of this turn"),
        ("allow", "commands"),
        ("allow", "granted for a tool call of this turn"),
        ("deny", "no touching"),
        ("deny", "no rule fits"),
    ]
    asyncio.run(journal.aclose())


async def cancel(launch: Launch, work: Path) -> tuple[str, int]:
    """Cancel a turn while a command runs; return how it ended, and the command's process."""
    pids: asyncio.Queue[bytes] = asyncio.Queue()

    def on_output(session: Session, terminal_id: str, data: bytes) -> None:
        pids.put_nowait(data)

    async with open_session(launch, work, on_output) as session:
        turn = session.prompt(call("execute", command=PATIENT))
        end = asyncio.ensure_future(turn)
        pid = await pids.get()
        await turn.cancel()
        stop_reason = (await end).stop_reason
        assert await session.ask("still there?")  # it says that it was interrupted
    return stop_reason, int(pid)


def test_a_turn_is_cancelled_while_a_command_runs(launch: Launch, work: Path) -> None:
    stop_reason, pid = asyncio.run(cancel(launch, work))
    assert stop_reason == "cancelled"
    assert not Path(f"/proc/{pid}").exists()
