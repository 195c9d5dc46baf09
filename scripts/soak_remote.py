"""Run remote sessions on a bad network for a while and report what grew: `make soak`.

The client starts this same file as its server. Connections by HTTP and by WebSocket go through a
proxy that cuts them again and again, and now and then says nothing any more. On them sessions are
opened, prompted, cancelled, closed, opened again and deleted; every text must arrive whole and in
order. Memory, open files and tasks of both processes are looked at as in `soak.py`; the exit code
is 1 when something grew. Needs /proc, so Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import time
from contextlib import AsyncExitStack

from scripts.soak import Sample, grown, memory_bytes, open_files, shown
from tests.unit.transport.http.proxy import Proxy

from parley import Agent, connect
from parley.agent import AgentConnection as Served
from parley.agent import Turn
from parley.asgi_server.limits import ServerLimits
from parley.client import Connection, Session
from parley.schema import v2
from parley.transport.http._app.access import Access
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.serving import serve
from parley.transport.http._client.http_transport import HttpTransport
from parley.transport.http._client.websocket_transport import WebSocketTransport

CHUNKS = 100
CONNECTIONS = 5
"""Of each kind, besides the one that is never cut."""
LIMITS = AppLimits(log_bytes=3 * 1024 * 1024)
"""A log that is soon full: what fills up is no growth. It has room for what is under way."""
SERVER_LIMITS = ServerLimits(ping_after=1.0, ping_timeout=1.0)
"""Peers that are gone are noticed soon."""


def make_agent() -> Agent:
    """Count, ask in the middle, or wait to be cancelled."""
    agent = Agent("soak")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "wait":
            await turn.say("begun")
            await asyncio.Event().wait()
        for number in range(CHUNKS):
            await turn.say(f"{number} ")
            if number == CHUNKS // 2:
                await turn.ask_permission("Go on?")

    @agent.request("_soak/tasks")
    async def tasks(params: dict[str, int], connection: Served) -> dict[str, int]:
        return {"tasks": len(asyncio.all_tasks()), "pid": os.getpid()}

    return agent


async def run_server() -> None:
    """Serve until stdin ends."""
    async with serve(
        make_agent(),
        "127.0.0.1:0",
        access=Access(),
        limits=LIMITS,
        server_limits=SERVER_LIMITS,
    ) as serving:
        print(serving.addresses[0][1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


def permit(request: v2.RequestPermissionRequest, session: Session) -> str:
    """Say yes."""
    return request.options[0].option_id


class Client:
    """Has the connections live, and counts."""

    def __init__(self, calm: Connection, proxy: Proxy) -> None:
        self._calm = calm
        self._proxy = proxy
        self.port = proxy.port
        """Where the network begins."""
        self.updates = 0
        self.turns = 0

    async def live(self, connection: Connection, until: float) -> None:
        """Open a session, take some turns in it, end it; and again."""
        while time.monotonic() < until:
            session = await connection.new_session()
            await self._count(session)
            await self._cancel(session)
            await session.close()
            again = await connection.resume_session(session.id)
            await self._count(again)
            await again.close()
            await connection.delete_session(session.id)

    async def _count(self, session: Session) -> None:
        turn = await session.prompt("count")
        self.turns += 1
        self.updates += CHUNKS
        said, wanted = turn.text.split(), [str(number) for number in range(CHUNKS)]
        if said != wanted:
            missing = [each for each in wanted if each not in said]
            doubled = [each for each in wanted if said.count(each) > 1]
            how = f"without {missing}, twice {doubled}, ended by {turn.stop_reason}"
            raise AssertionError(f"a turn of {session.id} arrived {how}: {' '.join(said)}")

    async def _cancel(self, session: Session) -> None:
        turn = session.prompt("wait")
        async for update in turn:
            if isinstance(update, v2.AgentMessageChunk):
                await session.cancel()
        self.turns += 1
        if (await turn).stop_reason != "cancelled":
            raise AssertionError("a cancelled turn ended otherwise")

    async def disturb(self, until: float) -> None:
        """Be the network."""
        while (rest := until - time.monotonic()) > 0:
            await asyncio.sleep(min(rest, random.uniform(0.1, 1.0)))
            if random.random() < 0.2:
                self._proxy.bury()
                self._proxy.freeze()
            elif random.random() < 0.5:
                self._proxy.cut()
            else:
                self._proxy.cut_after(random.randrange(5000))
        self._proxy.bury()

    async def look(self, begin: float) -> Sample:
        """Look at both processes."""
        far = await self._calm.request("_soak/tasks", {}, dict[str, int])
        own, server = os.getpid(), far["pid"]
        return Sample(
            time.monotonic() - begin,
            *(memory_bytes(own), memory_bytes(server)),
            *(open_files(own), open_files(server)),
            *(len(asyncio.all_tasks()), far["tasks"]),
            *(self.updates, self.turns),
        )


async def _connections(stack: AsyncExitStack, port: int) -> list[Connection]:
    opened: list[Connection] = []
    for number in range(2 * CONNECTIONS):
        kind = (HttpTransport, WebSocketTransport)[number % 2]
        scheme = ("http", "ws")[number % 2]
        url = f"{scheme}://127.0.0.1:{port}/acp"
        transport = await kind.open(url, retry_after=0.02, keep_alive_after=0.5)
        version = 1 + number // 2 % 2
        connecting = connect(transport, versions=(version,), permission=permit)
        opened.append(await stack.enter_async_context(connecting))
    return opened


async def soak(seconds: float, at_once: int, most_bytes: float) -> int:
    """Run it; return the exit code."""
    command = (sys.executable, "-m", "scripts.soak_remote", "--server")
    pipe = asyncio.subprocess.PIPE
    server = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        port = int(await server.stdout.readline())
        print("    time      throughput                        memory            files   tasks")
        async with AsyncExitStack() as stack:
            proxy = await stack.enter_async_context(Proxy(port))
            calm = await stack.enter_async_context(connect(f"ws://127.0.0.1:{port}/acp"))
            client = Client(calm, proxy)
            samples = await _watched(client, stack, seconds, at_once)
    finally:
        server.stdin.close()
        await server.wait()
    problems = grown(*samples, most_bytes)
    for problem in problems:
        print(problem)
    if not problems:
        cuts = f"{proxy.connections:,} connections"
        print(f"Nothing grew: {client.updates:,} updates in {client.turns:,} turns, {cuts}.")
    return 1 if problems else 0


async def _watched(
    client: Client, stack: AsyncExitStack, seconds: float, at_once: int
) -> tuple[Sample, list[Sample], Sample]:
    """Have many sessions live at once; look at both processes before, meanwhile and after."""
    begin = time.monotonic()
    until = begin + seconds
    connections = await _connections(stack, client.port)
    idle = last = await client.look(begin)
    samples: list[Sample] = []
    async with asyncio.TaskGroup() as lives:
        for number in range(at_once):
            lives.create_task(client.live(connections[number % len(connections)], until))
        disturbing = lives.create_task(client.disturb(until))
        while (rest := until - time.monotonic()) > 0:
            await asyncio.sleep(min(rest, seconds / 40, 15))
            samples.append(await client.look(begin))
            if samples[-1].seconds - last.seconds >= min(60, seconds / 10):
                print(shown(last, samples[-1]), flush=True)
                last = samples[-1]
        await disturbing
    return idle, samples, await _settled(client, begin, idle)


async def _settled(client: Client, begin: float, idle: Sample) -> Sample:
    """Wait a while for what leaves by itself: streams of closed sessions, sockets that were cut."""
    sample = await client.look(begin)
    for _ in range(20):
        if not grown(idle, [sample] * 4, sample):
            break
        await asyncio.sleep(1)
        sample = await client.look(begin)
    return sample


def main() -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (600)")
    parser.add_argument("--at-once", type=int, default=100, help="how many sessions at once (100)")
    parser.add_argument("--growth", type=float, default=2.0, help="megabytes that are none (2)")
    parser.add_argument("--server", action="store_true", help="be the server; used by itself")
    options = parser.parse_args()
    if options.server:
        asyncio.run(run_server())
        return 0
    return asyncio.run(soak(options.seconds, options.at_once, 1e6 * options.growth))


if __name__ == "__main__":
    sys.exit(main())
