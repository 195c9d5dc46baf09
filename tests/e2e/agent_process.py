"""`agent.py` as a child, spoken to in bytes; what it writes is read all the time, unless told."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

AGENT = str(Path(__file__).with_name("agent.py"))


class AgentProcess:
    """Writes bytes to the agent, reads its lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.pid = process.pid
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.stderr = process.stderr

    async def write(self, data: bytes) -> None:
        self.stdin.write(data)
        await self.stdin.drain()

    async def next(self) -> Any:
        return json.loads(await self.stdout.readline())

    async def until(self, id: Any) -> list[Any]:
        """Return everything up to the answer to this request, which is the last one."""
        answers = [await self.next()]
        while isinstance(answers[-1], list) or answers[-1].get("id") != id:
            answers.append(await self.next())
        return answers

    async def is_alive(self) -> list[Any]:
        """Check that it answers; return what it has written before."""
        await self.write(b'{"jsonrpc":"2.0","id":"alive","method":"_test/echo","params":[1]}\n')
        *before, answer = await self.until("alive")
        assert answer["result"] == [1]
        return before

    @property
    def memory_bytes(self) -> int:
        """How much memory it has now; Linux only."""
        return self._status("VmRSS")

    @property
    def peak_bytes(self) -> int:
        """How much memory it has had at most; Linux only."""
        return self._status("VmHWM")

    def _status(self, name: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


@asynccontextmanager
async def running_agent(*arguments: str) -> AsyncGenerator[AgentProcess, None]:
    """Run the agent; at the end it must exit well when its stdin ends."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, AGENT, *arguments)
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 20
    )
    try:
        agent = AgentProcess(process)
        yield agent
        agent.stdin.close()
        await asyncio.gather(agent.stdout.read(), agent.stderr.read())
        assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
