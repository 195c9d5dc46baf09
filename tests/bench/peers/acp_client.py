"""The client under test, on the official Python SDK (0.12.1 and 1.0.0rc3 alike).

Starts the agent command, does one kind of work, prints what it cost as JSON. With `--fold` every
update goes into the SDK's accumulator too.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, spawn_agent_process
from acp.contrib.session_state import SessionAccumulator
from acp.schema import AgentMessageChunk, SessionNotification, TextContentBlock

Figures = dict[str, float]


class BenchClient:
    def __init__(self, *, folds: bool) -> None:
        self.folds = folds
        self.expect(0)

    def expect(self, count: int) -> None:
        self.expected, self.count, self.disordered, self.last = count, 0, 0, ""
        self.accumulator = SessionAccumulator() if self.folds else None
        self.complete = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **rest: Any) -> None:
        assert isinstance(update, AgentMessageChunk)
        assert isinstance(update.content, TextContentBlock)
        if self.accumulator is not None:
            self.accumulator.apply(SessionNotification(session_id=session_id, update=update))
        text = update.content.text
        if text <= self.last:
            self.disordered += 1
        self.last = text
        self.count += 1
        if self.count == self.expected:
            self.complete.set()


async def flood(client: BenchClient, conn: Any, count: int) -> Figures:
    client.expect(count)
    cpu, wall = time.process_time(), time.perf_counter()
    block = TextContentBlock(type="text", text=f"updates {count}")
    await conn.prompt(session_id="bench", prompt=[block])
    await asyncio.wait_for(client.complete.wait(), 60)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": cpu / count, "wall": wall / count, "disordered": client.disordered}


async def session(client: BenchClient, conn: Any, count: int) -> Figures:
    figures = await flood(client, conn, count)
    report = TextContentBlock(type="text", text="report")
    await conn.prompt(session_id="bench", prompt=[report])
    return figures


async def round_trips(client: BenchClient, conn: Any, count: int) -> Figures:
    times: list[float] = []
    cpu = time.process_time()
    for _ in range(count):
        start = time.perf_counter()
        await conn.set_session_mode(session_id="bench", mode_id="ask")
        times.append(time.perf_counter() - start)
    return {"cpu": (time.process_time() - cpu) / count, "p50": statistics.median(times)}


async def run(options: argparse.Namespace) -> Figures:
    client = BenchClient(folds=options.fold)
    work = {"flood": flood, "session": session, "round-trips": round_trips}[options.work]
    async with spawn_agent_process(
        client, *options.agent, env=dict(os.environ), transport_kwargs={"stderr": None}
    ) as (conn, _):
        await conn.initialize(protocol_version=PROTOCOL_VERSION)
        await conn.new_session(cwd="/", mcp_servers=[])
        await work(client, conn, options.warm_up)
        return await work(client, conn, options.count)


def loop_factory(uvloop_wanted: bool) -> Callable[[], asyncio.AbstractEventLoop]:
    if not uvloop_wanted:
        return asyncio.new_event_loop
    import uvloop

    return uvloop.new_event_loop


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--fold", action="store_true")
    parser.add_argument("work", choices=["flood", "session", "round-trips"])
    parser.add_argument("count", type=int)
    parser.add_argument("agent", nargs="+")
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=loop_factory(options.uvloop)) as runner:
        figures = runner.run(run(options))
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    sys.stdout.write(json.dumps({**figures, "resident": resident}))


if __name__ == "__main__":
    main()
