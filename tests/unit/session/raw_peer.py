"""A version 1 peer that sends and reads raw messages, connected to an adapter."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from parley.errors import ConnectionClosed
from parley.peer import Peer
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.session._adapter import (
    AgentAdapter,
    AgentDescription,
    ClientAdapter,
    HandlerTable,
    open_agent_adapter,
    open_client_adapter,
)
from parley.session._capabilities import AgentFeatures, ClientFeatures
from parley.transport import memory_pair
from parley.transport._memory import MemoryTransport

US = v2.Implementation(name="us", version="1")


class RawPeer:
    """The other end of a connection: sends and reads raw messages."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            self._frames.put_nowait(bytes(frame))

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.closed.set_result(reason)

    def send(self, **members: Any) -> None:
        """Send a message with these members."""
        self.transport.send(json.dumps({"jsonrpc": "2.0", **members}).encode())

    def update(self, kind: str, /, session: str = "s", **fields: Any) -> None:
        """Send a session update."""
        params = {"sessionId": session, "update": {"sessionUpdate": kind, **fields}}
        self.send(method="session/update", params=params)

    def chunk(self, text: str, session: str = "s") -> None:
        """Send a chunk of an agent message."""
        content = {"type": "text", "text": text}
        self.update("agent_message_chunk", session, content=content)

    async def next(self) -> Any:
        """Return the next message."""
        return json.loads(await self._frames.get())

    async def expect(self, method: str) -> Any:
        """Return the next message, which must be a request or a notification of this method."""
        message = await self.next()
        assert message.get("method") == method, message
        return message

    async def next_update(self) -> Any:
        """Return the update of the next message."""
        return (await self.expect("session/update"))["params"]["update"]

    async def result(self, id: Any) -> Any:
        """Return the result of the next message, which must be the response to this request."""
        message = await self.next()
        assert message["id"] == id, message
        assert "result" in message, message
        return message["result"]

    async def error(self, id: Any) -> Any:
        """Return the error of the next message, which must be the response to this request."""
        message = await self.next()
        assert message["id"] == id, message
        return message["error"]

    async def ask(self, method: str, params: Any = None, id: Any = 1) -> Any:
        """Send a request and return its result, which comes next."""
        self.send(id=id, method=method, params=params)
        return await self.result(id)

    async def serve(self, method: str, result: Any) -> Any:
        """Respond to the next message, a request of this method, and return its params."""
        message = await self.expect(method)
        self.send(id=message["id"], result=result)
        return message.get("params", {})

    @property
    def unread(self) -> int:
        """The number of messages that were not read."""
        return self._frames.qsize()


@asynccontextmanager
async def client(
    program: HandlerTable | None = None,
    features: ClientFeatures | None = None,
    **response: Any,
) -> AsyncGenerator[tuple[ClientAdapter, RawPeer], None]:
    """Connect a client to a version 1 agent whose `initialize` result has these members."""
    here, there = memory_pair()
    raw = RawPeer(there)
    async with Peer(here, "client") as peer:
        opening = asyncio.create_task(
            open_client_adapter(
                peer,
                info=US,
                features=features or ClientFeatures(),
                program=program or HandlerTable(),
                versions=(1,),
            )
        )
        await raw.serve("initialize", {"protocolVersion": 1, **response})
        yield await opening, raw
    assert raw.unread == 0


class Updates:
    """A handler that collects the updates that a client receives."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[v2.UpdateSessionNotification] = asyncio.Queue()

    def __call__(self, note: v2.UpdateSessionNotification) -> None:
        self._queue.put_nowait(note)

    def program(self, requests: Mapping[str, Any] | None = None) -> HandlerTable:
        """Return a program that collects updates and handles these requests."""
        return HandlerTable(requests=requests or {}, notifications={"session/update": self})

    async def note(self) -> v2.UpdateSessionNotification:
        return await self._queue.get()

    async def next(self) -> Any:
        """Return the next update."""
        return (await self._queue.get()).update

    @property
    def is_empty(self) -> bool:
        return self._queue.empty()


@asynccontextmanager
async def agent(
    program: HandlerTable | Callable[[AgentAdapter], HandlerTable],
    features: AgentFeatures | None = None,
    *,
    auth_methods: Sequence[v2.AuthMethod] = (),
    **params: Any,
) -> AsyncGenerator[tuple[AgentAdapter, RawPeer], None]:
    """Connect an agent to a version 1 client whose `initialize` params have these members."""
    adapters: list[AgentAdapter] = []

    def describe(*_: Any) -> Awaitable[AgentDescription]:
        return _later(
            AgentDescription(
                info=US,
                features=features or AgentFeatures(sessions=True),
                auth_methods=list(auth_methods),
            )
        )

    def begin(adapter: AgentAdapter) -> HandlerTable:
        adapters.append(adapter)
        return program if isinstance(program, HandlerTable) else program(adapter)

    here, there = memory_pair()
    raw = RawPeer(there)
    peer = Peer(here, "agent")
    open_agent_adapter(peer, describe, begin, versions=(1,))
    async with peer:
        await raw.ask("initialize", {"protocolVersion": 1, **params}, "initialize")
        yield adapters[0], raw
    assert raw.unread == 0


async def _later(value: AgentDescription) -> AgentDescription:
    return value
