"""Processes to talk with in bytes: Parley's agent as a child, and children that Parley talks to."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

AGENT = str(Path(__file__).with_name("stdio_agent.py"))
LIMIT = 64 * 1024 * 1024


class RawProcess:
    """The client of a child, without Parley: writes bytes, reads lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.stdin = process.stdin
        self._stdout = process.stdout
        self._stderr = asyncio.create_task(process.stderr.read())

    async def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        self.stdin.write(data)
        await self.stdin.drain()

    async def send(self, message: Any) -> None:
        """Write a message, or whatever else is JSON, on a line."""
        await self.write(json.dumps(message).encode() + b"\n")

    async def line(self) -> bytes:
        """Return the next line that it wrote, with its end."""
        return await self._stdout.readline()

    async def next(self) -> Any:
        """Return the next line, parsed as strictly as UTF-8 and JSON are."""
        line = await self.line()
        assert line.endswith(b"\n")
        return json.loads(line.decode("utf-8", "strict"))

    async def ask(self, method: str, params: Any = None, id: Any = 1) -> Any:
        """Send a request and return the next line, which must be its response."""
        await self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        reply = await self.next()
        assert (reply["jsonrpc"], reply["id"], "method" in reply) == ("2.0", id, False)
        return reply

    async def is_alive(self) -> None:
        """Check that it responds, and that it has written nothing else before."""
        assert (await self.ask("_test/echo", {"a": [1]}, "alive"))["result"] == {"a": [1]}

    async def end(self) -> tuple[bytes, str]:
        """Close its stdin and wait for its exit; return what it wrote last, and to stderr."""
        self.stdin.close()
        rest = await self._stdout.read()
        stderr = (await self._stderr).decode("utf-8", "strict")
        await self.process.wait()
        return rest, stderr


@asynccontextmanager
async def agent_process(version: int) -> AsyncGenerator[RawProcess, None]:
    """Run Parley's agent; it must have ended well at the end."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, AGENT, str(version)), stdin=pipe, stdout=pipe, stderr=pipe, limit=LIMIT
    )
    try:
        raw = RawProcess(process)
        yield raw
        rest, stderr = await raw.end()
        assert (rest, process.returncode) == (b"", 0), stderr
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def child(program: str, *arguments: str) -> list[str]:
    """Return the command of a small program; it has `read`, `write` and `say` for its lines."""
    return [sys.executable, "-S", "-c", _PRELUDE + program, *arguments]


_PRELUDE = """
import json, os, signal, sys, time

def read():
    line = sys.stdin.buffer.readline()
    return json.loads(line) if line else None

def write(data, fd=1):
    while data:
        data = data[os.write(fd, data):]

def say(**members):
    write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\\n")

"""
