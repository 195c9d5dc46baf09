"""Chains under test: `parley_chain.py KIND N` conducts N proxies before an agent without an SDK.

`KIND` is `objects`, which are in this process, or `processes`, of which `--proxy` is one. What a
proxy of this process costs is measured here: `parley_chain.py hop COUNT` sends updates, and asks,
through three of them and through none, and prints the seconds of CPU for each message and proxy.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from pathlib import Path

from parley.errors import ConnectionClosed
from parley.proxy import Conductor, Notification, Proxy
from parley.proxy._chain.component import ComponentSpec
from parley.rpc._framing import Frame
from parley.transport import MemoryTransport, memory_pair
from parley.transport._target import TargetOptions

RAW_AGENT = [sys.executable, str(Path(__file__).parents[1] / "raw_agent.py")]
UPDATE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"bench","update":'
    b'{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":'
    b'"the quick brown fox jumps over the lazy dog, again and again."}}}}'
)
INITIALIZE = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2}}'
WELCOME = b'{"protocolVersion":2,"info":{"name":"a","version":"1"},"capabilities":{"session":{}}}'
ASKED = b'{"jsonrpc":"2.0","id":%d,"method":"_bench/echo","params":{"sessionId":"bench"}}'
BLOCK = 500
HOPS = 3


class End:
    """What counts the frames that arrive, and may answer them."""

    def __init__(self, transport: MemoryTransport, result: bytes | None = None) -> None:
        self.transport = transport
        self.count = 0
        self._result = result
        self._wanted = 0
        self._enough = asyncio.Event()
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        self.count += len(frames)
        if self._result is not None:
            for frame in frames:
                id = json.loads(bytes(frame)).get("id")
                answer = b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (id, self._result)
                self.transport.send(answer)
        if self.count >= self._wanted:
            self._enough.set()

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self._enough.set()

    async def until(self, count: int) -> None:
        self._wanted = count
        self._enough.clear()
        if self.count < count:
            await self._enough.wait()


async def joined(proxies: Sequence[Proxy]) -> tuple[End, End, list[asyncio.Task[None]]]:
    """Return a client and an agent with proxies in between, initialized."""
    pairs = [memory_pair() for _ in range(len(proxies) + 1)]
    tasks = [
        asyncio.create_task(_join(proxy, above[1], below[0]))
        for proxy, (above, below) in zip(proxies, pairwise(pairs), strict=True)
    ]
    client, agent = End(pairs[0][0]), End(pairs[-1][1], WELCOME)
    client.transport.send(INITIALIZE)
    await client.until(1)
    return client, agent, tasks


async def _join(proxy: Proxy, client: MemoryTransport, agent: MemoryTransport) -> None:
    await proxy.join(client, agent)


async def updates(client: End, agent: End, count: int) -> None:
    begun = client.count
    for sent in range(0, count, BLOCK):
        for _ in range(BLOCK):
            agent.transport.send(UPDATE)
        await client.until(begun + sent + BLOCK)


async def requests(client: End, agent: End, count: int) -> None:
    begun = client.count
    for sent in range(0, count, BLOCK):
        for number in range(BLOCK):
            client.transport.send(ASKED % (sent + number))
        await client.until(begun + sent + BLOCK)


async def cost(
    proxies: Sequence[Proxy], work: Callable[[End, End, int], Awaitable[None]], count: int
) -> float:
    """Return the seconds of CPU for each message."""
    client, agent, tasks = await joined(proxies)
    await work(client, agent, BLOCK)
    begin = time.process_time()
    await work(client, agent, count)
    seconds = time.process_time() - begin
    await client.transport.aclose()
    await asyncio.gather(*tasks)
    return seconds / count


def plain() -> Proxy:
    return Proxy("plain")


def reading() -> Proxy:
    """Return a proxy that looks at each update."""
    proxy = Proxy("reading")

    @proxy.from_agent("session/update")
    def read(note: Notification) -> None:
        assert note.update is not None

    return proxy


async def hops(count: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, make, work, messages in (
        ("update", plain, updates, 1),
        ("request", plain, requests, 2),  # with its answer
        ("handled", reading, updates, 1),
    ):
        none = await cost([], work, count)
        some = await cost([make() for _ in range(HOPS)], work, count)
        found[name] = (some - none) / HOPS / messages
    return found


def conduct(kind: str, count: int) -> None:
    proxy = [sys.executable, __file__, "--proxy"]
    inherit: TargetOptions = {"inherit": ["PYTHONPATH"]}
    components = [
        Proxy("plain") if kind == "objects" else ComponentSpec(target=proxy, options=inherit)
        for _ in range(count)
    ]
    Conductor(*components, agent=RAW_AGENT).run()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--proxy"]:
            plain().run()
        case ["hop", amount]:
            sys.stdout.write(json.dumps(asyncio.run(hops(int(amount)))))
        case words:
            conduct(words[0], int(words[1]))
