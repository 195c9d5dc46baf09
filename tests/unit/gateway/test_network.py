"""Hosted agents as clients reach them: over HTTP and WebSocket, under their names."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from parley.client import connect
from parley.errors import ConnectFailed, ResourceNotFound
from parley.gateway import Gateway, Hosted
from parley.gateway.app import GatewayApp
from parley.testing.demo import demo_agent
from parley.transport.http.access import Access
from parley.transport.http.asgi_types import Message
from parley.transport.http.server import Server

from .hosting import DEMO, texts, until, versions

ANN, BOB = "the-token-of-ann", "the-token-of-bob"


@asynccontextmanager
async def serving() -> AsyncGenerator[str, None]:
    """Serve two agents; gives where they are, without a scheme."""
    gateway = Gateway([Hosted("demo", demo_agent()), Hosted("process", DEMO)])
    app = GatewayApp(gateway, access=Access({ANN: "ann", BOB: "bob"}))
    async with Server(app, "127.0.0.1", 0) as server:
        host, port = server.addresses[0][:2]
        yield f"{host}:{port}/acp"
        await app.aclose()
        await gateway.aclose()


@pytest.mark.parametrize("name", ["", "/demo", "/process"])
@pytest.mark.parametrize("one", ["http", "ws"])
@pytest.mark.parametrize("other", ["http", "ws"])
@pytest.mark.parametrize("version", [1, 2])
async def test_two_clients_are_on_one_session(
    name: str, one: str, other: str, version: int
) -> None:
    async with (
        serving() as place,
        connect(f"{one}://{place}{name}", "/", token=ANN) as first,
        connect(
            f"{other}://{place}{name}",
            "/",
            token=ANN,
            versions=versions(version),
            permission=lambda request, session: "yes",
        ) as second,
        connect(f"{one}://{place}{name}", "/", token=BOB) as foreign,
    ):
        session = await first.new_session()
        await session.ask("hello")
        followed = await second.resume_session(session.id)
        assert texts(followed) == ["hello", "echo: hello"]
        assert await followed.ask("from the other") == "echo: from the other"
        said = 'perm:{"outcome":"selected","optionId":"yes"}'
        assert await session.ask("perm") == said
        await until(lambda: texts(followed)[-1] == said)
        await until(lambda: texts(session) == texts(followed))
        with pytest.raises(ResourceNotFound):
            await foreign.resume_session(session.id)


async def test_there_is_nothing_under_another_name() -> None:
    async with serving() as place:
        with pytest.raises(ConnectFailed, match="404"):
            async with connect(f"http://{place}/other", "/", token=ANN):
                pass


async def test_it_may_stand_below_a_path_of_another_application() -> None:
    app = GatewayApp(Gateway([Hosted("demo", demo_agent())]), access=Access({ANN: "ann"}))

    async def status(path: str, root: str) -> int:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request"}

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"accept", b"text/event-stream")]
        scope = {"type": "http", "method": "GET", "path": path, "root_path": root}
        await app({**scope, "headers": headers, "client": ("127.0.0.1", 1)}, receive, send)
        found: int = sent[0]["status"]
        return found

    assert [await status(f"/agents{path}", "/agents") for path in ("/acp", "/acp/demo")] == [
        401
    ] * 2
    assert await status("/acp", "") == 401
    assert [await status(path, "") for path in ("/agents/acp", "/acp/other")] == [404] * 2


async def test_a_server_with_a_lifespan_ends_all_connections() -> None:
    app = GatewayApp(Gateway([Hosted("demo", demo_agent())]))
    events = iter(["lifespan.startup", "lifespan.shutdown"])
    sent: list[str] = []

    async def receive() -> Message:
        return {"type": next(events)}

    async def send(message: Message) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
