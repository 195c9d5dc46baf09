"""A client and an agent of Parley with a network between them that can fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tests.unit.transport.http.proxy import Proxy

from parley import Agent, connect
from parley.agent import Turn
from parley.client import Connection, Session
from parley.schema import v2
from parley.transport.http._app.access import Access
from parley.transport.http._app.serving import Serving, serve
from parley.transport.http._client.http_transport import HttpTransport
from parley.transport.http._client.websocket_transport import WebSocketTransport

__all__ = ["RemoteConnection", "make_agent", "numbers_in", "open_remote"]


def make_agent(step: asyncio.Event | None = None) -> Agent:
    """An agent that does what a prompt says; it says each number of a walk when there is a step."""
    agent = Agent("remote")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        word, _, rest = turn.text.partition(" ")
        match word:
            case "count":
                for number in range(int(rest)):
                    await turn.say(f"{number} ")
            case "walk":
                assert step is not None
                for number in range(int(rest)):
                    await step.wait()
                    step.clear()
                    await turn.say(f"{number} ")
            case "ask":
                option = await turn.ask_permission("May I?")
                await turn.say("yes" if option else "no")
            case _:
                await turn.say("begun")
                await asyncio.Event().wait()

    return agent


class RemoteConnection:
    """A connection through a proxy."""

    def __init__(
        self, connection: Connection, proxy: Proxy, serving: Serving, step: asyncio.Event
    ) -> None:
        self.connection = connection
        self.proxy = proxy
        self.serving = serving
        self.step = step
        self.questions = 0

    def permit(self, request: v2.RequestPermissionRequest, session: Session) -> str:
        self.questions += 1
        return request.options[0].option_id


@asynccontextmanager
async def open_remote(
    scheme: str, version: int = 2, *, keep_alive_after: float = 10.0
) -> AsyncGenerator[RemoteConnection]:
    """Connect the two."""
    asked: list[RemoteConnection] = []

    def permit(request: v2.RequestPermissionRequest, session: Session) -> str:
        return asked[0].permit(request, session)

    step = asyncio.Event()
    async with (
        serve(make_agent(step), "127.0.0.1:0", access=Access()) as serving,
        Proxy(serving.addresses[0][1]) as proxy,
    ):
        kind = HttpTransport if scheme == "http" else WebSocketTransport
        url = f"{scheme}://127.0.0.1:{proxy.port}/acp"
        transport = await kind.open(url, retry_after=0.005, keep_alive_after=keep_alive_after)
        async with connect(transport, versions=(version,), permission=permit) as connection:
            asked.append(RemoteConnection(connection, proxy, serving, step))
            yield asked[0]


def numbers_in(text: str) -> list[int]:
    """Return the numbers that an agent has said."""
    return [int(word) for word in text.split()]
