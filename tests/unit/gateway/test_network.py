"""AgentHost agents as clients reach them: over HTTP and WebSocket, under their names."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from parley.asgi_server.server import Server
from parley.client import Remote, connect
from parley.errors import ConnectFailed, ResourceNotFound, Unauthorized
from parley.gateway import AgentHost, Gateway
from parley.gateway.app import GatewayApp
from parley.gateway.page import Page
from parley.proxy import Conductor
from parley.proxy._chain.component import ComponentSpec
from parley.schema.base import Method
from parley.testing.demo import demo_agent
from parley.transport.http._app.access import Access
from parley.transport.http._app.app import HttpApp
from parley.transport.http._asgi_types import App, Message, Scope

from .agent_hosts import DEMO, texts, versions, wait_until

ANN, BOB = "the-token-of-ann", "the-token-of-bob"


@asynccontextmanager
async def serving() -> AsyncGenerator[str, None]:
    """Serve two agents; gives where they are, without a scheme."""
    gateway = Gateway([AgentHost("demo", demo_agent()), AgentHost("process", DEMO)])
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
        connect(f"{one}://{place}{name}", "/", remote=Remote(token=ANN)) as first,
        connect(
            f"{other}://{place}{name}",
            "/",
            remote=Remote(token=ANN),
            versions=versions(version),
            permission=lambda request, session: "yes",
        ) as second,
        connect(f"{one}://{place}{name}", "/", remote=Remote(token=BOB)) as foreign,
    ):
        session = await first.new_session()
        await session.ask("hello")
        followed = await second.resume_session(session.id)
        assert texts(followed) == ["hello", "echo: hello"]
        assert await followed.ask("from the other") == "echo: from the other"
        said = 'perm:{"outcome":"selected","optionId":"yes"}'
        assert await session.ask("perm") == said
        await wait_until(lambda: texts(followed)[-1] == said)
        await wait_until(lambda: texts(session) == texts(followed))
        with pytest.raises(ResourceNotFound):
            await foreign.resume_session(session.id)


MORTAL = """
import json, sys
asked = json.loads(sys.stdin.readline())
answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": 1}}
print(json.dumps(answer), flush=True)
sys.stdin.readline()
sys.stderr.write("a trace\\n\\nno licence is left\\n")
sys.exit(4)
"""
DIE: Method[Any, None] = Method(name="_die", to="agent", kind="notification", params=Any)


@pytest.mark.parametrize("scheme", ["http", "ws"])
@pytest.mark.parametrize("is_chain", [False, True])
async def test_who_waits_for_nothing_learns_how_the_agent_has_ended(
    scheme: str, is_chain: bool
) -> None:
    command = [sys.executable, "-c", MORTAL]
    chain = Conductor(agent=ComponentSpec(target=command, name="mortal"))
    gateway = Gateway([AgentHost("served", chain if is_chain else command)])
    app = GatewayApp(gateway, access=Access({ANN: "ann"}))
    async with Server(app, "127.0.0.1", 0) as server:
        host, port = server.addresses[0][:2]
        address = f"{scheme}://{host}:{port}/acp"
        async with connect(address, "/", remote=Remote(token=ANN), versions=(1,)) as connection:
            await connection.peer.notify(DIE, {})
            reason = str(await connection.peer.wait_closed())
        await app.aclose()
        await gateway.aclose()
    name = "served: mortal" if is_chain else "served"
    assert f"{name} exited with code 4; stderr ends with: no licence is left" in reason


async def test_there_is_nothing_under_another_name() -> None:
    async with serving() as place:
        with pytest.raises(ConnectFailed, match="404"):
            async with connect(f"http://{place}/other", "/", remote=Remote(token=ANN)):
                pass


@pytest.mark.requirement("SAFE-IN-03")
async def test_who_may_not_get_in_does_not_learn_which_agents_there_are() -> None:
    async with serving() as place:
        said: set[str] = set()
        for scheme in ("http", "ws"):
            for name in ("demo", "nobody"):
                with pytest.raises(Unauthorized) as refused:
                    async with connect(
                        f"{scheme}://{place}/{name}", "/", remote=Remote(token="another")
                    ):
                        pass
                said.add(str(refused.value).replace(name, "").replace(scheme, ""))
        assert len(said) == 1


async def asked(app: App, path: str, root: str | None, kind: str = "http") -> Message:
    """Return how an application answers that stands below a path of another one."""
    sent: list[Message] = []
    heard = ["websocket.disconnect", "websocket.connect"] if kind != "http" else ["http.request"]

    async def receive() -> Message:
        return {"type": heard.pop()}

    async def send(message: Message) -> None:
        sent.append(message)

    token = (b"authorization", f"Bearer {ANN}".encode())
    headers = [(b"host", b"localhost"), (b"accept", b"text/event-stream"), token]
    scope: Scope = {"type": kind, "method": "GET", "path": path, "headers": headers}
    scope["client"] = ("127.0.0.1", 1)
    scope["extensions"] = {"websocket.http.response": {}}
    if root is not None:
        scope["root_path"] = root
    await app(scope, receive, send)
    return sent[0]


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("root", "path", "is_there"),
    [
        ("/agents", "/agents/acp", True),
        ("/agents", "/agents/acp/demo", True),
        ("/agents/", "/agents/acp", True),
        ("/acp", "/acp/acp", True),
        ("/agents", "/acp", True),  # as servers send it that leave the root out
        (None, "/acp", True),
        ("", "/acp/demo", True),
        ("", "/agents/acp", False),
        ("/agents", "/agents/acp/other", False),
        ("/agents", "/agentsacp", False),
        ("/agents", "/agents", False),
        ("/acp", "/acp", False),
    ],
)
async def test_it_may_stand_below_a_path_of_another_application(
    kind: str, root: str | None, path: str, is_there: bool
) -> None:
    host = AgentHost("demo", demo_agent())
    access = Access({ANN: "ann"})
    gateway = GatewayApp(Gateway([host]), access=access)
    apps: list[App] = [gateway]
    if not path.endswith("/demo"):
        apps.append(HttpApp(host, access=access))
    for app in apps:
        answer = await asked(app, path, root, kind)
        if kind == "http":
            assert answer["status"] == (400 if is_there else 404), "no connection, or no agent"
        else:
            expected = "websocket.accept" if is_there else "websocket.http.response.start"
            assert answer["type"] == expected


@pytest.mark.parametrize("root", ["/agents", "/agents/", "", None])
async def test_the_page_is_below_that_path_too(root: str | None) -> None:
    hosts = Gateway([AgentHost("demo", demo_agent())])
    app = GatewayApp(hosts, access=Access({ANN: "ann"}), page=Page(cwd="/"))
    above = (root or "").rstrip("/")
    for path in ("/chat/", "/chat/app.js", "/chat/about.json"):
        assert (await asked(app, above + path, root))["status"] == 200
    for path in ("", "/", "/chat"):
        answer = await asked(app, above + path or "/", root)
        assert answer["status"] == 307
        assert dict(answer["headers"])[b"location"] == f"{above}/chat/".encode()
    assert (await asked(app, f"{above}/chat/none.js", root))["status"] == 404


async def test_a_server_with_a_lifespan_ends_all_connections() -> None:
    app = GatewayApp(Gateway([AgentHost("demo", demo_agent())]))
    events = iter(["lifespan.startup", "lifespan.shutdown"])
    sent: list[str] = []

    async def receive() -> Message:
        return {"type": next(events)}

    async def send(message: Message) -> None:
        sent.append(message["type"])

    await app({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
