"""The client under test, on the whole of Parley: `connect`, a session, a loop over its updates.

Starts the agent command, has it say things, prints what that cost as JSON. Every update is folded
into the session's transcript.
"""

import argparse
import asyncio
import json
import os
import sys
import time

from parley import connect
from parley.client import Process, Session
from parley.schema import v2

Figures = dict[str, float]


async def flood(session: Session, count: int) -> Figures:
    seen, disordered, last = 0, 0, ""
    cpu, wall = time.process_time(), time.perf_counter()
    async for update in session.prompt(f"updates {count}"):
        if isinstance(update, v2.AgentMessageChunk):
            assert isinstance(update.content, v2.TextContent)
            text = update.content.text
            if text <= last:
                disordered += 1
            last = text
            seen += 1
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    message = session.transcript.last_message()
    assert message is not None
    assert seen == len(message.content) == count
    return {"cpu": cpu / count, "wall": wall / count, "disordered": disordered}


async def run(options: argparse.Namespace) -> Figures:
    async with connect(
        options.agent, versions=(options.version,), process=Process(env=dict(os.environ))
    ) as connection:
        session = await connection.new_session()
        await flood(session, options.warm_up)
        figures = await flood(session, options.count)
        await session.prompt("report")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", type=int, default=2)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("work", choices=["session"])
    parser.add_argument("count", type=int)
    parser.add_argument("agent", nargs="+")
    options = parser.parse_args()
    sys.stdout.write(json.dumps(asyncio.run(run(options))))


if __name__ == "__main__":
    main()
