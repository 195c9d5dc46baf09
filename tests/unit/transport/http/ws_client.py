"""A WebSocket to an ASGI application in this process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from parley.transport.http._asgi_types import Message

from .asgi_client import Client, HttpResponse


class WebSocket:
    """The client's end of a socket."""

    def __init__(self, client: Client, headers: Mapping[str, str] | None = None) -> None:
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._inbox.put_nowait({"type": "websocket.connect"})
        self._sent: asyncio.Queue[Message] = asyncio.Queue()
        self.reads = asyncio.Event()
        self.reads.set()
        self.is_gone = False
        self.headers: dict[str, str] = {}
        self.acknowledged: list[int] = []
        scope = client.scope("GET", headers, type="websocket")
        self.task: asyncio.Task[None] = asyncio.ensure_future(
            client.app(scope, self._inbox.get, self._send)
        )

    async def _send(self, message: Message) -> None:
        await self.reads.wait()
        if self.is_gone:
            raise OSError("the client has gone")
        self._sent.put_nowait(message)

    @classmethod
    async def open(cls, client: Client, headers: Mapping[str, str] | None = None) -> WebSocket:
        socket = cls(client, headers)
        accepted = await socket.sent()
        assert accepted["type"] == "websocket.accept", accepted
        socket.headers = {name.decode(): value.decode() for name, value in accepted["headers"]}
        return socket

    @classmethod
    async def refused(
        cls, client: Client, headers: Mapping[str, str] | None = None
    ) -> HttpResponse:
        socket = cls(client, headers)
        start, body = await socket.sent(), await socket.sent()
        assert start["type"] == "websocket.http.response.start", start
        assert body["type"] == "websocket.http.response.body"
        await socket.task
        fields = {name.decode(): value.decode() for name, value in start["headers"]}
        return HttpResponse(start["status"], fields, body["body"])

    @classmethod
    async def tried(cls, client: Client, headers: Mapping[str, str] | None = None) -> int:
        """Return the status of an upgrade, and hang up."""
        socket = cls(client, headers)
        first = await socket.sent()
        if first["type"] == "websocket.accept":
            socket.disconnect(1000)
            await socket.task
            return 101
        await socket.task
        return int(first["status"])

    async def sent(self) -> Message:
        return await self._sent.get()

    async def message(self) -> Any:
        """Return the next message; acknowledgements are noted."""
        while True:
            sent = await self.sent()
            assert sent["type"] == "websocket.send", sent
            if sent.get("bytes") is not None:
                self.acknowledged.append(int.from_bytes(sent["bytes"], "big"))
            else:
                return json.loads(sent["text"])

    async def closed(self) -> tuple[int, str]:
        """Wait for the server to close, and return why."""
        sent = await self.sent()
        assert sent["type"] == "websocket.close", sent
        return sent["code"], sent["reason"]

    def send(self, message: Any) -> None:
        self.send_text(json.dumps(message))

    def send_text(self, text: str) -> None:
        self._inbox.put_nowait({"type": "websocket.receive", "text": text})

    def send_bytes(self, data: bytes) -> None:
        self._inbox.put_nowait({"type": "websocket.receive", "bytes": data, "text": None})

    def acknowledge(self, count: int) -> None:
        self.send_bytes(count.to_bytes(8, "big"))

    def disconnect(self, code: int = 1006) -> None:
        self.is_gone = True
        self._inbox.put_nowait({"type": "websocket.disconnect", "code": code})
