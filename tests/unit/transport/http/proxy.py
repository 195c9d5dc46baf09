"""A TCP proxy that does what networks do: cuts connections, stalls, and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any

__all__ = ["Proxy"]


class Proxy:
    """Passes bytes on to a server on this machine, as long as it is told to."""

    def __init__(self, port: int) -> None:
        self._target = port
        self.port = 0
        """Where it listens."""
        self.passed_bytes = 0
        """How much the server has sent through it."""
        self.connections = 0
        """How many there have been."""
        self._cut_at: int | None = None
        self._is_down = False
        self._is_mute = False
        self._mute_at: tuple[bytes, ...] | None = None
        self._mute: set[asyncio.StreamWriter] = set()
        self._swallowed = b""
        self._swallows = asyncio.Event()
        self._has_frozen = asyncio.Event()
        self._frozen: set[asyncio.StreamWriter] = set()
        self._thaw = asyncio.Event()
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        self._open |= self._frozen
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """End all connections in the middle of whatever they carry."""
        self._is_mute = False
        for writer in list(self._open):
            writer.transport.abort()

    def cut_after(self, size: int) -> None:
        """End the connection on which the server will have sent so many bytes more, just there."""
        self._cut_at = self.passed_bytes + size

    def go_down(self) -> None:
        """End all connections and let nobody in."""
        self._is_down = True
        self.cut()

    def come_back(self) -> None:
        """Let them in again."""
        self._is_down = False

    def freeze(self) -> None:
        """Pass nothing on any more, on the connections that are open, and do not tell."""
        self._frozen |= self._open
        self._open.clear()

    def bury(self) -> None:
        """End the connections that were frozen."""
        thaw, self._thaw = self._thaw, asyncio.Event()
        thaw.set()
        for writer in self._frozen:
            writer.transport.abort()
        self._frozen.clear()

    def freeze_responses(self, to: tuple[bytes, ...] | None = None) -> None:
        """Pass nothing on any more of what the server says, until the connections are cut.

        Args:
            to: Only on the connection on which a client next says all of this at once, in lower
                case; None: on all, from now on.
        """
        self._swallowed = b""
        self._mute_at = to
        self._is_mute = to is None
        self._has_frozen.clear()

    async def frozen(self) -> None:
        """Wait until the client has said what `freeze_responses` waits for."""
        await self._has_frozen.wait()

    async def swallowed(self, words: bytes) -> None:
        """Wait until the server has said something that was not passed on."""
        while words not in self._swallowed:
            self._swallows.clear()
            await self._swallows.wait()

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_down:
            writer.transport.abort()
            return
        self.connections += 1
        self._open.add(writer)
        self._run(self._connected(reader, writer))

    def _run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, forth = await asyncio.open_connection("127.0.0.1", self._target)
        except BaseException as error:  # also when cancelled: nobody else knows of the connection
            self._open.discard(writer)
            writer.transport.abort()
            if isinstance(error, OSError):
                return
            raise
        both = {writer, forth}
        if writer.is_closing():  # it was cut meanwhile
            self._open -= both
            forth.transport.abort()
            return
        (self._open if writer in self._open else self._frozen).update(both)
        self._run(self._pass_on(reader, forth, both, counts=False))
        self._run(self._pass_on(back, writer, both, counts=True))

    def _is_cut_within(self, data: bytes) -> bool:
        return self._cut_at is not None and self._cut_at < self.passed_bytes + len(data)

    def _is_swallowed(
        self, data: bytes, both: set[asyncio.StreamWriter], *, is_response: bool
    ) -> bool:
        if not is_response:
            if self._mute_at and all(each in data.lower() for each in self._mute_at):
                self._mute_at, self._mute = None, both
                self._has_frozen.set()
            return False
        if not self._is_mute and both != self._mute:
            return False
        self._swallowed += data
        self._swallows.set()
        return True

    async def _pass_on(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        both: set[asyncio.StreamWriter],
        *,
        counts: bool,
    ) -> None:
        try:
            while data := await source.read(65536):
                if not both & self._open:
                    await self._thaw.wait()
                    return
                if self._is_swallowed(data, both, is_response=counts):
                    continue
                is_cut = counts and self._is_cut_within(data)
                if is_cut and self._cut_at is not None:
                    data = data[: self._cut_at - self.passed_bytes]
                    self._cut_at = None
                if counts:
                    self.passed_bytes += len(data)
                if sink.is_closing():  # it was cut
                    return
                sink.write(data)
                await sink.drain()
                if is_cut:
                    return
        except OSError:
            pass
        finally:
            self._open -= both
            for writer in both:
                writer.close()
