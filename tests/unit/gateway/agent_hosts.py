"""Hosted agents, and clients of them, raw and typed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias, Unpack

import pytest

from parley.client import Connection, ConnectOptions, Session, connect
from parley.errors import ConnectionClosed
from parley.gateway import AgentHost
from parley.rpc._framing import Frame
from parley.testing.demo import demo_agent
from parley.transport import MemoryTransport, memory_pair
from parley.transport._base import Transport

DEMO = [sys.executable, "-m", "parley", "demo"]
Message: TypeAlias = dict[str, Any]


class HostForPrincipal:
    """Serves clients of one principal, as an HTTP application does."""

    def __init__(
        self, host: AgentHost, principal: str = "", *, has_one_principal: bool = False
    ) -> None:
        self._host = host
        self._principal = principal
        self._has_one_principal = has_one_principal

    async def serve(self, transport: Transport) -> None:
        vars(transport)["principal"] = self._principal
        await self._host.serve(transport, has_one_principal=self._has_one_principal)


def client(
    host: AgentHost,
    principal: str = "",
    *,
    has_one_principal: bool = False,
    **options: Unpack[ConnectOptions],
) -> AbstractAsyncContextManager[Connection]:
    """Connect a client."""
    served = HostForPrincipal(host, principal, has_one_principal=has_one_principal)
    return connect(served, "/", **options)


@asynccontextmanager
async def open_host(
    target: Any = None, *, name: str = "the agent", version: int = 2, **options: Any
) -> AsyncGenerator[AgentHost, None]:
    """Host an agent; by default the demo agent of this process, up to a version."""
    if target is None:
        target = demo_agent(versions=range(1, version + 1))
    host = AgentHost(name, target, **options)
    try:
        yield host
    finally:
        await host.aclose()


async def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for a condition that nothing reports."""
    while not is_so():  # noqa: ASYNC110 - sessions announce nothing to a test
        await asyncio.sleep(0.001)


class RawPeer:
    """One end of a connection, in bytes."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.received: asyncio.Queue[Message] = asyncio.Queue()
        self.lost = asyncio.Event()
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            self.received.put_nowait(json.loads(frame))

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.lost.set()

    def send(self, **message: Any) -> None:
        self.transport.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def take(self, method: str | None = None) -> Message:
        """Return the next message, which must have this method; None: a response."""
        message = await self.received.get()
        assert message.get("method") == method, message
        return message

    def answer(self, asked: Message, result: object) -> None:
        self.send(id=asked["id"], result=result)

    async def ask(self, id: Any, method: str, params: object) -> Message:
        """Send a request and return the next message, its response."""
        self.send(id=id, method=method, params=params)
        answer = await self.take()
        assert answer["id"] == id
        return answer

    def update(self, session: str, update: Message) -> None:
        self.send(method="session/update", params={"sessionId": session, "update": update})

    async def is_silent(self) -> bool:
        """Return whether nothing arrives within the few turns of the event loop that it takes."""
        for _ in range(20):
            await asyncio.sleep(0)
        return self.received.empty()


INITIALIZE_PARAMS = {"protocolVersion": 1, "clientCapabilities": {"terminal": True}}
INITIALIZE_RESULT = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}


def raw_client(host: AgentHost, principal: str = "") -> tuple[RawPeer, asyncio.Task[None]]:
    """Connect a raw client; returns it and the task that serves it."""
    near, far = memory_pair()
    return RawPeer(far), asyncio.create_task(HostForPrincipal(host, principal).serve(near))


@asynccontextmanager
async def open_raw_host(**options: Any) -> AsyncGenerator[tuple[AgentHost, RawPeer], None]:
    """Host a raw agent, which can be connected to once."""
    near, far = memory_pair()
    async with open_host(near, **options) as host:
        yield host, RawPeer(far)


VERSION_MATRIX = pytest.mark.parametrize(
    ("agent", "owner", "other"),
    [(1, 1, 1), (1, 2, 1), (1, 2, 2), (2, 1, 1), (2, 1, 2), (2, 2, 1), (2, 2, 2)],
)
"""The newest version that each speaks; an agent of version 1 makes everybody's version 1."""
OBSERVER: dict[str, Any] = {"parley": {"role": "observer"}}


@asynccontextmanager
async def two_initialized() -> AsyncGenerator[tuple[AgentHost, RawPeer, RawPeer, RawPeer], None]:
    """Yield a shared agent and two clients of it, raw and without a session."""
    async with open_raw_host(is_shared=True) as (host, agent):
        (one, first), (two, second) = raw_client(host), raw_client(host)
        one.send(id="hello", method="initialize", params=INITIALIZE_PARAMS)
        agent.answer(await agent.take("initialize"), INITIALIZE_RESULT)
        await one.take()
        assert (await two.ask("hello", "initialize", INITIALIZE_PARAMS))[
            "result"
        ] == INITIALIZE_RESULT
        try:
            yield host, agent, one, two
        finally:
            for end in (one, two):
                await end.transport.aclose()
            await asyncio.gather(first, second)


def texts(session: Session) -> list[str]:
    return [each.text for each in session.transcript.messages]


def versions(newest: int) -> tuple[int, ...]:
    return (1,) if newest == 1 else (1, 2)


async def attach(connection: Connection, session: Session, **options: Any) -> Session:
    return await connection.resume_session(session.id, **options)
