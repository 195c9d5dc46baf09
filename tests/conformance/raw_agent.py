"""An agent without Parley, for testing Parley's clients; a test sets its responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import parley.client
from parley.client import Connection, Session
from parley.transport._base import Transport

from .raw_connection import RawConnection
from .wire_values import text, update

INFO = {"name": "raw", "version": "1"}
FULL: dict[int, dict[str, Any]] = {
    1: {
        "loadSession": True,
        "sessionCapabilities": {
            name: {}
            for name in ("list", "delete", "resume", "close", "fork", "additionalDirectories")
        },
    },
    2: {"session": {"delete": {}, "fork": {}, "additionalDirectories": {}}},
}
Scene = Callable[["RawAgent"], Awaitable[None]]


class RawAgent(RawConnection):
    """An agent with one session, `s`; `scene` defines what happens in a turn."""

    def __init__(self, version: int, capabilities: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.version = version
        self.scene: Scene | None = None
        """What happens in a turn; without one it ends at once."""
        self.stop_reason = "end_turn"
        self.tasks: set[asyncio.Task[None]] = set()
        key = "agentInfo" if version == 1 else "info"
        offers = "agentCapabilities" if version == 1 else "capabilities"
        offered = FULL[version] if capabilities is None else dict(capabilities)
        self.hello: dict[str, Any] = {"protocolVersion": version, key: INFO, offers: offered}
        self.answers = {
            "initialize": lambda params: self.hello,
            "session/new": lambda params: {"sessionId": "s"},
            "session/close": lambda params: {},
            "session/list": lambda params: {"sessions": []},
            "session/load": lambda params: {},
            "session/resume": lambda params: {},
        }

    async def serve(self, transport: Transport) -> None:
        """Serve one client until it goes."""
        self.start(transport)
        await self.closed
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def received(self, message: Any) -> None:
        if message.get("method") == "session/prompt":
            task = asyncio.create_task(self._prompt(message))
            self.tasks.add(task)

    async def _prompt(self, message: Any) -> None:
        session = message["params"]["sessionId"]
        if self.version == 2:
            self.send(id=message["id"], result={"messageId": "u"})
            content = message["params"]["prompt"]
            self.send_updates(
                update("user_message", messageId="u", content=content),
                update("state_update", state="running"),
                session=session,
            )
        if self.scene is not None:
            await self.scene(self)
        if self.version == 2:
            idle = update("state_update", state="idle", stopReason=self.stop_reason)
            self.send_updates(idle, session=session)
        else:
            self.send(id=message["id"], result={"stopReason": self.stop_reason})

    def send_updates(self, *updates: Any, session: str = "s") -> None:
        """Send updates."""
        for each in updates:
            params = {"sessionId": session, "update": each}
            self.send(method="session/update", params=params)

    def say(self, words: str, id: str = "m") -> None:
        """Send a piece of a message."""
        self.send_updates(update("agent_message_chunk", messageId=id, content=text(words)))

    def got(self, *methods: str) -> list[Any]:
        """Return the params of messages that came, by method."""
        return [each["params"] for each in self.log if each.get("method") in methods]

    @property
    def methods(self) -> list[str]:
        """The methods of all requests and notifications that came, in order."""
        return [each["method"] for each in self.log if "method" in each]


@asynccontextmanager
async def connected(agent: RawAgent, **options: Any) -> AsyncGenerator[Connection, None]:
    """Connect a client of Parley's to it."""
    async with parley.client.connect(agent, cwd="/", **options) as connection:
        assert connection.version == agent.version
        yield connection


@asynccontextmanager
async def opened(agent: RawAgent, **options: Any) -> AsyncGenerator[Session, None]:
    """Connect a client of Parley's to it and begin a session."""
    async with connected(agent, **options) as connection:
        yield await connection.new_session()
