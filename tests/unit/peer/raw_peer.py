"""Peers for the tests of a connection: one that sends raw messages, and a second `Peer`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from parley.errors import ConnectionClosed
from parley.peer import Limits, NotificationHandler, Observer, Peer, RequestHandler, Role, Tracer
from parley.peer._routes import TypedHandler
from parley.peer._tracing import Observers
from parley.rpc._framing import Frame
from parley.schema import v1
from parley.schema.base import Method, MethodTable
from parley.schema.v1 import methods
from parley.transport import MemoryTransport, Transport, memory_pair
from parley.transport._frame_head import FrameHead

Message: TypeAlias = dict[str, Any]
Requests: TypeAlias = Mapping[str, RequestHandler | TypedHandler]
Notifications: TypeAlias = Mapping[str, NotificationHandler | TypedHandler]

NOTE: Method[v1.CancelNotification, None] = Method(
    name="_note",
    to="either",
    kind="notification",
    params=v1.CancelNotification,
    session="session_id",
)
"""An update that goes both ways."""
TABLE: MethodTable = methods.TABLE.extended((NOTE,))


class WatchedTransport:
    """A transport that records when reading is paused and when it has no room."""

    def __init__(self, inner: Transport) -> None:
        self.paused = asyncio.Event()
        self.full = asyncio.Event()
        self.sent = 0
        self._inner = inner
        self.start = inner.start
        self.aclose = inner.aclose

    def send(self, frame: bytes, head: FrameHead | None = None) -> None:
        self.sent += 1
        self._inner.send(frame, head)

    def drained(self) -> asyncio.Future[None] | None:
        room = self._inner.drained()
        if room is not None:
            self.full.set()
            room.add_done_callback(lambda _: self.full.clear())
        return room

    def pause_reading(self) -> None:
        self.paused.set()
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self.paused.clear()
        self._inner.resume_reading()


class RawPeer:
    """A peer that sends raw messages and queues those it receives."""

    def __init__(self, transport: MemoryTransport, local: WatchedTransport) -> None:
        self.transport = transport
        self.near = local
        self.received: asyncio.Queue[Message] = asyncio.Queue()

    def frames_received(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            self.received.put_nowait(json.loads(frame))

    def connection_lost(self, reason: ConnectionClosed) -> None:
        self.received.put_nowait({"lost": str(reason)})

    async def receive(self) -> Message:
        """Return the next message of the peer."""
        return await self.received.get()

    def send(self, message: object) -> None:
        self.transport.send(json.dumps(message).encode())

    def notify(self, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def call(self, id: int | str, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def respond(self, request: Message, result: object) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def respond_with_error(self, request: Message, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def update(self, session: str, text: str) -> None:
        self.notify("session/update", {"sessionId": session, "update": update(text)})

    async def wait_until_read(self) -> None:
        """Wait until the peer has read everything that was sent."""
        self.call("is it read?", "_unknown", {})
        while (await self.receive()).get("id") != "is it read?":
            pass


@asynccontextmanager
async def connected(
    role: Role = "client",
    *,
    requests: Requests | None = None,
    notifications: Notifications | None = None,
    limits: Limits | None = None,
    observer: Observer | Observers | None = None,
    tracer: Tracer | None = None,
) -> AsyncGenerator[tuple[Peer, RawPeer], None]:
    """Connect a `Peer` to a raw peer that reads."""
    inner, transport = memory_pair()
    local = WatchedTransport(inner)
    peer = Peer(local, role, limits=limits, observer=observer, tracer=tracer)
    peer.set_handlers(TABLE, requests=requests, notifications=notifications)
    remote = RawPeer(transport, local)
    transport.start(remote)
    async with peer:
        yield peer, remote


@asynccontextmanager
async def connected_pair(
    *, client: Notifications | None = None, agent: Requests | None = None
) -> AsyncGenerator[tuple[Peer, Peer], None]:
    """Join a client that handles notifications and an agent that handles requests."""
    local, remote = memory_pair()
    one, other = Peer(local, "client"), Peer(remote, "agent")
    one.set_handlers(TABLE, notifications=client)
    other.set_handlers(TABLE, requests=agent)
    async with one, other:
        yield one, other


def update(text: str) -> Message:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def chunk(session: str, text: str) -> v1.SessionNotification:
    content = v1.TextContent(text=text)
    return v1.SessionNotification(session_id=session, update=v1.AgentMessageChunk(content=content))


def text_of(note: v1.SessionNotification) -> str:
    assert isinstance(note.update, v1.AgentMessageChunk)
    assert isinstance(note.update.content, v1.TextContent)
    return note.update.content.text


def prompt(session: str) -> v1.PromptRequest:
    return v1.PromptRequest(session_id=session, prompt=[v1.TextContent(text="Go on.")])


def mode(session: str) -> v1.SetSessionModeRequest:
    return v1.SetSessionModeRequest(session_id=session, mode_id="ask")


def permission(session: str) -> Message:
    return {"sessionId": session, "toolCall": {"toolCallId": "call-1"}, "options": []}
