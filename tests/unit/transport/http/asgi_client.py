"""A client of an ASGI application in this process: no server, no socket, everything visible.

A stalled client is one whose `reads` is cleared: the application's `send` then waits, as it does
where flow control holds it back.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from parley.transport.http._asgi_types import App, Message, Scope

HOST = "127.0.0.1:7400"
INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
EVENTS = {"accept": "text/event-stream"}


class HttpResponse:
    """A complete HTTP response."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a refusal."""
        assert self.headers["content-type"] == "application/json"
        error = self.json["error"]
        assert set(error) == {"code", "message"}
        assert error["message"]
        return str(error["code"])


class Event:
    """One server-sent event, read as the specification says."""

    def __init__(self, block: str) -> None:
        fields: dict[str, list[str]] = {}
        for line in block.split("\n"):
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
        self.id = int(fields["id"][0])
        self.after = fields.get("after", [None])[0]
        self.data: Any = json.loads("\n".join(fields["data"]))


class Exchange:
    """One request under way."""

    def __init__(self, app: App, scope: Scope, body: bytes | None) -> None:
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        if body is not None:
            self._inbox.put_nowait({"type": "http.request", "body": body, "more_body": False})
        self._sent: asyncio.Queue[Message] = asyncio.Queue()
        self.reads = asyncio.Event()
        """Set while the client takes what is sent."""
        self.reads.set()
        self.is_gone = False
        self.pieces: list[bytes] = []
        """What was sent, piece by piece."""
        self.comments = 0
        self._text = ""
        self.task = asyncio.create_task(self._run(app, scope))

    async def _run(self, app: App, scope: Scope) -> None:
        await app(scope, self._inbox.get, self._send)

    async def _send(self, message: Message) -> None:
        await self.reads.wait()
        if self.is_gone:
            raise OSError("the client has gone")
        self._sent.put_nowait(message)

    def give(self, body: bytes, *, more: bool) -> None:
        """Send a part of the body."""
        self._inbox.put_nowait({"type": "http.request", "body": body, "more_body": more})

    def disconnect(self) -> None:
        """Disconnect."""
        self.is_gone = True
        self._inbox.put_nowait({"type": "http.disconnect"})

    async def sent(self) -> Message:
        """Return what the application sends next; fails with it if it fails."""
        getting = asyncio.ensure_future(self._sent.get())
        await asyncio.wait({getting, self.task}, return_when="FIRST_COMPLETED")
        if not getting.done():
            if self._sent.qsize():
                return await getting
            getting.cancel()
            self.task.result()
            raise AssertionError("the application has ended without a response")
        return getting.result()

    async def head(self) -> tuple[int, dict[str, str]]:
        start = await self.sent()
        assert start["type"] == "http.response.start"
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        assert len(headers) == len(start["headers"])
        return start["status"], headers

    async def response(self) -> HttpResponse:
        status, headers = await self.head()
        body = b""
        while True:
            piece = await self.sent()
            body += piece.get("body", b"")
            if not piece.get("more_body", False):
                break
        await self.task
        return HttpResponse(status, headers, body)

    async def event(self) -> Event:
        """Return the next event; raises EOFError at the end of the stream."""
        while True:
            block, end, rest = self._text.partition("\n\n")
            if not end:
                piece = await self.sent()
                if not piece.get("more_body", False):
                    raise EOFError
                self.pieces.append(piece["body"])
                self._text += piece["body"].decode()
                continue
            self._text = rest
            if block.startswith(":"):
                self.comments += 1
            else:
                return Event(block)

    async def ended(self) -> None:
        """Wait for the end of the stream."""
        try:
            event = await self.event()
        except EOFError:
            return
        raise AssertionError(event.data)


class Client:
    """Sends requests of one client."""

    def __init__(self, app: App, **headers: str) -> None:
        self.app = app
        self.headers = {"host": HOST, **headers}
        self.connection = ""
        self.peer: tuple[str, int] | None = ("127.0.0.1", 50000)
        self.server: tuple[str, int] = ("127.0.0.1", 7400)
        self._exchanges: list[Exchange] = []

    def scope(
        self,
        method: str,
        headers: Mapping[str, str] | None = None,
        *,
        path: str = "/acp",
        raw: list[tuple[bytes, bytes]] | None = None,
        type: str = "http",
    ) -> Scope:
        fields = {
            **self.headers,
            **({"acp-connection-id": self.connection} if self.connection else {}),
        }
        fields |= headers or {}
        pairs = [(name.lower().encode(), value.encode()) for name, value in fields.items() if value]
        scope: Scope = {
            "type": type,
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "2",
            "scheme": "http",
            "path": path,
            "query_string": b"",
            "headers": pairs if raw is None else raw,
            "client": self.peer,
            "server": self.server,
        }
        if type == "http":
            return {**scope, "method": method}
        return {**scope, "subprotocols": [], "extensions": {"websocket.http.response": {}}}

    def begin(
        self,
        method: str,
        headers: Mapping[str, str] | None = None,
        *,
        body: bytes | None = b"",
        path: str = "/acp",
        raw: list[tuple[bytes, bytes]] | None = None,
    ) -> Exchange:
        exchange = Exchange(self.app, self.scope(method, headers, path=path, raw=raw), body)
        self._exchanges.append(exchange)
        return exchange

    async def request(
        self, method: str, headers: Mapping[str, str] | None = None, **more: Any
    ) -> HttpResponse:
        return await self.begin(method, headers, **more).response()

    async def post(self, message: Any, session: str = "", **headers: str) -> HttpResponse:
        """Send a message; names of headers have underscores here."""
        return await self.begin_post(message, session, **headers).response()

    def begin_post(self, message: Any, session: str = "", **headers: str) -> Exchange:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        fields = {"content-type": "application/json", "acp-session-id": session, **fields}
        return self.begin("POST", fields, body=body)

    async def initialize(self, **headers: str) -> HttpResponse:
        """Open a connection."""
        response = await self.post(INITIALIZE, **headers)
        assert response.status == 200, response.body
        self.connection = response.headers["acp-connection-id"]
        return response

    async def stream(self, session: str = "", after: int | None = None) -> Exchange:
        """Open a stream."""
        cursor = "" if after is None else str(after)
        fields = {**EVENTS, "acp-session-id": session, "last-event-id": cursor}
        exchange = self.begin("GET", fields)
        status, headers = await exchange.head()
        assert status == 200, await exchange.sent()
        assert headers["content-type"] == "text/event-stream"
        return exchange

    async def refused(self, session: str = "", after: int | None = None) -> HttpResponse:
        """Request a stream that the server refuses, and return the response."""
        cursor = "" if after is None else str(after)
        fields = {**EVENTS, "acp-session-id": session, "last-event-id": cursor}
        return await self.request("GET", fields)

    async def aclose(self) -> None:
        for exchange in self._exchanges:
            if not exchange.task.done():
                exchange.disconnect()
                exchange.reads.set()
        for exchange in self._exchanges:
            with suppress(OSError):
                await exchange.task


@asynccontextmanager
async def client_of(app: App, **headers: str) -> AsyncGenerator[Client]:
    client = Client(app, **headers)
    try:
        yield client
    finally:
        await client.aclose()
