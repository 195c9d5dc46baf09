"""A peer that does what a script says, and notices what the other side does not."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

import msgspec

from parley.errors import ConnectionClosed
from parley.rpc.framing import Frame
from parley.transport import Transport

from .steps import (
    Answer,
    Delay,
    Die,
    Exit,
    Expect,
    HangUp,
    Refuse,
    Send,
    SendBytes,
    Stderr,
    Step,
    filled,
    matches,
)

__all__ = ["ScriptFailed", "ScriptedPeer", "Wire", "play"]


class ScriptFailed(AssertionError):
    """The other side did not do what the script expects."""


class Wire(Protocol):
    """What a script is played on."""

    async def read(self) -> bytes | None:
        """Return the next frame, None at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    async def hang_up(self) -> None:
        """Close what can be closed of the connection."""
        ...

    async def end(self, step: Exit | Die) -> None:
        """End as a program does."""
        ...


class ScriptedPeer:
    """Plays a script to whoever connects, from the beginning for each connection.

    In this process it is a target like an agent, `parley.connect(ScriptedPeer(…))`, or gets one end
    of a `memory_pair` by `serve`. As a process: `parley.connect(peer.command(path))`. After the
    last step it reads on until the other side closes.
    """

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        """The script."""
        self.received: list[Any] = []
        """What came, over all connections in this process: parsed, or bytes that are no JSON."""
        self.failure: ScriptFailed | None = None
        """What went wrong first, in this process."""

    async def serve(self, transport: Transport) -> None:
        """Play the script on a connection and return when it has ended.

        Raises:
            ScriptFailed: The other side did something else; the connection is closed.
        """
        wire = _TransportWire(transport)
        try:
            await play(self.steps, wire, self.received)
        except ScriptFailed as failure:
            self.failure = self.failure or failure
            raise
        finally:
            await transport.aclose()

    def command(self, path: str | Path) -> list[str]:
        """Write the script to a file and return the command that plays it on stdin and stdout.

        When the other side does something else, that process says so on stderr and exits with 70.
        """
        Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(self.steps)))
        return [sys.executable, "-m", "parley.testing.scripted", os.fspath(path)]

    def check(self) -> None:
        """Raise the failure if there was one."""
        if self.failure is not None:
            raise self.failure


async def play(steps: Sequence[Step], wire: Wire, received: list[Any]) -> None:
    """Do the steps in order, then read to the end.

    Raises:
        ScriptFailed: The other side did something else.
    """
    player = _Player(wire, received)
    try:
        for number, step in enumerate(steps, 1):
            player.place = f"step {number}"
            await player.do(step)
    except ConnectionClosed as closed:
        player.fail(f"the connection was closed: {closed}")
    while await player.read() is not None:
        pass


class _Player:
    """One run of a script."""

    def __init__(self, wire: Wire, received: list[Any]) -> None:
        self.place = ""
        self._wire = wire
        self._received = received
        self._remembered: dict[str, Any] = {}

    def fail(self, problem: str) -> NoReturn:
        raise ScriptFailed(f"{self.place}: {problem}")

    async def read(self) -> Any:
        frame = await self._wire.read()
        if frame is None:
            return None
        try:
            message = json.loads(frame)
        except ValueError:
            message = frame
        self._received.append(message)
        return message

    async def do(self, step: Step) -> None:
        match step:
            case Expect():
                await self._expect(step)
            case Send():
                await self._send(step)
            case Answer():
                await self._send(Send({"id": self._id(step.to), "result": step.result}))
            case Refuse():
                await self._send(Send({"id": self._id(step.to), "error": step.error}))
            case SendBytes():
                await self._wire.write(step.data)
            case Delay():
                await asyncio.sleep(step.seconds)
            case Stderr():
                sys.stderr.write(step.text + "\n")
                sys.stderr.flush()
            case HangUp():
                await self._wire.hang_up()
            case Exit() | Die():
                await self._wire.end(step)

    async def _expect(self, step: Expect) -> None:
        while (message := await self.read()) is not None:
            if matches(step.message, message):
                self._remembered[""] = self._remembered[step.name] = message
                return
            if not step.skips:
                self.fail(f"expected {_shown(step.message)}, got {_shown(message)}")
        self.fail(f"expected {_shown(step.message)}, but the other side closed")

    async def _send(self, step: Send) -> None:
        try:
            message = filled(step.message, self._remembered)
        except KeyError as missing:
            self.fail(f"nothing is known of {missing}")
        if isinstance(message, dict):
            message = {"jsonrpc": "2.0", **cast(dict[str, Any], message)}
        data = msgspec.json.encode(message) + b"\n"
        size = step.piece_bytes or len(data)
        for _ in range(step.times):
            for start in range(0, len(data), size):
                await self._wire.write(data[start : start + size])

    def _id(self, name: str) -> Any:
        try:
            return filled({"$from": f"{name}.id"}, self._remembered)
        except KeyError:
            self.fail("there is no request to answer")


def _shown(message: Any) -> str:
    text = repr(message) if isinstance(message, bytes) else json.dumps(message, ensure_ascii=False)
    return text if len(text) <= 300 else text[:299] + "…"


class _TransportWire:
    """Plays on a transport: bytes are cut into frames, and closing is all there is."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._unfinished = b""
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._is_over = False
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            self._frames.put_nowait(bytes(frame))

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self._frames.put_nowait(None)

    async def read(self) -> bytes | None:
        if self._is_over:
            return None
        frame = await self._frames.get()
        self._is_over = frame is None
        return frame

    async def write(self, data: bytes) -> None:
        *frames, self._unfinished = (self._unfinished + data).split(b"\n")
        for frame in frames:
            self._transport.send(frame)
        if (room := self._transport.drained()) is not None:
            await room

    async def hang_up(self) -> None:
        await self._transport.aclose()

    async def end(self, step: Exit | Die) -> None:
        await self._transport.aclose()
