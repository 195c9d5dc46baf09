"""Servers over ACP as MCP servers that an agent starts, for agents that do nothing else.

What the agent starts is `_shim.py`, which connects to the port that is listened on here, says the
token and passes bytes on, both ways. Each one that runs is one MCP client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Raw

from parley._interpreter import script_command
from parley.schema.base import JsonObject

from . import _shim
from ._channels import Id, McpChannels
from ._endpoint import (
    MAX_BYTES,
    MAX_WAITING,
    TOKEN_CHARS,
    Endpoint,
    decode_message,
    encode_message,
    logger,
)

_TOKEN_SECONDS = 10.0


class StdioListener:
    """A port on loopback for the shims of a bridge."""

    def __init__(self, channels: McpChannels, endpoints: Mapping[str, Endpoint]) -> None:
        self._channels = channels
        self._endpoints = endpoints
        self._server: asyncio.Server | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Begin to listen."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=MAX_BYTES)

    def declaration(self, endpoint: Endpoint) -> dict[str, Raw]:
        """Return the declaration of an endpoint for an agent."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()
        variables = {_shim.ADDRESS: f"{host}:{port}", _shim.TOKEN: endpoint.token}
        program, *arguments = script_command(Path(_shim.__file__).resolve())
        values: JsonObject = {
            "command": program,
            "args": arguments,
            "env": [{"name": name, "value": value} for name, value in variables.items()],
        }
        return {name: Raw(encode_message(value)) for name, value in values.items()}

    async def aclose(self) -> None:
        """Stop, and end what is left."""
        if self._server is not None:
            self._server.close()
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            endpoint = await self._let_in(reader)
            if endpoint is not None:
                await self._converse(endpoint, reader, writer)
        except asyncio.CancelledError:
            pass  # a cancelled task of a stream server is reported as a failure
        finally:
            self._running.discard(task)
            writer.close()

    async def _let_in(self, reader: asyncio.StreamReader) -> Endpoint | None:
        """Return what the token opens."""
        received = b""
        try:
            async with asyncio.timeout(_TOKEN_SECONDS):
                while not received.endswith(b"\n") and len(received) <= TOKEN_CHARS:
                    received += await reader.readexactly(1)
        except (TimeoutError, EOFError, OSError):
            return None
        token = received.decode("latin-1").strip()
        return next((each for each in self._endpoints.values() if each.fits(token)), None)

    async def _converse(
        self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        waiting: asyncio.Queue[JsonObject] = asyncio.Queue()

        def deliver(message: JsonObject, about: Id | None) -> None:
            if waiting.qsize() >= MAX_WAITING and "method" in message:
                logger.warning("an MCP client does not read: a message to it is lost")
            else:
                waiting.put_nowait(message)

        async def hang_up() -> None:
            writer.close()

        channel = self._channels.open(endpoint.server_id, deliver)
        endpoint.hang_up.add(hang_up)
        writing = asyncio.create_task(_write(waiting, writer))
        try:
            with suppress(ValueError, OSError):  # a message beyond the bound, or the shim is gone
                while data := await reader.readline():
                    message = decode_message(data)
                    if message is not None:
                        channel.receive(message)
                    await asyncio.sleep(0)  # fairness: many lines may arrive at once
                    if waiting.qsize() >= MAX_WAITING:  # who does not read is not read
                        await waiting.join()
        finally:
            endpoint.hang_up.discard(hang_up)
            writing.cancel()
            await channel.aclose()


async def _write(waiting: asyncio.Queue[JsonObject], writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while True:
            writer.write(encode_message(await waiting.get()) + b"\n")
            await writer.drain()
            waiting.task_done()
