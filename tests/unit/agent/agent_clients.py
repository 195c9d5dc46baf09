"""Clients for tests of agents: one with version 2 types, and one that sends raw messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

from parley.agent import Agent, AgentFeatures, ClientFeatures, Turn
from parley.errors import ConnectionClosed
from parley.peer import Peer, RequestHandler, TypedHandler
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.schema.v2 import methods
from parley.session._adapter import ClientAdapter, HandlerTable, open_client_adapter
from parley.transport import memory_pair
from parley.transport._memory import MemoryTransport

Message: TypeAlias = dict[str, Any]
U = TypeVar("U")

INFO = v2.Implementation(name="test", version="1")


class Client:
    """A client that keeps the updates that it receives until the test looks at them."""

    def __init__(self, adapter: ClientAdapter, updates: asyncio.Queue[Any]) -> None:
        self.adapter = adapter
        self.updates: asyncio.Queue[v2.UpdateSessionNotification] = updates
        self.request = adapter.request

    async def new(self, cwd: str = "/project", **fields: Any) -> str:
        """Open a session and return its id."""
        params = v2.NewSessionRequest(cwd=cwd, **fields)
        return (await self.request(methods.NEW_SESSION, params)).session_id

    async def prompt(self, session: str, text: str = "go", **fields: Any) -> v2.PromptResponse:
        """Send a prompt and return its response."""
        params = v2.PromptRequest(session_id=session, prompt=[text_block(text)], **fields)
        return await self.request(methods.PROMPT, params)

    async def cancel(self, session: str) -> None:
        """Cancel the turns of a session."""
        params = v2.CancelSessionNotification(session_id=session)
        await self.adapter.notify(methods.CANCEL_SESSION, params)

    async def resume(
        self, session: str, *, replays: bool = False, cwd: str = "/project", **fields: Any
    ) -> v2.ResumeSessionResponse:
        """Resume a session."""
        replay_from = v2.ReplayFromStart() if replays else None
        params = v2.ResumeSessionRequest(
            session_id=session, cwd=cwd, replay_from=replay_from, **fields
        )
        return await self.request(methods.RESUME_SESSION, params)

    async def close(self, session: str) -> None:
        """Close a session."""
        params = v2.CloseSessionRequest(session_id=session)
        await self.request(methods.CLOSE_SESSION, params)

    async def next(self) -> v2.SessionUpdate:
        """Return the next update."""
        return (await self.updates.get()).update

    async def until(self, kind: type[U]) -> U:
        """Skip updates until one of this type; return it."""
        while not isinstance(update := await self.next(), kind):
            pass
        return update

    async def until_idle(self) -> list[v2.SessionUpdate]:
        """Return the updates up to the end of a turn."""
        updates: list[v2.SessionUpdate] = []
        while not updates or not is_idle(updates[-1]):
            updates.append(await self.next())
        return updates

    async def turn(self, session: str, text: str = "go") -> list[v2.SessionUpdate]:
        """Send a prompt and return the updates of its turn."""
        await self.prompt(session, text)
        return await self.until_idle()

    def unread(self) -> list[v2.SessionUpdate]:
        """Return the updates that were received and not looked at yet."""
        return [self.updates.get_nowait().update for _ in range(self.updates.qsize())]


def is_idle(update: v2.SessionUpdate) -> bool:
    return isinstance(update, v2.StateUpdated) and update.state == "idle"


def text_block(text: str) -> v2.TextContent:
    return v2.TextContent(text=text)


def stop_reason(updates: Sequence[v2.SessionUpdate]) -> str | None:
    last = updates[-1]
    assert isinstance(last, v2.StateUpdated)
    assert last.state == "idle"
    return last.stop_reason


def texts(updates: Sequence[v2.SessionUpdate]) -> list[str]:
    """Return the text of each message chunk."""
    chunks = [each for each in updates if isinstance(each, v2.AgentMessageChunk)]
    return [each.content.text for each in chunks if isinstance(each.content, v2.TextContent)]


def states(updates: Sequence[v2.SessionUpdate]) -> list[str]:
    return [str(each.state) for each in updates if isinstance(each, v2.StateUpdated)]


def counting_agent(features: AgentFeatures | None = None, **options: Any) -> Agent:
    """Return an agent that counts the prompts of each session in the session's data."""
    agent = Agent("counter", features=features, **options)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        count = turn.session.data.setdefault("count", 0) + 1
        turn.session.data["count"] = count
        await turn.say(f"{count}: {turn.text}")

    return agent


