"""An agent that keeps its sessions in the journal is killed, and nothing is lost that it kept."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

import parley
from parley.client import ConnectOptions, Process, Session
from parley.schema import v2
from parley.session._transcript_entries import MessageEntry, ToolCallEntry

from .shell import EXAMPLES

AGENT = [sys.executable, str(EXAMPLES / "journal_agent.py")]


def entries(session: Session) -> list[str]:
    """Return what was said and done, in order."""
    return [
        each.text if isinstance(each, MessageEntry) else f"{each.title} ({each.status})"
        for each in session.transcript.entries
        if isinstance(each, MessageEntry | ToolCallEntry)
    ]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.requirement("SAFE-LIVE-03")
async def test_a_killed_agent_goes_on_where_it_was(version: int, places: Path) -> None:
    is_asked = asyncio.Event()

    async def ask(request: v2.RequestPermissionRequest, session: Session) -> str:
        call = session.tool_call_of(request)
        assert call is not None
        if call.title == "Write down: Sun":
            is_asked.set()
            await asyncio.get_running_loop().create_future()
        return "allow"

    options: ConnectOptions = {
        "process": Process(env={"XDG_STATE_HOME": str(places / "state")}),
        "permission": ask,
        "versions": (version,),
    }
    async with parley.connect(AGENT, **options) as agent:
        session = await agent.new_session()
        assert await session.ask("Rain") == "Day 1: Rain"
        under_way = asyncio.ensure_future(session.ask("Sun"))
        await is_asked.wait()
        await agent.new_session()  # before its answer all that was said is on the disk
        assert agent.pid is not None
        os.kill(agent.pid, signal.SIGKILL)
        with pytest.raises(parley.ProcessExited) as died:
            await under_way
    assert died.value.code == -signal.SIGKILL
    async with parley.connect(AGENT, **options) as agent:
        known = {each.session_id: each async for each in agent.list_sessions()}
        assert known[session.id].title == "A diary of 1 days"
        again = await agent.resume_session(session.id, known[session.id].cwd)
        assert entries(again) == [
            "Rain",
            "Write down: Rain (completed)",
            "Day 1: Rain",
            "Sun",
            f"Write down: Sun ({'failed' if version == 1 else 'cancelled'})",
        ]
        assert again.transcript.state == "idle"
        assert await again.ask("Snow") == "Day 2: Snow"
