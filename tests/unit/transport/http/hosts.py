"""Agents of a few lines, which a test plays itself, and a clock that a test moves."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

from parley.errors import ConnectionClosed
from parley.rpc.framing import Frame
from parley.transport.base import Transport


class Clock:
    """Time passes when the test says so."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._timers: list[tuple[float, int, Timer]] = []
        self._numbers = itertools.count()

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[..., object], /, *args: Any) -> Timer:
        timer = Timer(callback, args)
        heapq.heappush(self._timers, (self._now + delay, next(self._numbers), timer))
        return timer

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everybody see it."""
        end = self._now + seconds
        await settle()
        while self._timers and self._timers[0][0] <= end:
            self._now, _, timer = heapq.heappop(self._timers)
            timer.run()
            await settle()
        self._now = end


class Timer:
    def __init__(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        self._callback = callback
        self._args = args
        self._is_cancelled = False

    def cancel(self) -> None:
        self._is_cancelled = True

    def run(self) -> None:
        if not self._is_cancelled:
            self._callback(*self._args)


async def settle() -> None:
    """Let everything happen that needs nothing but turns of the event loop."""
    for _ in range(20):
        await asyncio.sleep(0)


class Served:
    """One connection, from the agent's side."""

    def __init__(self, transport: Transport) -> None:
        self.transport: Any = transport
        self.inbox: asyncio.Queue[Any] = asyncio.Queue()
        self.lost: asyncio.Future[ConnectionClosed] = asyncio.get_running_loop().create_future()
        self.ends: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Set a result, or an exception, and `serve` ends with it."""
        self.raises: Exception | None = None
        """What taking a message fails with."""

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        if self.raises is not None:
            raise self.raises
        for frame in frames:
            message = json.loads(frame)
            if message.get("method") == "initialize":
                self.answer(message["id"], {"protocolVersion": 1})
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

    def answer(self, id: int | str | None, result: Any) -> None:
        self.send({"id": id, "result": result})

    def update(self, session: str, text: str) -> None:
        """Send an update, written as Parley's agents write it."""
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.send({"method": "session/update", "params": {"sessionId": session, "update": update}})


class Host:
    """Serves connections which the test then plays."""

    def __init__(self) -> None:
        self.served: list[Served] = []
        self.silent = False
        """Do not read anything."""

    async def serve(self, transport: Transport, /) -> None:
        served = Served(transport)
        self.served.append(served)
        if not self.silent:
            transport.start(served)
        await served.ends

    @property
    def last(self) -> Served:
        return self.served[-1]


def text_of(message: Any) -> str:
    """Return the text of an update."""
    return str(message["params"]["update"]["content"]["text"])


def request(id: int | str, method: str, session: str = "", **params: Any) -> dict[str, Any]:
    """Return a request."""
    fields = {"sessionId": session, **params} if session else params
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": fields}
