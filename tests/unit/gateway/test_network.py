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
