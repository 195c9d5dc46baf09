"""An agent of version 1 that asks a client for files and terminals, several things at once."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from parley.client import Session, Workspace, WorkspaceOptions, connect
from parley.rpc.framing import Frame
from parley.transport import MemoryTransport, memory_pair

from .far import FarAgent, Message

INITIALIZED: Message = {
    "protocolVersion": 1,
    "agentInfo": {"name": "far", "version": "1"},
    "agentCapabilities": {"sessionCapabilities": {"additionalDirectories": {}, "close": {}}},
}


class Borrower(FarAgent):
    """Asks, and waits for the answer to what it asked."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.hello: Message = {}
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Message]] = {}
        super().__init__(transport)

    def frames_received(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            message = json.loads(bytes(frame))
            waiting = (
                self._answers.pop(message.get("id"), None) if "method" not in message else None
            )
            if waiting is None:
                self.received.put_nowait(message)
            elif not waiting.done():
                waiting.set_result(message)

    def ask(self, method: str, session: str = "s", /, **params: object) -> asyncio.Future[Message]:
        """Ask the client; what this returns is the whole answer."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self.call(number, method, {"sessionId": session, **params})
        return answer

    async def get(self, method: str, session: str = "s", /, **params: object) -> Message:
        """Ask the client and return the result."""
        answer = await self.ask(method, session, **params)
        assert "result" in answer, answer
        result: Message = answer["result"]
        return result

    async def fail(self, method: str, session: str = "s", /, **params: object) -> tuple[int, str]:
        """Ask for something that is refused; returns the code and the sentence."""
        answer = await self.ask(method, session, **params)
        assert "error" in answer, answer
        return answer["error"]["code"], answer["error"]["message"]

    async def read(self, path: Path | str, **more: object) -> str:
        text: str = (await self.get("fs/read_text_file", path=str(path), **more))["content"]
        return text

    async def write(self, path: Path | str, content: str) -> None:
        assert await self.get("fs/write_text_file", path=str(path), content=content) == {}

    async def run(self, command: str, *args: str, **more: object) -> str:
        """Start a command and return the id of its terminal."""
        created = await self.get("terminal/create", command=command, args=args, **more)
        id: str = created["terminalId"]
        return id

    async def output(self, terminal: str) -> Message:
        return await self.get("terminal/output", terminalId=terminal)

    async def wait(self, terminal: str) -> Message:
        return await self.get("terminal/wait_for_exit", terminalId=terminal)

    async def finished(self, command: str, *args: str, **more: object) -> Message:
        """Run a command to its end, release it, and return what it has written."""
        terminal = await self.run(command, *args, **more)
        await self.wait(terminal)
        output = await self.output(terminal)
        await self.get("terminal/release", terminalId=terminal)
        return output


async def begun(session: Session, agent: Borrower, id: str, cwd: Path, *further: Path) -> Session:
    """Begin a further session."""
    opening = session.connection.new_session(cwd, additional_directories=further)
    task = asyncio.create_task(opening)
    await agent.open(id)
    return await task


@asynccontextmanager
async def lent(
    cwd: Path, *further: Path, workspace: Workspace | None = None, **options: Any
) -> AsyncGenerator[tuple[Borrower, Session], None]:
    """Join a client, with a session in a directory, and an agent of version 1."""
    known: WorkspaceOptions = options  # type: ignore[assignment]
    near, transport = memory_pair()
    agent = Borrower(transport)
    initialized = asyncio.create_task(agent.initialize(**INITIALIZED))
    lending = workspace or Workspace(**known)
    async with connect(near, cwd, versions=(1,), workspace=lending) as connection:
        agent.hello = await initialized
        opening = connection.new_session(cwd, additional_directories=further)
        task = asyncio.create_task(opening)
        await agent.open()
        yield agent, await task
