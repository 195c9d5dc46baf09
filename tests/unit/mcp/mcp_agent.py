"""An agent with MCP clients, joined with one of Parley's clients."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parley import Agent
from parley.agent import AgentSession, Turn
from parley.client import Connection
from parley.errors import McpCallFailed
from parley.mcp._clients import McpClients
from parley.schema import v2
from parley.testing import pair

__all__ = ["HANGING", "MISSING", "McpAgent", "both_versions", "mcp_agent", "stdio", "whoami"]

PYTHON = sys.executable
SERVER = str(Path(__file__).with_name("stdio_server.py"))
MISSING = v2.McpServerStdio(name="missing", command="/nowhere/at/all")
HANGING = v2.McpServerStdio(
    name="hanging", command=PYTHON, args=["-c", "import sys; sys.stdin.read()"]
)

both_versions = pytest.mark.parametrize("version", [1, 2])


def stdio(name: str = "desk", **env: str) -> v2.McpServerStdio:
    variables = [v2.EnvVariable(name=key, value=value) for key, value in env.items()]
    return v2.McpServerStdio(name=name, command=PYTHON, args=[SERVER, name], env=variables)


class McpAgent:
    """An agent that does in its turns what the test says, and keeps its sessions."""

    def __init__(self) -> None:
        self.agent = Agent("worker", mcp=True)
        self.sessions: list[AgentSession] = []
        self.agent.open_session(self._open)
        self.agent.prompt(self._reply)
        self._work: Callable[[McpClients], Awaitable[Any]] | None = None
        self._outcome: asyncio.Future[Any] | None = None

    async def _open(self, session: AgentSession) -> None:
        self.sessions.append(session)

    async def _reply(self, turn: Turn) -> None:
        assert self._work is not None
        assert self._outcome is not None
        try:
            self._outcome.set_result(await self._work(turn.session.mcp))
        except (McpCallFailed, KeyError) as error:
            self._outcome.set_exception(error)

    async def do(self, session: Any, work: Callable[[McpClients], Awaitable[Any]]) -> Any:
        """Have something done in a turn of a session."""
        self._work, self._outcome = work, asyncio.get_running_loop().create_future()
        await session.prompt("go")
        return await self._outcome


@asynccontextmanager
async def mcp_agent(cwd: Path, version: int = 2) -> AsyncGenerator[tuple[McpAgent, Connection]]:
    worker = McpAgent()
    async with pair(worker.agent, cwd, versions=(version,)) as client:
        yield worker, client


async def whoami(mcp: McpClients) -> Any:
    return (await mcp.call_tool("whoami")).structured_content
