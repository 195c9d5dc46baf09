"""A version 1 agent that uses the client's files and terminals, with concurrent requests."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.unit.client.scripted_agent import Message, ScriptedAgent

from parley.client import Session, Workspace, WorkspaceOptions, connect
from parley.peer import Limits
from parley.policy import Policy
from parley.rpc._framing import Frame
from parley.transport import MemoryTransport, memory_pair

INITIALIZED: Message = {
    "protocolVersion": 1,
    "agentInfo": {"name": "far", "version": "1"},
    "agentCapabilities": {"sessionCapabilities": {"additionalDirectories": {}, "close": {}}},
}


class WorkspaceAgent(ScriptedAgent):
    """Sends requests to the client and waits for their responses."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.hello: Message = {}
        self._numbers = itertools.count(1)
        self._responses: dict[int, asyncio.Future[Message]] = {}
        super().__init__(transport)

    def frames_received(self, frames: Sequence[Frame]) -> None:
        for frame in frames:
            message = json.loads(bytes(frame))
            waiting = (
                self._responses.pop(message.get("id"), None) if "method" not in message else None
            )
            if waiting is None:
                self.received.put_nowait(message)
            elif not waiting.done():
                waiting.set_result(message)

    def ask(self, method: str, session: str = "s", /, **params: object) -> asyncio.Future[Message]:
        """Send a request and return a future for the whole response."""
        number = next(self._numbers)
        response = self._responses[number] = asyncio.get_running_loop().create_future()
        self.call(number, method, {"sessionId": session, **params})
        return response

    async def get(self, method: str, session: str = "s", /, **params: object) -> Message:
        """Send a request and return its result."""
        response = await self.ask(method, session, **params)
        assert "result" in response, response
        result: Message = response["result"]
        return result

    async def fail(self, method: str, session: str = "s", /, **params: object) -> tuple[int, str]:
        """Send a request that fails and return the error code and message."""
        response = await self.ask(method, session, **params)
        assert "error" in response, response
        return response["error"]["code"], response["error"]["message"]

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
        """Run a command to its end, release it, and return its output."""
        terminal = await self.run(command, *args, **more)
        await self.wait(terminal)
        output = await self.output(terminal)
        await self.get("terminal/release", terminalId=terminal)
        return output


async def new_session(
    session: Session, agent: WorkspaceAgent, id: str, cwd: Path, *further: Path
) -> Session:
    """Open another session."""
    opening = session.connection.new_session(cwd, additional_directories=further)
    task = asyncio.create_task(opening)
    await agent.open(id)
    return await task


@asynccontextmanager
async def workspace_connection(
    cwd: Path,
    *further: Path,
    workspace: Workspace | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    **options: Any,
) -> AsyncGenerator[tuple[WorkspaceAgent, Session], None]:
    """Connect a client, with a session in a directory, to a version 1 agent."""
    known: WorkspaceOptions = options  # type: ignore[assignment]
    local, transport = memory_pair()
    agent = WorkspaceAgent(transport)
    initialized = asyncio.create_task(agent.initialize(**INITIALIZED))
    offered = workspace or Workspace(**known)
    connected = connect(local, cwd, versions=(1,), workspace=offered, limits=limits, policy=policy)
    async with connected as connection:
        agent.hello = await initialized
        opening = connection.new_session(cwd, additional_directories=further)
        task = asyncio.create_task(opening)
        await agent.open()
        yield agent, await task
