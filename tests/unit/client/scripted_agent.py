"""An agent that a test scripts message by message, without Parley's agent side."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, Unpack

from parley.client import Connection, ConnectOptions, Session, connect
from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.transport import MemoryTransport, memory_pair

Message: TypeAlias = dict[str, Any]

CAPABILITIES: Message = {"session": {}}


class ScriptedAgent:
    """A version 2 agent that does only what a test tells it to."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.received: asyncio.Queue[Message] = asyncio.Queue()
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            self.received.put_nowait(json.loads(frame))

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self.received.put_nowait({"method": "lost", "params": str(reason)})

    async def take(self, method: str | None = None) -> Message:
        """Return the client's next message, which must have this method; None: a response."""
        message = await self.received.get()
        assert message.get("method") == method, message
        return message

    def send(self, message: Message) -> None:
        self.transport.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def respond(self, request: Message, result: object) -> None:
        self.send({"id": request["id"], "result": result})

    def refuse(self, request: Message, code: int, message: str, data: object = None) -> None:
        self.send({"id": request["id"], "error": {"code": code, "message": message, "data": data}})

    def call(self, id: int | str, method: str, params: object) -> None:
        self.send({"id": id, "method": method, "params": params})

    def update(self, kind: str, session: str = "s", **fields: object) -> None:
        update = {"sessionUpdate": kind, **fields}
        self.send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def say(self, text: str, session: str = "s", message: str = "a") -> None:
        content = {"type": "text", "text": text}
        self.update("agent_message_chunk", session, messageId=message, content=content)

    def state(self, state: str, session: str = "s", **fields: object) -> None:
        self.update("state_update", session, state=state, **fields)

    def idle(self, reason: str = "end_turn", session: str = "s") -> None:
        self.state("idle", session, stopReason=reason)

    async def initialize(self, **result: object) -> Message:
        """Respond to initialize and return the request."""
        request = await self.take("initialize")
        info = {"name": "far", "version": "1"}
        usual = {"protocolVersion": 2, "info": info, "capabilities": CAPABILITIES}
        self.respond(request, {**usual, **result})
        return request

    async def open(self, session: str = "s", **result: object) -> Message:
        """Respond to session/new and return the request."""
        request = await self.take("session/new")
        self.respond(request, {"sessionId": session, **result})
        return request

    async def accept(self, message: str = "u", session: str = "s") -> Message:
        """Accept a prompt and begin to work on it."""
        request = await self.take("session/prompt")
        self.respond(request, {"messageId": message})
        self.update("user_message", session, messageId=message, content=request["params"]["prompt"])
        self.state("running", session)
        return request

    async def is_read(self) -> None:
        """Wait until the client has read everything that was sent."""
        self.call("is it read?", "_unknown", {})
        response = await self.take()
        assert response["id"] == "is it read?"


@asynccontextmanager
async def connected(
    agent: Message | None = None, **options: Unpack[ConnectOptions]
) -> AsyncGenerator[tuple[Connection, ScriptedAgent], None]:
    """Connect a client to a scripted agent that has responded to initialize."""
    local, transport = memory_pair()
    remote = ScriptedAgent(transport)
    options.setdefault("versions", (2,))
    initialized = asyncio.create_task(remote.initialize(**(agent or {})))
    async with connect(local, **options) as connection:
        await initialized
        yield connection, remote


@asynccontextmanager
async def opened(
    agent: Message | None = None, **options: Unpack[ConnectOptions]
) -> AsyncGenerator[tuple[Session, ScriptedAgent], None]:
    """Connect a client to a scripted agent and open a session."""
    async with connected(agent, **options) as (connection, remote):
        yield await open_session(connection, remote), remote


async def open_session(connection: Connection, remote: ScriptedAgent, id: str = "s") -> Session:
    task = asyncio.create_task(connection.new_session())
    await remote.open(id)
    return await task
