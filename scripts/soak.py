"""Run one connection between two processes for a while and report what grew: `make soak`.

The client starts this same file as its agent and keeps it busy: sessions are opened and closed,
prompts stream updates and ask for permission, some are cancelled by either way, some requests fail.
Memory, open files and tasks of both processes are looked at again and again; the exit code is 1
when something grew. Needs /proc, so Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from msgspec import Raw, Struct

from parley.errors import RequestError
from parley.peer import Peer, RequestContext, RequestHandler
from parley.peer._initialize import Negotiated, initialize, respond_to_initialize
from parley.schema import v1
from parley.schema.base import JsonObject, Method
from parley.schema.v1 import methods
from parley.transport import ProcessTransport, StdioTransport

STATS: Method[JsonObject, JsonObject] = Method(
    name="_soak/tasks", to="agent", kind="request", params=JsonObject, result=JsonObject
)
CHUNKS = 200
MAX_GROWTH_BYTES = 2_000_000
"""More than this is growth; what a process gets from the system it gets in pieces."""


class Agent:
    """Streams, asks, fails, and lets itself be cancelled."""

    def __init__(self) -> None:
        self._numbers = itertools.count()

    async def new_session(
        self, params: v1.NewSessionRequest, request: RequestContext
    ) -> v1.NewSessionResponse:
        """Open a session."""
        return v1.NewSessionResponse(session_id=f"session-{next(self._numbers)}")

    async def close_session(self, params: v1.CloseSessionRequest, request: RequestContext) -> None:
        """Close a session; there is nothing to it."""

    async def prompt(self, params: v1.PromptRequest, request: RequestContext) -> v1.PromptResponse:
        """Stream until it is told to stop, or to the end."""
        for number in range(CHUNKS):
            update = v1.AgentMessageChunk(content=v1.TextContent(text=f"{number:060}"))
            note = v1.SessionNotification(session_id=params.session_id, update=update)
            await request.peer.notify(methods.UPDATE_SESSION, note)
            if request.is_cancelled:
                return v1.PromptResponse(stop_reason="cancelled")
            if number == CHUNKS // 2:
                await self._ask(request.peer, params.session_id)
        return v1.PromptResponse(stop_reason="end_turn")

    async def _ask(self, peer: Peer, session: str) -> None:
        call = v1.ToolCallUpdate(tool_call_id="call")
        option = v1.PermissionOption(option_id="yes", name="Yes", kind="allow_once")
        question = v1.RequestPermissionRequest(session_id=session, tool_call=call, options=[option])
        await peer.request(methods.REQUEST_PERMISSION, question)

    async def tasks(self, params: Raw, request: RequestContext) -> JsonObject:
        """Say how many tasks there are here."""
        return {"tasks": len(asyncio.all_tasks())}

    async def serve(self) -> None:
        """Be the agent of whoever started this process."""
        peer = Peer(StdioTransport(), "agent")

        async def describe(version: int, request: object) -> v1.InitializeResponse:
            return v1.InitializeResponse(protocol_version=version)

        def agreed(agreement: Negotiated) -> None:
            handlers: dict[str, RequestHandler] = {
                "session/new": self.new_session,
                "session/close": self.close_session,
                "session/prompt": self.prompt,
                STATS.name: self.tasks,
            }
            peer.set_handlers(
                agreement.table, requests=handlers, notifications={"session/cancel": _pass}
            )

        respond_to_initialize(peer, describe, agreed, versions=(1,))
        async with peer:
            await peer.wait_closed()


def _pass(note: v1.CancelNotification) -> None:
    """The prompt looks for itself whether it is cancelled."""


class Sample(Struct, frozen=True):
    """What both processes had at one moment."""

    seconds: float
    client_bytes: int
    agent_bytes: int
    client_files: int
    agent_files: int
    client_tasks: int
    agent_tasks: int
    updates: int
    turns: int


class Client:
    """Keeps an agent busy, and counts."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.updates = 0
        self.turns = 0

    async def update(self, note: v1.SessionNotification) -> None:
        """Take an update, slowly now and then."""
        self.updates += 1
        if self.updates % 50 == 0:
            await asyncio.sleep(0)

    async def decide(
        self, params: v1.RequestPermissionRequest, request: RequestContext
    ) -> v1.RequestPermissionResponse:
        """Say yes."""
        outcome = v1.SelectedPermissionOutcome(option_id=params.options[0].option_id)
        return v1.RequestPermissionResponse(outcome=outcome)

    async def live(self, until: float) -> None:
        """Open a session, take some turns in it, close it; and again."""
        where = v1.NewSessionRequest(cwd="/", mcp_servers=[])
        while time.monotonic() < until:
            session = await self._peer.request(methods.NEW_SESSION, where)
            for how in ("whole", "cancelled", "withdrawn", "wrong", "whole"):
                await self._turn(session.session_id, how)
            closing = v1.CloseSessionRequest(session_id=session.session_id)
            await self._peer.request(methods.CLOSE_SESSION, closing)

    async def _turn(self, session: str, how: str) -> None:
        question = v1.PromptRequest(session_id=session, prompt=[v1.TextContent(text="Go on.")])
        self.turns += 1
        if how == "wrong":
            try:
                await self._peer.request(
                    methods.SET_SESSION_MODE,
                    v1.SetSessionModeRequest(session_id=session, mode_id="none"),
                )
            except RequestError:
                return
        asked = asyncio.create_task(self._peer.request(methods.PROMPT, question))
        if how == "withdrawn":
            await asyncio.sleep(0)
            asked.cancel()
            await asyncio.wait([asked])
            return
        if how == "cancelled":
            note = v1.CancelNotification(session_id=session)
            await self._peer.notify(methods.CANCEL_SESSION, note)
        await asked

    async def look(self, begin: float, agent: int) -> Sample:
        """Look at both processes."""
        far = await self._peer.request(STATS, {})
        own = os.getpid()
        return Sample(
            time.monotonic() - begin,
            *(memory_bytes(own), memory_bytes(agent)),
            *(open_files(own), open_files(agent)),
            *(len(asyncio.all_tasks()), far["tasks"]),
            *(self.updates, self.turns),
        )


