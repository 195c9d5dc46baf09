"""What our client does with a demo agent, whoever wrote it, and what it sees then.

It is the tour of `tour.py`, taken through `parley.connect`. What it sees is the same in both
versions of the protocol, except that version 2 has no files and no terminals of the client's;
`expected_visit.json` holds it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.interop.host import Host

import parley
from parley.client import Connection, Session
from parley.errors import ProcessExited, RequestError, Unsupported
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.version import SUPPORTED
from parley.session._transcript import Entry, Transcript
from parley.session._transcript_entries import MessageEntry, ToolCallEntry

from .golden import read_golden
from .programs import BOUND_SECONDS, PEERS
from .tour import FLOOD

__all__ = ["COMMANDS", "sights", "visit"]

_DEMO = json.loads((PEERS / "demo.json").read_text())
PROMPTS: list[str] = _DEMO["prompts"]
COMMANDS: list[str] = _DEMO["commands"]
"""What the prompt `commands` offers."""


def sights(version: int, cwd: Path, help: str) -> dict[str, Any]:
    """Return what is seen of an agent that speaks this version and says this about itself."""
    seen = read_golden("expected_visit.json", cwd=str(cwd), help=help)
    if version == 2:
        for prompt, method in (("fs notes.txt", "fs/read_text_file"), ("term", "terminal/create")):
            word = prompt.partition(" ")[0]
            said = f"agent: {word}: the client does not offer {method}"
            seen["turns"][prompt] |= {"entries": [f"user: {prompt}", said], "asked": []}
    return {**seen, "version": version, "flood": FLOOD, "commands": COMMANDS}


def visit(
    agent: Sequence[str], cwd: Path, *, versions: tuple[int, ...] = SUPPORTED
) -> dict[str, Any]:
    """Start an agent, do everything with it, and return what was seen."""

    async def bounded() -> dict[str, Any]:
        host = Host(choices=["yes", "no", None], forms=[{"name": "Ada"}, "decline", "cancel"])
        async with (
            asyncio.timeout(BOUND_SECONDS),
            parley.connect(agent, cwd, versions=versions, **host.offers()) as connection,
        ):
            return await _Visit(connection, host).report()

    return asyncio.run(bounded())


class _Visit:
    """One connection to a demo agent."""

    def __init__(self, connection: Connection, host: Host) -> None:
        self._connection = connection
        self._host = host

    async def report(self) -> dict[str, Any]:
        session = await self._connection.new_session()
        turns = {prompt: await self._turn(session, prompt) for prompt in PROMPTS}
        turns["slow"] = await self._turn(session, "slow", cancel_at="waiting to be cancelled")
        return {
            "version": self._connection.version,
            "turns": turns,
            "flood": [_text(each) async for each in session.prompt("flood 300") if _text(each)],
            "commands": [_plain(each)["name"] for each in session.transcript.commands],
            "plans": [_plain(each) for each in session.transcript.plans.values()],
            "sessions": await self._sessions(),
            "exit": await self._crash(),
        }

    async def _turn(self, session: Session, prompt: str, cancel_at: str = "") -> dict[str, Any]:
        """Prompt, and return how it ended, what there is of it, and what was asked."""
        self._host.asked.clear()
        mark = len(session.transcript.entries)
        mirror = Transcript()
        states: list[str] = []
        turn = session.prompt(prompt)
        try:
            async for event in turn:
                mirror.fold(event)
                if isinstance(event, v2.StateUpdated):
                    states.append(str(event.state))
                elif cancel_at and _text(event) == cancel_at:
                    await turn.cancel()
            end: Any = (await turn).stop_reason
        except RequestError as error:
            end = {"code": error.code, "message": error.message, "data": error.data}
        entries = _entries(session.transcript.entries[mark:])
        assert _entries(mirror.entries) == entries, "the events do not tell what the transcript has"
        return {"end": end, "states": states, "entries": entries, "asked": [*self._host.asked]}

    async def _sessions(self) -> dict[str, Any]:
        connection = self._connection
        first = await connection.new_session()
        await first.prompt("tool")
        seen: dict[str, Any] = {"is_listed": await self._is_listed(first)}
        await first.close()
        loaded = await connection.resume_session(first.id)
        seen["loaded"] = _entries(loaded.transcript.entries)
        await loaded.close()
        resumed = await connection.resume_session(first.id, replay=False)
        seen["resumed"] = _entries(resumed.transcript.entries)
        seen["after_resume"] = await resumed.ask("still there")
        fork = await connection.fork_session(first.id)
        seen["forked"] = {"is_another": fork.id != first.id, "said": await fork.ask("another way")}
        await fork.close()
        try:
            await connection.delete_session(first.id)
        except Unsupported:
            return seen
        seen["is_listed_after_delete"] = await self._is_listed(first)
        try:
            await connection.resume_session(first.id)
        except RequestError as error:
            seen["load_after_delete"] = error.code
        return seen

    async def _is_listed(self, session: Session) -> bool:
        listed = self._connection.list_sessions(session.cwd)
        return session.id in [each.session_id async for each in listed]

    async def _crash(self) -> int | None:
        session = await self._connection.new_session()
        try:
            await session.prompt("crash")
        except ProcessExited as error:
            return error.code
        return None


def _text(update: v2.SessionUpdate) -> str:
    """Return what the agent says in an update."""
    match update:
        case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
            return text
        case _:
            return ""


def _entries(entries: Sequence[Entry]) -> list[Any]:
    """Return a conversation as plain values, without ids."""
    said: list[Any] = []
    for entry in entries:
        if isinstance(entry, MessageEntry):
            said.append(f"{entry.role}: {entry.text}")
        else:
            assert isinstance(entry, ToolCallEntry)
            (update,) = entry.replay()
            said.append({k: v for k, v in _plain(update).items() if k != "toolCallId"})
    return said


def _plain(value: Any) -> Any:
    return json.loads(encode(value))
