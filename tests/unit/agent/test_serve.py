"""`parley.serve`: an agent beside the other tasks of a program."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import parley
from parley import Agent, Conductor, Remote, Turn, connect, serve
from parley.errors import ConfigError, ConnectFailed, ConnectionClosed, Unauthorized

TOKEN = "a-token-of-enough-length"
PROGRAM = """
import asyncio
import parley

agent = parley.Agent("child")

@agent.prompt
async def reply(turn):
    print("not a message")
    await turn.say(f"Hello {turn.text}")

asyncio.run(parley.serve(agent))
"""


def echo() -> Agent:
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    return agent


@asynccontextmanager
async def served(agent: Any, **options: Any) -> AsyncGenerator[tuple[str, asyncio.Task[None]]]:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    options = {"token": TOKEN, **options}
    task = asyncio.create_task(
        serve(agent, http="127.0.0.1:0", on_ready=ready.set_result, **options)
    )
    async with asyncio.timeout(30):
        try:
            yield await ready, task
        finally:
            if not task.cancelling():  # a second time would cancel its cleanup
                task.cancel()
            await asyncio.wait({task})


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_an_agent_is_served_until_the_task_is_cancelled(scheme: str) -> None:
    async with served(echo()) as (url, task):
        url = url.replace("http", scheme, 1)
        async with connect(url, "/", remote=Remote(token=TOKEN)) as client:
            session = await client.new_session()
            assert await session.ask("Hello") == "You said: Hello"
            with pytest.raises(Unauthorized):
                async with connect(url, "/", remote=Remote(token="another-token-than-that")):
                    pass
            task.cancel()
            await client.peer.wait_closed()
            with pytest.raises(ConnectionClosed):
                await client.new_session()
    with pytest.raises(ConnectFailed):
        async with connect(url, "/", remote=Remote(token=TOKEN)):
            pass


async def test_a_second_client_that_resumes_a_session_takes_it_over() -> None:
    remote = Remote(token=TOKEN)
    async with (
        served(echo()) as (url, _),
        connect(url, "/", remote=remote) as one,
        connect(url, "/", remote=remote) as two,
    ):
        first = await one.new_session()
        await first.ask("Hello")
        second = await two.resume_session(first.id)
        assert [each.text for each in second.transcript.messages][-1] == "You said: Hello"
        with pytest.raises(parley.RequestError):
            await first.ask("Am I still here?")
        assert await second.ask("And I?") == "You said: And I?"


async def test_a_chain_is_served_like_an_agent() -> None:
    async with (
        served(Conductor(agent=echo())) as (url, _),
        connect(url, "/", remote=Remote(token=TOKEN)) as client,
    ):
        assert await (await client.new_session()).ask("Hi") == "You said: Hi"


async def test_without_an_address_the_program_that_started_us_is_served(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "child.py")]
    async with connect(command, tmp_path, versions=(1,)) as client:
        assert await (await client.new_session()).ask("you") == "Hello you"
        assert not client.features.load  # the process ends with its only client


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"token": TOKEN}, TypeError, "only with http="),
        ({"http": "127.0.0.1:0", "token": "x", "token_file": "y"}, TypeError, "not both"),
        ({"http": "127.0.0.1:0", "token": "short"}, ConfigError, "at least 16 characters"),
        ({"http": "127.0.0.1:0", "tls": ("/no", "/no")}, ConfigError, "certificate /no cannot"),
        ({"http": "here", "token": TOKEN}, ConnectFailed, "is not an address to listen on"),
    ],
    ids=["stdio", "two", "short", "tls", "address"],
)
async def test_options_that_do_not_fit_are_refused(
    options: Any, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        await serve(echo(), **options)


async def test_only_an_agent_can_be_served() -> None:
    with pytest.raises(TypeError, match=r"serve\(\) takes an agent, not str"):
        await serve("opencode acp")  # type: ignore[arg-type]
