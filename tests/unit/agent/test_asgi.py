"""`agent.asgi()`: its options, its lifespan, and how running turns end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.agent.asgi import AgentApp
from parley.asgi_server.server import Server
from parley.client import Remote, connect
from parley.errors import ConfigError, ConnectionClosed, Overloaded, Unauthorized

TOKEN = "the-token-of-the-test"
OTHER = "another-token-of-the-test"


def echoing() -> Agent:
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


@asynccontextmanager
async def served(app: AgentApp) -> AsyncGenerator[str]:
    """Run the application; yields its address."""
    async with Server(app) as server:
        try:
            yield f"http://127.0.0.1:{server.addresses[0][1]}"
        finally:
            await app.aclose()


class Lifespan:
    """A server's side of the lifespan protocol."""

    def __init__(self, app: AgentApp) -> None:
        self._events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._sent: asyncio.Queue[Any] = asyncio.Queue()
        self.task = asyncio.create_task(app({"type": "lifespan"}, self._events.get, self._sent.put))

    async def send(self, type: str) -> Any:
        """Send an event and return the reply of the application."""
        self._events.put_nowait({"type": type})
        return await self._sent.get()


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_every_token_gives_access_to_the_same_agent(scheme: str) -> None:
    async with served(echoing().asgi(tokens=[TOKEN, OTHER])) as base:
        url = f"{scheme}{base.removeprefix('http')}/acp"
        for token in (TOKEN, OTHER):
            async with connect(url, "/", remote=Remote(token=token)) as connection:
                assert await (await connection.new_session()).ask("Hello") == "Hello"
        for wrong in (None, TOKEN[:-1]):
            with pytest.raises(Unauthorized):
                async with connect(url, "/", remote=Remote(token=wrong)):
                    pass


async def test_the_token_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)
    app = echoing().asgi(token_file=file)
    async with (
        served(app) as base,
        connect(f"{base}/acp", "/", remote=Remote(token=TOKEN)) as connection,
    ):
        assert await (await connection.new_session()).ask("Hello") == "Hello"


async def test_without_a_token_one_is_generated_in_the_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    app = echoing().asgi()
    token = (tmp_path / "parley" / "serve.token").read_text().strip()
    async with (
        served(app) as base,
        connect(f"{base}/acp", "/", remote=Remote(token=token)) as connection,
    ):
        assert await (await connection.new_session()).ask("Hello") == "Hello"


async def test_the_agent_is_at_another_path_if_wanted() -> None:
    app = echoing().asgi(tokens=[TOKEN], path="/echo")
    async with (
        served(app) as base,
        connect(f"{base}/echo", "/", remote=Remote(token=TOKEN)) as connection,
    ):
        assert await (await connection.new_session()).ask("Hello") == "Hello"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"tokens": []}, ConfigError, "an empty token would give everybody access"),
        ({"tokens": ["short"]}, ConfigError, "at least 16 characters"),
        ({"tokens": TOKEN}, TypeError, "must be a list of strings"),
        ({"tokens": [TOKEN], "token_file": "x"}, TypeError, "not both"),
        ({"tokens": [TOKEN], "origins": ["chat.example"]}, ConfigError, "chat.example"),
        ({"token_file": "/nowhere"}, ConfigError, "cannot read the token in /nowhere"),
    ],
    ids=["none", "short", "string", "both", "origin", "file"],
)
async def test_options_that_cannot_be_used_are_errors(
    options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        echoing().asgi(**options)


async def test_a_running_turn_ends_before_the_server_has_shut_down() -> None:
    agent, started, proceed = Agent("slow"), asyncio.Event(), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        started.set()
        await proceed.wait()
        await turn.say("done")

    app = agent.asgi(tokens=[TOKEN])
    lifespan = Lifespan(app)
    assert await lifespan.send("lifespan.startup") == {"type": "lifespan.startup.complete"}
    async with (
        served(app) as base,
        connect(f"{base}/acp", "/", remote=Remote(token=TOKEN)) as connection,
    ):
        asking = asyncio.create_task((await connection.new_session()).ask("Go"))
        await started.wait()
        shutting_down = asyncio.create_task(lifespan.send("lifespan.shutdown"))
        with pytest.raises(Overloaded):  # nothing new is accepted
            await connection.new_session()
        assert not shutting_down.done()
        proceed.set()
        assert await asking == "done"
        assert await shutting_down == {"type": "lifespan.shutdown.complete"}
        await lifespan.task
        with pytest.raises(ConnectionClosed):
            await connection.new_session()


async def test_an_agent_can_be_served_again_after_its_application_was_closed() -> None:
    agent = echoing()
    for _ in range(2):
        app = agent.asgi(tokens=[TOKEN])
        async with (
            served(app) as base,
            connect(f"{base}/acp", "/", remote=Remote(token=TOKEN)) as connection,
        ):
            assert await (await connection.new_session()).ask("Hello") == "Hello"
            await app.aclose()
