"""An agent on its own stdin and stdout whose author prints wherever a person might.

`python stdio_agent.py VERSION`: it prints when it starts, in its handlers and when it exits.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import sys
from typing import Any

from parley.peer import Peer, RequestContext
from parley.peer._initialize import table_of
from parley.schema.base import JsonObject, Method
from parley.transport import StdioTransport

STRAY = "a stray line: é\n"
NOTE: Method[JsonObject, None] = Method(
    name="_test/note", to="client", kind="notification", params=JsonObject
)


def stray() -> None:
    sys.stdout.write(STRAY)
    sys.stdout.flush()
    os.write(1, STRAY.encode())


async def echo(params: Any, request: RequestContext) -> Any:
    stray()
    return params if len(params) else {}


async def fail(params: Any, request: RequestContext) -> Any:
    stray()
    raise RuntimeError("on purpose")


async def wait(params: Any, request: RequestContext) -> Any:
    """Report that it has started, and wait until it is cancelled."""
    await request.peer.notify(NOTE, {"begun": request.id})
    await asyncio.Event().wait()


async def tell(params: Any, request: RequestContext) -> Any:
    """Send notes from many tasks at once, each with a long text."""
    texts = [f"{number}\n" + "é" * 5_000 * (number % 5) for number in range(100)]
    await asyncio.gather(*(request.peer.notify(NOTE, {"text": text}) for text in texts))
    return {"sent": len(texts)}


async def main(version: int) -> None:
    peer = Peer(StdioTransport(), "agent")
    stray()
    atexit.register(stray)
    handlers = {"echo": echo, "fail": fail, "wait": wait, "tell": tell}
    peer.set_handlers(
        table_of(version), requests={f"_test/{name}": handlers[name] for name in handlers}
    )
    async with peer:
        await peer.wait_closed()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
