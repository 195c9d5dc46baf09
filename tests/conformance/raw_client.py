"""A client without Parley: sends messages to a scripted agent and records what it receives."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent
from parley.proxy import Conductor, Proxy
from parley.transport import ProcessTransport, memory_pair
from parley.transport._base import Transport

from .raw_connection import RawConnection
from .scripted_agents import AGENTS

PROGRAM = str(Path(__file__).with_name("scripted_agents.py"))
VERSIONS = (1, 2)
in_both_versions = pytest.mark.parametrize("version", VERSIONS)
everywhere = pytest.mark.parametrize(
    ("version", "over"), [(v, over) for over in ("memory", "stdio", "chain") for v in VERSIONS]
)
"""Run a test in both versions: in memory, with a real process, and through a conductor.

The transports have tests of their own, so one test for each page of the specification is enough.
"""
in_process = pytest.mark.parametrize(
    ("version", "over"), [(v, over) for over in ("memory", "chain") for v in VERSIONS]
)
"""Run a test in both versions, in memory and through a conductor."""

INFO = {"name": "raw", "version": "1"}
TEXT = {"type": "text", "text": "hi"}
FULL: Any = {"elicitation": {"form": {}, "url": {}}}


class RawClient(RawConnection):
    """A client of one agent."""

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self.version = 0
        self.start(transport)

    async def initialize(self, version: int, capabilities: Mapping[str, Any] | None = None) -> Any:
        """Initialize the connection."""
        self.version = version
        offered = dict(capabilities or {})
        if version == 1:
            body = {"clientInfo": INFO, "clientCapabilities": offered}
        else:
            body = {"info": INFO, "capabilities": offered}
        return await self.call("initialize", {"protocolVersion": version, **body})

    async def new_session(self, cwd: str = "/project", **more: Any) -> str:
        """Begin a session and return its id."""
        result = await self.call("session/new", {"cwd": cwd, "mcpServers": [], **more})
        id: str = result["sessionId"]
        return id

    def prompt(self, session_id: str, text: str, *blocks: Any, **more: Any) -> int:
        """Send a prompt and return the id of the request."""
        content = [{"type": "text", "text": text}, *blocks]
        return self.request("session/prompt", {"sessionId": session_id, "prompt": content, **more})

    async def turn(self, session_id: str, text: str, *blocks: Any, **more: Any) -> RawTurn:
        """Prompt and wait for the end of the turn."""
        since = len(self.log)
        return await self.ended(session_id, self.prompt(session_id, text, *blocks, **more), since)

    async def ended(self, session_id: str, id: int, since: int) -> RawTurn:
        """Wait for the end of a turn."""
        response = await self.reply(id)
        if self.version == 2 and "result" in response:
            end = await self.place(lambda message: is_idle(message, session_id), since)
        else:
            end = await self.place(lambda message: message is response, since)
        return RawTurn(self.version, session_id, response, self.log[since : end + 1])

    def cancel(self, session_id: str) -> None:
        """Cancel the turn of a session."""
        self.send(method="session/cancel", params={"sessionId": session_id})

    def updates(self, session_id: str, since: int = 0) -> list[Any]:
        """Return the updates of a session, in order."""
        return [
            message["params"]["update"]
            for message in self.log[since:]
            if message.get("method") == "session/update"
            and message["params"]["sessionId"] == session_id
        ]

    async def saw(self, session_id: str, since: int = 0, **fields: Any) -> Any:
        """Wait for an update that has these fields."""

        def found(message: Any) -> bool:
            if message.get("method") != "session/update":
                return False
            params = message["params"]
            known = params["update"]
            return bool(params["sessionId"] == session_id and fields.items() <= known.items())

        return (await self.until(found, since))["params"]["update"]


class RawTurn:
    """The messages between a prompt and the end of its turn."""

    def __init__(self, version: int, session_id: str, response: Any, messages: list[Any]) -> None:
        self.response = response
        """The response to the prompt."""
        self.messages = messages
        self.updates: list[Any] = [
            message["params"]["update"]
            for message in messages
            if message.get("method") == "session/update"
            and message["params"]["sessionId"] == session_id
        ]
        end = (
            self.updates[-1]
            if version == 2 and "result" in response
            else response.get("result", {})
        )
        self.stop_reason: str | None = end.get("stopReason")
        self.error: Any = response.get("error", end.get("error"))

    def of(self, *kinds: str) -> list[Any]:
        """Return the updates of some kinds."""
        return [each for each in self.updates if each["sessionUpdate"] in kinds]

    @property
    def text(self) -> str:
        """The text of the agent's messages."""
        return "".join(each["content"]["text"] for each in self.of("agent_message_chunk"))


def is_idle(message: Any, session_id: str) -> bool:
    """Whether a message says that a session is idle."""
    if message.get("method") != "session/update":
        return False
    params = message["params"]
    return bool(params["sessionId"] == session_id and params["update"].get("state") == "idle")


@asynccontextmanager
async def talking(name: str = "full", over: str = "memory") -> AsyncGenerator[RawClient, None]:
    """Connect to a scripted agent: in memory, as a process, or as the end of a chain."""
    if over == "stdio":
        process = await ProcessTransport.spawn([sys.executable, PROGRAM, name])
        try:
            yield RawClient(process)
        finally:
            await process.aclose()
        return
    agent: Agent | Conductor = AGENTS[name]()
    if over == "chain":
        agent = Conductor(Proxy("first"), Proxy("second"), agent=agent)
    async with talking_to(agent) as client:
        yield client


@asynccontextmanager
async def talking_to(agent: Agent | Conductor) -> AsyncGenerator[RawClient, None]:
    """Reach an agent of this process."""
    here, there = memory_pair()
    serving = asyncio.create_task(agent.serve(there))
    try:
        yield RawClient(here)
    finally:
        await here.aclose()
        await serving


@asynccontextmanager
async def initialized(
    version: int,
    over: str = "memory",
    name: str = "full",
    capabilities: Mapping[str, Any] | None = None,
) -> AsyncGenerator[RawClient, None]:
    """Connect to a scripted agent and initialize the connection."""
    async with talking(name, over) as client:
        await client.initialize(version, capabilities)
        yield client
