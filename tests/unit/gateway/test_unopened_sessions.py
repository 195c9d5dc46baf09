"""Whose a session is that was never opened through the gateway, and who may see it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.asgi_server.server import Server
from parley.client import Connection, Remote, connect
from parley.errors import InternalError, ResourceNotFound
from parley.gateway import AgentHost, Gateway
from parley.gateway.app import GatewayApp
from parley.schema import v2
from parley.schema.v2 import methods
from parley.testing.demo import demo_agent
from parley.transport.http._app.access import Access

from .agent_hosts import INITIALIZE_PARAMS, INITIALIZE_RESULT, open_raw_host, raw_client

ANN, BOB = "the-token-of-ann", "the-token-of-bob"
BOTH = pytest.mark.parametrize("scheme", ["http", "ws"])
SEVERAL = [Access({ANN: "ann", BOB: "bob"}), Access({ANN: "ann"}, trusted_header="X-User")]


@asynccontextmanager
async def gateway(agent: Any, access: Access) -> AsyncGenerator[str]:
    hosts = Gateway([AgentHost("demo", agent)])
    app = GatewayApp(hosts, access=access)
    async with Server(app) as server:
        yield "{}:{}".format(*server.addresses[0])
        await app.aclose()
        await hosts.aclose()


async def listed(connection: Connection) -> list[str]:
    return [each.session_id async for each in connection.list_sessions()]


@pytest.mark.requirement("SAFE-IN-07")
@BOTH
@pytest.mark.parametrize("access", SEVERAL)
async def test_where_there_are_several_principals_it_is_nobodys(
    scheme: str, access: Access
) -> None:
    agent = demo_agent()
    async with connect(agent, "/") as local:
        stored = (await local.new_session()).id
        async with (
            gateway(agent, access) as place,
            connect(f"{scheme}://{place}/acp", "/", remote=Remote(token=ANN)) as ann,
        ):
            own = await ann.new_session()
            assert await listed(ann) == [own.id]
            for attempt in (
                ann.resume_session(stored),
                ann.fork_session(stored),
                ann.delete_session(stored),
                ann.adapter.request(
                    methods.CLOSE_SESSION, v2.CloseSessionRequest(session_id=stored)
                ),
            ):
                with pytest.raises(ResourceNotFound):
                    await attempt
        assert stored in await listed(local), "it was not deleted"


@pytest.mark.requirement("SAFE-IN-07")
@BOTH
@pytest.mark.parametrize("access", [Access({ANN: "ann"}), Access({ANN: "ann", BOB: "ann"}), None])
async def test_where_there_is_one_it_is_of_that_one(scheme: str, access: Access | None) -> None:
    agent = demo_agent()
    async with connect(agent, "/") as local:
        session = await local.new_session()
        await session.ask("hello")
        stored = session.id
        await session.close()
        async with (
            gateway(agent, access or Access()) as place,
            connect(f"{scheme}://{place}/acp", "/", remote=Remote(token=ANN)) as ann,
        ):
            assert await listed(ann) == [stored]
            assert await (await ann.resume_session(stored)).ask("again") == "echo: again"


@pytest.mark.requirement("SAFE-IN-07")
async def test_a_hosted_agent_gives_nothing_away_unless_it_is_told_that_there_is_one() -> None:
    async with open_raw_host() as (host, agent):
        ends = {name: raw_client(host, name) for name in ("ann",)}
        end, serving = ends["ann"]
        end.send(id=1, method="initialize", params=INITIALIZE_PARAMS)
        agent.answer(await agent.take("initialize"), INITIALIZE_RESULT)
        await end.take()
        end.send(id=2, method="session/list", params={})
        page = {"sessions": [{"sessionId": "x"}, {"sessionId": "y"}], "nextCursor": "c"}
        agent.answer(await agent.take("session/list"), page)
        assert (await end.take())["result"] == {"sessions": [], "nextCursor": "c"}
        for method in ("load", "resume", "fork", "prompt", "close", "delete", "set_mode"):
            answer = await end.ask(3, f"session/{method}", {"sessionId": "x"})
            assert answer["error"]["code"] == -32002, method
        end.send(method="session/cancel", params={"sessionId": "x"})
        assert await agent.is_silent()
        assert host.owner_of("x", "ann") is None
        assert host.owner_of("x", "") == "", "without principals it is the local user's"
        await end.transport.aclose()
        await serving


@pytest.mark.requirement("SAFE-IN-07")
async def test_an_id_that_an_agent_gives_twice_gives_nobody_anothers_session() -> None:
    async with open_raw_host(is_shared=False) as (host, agent):
        end, serving = raw_client(host, "bob")
        host.claim_session("1", "ann")
        end.send(id=1, method="initialize", params=INITIALIZE_PARAMS)
        agent.answer(await agent.take("initialize"), INITIALIZE_RESULT)
        await end.take()
        end.send(id=2, method="session/new", params={"cwd": "/", "mcpServers": []})
        agent.answer(await agent.take("session/new"), {"sessionId": "1"})
        error = (await end.take())["error"]
        assert (error["code"], "another session's" in error["message"]) == (
            InternalError.code,
            True,
        )
        assert len(host.sessions) == 0
        assert host.owner_of("1", "bob") == "ann"
        await end.transport.aclose()
        await asyncio.wait({serving})