def memory_bytes(pid: int) -> int:
    """Return how much memory a process has."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


def open_files(pid: int) -> int:
    """Return how many files and sockets it has open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def grown(
    idle: Sample,
    samples: Sequence[Sample],
    idle_again: Sample,
    most_bytes: float = MAX_GROWTH_BYTES,
) -> list[str]:
    """Return a sentence for each thing that grew.

    Memory of the last quarter is compared with the second, when everything has been done that is
    done once; files and tasks at the end with those before anything was done.
    """
    quarter = len(samples) // 4
    found: list[str] = []
    for name in ("client_bytes", "agent_bytes"):
        parts = (samples[quarter : 2 * quarter], samples[-quarter:])
        before, after = (median(getattr(each, name) for each in part) for part in parts)
        if after - before > most_bytes:
            found.append(f"{name} grew from {before:,.0f} to {after:,.0f}")
    for name in ("client_files", "agent_files", "client_tasks", "agent_tasks"):
        before, after = getattr(idle, name), getattr(idle_again, name)
        if after > before:
            found.append(f"{name} grew from {before} to {after}")
    return found


def shown(before: Sample, now: Sample) -> str:
    """Return a line of the report: what there is, and how much was done since the last one."""
    seconds = now.seconds - before.seconds
    return (
        f"{now.seconds:8.1f} s {(now.updates - before.updates) / seconds:12,.0f} updates/s "
        f"{(now.turns - before.turns) / seconds:9,.0f} turns/s"
        f"{now.client_bytes / 1e6:9.1f} MB{now.agent_bytes / 1e6:7.1f} MB"
        f"{now.client_files:6}{now.agent_files:4}{now.client_tasks:8}{now.agent_tasks:6}"
    )


async def soak(seconds: float, at_once: int) -> int:
    """Run it; return the exit code."""
    transport = await ProcessTransport.spawn([sys.executable, __file__, "--agent"])
    peer = Peer(transport, "client")
    client = Client(peer)
    handlers = {"session/request_permission": client.decide}
    print("    time      throughput                        memory            files   tasks")
    async with peer:
        await initialize(
            peer,
            {1: v1.InitializeRequest(protocol_version=1)},
            lambda agreement: peer.set_handlers(
                agreement.table,
                requests=handlers,
                notifications={"session/update": client.update},
            ),
        )
        samples = await _watched(client, transport.pid, seconds, at_once)
    problems = grown(*samples)
    for problem in problems:
        print(problem)
    if not problems:
        print(f"Nothing grew: {client.updates:,} updates in {client.turns:,} turns.")
    return 1 if problems else 0


async def _watched(
    client: Client, pid: int, seconds: float, at_once: int
) -> tuple[Sample, list[Sample], Sample]:
    """Have the client live several lives at once; look at both before, meanwhile and after."""
    begin = time.monotonic()
    idle = last = await client.look(begin, pid)
    samples: list[Sample] = []
    async with asyncio.TaskGroup() as lives:
        for _ in range(at_once):
            lives.create_task(client.live(begin + seconds))
        while (rest := begin + seconds - time.monotonic()) > 0:
            await asyncio.sleep(min(rest, seconds / 40, 15))
            samples.append(await client.look(begin, pid))
            if samples[-1].seconds - last.seconds >= min(60, seconds / 10):
                print(shown(last, samples[-1]), flush=True)
                last = samples[-1]
    return idle, samples, await client.look(begin, pid)


def main() -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (600)")
    parser.add_argument("--at-once", type=int, default=8, help="how many sessions at once (8)")
    parser.add_argument("--agent", action="store_true", help="be the agent; used by itself")
    options = parser.parse_args()
    if options.agent:
        asyncio.run(Agent().serve())
        return 0
    return asyncio.run(soak(options.seconds, options.at_once))


if __name__ == "__main__":
    sys.exit(main())
