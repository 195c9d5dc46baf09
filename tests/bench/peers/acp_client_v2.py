"""The client under test, on the official Python SDK's experimental version 2 (1.0.0rc3).

Starts the agent command, has it send updates, prints what that cost as JSON. Nothing is folded: the
SDK's accumulator knows version 1 only.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from typing import Any

from acp.experimental.v2 import connect_to_agent, schema
from acp.transports import spawn_stdio_transport

Figures = dict[str, float]


class BenchClient:
    def __init__(self) -> None:
        self.expect()

    def expect(self) -> None:
        self.count, self.disordered, self.last = 0, 0, ""
        self.idle = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **rest: Any) -> None:
        if isinstance(update, schema.AgentMessageChunk):
            assert isinstance(update.content, schema.TextContentBlock)
            text = update.content.text
            if text <= self.last:
                self.disordered += 1
            self.last = text
            self.count += 1
        elif isinstance(update, schema.IdleSessionStateUpdate):
            self.idle.set()


async def turn(client: BenchClient, conn: Any, text: str) -> None:
    client.expect()
    block = schema.TextContentBlock(type="text", text=text)
    await conn.prompt(session_id="bench", prompt=[block])
    await asyncio.wait_for(client.idle.wait(), 60)


async def flood(client: BenchClient, conn: Any, count: int) -> Figures:
    cpu, wall = time.process_time(), time.perf_counter()
    await turn(client, conn, f"updates {count}")
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    assert client.count == count
    return {"cpu": cpu / count, "wall": wall / count, "disordered": client.disordered}


async def run(options: argparse.Namespace) -> Figures:
    client = BenchClient()
    env = dict(os.environ)
    async with (
        spawn_stdio_transport(*options.agent, env=env, stderr=None) as (reader, writer, _),
        connect_to_agent(client, writer, reader) as conn,
    ):
        me = schema.Implementation(name="bench", version="1")
        await conn.initialize(protocol_version=2, info=me)
        await conn.new_session(cwd="/")
        await flood(client, conn, options.warm_up)
        figures = await flood(client, conn, options.count)
        await turn(client, conn, "report")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("work", choices=["session"])
    parser.add_argument("count", type=int)
    parser.add_argument("agent", nargs="+")
    sys.stdout.write(json.dumps(asyncio.run(run(parser.parse_args()))))


if __name__ == "__main__":
    main()
