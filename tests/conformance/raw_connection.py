"""A connection without Parley that sends messages and records those it receives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.transport._base import Transport

Handler = Callable[[Any], Any]


class ErrorResponse(Exception):
    """An error with which a client responds."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class RawConnection:
    """Sends requests, responds with the configured results, and logs every message received."""

    def __init__(self) -> None:
        self.log: list[Any] = []
        """Every message that came, in order."""
        self.answers: dict[str, Handler] = {}
        """The handler of each method; the test responds to requests that have none."""
        self.closed: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()
        self._news = asyncio.Event()
        self._id = 0

    def start(self, transport: Transport) -> None:
        """Begin to listen."""
        self.transport = transport
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            message = json.loads(bytes(frame))
            self.log.append(message)
            if message.get("method") in self.answers and "id" in message:
                self._respond(message)
            else:
                self.received(message)
        self._news.set()

    def received(self, message: Any) -> None:
        """Receive a message that has no handler."""

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.closed.set_result(reason)
        self._news.set()

    def _respond(self, message: Any) -> None:
        try:
            self.send(id=message["id"], result=self.answers[message["method"]](message["params"]))
        except ErrorResponse as refusal:
            self.send(id=message["id"], error={"code": refusal.code, "message": "no"})

    def send(self, **members: Any) -> None:
        """Send a message."""
        self.transport.send(json.dumps({"jsonrpc": "2.0", **members}).encode())

    def request(self, method: str, params: Any = None) -> int:
        """Send a request and return its id."""
        self._id += 1
        self.send(id=self._id, method=method, params={} if params is None else params)
        return self._id

    async def place(self, found: Callable[[Any], bool], since: int = 0) -> int:
        """Return where in the log the first message is that is looked for."""
        seen = since
        while True:
            while seen < len(self.log):
                if found(self.log[seen]):
                    return seen
                seen += 1
            assert not self.closed.done(), self.closed
            self._news.clear()
            await self._news.wait()

    async def until(self, found: Callable[[Any], bool], since: int = 0) -> Any:
        """Return the first message since a point of the log that is looked for."""
        return self.log[await self.place(found, since)]

    async def reply(self, id: int) -> Any:
        """Return the response to a request."""
        return await self.until(lambda message: message.get("id") == id and "method" not in message)

    async def ask(self, method: str, params: Any = None) -> Any:
        """Send a request and return its response."""
        return await self.reply(self.request(method, params))

    async def call(self, method: str, params: Any = None) -> Any:
        """Send a request and return its result."""
        response = await self.ask(method, params)
        assert "result" in response, response
        return response["result"]

    async def refusal(self, method: str, params: Any = None) -> int:
        """Send a request that must fail and return the code of its error."""
        response = await self.ask(method, params)
        assert "error" in response, response
        code: int = response["error"]["code"]
        return code

    async def requested(self, method: str, since: int = 0) -> Any:
        """Wait for a request of the other side's."""
        return await self.until(
            lambda message: message.get("method") == method and "id" in message, since
        )
