"""An agent that counts, to check that everything arrives once and in order.

It responds to `prompt N` after N updates, whose numbers continue from the previous prompt. It keeps
all other messages.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.transport._base import Transport

__all__ = ["CountingAgent", "counted_numbers", "encode_notification", "encode_request"]


def encode_request(id: int, method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()


def encode_notification(method: str, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()


def counted_numbers(frames: Sequence[bytes]) -> list[int]:
    """Return the numbers of the updates among some frames."""
    read = [json.loads(frame) for frame in frames]
    return [each["params"]["update"]["n"] for each in read if each.get("method")]


class CountingAgent:
    """The agent; it may be served many times, and keeps the messages of all clients."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.served = 0
        self.ended = asyncio.Event()
        self.transports: list[Transport] = []
        self.turned = asyncio.Event()

    async def serve(self, transport: Transport, /) -> None:
        self.served += 1
        self.transports.append(transport)
        try:
            await _Conversation(self, transport).run()
        finally:
            self.ended.set()


class _Conversation:
    def __init__(self, agent: CountingAgent, transport: Transport) -> None:
        self._agent = agent
        self._transport = transport
        self._inbox: asyncio.Queue[Any] = asyncio.Queue()
        self._next = 0
        self._sessions = 0

    async def run(self) -> None:
        self._transport.start(self)
        while (message := await self._inbox.get()) is not None:
            await self._take(message)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            self._inbox.put_nowait(json.loads(frame))

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self._inbox.put_nowait(None)

    async def _take(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "initialize":
                self._respond(message, {"protocolVersion": 1})
            case "session/new":
                self._sessions += 1
                self._respond(message, {"sessionId": f"session-{self._sessions}"})
            case "session/prompt":
                await self._count(params["sessionId"], params["count"], params.get("pad", 0))
                self._respond(message, {"stopReason": "end_turn"})
                self._agent.turned.set()
            case "session/load":
                await self._count(params["sessionId"], 3, 0)
                self._respond(message, {})
            case "session/close":
                self._respond(message, {})
            case _:
                self._agent.kept.append(message)
                if "id" in message and "method" in message:
                    self._respond(message, {})

    async def _count(self, session: str, count: int, pad: int) -> None:
        for _ in range(count):
            update = {"sessionUpdate": "x", "n": self._next, "pad": "." * pad}
            self._next += 1
            await self._send(
                {"jsonrpc": "2.0", "method": "session/update"}
                | {"params": {"sessionId": session, "update": update}}
            )

    async def _send(self, message: dict[str, Any]) -> None:
        self._transport.send(json.dumps(message, separators=(",", ":")).encode())
        if (room := self._transport.drained()) is not None:
            await room

    def _respond(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        response = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        self._transport.send(json.dumps(response, separators=(",", ":")).encode())
