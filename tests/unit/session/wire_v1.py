"""Version 1 frames on one end of a connection, and a program of ours on the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from parley.errors import ConnectionClosed
from parley.peer import Peer
from parley.rpc.framing import Frame
from parley.schema import v2
from parley.session.features import AgentFeatures, ClientFeatures
from parley.session.surface import (
    AgentDescription,
    AgentSurface,
    ClientSurface,
    Program,
    open_agent,
    open_client,
)
from parley.transport import memory_pair
from parley.transport.memory import MemoryTransport

US = v2.Implementation(name="us", version="1")


class RawEnd:
    """Sends and reads messages as they are on the wire."""

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
        """Send a piece of the agent's message."""
        content = {"type": "text", "text": text}
        self.update("agent_message_chunk", session, content=content)

    async def next(self) -> Any:
        """Return the next message."""
        return json.loads(await self._frames.get())

    async def take(self, method: str) -> Any:
        """Return the next message, which is a request or a notification of this method."""
        message = await self.next()
        assert message.get("method") == method, message
        return message

    async def taken_update(self) -> Any:
        """Return the update of the next message."""
        return (await self.take("session/update"))["params"]["update"]

    async def result(self, id: Any) -> Any:
        """Return the result of the next message, which answers this request."""
        message = await self.next()
        assert message["id"] == id, message
        assert "result" in message, message
        return message["result"]

    async def error(self, id: Any) -> Any:
        """Return the error of the next message, which answers this request."""
        message = await self.next()
        assert message["id"] == id, message
        return message["error"]

    async def ask(self, method: str, params: Any = None, id: Any = 1) -> Any:
        """Send a request and return its result, which comes next."""
        self.send(id=id, method=method, params=params)
        return await self.result(id)

    async def serve(self, method: str, result: Any) -> Any:
        """Answer the next message, a request of this method, and return its params."""
        message = await self.take(method)
        self.send(id=message["id"], result=result)
        return message.get("params", {})

    @property
    def unread(self) -> int:
        """How many messages nobody has looked at."""
        return self._frames.qsize()


@asynccontextmanager
async def client(
    program: Program | None = None,
    features: ClientFeatures | None = None,
    **answer: Any,
) -> AsyncGenerator[tuple[ClientSurface, RawEnd], None]:
    """Join a client program with a version 1 agent that answers initialize with these members."""
    here, there = memory_pair()
    raw = RawEnd(there)
    async with Peer(here, "client") as peer:
        opening = asyncio.create_task(
            open_client(
                peer,
                info=US,
                features=features or ClientFeatures(),
                program=program or Program(),
                versions=(1,),
            )
        )
        await raw.serve("initialize", {"protocolVersion": 1, **answer})
        yield await opening, raw
    assert raw.unread == 0


class Updates:
    """Collects what a client program is told."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[v2.UpdateSessionNotification] = asyncio.Queue()

    def __call__(self, note: v2.UpdateSessionNotification) -> None:
        self._queue.put_nowait(note)

    def program(self, requests: Mapping[str, Any] | None = None) -> Program:
        """Return a program that collects updates and handles these requests."""
        return Program(requests=requests or {}, notifications={"session/update": self})

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
    program: Program | Callable[[AgentSurface], Program],
    features: AgentFeatures | None = None,
    *,
    auth_methods: Sequence[v2.AuthMethod] = (),
    **params: Any,
) -> AsyncGenerator[tuple[AgentSurface, RawEnd], None]:
    """Join an agent program with a version 1 client that initializes with these members."""
    surfaces: list[AgentSurface] = []

    def describe(*_: Any) -> Awaitable[AgentDescription]:
        return _later(
            AgentDescription(
                info=US,
                features=features or AgentFeatures(sessions=True),
                auth_methods=list(auth_methods),
            )
        )

    def begin(surface: AgentSurface) -> Program:
        surfaces.append(surface)
        return program if isinstance(program, Program) else program(surface)

    here, there = memory_pair()
    raw = RawEnd(there)
    peer = Peer(here, "agent")
    open_agent(peer, describe, begin, versions=(1,))
    async with peer:
        await raw.ask("initialize", {"protocolVersion": 1, **params}, "initialize")
        yield surfaces[0], raw
    assert raw.unread == 0


async def _later(value: AgentDescription) -> AgentDescription:
    return value
