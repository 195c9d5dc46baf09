"""A raw peer for the connection under test: sends frames and collects those that come back.

To see without a timeout that something is *not* sent, a request is sent after it: the next frame
must be the response to that request. When the connection is closed, no frame may be left over.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from parley.errors import ConnectionClosed
from parley.peer import Peer, RequestContext, Role
from parley.peer._initialize import table_of
from parley.rpc._framing import Frame
from parley.transport import memory_pair
from parley.transport._memory import MemoryTransport

VERSIONS = (1, 2)
SIDES: list[tuple[int, Role]] = [(1, "agent"), (1, "client"), (2, "agent"), (2, "client")]
ECHO = "_test/echo"


class RawPeer:
    """Sends bytes, collects frames."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            self._frames.put_nowait(bytes(frame))

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.closed.set_result(reason)

    def send(self, *frames: bytes) -> None:
        """Send frames as they are."""
        for frame in frames:
            self._transport.send(frame)

    def message(self, **members: Any) -> None:
        """Send a message with these members."""
        self.send(json.dumps({"jsonrpc": "2.0", **members}).encode())

    async def frame(self) -> bytes:
        """Return the next frame as it came."""
        return await self._frames.get()

    async def next(self) -> Any:
        """Return the next frame, parsed."""
        return json.loads(await self.frame())

    async def ask(self, method: str, params: Any = None, id: Any = 1) -> Any:
        """Send a request and return the next frame, which must be its response."""
        self.message(id=id, method=method, params=params)
        reply = await self.next()
        assert (reply["jsonrpc"], reply["id"], "method" in reply) == ("2.0", id, False)
        assert ("result" in reply) is not ("error" in reply)
        return reply

    async def is_alive(self) -> None:
        """Check that the connection works and that nothing was sent before."""
        assert (await self.ask(ECHO, {"a": [1]}, "alive"))["result"] == {"a": [1]}

    @property
    def unread(self) -> int:
        """The number of frames that no test has read yet."""
        return self._frames.qsize()


async def echo(params: Any, request: RequestContext) -> Any:
    return params if len(params) else {}


@asynccontextmanager
async def connected(
    version: int,
    role: Role = "agent",
    requests: Mapping[str, Any] | None = None,
    notifications: Mapping[str, Any] | None = None,
) -> AsyncGenerator[tuple[Peer, RawPeer], None]:
    """Join a peer that speaks one version with a raw end; at the end nothing may be unread."""
    here, there = memory_pair()
    peer, raw = Peer(here, role), RawPeer(there)
    peer.set_handlers(
        table_of(version), requests={ECHO: echo, **(requests or {})}, notifications=notifications
    )
    async with peer:
        yield peer, raw
    await raw.closed
    assert raw.unread == 0
