"""The client under test, on the whole of Parley, of an agent behind HTTP or WebSocket.

`parley_remote_client.py WORK COUNT WARM_UP URL` prints what it cost both sides as JSON.
"""

import asyncio
import json
import statistics
import sys
import time

from parley import connect
from parley.client import Connection, Session
from parley.schema import v2

Figures = dict[str, float]


async def server_seconds(connection: Connection) -> float:
    return float((await connection.request("_bench/cpu", {}, dict[str, float]))["seconds"])


async def flood(session: Session, count: int) -> Figures:
    seen, disordered, last = 0, 0, ""
    begin, cpu = await server_seconds(session.connection), time.process_time()
    async for update in session.prompt(f"updates {count}"):
        if isinstance(update, v2.AgentMessageChunk):
            assert isinstance(update.content, v2.TextContent)
            text = update.content.text
            if text <= last:
                disordered += 1
            last = text
            seen += 1
    cpu = time.process_time() - cpu
    server = await server_seconds(session.connection) - begin
    assert seen == count
    return {"client": cpu / count, "server": server / count, "disordered": disordered}


async def echo(session: Session, count: int) -> Figures:
    connection = session.connection
    times: list[float] = []
    begin, cpu = await server_seconds(connection), time.process_time()
    for number in range(count):
        start = time.perf_counter()
        await connection.request("_bench/echo", {"text": str(number)}, dict[str, str])
        times.append(time.perf_counter() - start)
    cpu = time.process_time() - cpu
    server = await server_seconds(connection) - begin
    return {"client": cpu / count, "server": server / count, "p50": statistics.median(times)}


async def run(work: str, count: int, warm_up: int, url: str) -> Figures:
    act = {"updates": flood, "requests": echo}[work]
    async with connect(url) as connection:
        session = await connection.new_session()
        await act(session, warm_up)
        return await act(session, count)


def main() -> None:
    work, count, warm_up, url = sys.argv[1:]
    sys.stdout.write(json.dumps(asyncio.run(run(work, int(count), int(warm_up), url))))


if __name__ == "__main__":
    main()