async def list_session_ids(client: Client, **filters: Any) -> list[str]:
    response = await client.request(methods.LIST_SESSIONS, v2.ListSessionsRequest(**filters))
    return [session.session_id for session in response.sessions]


@asynccontextmanager
async def connected_client(
    agent: Agent,
    *,
    requests: Mapping[str, RequestHandler | TypedHandler] | None = None,
    features: ClientFeatures | None = None,
    version: int = 2,
) -> AsyncGenerator[Client, None]:
    """Serve an agent to a client until the end of the block."""
    client_end, agent_end = memory_pair()
    serving = asyncio.create_task(agent.serve(agent_end))
    updates: asyncio.Queue[Any] = asyncio.Queue()
    program = HandlerTable(
        requests=requests or {}, notifications={methods.UPDATE_SESSION.name: updates.put_nowait}
    )
    async with Peer(client_end, "client") as peer:
        adapter = await open_client_adapter(
            peer,
            info=INFO,
            features=features or ClientFeatures(),
            program=program,
            versions=(version,),
        )
        yield Client(adapter, updates)
    await serving


class RawClient:
    """A client that sends raw messages and collects those that it receives."""

    def __init__(self, transport: MemoryTransport) -> None:
        self.transport = transport
        self.received: asyncio.Queue[Message] = asyncio.Queue()
        self._last_id = 0
        transport.start(self)

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            self.received.put_nowait(json.loads(frame))

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.received.put_nowait({"lost": str(reason)})

    async def receive(self) -> Message:
        """Return the agent's next message."""
        return await self.received.get()

    def send(self, method: str, params: object) -> int:
        """Send a request and return its id."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def respond(self, request: Message, result: object) -> None:
        self._send({"id": request["id"], "result": result})

    def _send(self, message: Message) -> None:
        self.transport.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def initialize(self, version: int = 2, **capabilities: object) -> Message:
        """Initialize the connection and return the agent's response."""
        both = {"clientCapabilities": capabilities, "capabilities": capabilities}
        info = {"name": "raw", "version": "1"}
        params = {"protocolVersion": version, "info": info, "clientInfo": info, **both}
        return await self.call("initialize", params)

    async def new(self, version: int = 2, **capabilities: object) -> str:
        """Initialize the connection, open a session, and return its id."""
        await self.initialize(version, **capabilities)
        params: Message = {"cwd": "/project", "mcpServers": []}
        session: str = (await self.call("session/new", params))["result"]["sessionId"]
        return session

    def prompt(self, session: str, text: str = "go") -> int:
        """Send a prompt and return the request's id."""
        prompt = [{"type": "text", "text": text}]
        return self.send("session/prompt", {"sessionId": session, "prompt": prompt})

    async def call(self, method: str, params: object) -> Message:
        """Send a request and return its response, which must be the next message."""
        id = self.send(method, params)
        response = await self.receive()
        assert response.get("id") == id, response
        return response

    async def until(self, id: int) -> tuple[list[Message], Message]:
        """Return the messages before the response to a request, and the response."""
        before: list[Message] = []
        while (message := await self.receive()).get("id") != id or "method" in message:
            before.append(message)
        return before, message


@asynccontextmanager
async def connected_raw_client(agent: Agent) -> AsyncGenerator[RawClient, None]:
    """Serve an agent to a raw client until the end of the block."""
    client_end, agent_end = memory_pair()
    serving = asyncio.create_task(agent.serve(agent_end))
    client = RawClient(client_end)
    yield client
    await client_end.aclose()
    await serving
