"""An agent whose connections are driven by a test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.transport._base import Transport


class AgentConnection:
    """One connection, from the agent's side."""

    def __init__(self, transport: Transport) -> None:
        self.transport: Any = transport
        self.inbox: asyncio.Queue[Any] = asyncio.Queue()
        self.lost: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()
        self.ends: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Set a result, or an exception, and `serve` ends with it."""
        self.raises: Exception | None = None
        """The error to raise when a message arrives."""

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        if self.raises is not None:
            raise self.raises
        for frame in frames:
            message = json.loads(frame)
            if message.get("method") == "initialize":
                self.respond(message["id"], {"protocolVersion": 1})
            else:
                self.inbox.put_nowait(message)

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.lost.set_result(reason)
        if not self.ends.done():
            self.ends.set_result(None)

    async def next(self) -> Any:
        """Return the client's next message."""
        return await self.inbox.get()

    def send(self, message: Any) -> None:
        self.transport.send(
            json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()
        )

    def respond(self, id: int | str | None, result: Any) -> None:
        self.send({"id": id, "result": result})

    def update(self, session: str, text: str) -> None:
        """Send an update, written as Parley's agents write it."""
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.send({"method": "session/update", "params": {"sessionId": session, "update": update}})


class ScriptedAgent:
    """An agent that leaves every connection to the test."""

    def __init__(self) -> None:
        self.served: list[AgentConnection] = []
        self._new: asyncio.Queue[AgentConnection] = asyncio.Queue()
        self.silent = False
        """Whether it reads nothing."""

    async def serve(self, transport: Transport, /) -> None:
        served = AgentConnection(transport)
        self.served.append(served)
        self._new.put_nowait(served)
        if not self.silent:
            transport.start(served)
        await served.ends

    async def next_connection(self) -> AgentConnection:
        """Return the next connection, when it is made."""
        return await self._new.get()

    @property
    def last(self) -> AgentConnection:
        return self.served[-1]


def update_text(message: Any) -> str:
    """Return the text of an update."""
    return str(message["params"]["update"]["content"]["text"])


def request(id: int | str, method: str, session: str = "", **params: Any) -> dict[str, Any]:
    """Return a request."""
    fields = {"sessionId": session, **params} if session else params
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": fields}
