"""Many clients of one server, on the whole of Parley: what that costs the server's process.

`parley_remote_load.py WORK URL PID NUMBER…` prints figures as JSON. The works are:
    `idle CONNECTIONS SESSIONS SECONDS`   opens them, and then nothing happens
    `streams SESSIONS UPDATES`            all prompts at once, on ten connections
    `slow UPDATES`                        one client that reads nothing beside one that does
"""

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path

from parley import connect
from parley.client import Connection, Session

Figures = dict[str, float]
AT_ONCE = 50
STREAMING_CONNECTIONS = 10


class Process:
    """What the system says about the server."""

    def __init__(self, pid: int) -> None:
        self._home = Path(f"/proc/{pid}")

    @property
    def resident_bytes(self) -> int:
        status = (self._home / "status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) * 1024

    @property
    def seconds(self) -> float:
        fields = (self._home / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _connections(stack: AsyncExitStack, url: str, count: int) -> list[Connection]:
    return [await stack.enter_async_context(connect(url)) for _ in range(count)]


async def _sessions(connections: list[Connection], count: int) -> list[Session]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def begin(connection: Connection) -> Session:
        async with gate:
            return await connection.new_session()

    chosen = (connections[number % len(connections)] for number in range(count))
    return await asyncio.gather(*map(begin, chosen))


async def idle(url: str, server: Process, connections: int, sessions: int, seconds: int) -> Figures:
    async with AsyncExitStack() as stack:
        opened = await _connections(stack, url, connections)
        await _sessions(opened, sessions)
        await asyncio.sleep(2)  # what the opening has left to do
        cpu = server.seconds
        await asyncio.sleep(seconds)
        share = (server.seconds - cpu) / seconds
        return {"resident": server.resident_bytes, "cpu": share}


async def _disorder(session: Session, updates: int) -> tuple[float, int]:
    turn = await session.prompt(f"updates {updates}")
    ended = time.perf_counter()
    numbers = [int(line.split()[0]) for line in turn.text.split("again.")[:-1]]
    return ended, 0 if numbers == list(range(updates)) else 1


async def streams(url: str, server: Process, sessions: int, updates: int) -> Figures:
    async with AsyncExitStack() as stack:
        connections = await _connections(stack, url, STREAMING_CONNECTIONS)
        opened = await _sessions(connections, sessions)
        begin, cpu = time.perf_counter(), server.seconds
        ends = await asyncio.gather(*(_disorder(each, updates) for each in opened))
        times = [ended - begin for ended, _ in ends]
        return {
            "slowest": max(times) / statistics.median(times),
            "disordered": sum(disordered for _, disordered in ends),
            "server": (server.seconds - cpu) / sessions / updates,
            "wall": max(times),
        }


async def slow(url: str, server: Process, updates: int) -> Figures:
    async with AsyncExitStack() as stack:
        reading, stalled = await _connections(stack, url, 2)
        session, other = await reading.new_session(), await stalled.new_session()
        await session.prompt("updates 1000")
        alone = await _seconds(session, updates)
        before = server.resident_bytes
        stalled.peer._transport.pause_reading()  # pyright: ignore[reportPrivateUsage]
        waiting = asyncio.ensure_future(other.prompt("pour 1000000"))
        beside = await _seconds(session, updates)
        added = server.resident_bytes - before
        await stalled._state.disconnect()
        waiting.cancel()
        return {"added": added, "slowed": beside / alone}


async def _seconds(session: Session, updates: int) -> float:
    begin = time.perf_counter()
    await session.prompt(f"updates {updates}")
    return time.perf_counter() - begin


def main() -> None:
    work, url, pid, *rest = sys.argv[1:]
    works: dict[str, Callable[..., Coroutine[None, None, Figures]]]
    works = {"idle": idle, "streams": streams, "slow": slow}
    act = works[work]
    figures = asyncio.run(act(url, Process(int(pid)), *map(int, rest)))
    sys.stdout.write(json.dumps(figures))


if __name__ == "__main__":
    main()
