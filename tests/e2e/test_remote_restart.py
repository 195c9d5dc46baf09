"""A server that is killed and started again at the same port, seen by `parley run` and `chat`."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import socket
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from pathlib import Path

import pytest
from tests.unit.transport.http.proxy import Proxy

from parley.testing.demo import demo_agent
from parley.transport.http._app.access import Access
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.serving import serve

from .command import PARLEY
from .gateway_process import run_gateway, token_file
from .terminal import run_in_terminal

TERM = {"TERM": "xterm-256color"}
both = pytest.mark.parametrize("scheme", ["http", "ws"])


def free_port() -> int:
    """Return a port that no outgoing connection gets, also while the server is away."""
    while True:
        port = random.randrange(10_000, 30_000)
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


class Running:
    """`parley run`, and what it tells on stderr."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.told = ""

    async def begun(self) -> None:
        """Wait for the agent's first words."""
        assert self.process.stdout is not None
        assert b"waiting" in await self.process.stdout.readuntil(b"waiting")

    async def until(self, part: str) -> None:
        assert self.process.stderr is not None
        while part not in self.told:
            data = await self.process.stderr.read(65536)
            assert data, self.told
            self.told += data.decode()

    async def end(self) -> tuple[int, str]:
        """Return the exit code and what it printed."""
        said, rest = await self.process.communicate()
        self.told += rest.decode()
        assert self.process.returncode is not None
        return self.process.returncode, said.decode()


async def running(url: str, prompt: str, *words: str) -> Running:
    return Running(
        await asyncio.create_subprocess_exec(
            *(*PARLEY, "run", prompt, "-a", url, *words), stdin=DEVNULL, stdout=PIPE, stderr=PIPE
        )
    )


@both
async def test_a_run_tells_that_the_agent_is_away_and_that_it_is_back(scheme: str) -> None:
    async with (
        serve(demo_agent(), "127.0.0.1:0", access=Access()) as far,
        Proxy(far.addresses[0][1]) as proxy,
    ):
        url = f"{scheme}://127.0.0.1:{proxy.port}/acp"
        run = await running(url, "slow")
        await run.begun()
        proxy.go_down()
        await run.until(f"parley: {url} is disconnected (")
        proxy.come_back()
        await run.until(f"parley: {url} is connected again")
        run.process.send_signal(signal.SIGINT)
        code, _ = await run.end()
        assert code == 130
        assert run.told.count("is disconnected") == 1


async def test_a_run_ends_with_one_clear_error_when_the_agent_stays_away() -> None:
    limits = AppLimits(grace=1.0)
    async with (
        serve(demo_agent(), "127.0.0.1:0", access=Access(), limits=limits) as far,
        Proxy(far.addresses[0][1]) as proxy,
    ):
        run = await running(f"http://127.0.0.1:{proxy.port}/acp", "slow")
        await run.begun()
        proxy.go_down()
        code, _ = await run.end()
    assert code == 5
    assert run.told.count("the server has been unreachable for 1 seconds") == 1
    assert "resume with `parley run --session" in run.told


@both
async def test_a_run_ends_when_the_server_was_killed_and_knows_nothing(
    places: Path, scheme: str
) -> None:
    port = free_port()
    where = f"127.0.0.1:{port}"
    url = f"{scheme}://{where}/acp"
    with run_gateway("--http", where) as first:
        run = await running(url, "slow", "--token-file", str(token_file(places)))
        await run.begun()
        os.kill(first.process.pid, signal.SIGKILL)
        await run.until("is disconnected")
        with run_gateway("--http", where):
            code, _ = await run.end()
    assert code == 5
    assert (
        run.told.count("the server does not know this connection, or no longer has it (404)") == 1
    )
    assert "resume with `parley run --session" in run.told


@both
def test_the_chat_goes_on_after_a_server_was_killed_and_started_again(
    places: Path, scheme: str
) -> None:
    port = free_port()
    where = f"127.0.0.1:{port}"
    words = ("chat", f"{scheme}://{where}/acp", "--token-file", str(token_file(places)))
    with (
        run_gateway("--http", where) as first,
        run_in_terminal(*PARLEY, *words, env=TERM) as terminal,
    ):
        terminal.shows("ready")
        terminal.press("Hello\r")
        terminal.shows("echo: Hello", "ready")
        os.kill(first.process.pid, signal.SIGKILL)
        terminal.shows("Connection lost, reconnecting. Press F5 to retry now.")
        with run_gateway("--http", where):
            terminal.shows("Disconnected. Press F5 to reconnect.", "Press F5 or Enter to reconnect")
            terminal.press("\r")
            terminal.shows("again, and the session is resumed", "ready")
            terminal.press("Still there?\r")
            terminal.shows("echo: Still there?", "ready")
