"""A Parley agent on stdio for tests: `python agent.py [--limit BYTES]`.

It echoes, and floods with as many updates as it is told to. It says on stderr when its client takes
no more.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import Any

from parley.peer import Peer, RequestContext
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport import MAX_MESSAGE_BYTES, StdioTransport


class Reporting(StdioTransport):
    """Says when senders have to wait for room."""

    def drained(self) -> asyncio.Future[None] | None:
        room = super().drained()
        if room is not None:
            sys.stderr.write("full\n")
            sys.stderr.flush()
        return room


async def echo(params: Any, request: RequestContext) -> Any:
    return params if len(params) else {}


async def flood(params: Any, request: RequestContext) -> Any:
    count: int = json.loads(bytes(params))["count"]
    for number in range(count):
        update = v1.AgentMessageChunk(content=v1.TextContent(text=f"{number:060}"))
        note = v1.SessionNotification(session_id="s", update=update)
        await request.peer.notify(methods.UPDATE_SESSION, note)
    return {"sent": count}


async def main(limit_bytes: int) -> None:
    peer = Peer(Reporting(max_message_bytes=limit_bytes), "agent")
    peer.set_handlers(methods.TABLE, requests={"_test/echo": echo, "_test/flood": flood})
    async with peer:
        await peer.wait_closed()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=MAX_MESSAGE_BYTES)
    asyncio.run(main(parser.parse_args().limit))
