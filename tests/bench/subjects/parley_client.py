"""The client under test, on Parley: a `Peer` with version 1's types and a child process.

Starts the agent command, does one kind of work, prints what it cost as JSON.
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

from parley.peer import Peer
from parley.peer._initialize import initialize
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport._process import ProcessTransport

Figures = dict[str, float]


class BenchClient:
    def __init__(self) -> None:
        self.expect()

    def expect(self) -> None:
        self.count, self.disordered, self.last = 0, 0, ""

    async def session_update(self, params: v1.SessionNotification) -> None:
        update = params.update
        assert isinstance(update, v1.AgentMessageChunk)
        assert isinstance(update.content, v1.TextContent)
        text = update.content.text
        if text <= self.last:
            self.disordered += 1
        self.last = text
        self.count += 1


async def flood(client: BenchClient, peer: Peer, count: int) -> Figures:
    client.expect()
    cpu, wall = time.process_time(), time.perf_counter()
    prompt: list[v1.ContentBlock] = [v1.TextContent(text=f"updates {count}")]
    await peer.request(methods.PROMPT, v1.PromptRequest(session_id="bench", prompt=prompt))
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    assert client.count == count
    return {"cpu": cpu / count, "wall": wall / count, "disordered": client.disordered}


async def round_trips(client: BenchClient, peer: Peer, count: int) -> Figures:
    times: list[float] = []
    cpu = time.process_time()
    for _ in range(count):
        start = time.perf_counter()
        params = v1.SetSessionModeRequest(session_id="bench", mode_id="ask")
        await peer.request(methods.SET_SESSION_MODE, params)
        times.append(time.perf_counter() - start)
    return {"cpu": (time.process_time() - cpu) / count, "p50": statistics.median(times)}


async def run(options: argparse.Namespace) -> Figures:
    client = BenchClient()
    work = {"flood": flood, "round-trips": round_trips}[options.work]
    transport = await ProcessTransport.spawn(options.agent, env=dict(os.environ))
    async with Peer(transport, "client") as peer:
        agreement = await initialize(peer, {1: v1.InitializeRequest(protocol_version=1)})
        peer.set_handlers(agreement.table, notifications={"session/update": client.session_update})
        await peer.request(methods.NEW_SESSION, v1.NewSessionRequest(cwd="/", mcp_servers=[]))
        await work(client, peer, options.warm_up)
        return await work(client, peer, options.count)


def loop_factory(uvloop_wanted: bool) -> Callable[[], asyncio.AbstractEventLoop]:
    if not uvloop_wanted:
        return asyncio.new_event_loop
    import uvloop

    return uvloop.new_event_loop


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--uvloop", action="store_true")
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("work", choices=["flood", "round-trips"])
    parser.add_argument("count", type=int)
    parser.add_argument("agent", nargs="+")
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=loop_factory(options.uvloop)) as runner:
        figures = runner.run(run(options))
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    sys.stdout.write(json.dumps({**figures, "resident": resident}))


if __name__ == "__main__":
    main()
