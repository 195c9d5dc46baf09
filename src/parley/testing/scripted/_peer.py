"""A peer that follows a script and detects when the other side deviates from it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol, cast

import msgspec

from parley._interpreter import module_command
from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.transport import Transport

from ._steps import (
    Delay,
    Die,
    Exit,
    Expect,
    HangUp,
    Respond,
    RespondWithError,
    Send,
    SendBytes,
    Stderr,
    Step,
    matches,
    resolve_references,
)


class ScriptFailed(AssertionError):
    """Raised when the other side does not do what the script expects."""


class ScriptTransport(Protocol):
    """The connection that a script is played on."""

    async def read(self) -> bytes | None:
        """Return the next frame; None at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    async def hang_up(self) -> None:
        """Close the connection, or the part of it that can be closed."""
        ...

    async def end(self, step: Exit | Die) -> None:
        """End as a process would: by exiting, or by a signal."""
        ...


class ScriptedPeer:
    """A peer that plays a script, from the beginning for each connection.

    ```python
    peer = ScriptedPeer(
        Expect({"method": "initialize"}),
        RespondWithError({"code": -32603, "message": "Not today"}),
    )
    with pytest.raises(InternalError):
        async with parley.connect(peer):
            pass
    peer.check()
    ```

    In this process, use it like an agent, `parley.connect(peer)`, or pass one end of a
    `memory_pair` to `serve`. As a child process: `parley.connect(peer.command(path))`. After the
    last step it keeps reading until the other side closes. Then `check` raises the failure, if
    there was one, and `received` has the messages.
    """

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        """The script."""
        self.received: list[Any] = []
        """All messages from connections in this process: parsed, or bytes if not valid JSON."""
        self.failure: ScriptFailed | None = None
        """The first failure in this process."""

    async def serve(self, transport: Transport) -> None:
        """Play the script on a connection and return when the other side has closed it.

        Raises:
            ScriptFailed: The other side deviated from the script; the connection is closed.
        """
        try:
            await play(self.steps, _FrameScriptTransport(transport), self.received)
        except ScriptFailed as failure:
            self.failure = self.failure or failure
            raise
        finally:
            await transport.aclose()

    def command(self, path: str | Path) -> list[str]:
        """Write the script to a file and return the command that plays it on stdin and stdout.

        If the other side deviates from the script, the process reports it on stderr and exits with
        70.
        """
        Path(path).write_bytes(msgspec.json.format(msgspec.json.encode(self.steps)))
        return module_command("parley.testing.scripted", os.fspath(path))

    def check(self) -> None:
        """Raise the first failure, if there was one."""
        if self.failure is not None:
            raise self.failure


async def play(steps: Sequence[Step], transport: ScriptTransport, received: list[Any]) -> None:
    """Perform the steps in order, then read until the other side closes.

    Raises:
        ScriptFailed: The other side deviated from the script.
    """
    player = _Player(transport, received)
    try:
        for number, step in enumerate(steps, 1):
            player.position = f"step {number}"
            await player.do(step)
    except ConnectionClosed as closed:
        player.fail(f"the connection was closed: {closed}")
    while await player.read() is not None:
        pass


class _Player:
    """One run of a script."""

    def __init__(self, transport: ScriptTransport, received: list[Any]) -> None:
        self.position = ""
        self._transport = transport
        self._received = received
        self._remembered: dict[str, Any] = {}

    def fail(self, problem: str) -> NoReturn:
        raise ScriptFailed(f"{self.position}: {problem}")

    async def read(self) -> Any:
        frame = await self._transport.read()
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
            case Respond():
                await self._send(Send({"id": self._id(step.to), "result": step.result}))
            case RespondWithError():
                await self._send(Send({"id": self._id(step.to), "error": step.error}))
            case SendBytes():
                await self._transport.write(step.data)
            case Delay():
                await asyncio.sleep(step.seconds)
            case Stderr():
                sys.stderr.write(step.text + "\n")
                sys.stderr.flush()
            case HangUp():
                await self._transport.hang_up()
            case Exit() | Die():
                await self._transport.end(step)

    async def _expect(self, step: Expect) -> None:
        while (message := await self.read()) is not None:
            if matches(step.message, message):
                self._remembered[""] = self._remembered[step.name] = message
                return
            if not step.skips:
                self.fail(f"expected {_shorten(step.message)}, got {_shorten(message)}")
        self.fail(f"expected {_shorten(step.message)}, but the other side closed")

    async def _send(self, step: Send) -> None:
        try:
            message = resolve_references(step.message, self._remembered)
        except KeyError as missing:
            self.fail(f"no message or member matches the reference {missing}")
        if isinstance(message, dict):
            message = {"jsonrpc": "2.0", **cast(dict[str, Any], message)}
        data = msgspec.json.encode(message) + b"\n"
        size = step.piece_bytes or len(data)
        for _ in range(step.times):
            for start in range(0, len(data), size):
                await self._transport.write(data[start : start + size])

    def _id(self, name: str) -> Any:
        try:
            return resolve_references({"$from": f"{name}.id"}, self._remembered)
        except KeyError:
            self.fail("there is no request to respond to")


def _shorten(message: Any) -> str:
    text = repr(message) if isinstance(message, bytes) else json.dumps(message, ensure_ascii=False)
    return text if len(text) <= 300 else text[:299] + "…"


class _FrameScriptTransport:
    """A `ScriptTransport` on a transport: splits bytes into frames; every kind of end closes it."""

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
        if (drained := self._transport.drained()) is not None:
            await drained

    async def hang_up(self) -> None:
        await self._transport.aclose()

    async def end(self, step: Exit | Die) -> None:
        await self._transport.aclose()
