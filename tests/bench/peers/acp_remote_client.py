"""The client under test, on the official Python SDK (0.12.1 and 1.0.0rc3 alike).

The same program as `subjects/parley_remote_client.py`.
"""

import asyncio
import json
import statistics
import sys
import time
from typing import Any

from acp import PROTOCOL_VERSION, connect_to_agent
from acp.schema import AgentMessageChunk, TextContentBlock

Figures = dict[str, float]


class BenchClient:
    def expect(self, count: int) -> None:
        self.expected, self.count, self.disordered, self.last = count, 0, 0, ""
        self.complete = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **rest: Any) -> None:
        assert isinstance(update, AgentMessageChunk)
        assert isinstance(update.content, TextContentBlock)
        text = update.content.text
        if text <= self.last:
            self.disordered += 1
        self.last = text
        self.count += 1
        if self.count == self.expected:
            self.complete.set()


async def server_seconds(conn: Any) -> float:
    seconds: float = (await conn.ext_method("bench/cpu", {}))["seconds"]
    return seconds


async def flood(client: BenchClient, conn: Any, count: int) -> Figures:
    client.expect(count)
    begin, cpu = await server_seconds(conn), time.process_time()
    block = TextContentBlock(type="text", text=f"updates {count}")
    await conn.prompt(session_id="bench", prompt=[block])
    await asyncio.wait_for(client.complete.wait(), 60)
    cpu = time.process_time() - cpu
    server = await server_seconds(conn) - begin
    return {"client": cpu / count, "server": server / count, "disordered": client.disordered}


async def echo(client: BenchClient, conn: Any, count: int) -> Figures:
    times: list[float] = []
    begin, cpu = await server_seconds(conn), time.process_time()
    for number in range(count):
        start = time.perf_counter()
        await conn.ext_method("bench/echo", {"text": str(number)})
        times.append(time.perf_counter() - start)
    cpu = time.process_time() - cpu
    server = await server_seconds(conn) - begin
    return {"client": cpu / count, "server": server / count, "p50": statistics.median(times)}


async def transport_to(url: str) -> Any:
    if url.startswith("ws"):
        from acp.ws import create_websocket_stream

        return await create_websocket_stream(url)
    from acp.http import create_http_stream

    return create_http_stream(url)


async def run(work: str, count: int, warm_up: int, url: str) -> Figures:
    act = {"updates": flood, "requests": echo}[work]
    client = BenchClient()
    async with connect_to_agent(client, await transport_to(url)) as conn:
        await conn.initialize(protocol_version=PROTOCOL_VERSION)
        await conn.new_session(cwd="/", mcp_servers=[])
        await act(client, conn, warm_up)
        return await act(client, conn, count)


def main() -> None:
    work, count, warm_up, url = sys.argv[1:]
    sys.stdout.write(json.dumps(asyncio.run(run(work, int(count), int(warm_up), url))))


if __name__ == "__main__":
    main()
