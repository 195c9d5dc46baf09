"""Programs that serve the network by themselves: `agent.run(http=…)`, and other ASGI servers."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from parley.agent import Agent
from parley.client import Remote, connect
from parley.errors import ConfigError, ConnectFailed, ConnectionClosed, Overloaded, Unauthorized
from parley.transport.http._client.address import Address
from parley.transport.http._client.connection_pool import HttpConnectionPool

from .gateway_process import WAIT_SECONDS, program, token_file, token_of
from .shell import EXAMPLES, ROOT

TOKEN = "the-token-of-the-test"
ASKING = """
import sys
from parley import Agent
agent = Agent("asking")
@agent.prompt
async def reply(turn):
    option = await turn.ask_permission("May I?")
    await turn.say("yes" if option else "no")
agent.run(http=sys.argv[1], drain_after=float(sys.argv[2]))
"""


@contextmanager
def running(*words: str, **env: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):  # also workers, if the test has failed
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(WAIT_SECONDS)
        assert process.stderr is not None
        process.stderr.close()


@pytest.mark.requirement("SAFE-IN-03")
async def test_an_agent_serves_the_network_as_guarded_as_the_command(places: Path) -> None:
    with running("examples/remote_agent.py", "127.0.0.1:0") as process:
        assert process.stderr is not None
        first, second = process.stderr.readline(), process.stderr.readline()
        url = first.split()[4].rstrip(";")
        assert second.strip().endswith(f"-a {url} --token-file {token_file(places)}")
        assert token_file(places).stat().st_mode & 0o777 == 0o600
        async with connect(url, "/", remote=Remote(token=token_of(places))) as agent:
            assert await (await agent.new_session()).ask("Hello") == "From afar: Hello"
        for token in (None, "guessed"):
            with pytest.raises(Unauthorized):
                async with connect(url, "/", remote=Remote(token=token)):
                    pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) == 0
        said = "Stopping: running turns have 30 seconds to end. Ctrl-C ends them at once.\n"
        assert process.stderr.read() == said


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_turns_end_before_an_agent_does(places: Path, tmp_path: Path, scheme: str) -> None:
    asked, decided = asyncio.Event(), asyncio.Event()

    async def decide(request: object, session: object) -> str:
        asked.set()
        await decided.wait()
        return "allow"

    words = program(tmp_path, "asking.py", ASKING).split()
    with running(*words[1:], "127.0.0.1:0", "20") as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[4].rstrip(";").replace("http", scheme, 1)
        process.stderr.readline()
        token = token_of(places)
        async with connect(url, "/", remote=Remote(token=token), permission=decide) as agent:
            session = await agent.new_session()
            asking = asyncio.create_task(session.ask("Hello"))
            await asked.wait()
            process.send_signal(signal.SIGTERM)
            assert "20 seconds to end" in await asyncio.to_thread(process.stderr.readline)
            with pytest.raises(Overloaded, match="asking is shutting down"):
                await agent.new_session()
            with pytest.raises(Overloaded, match="asking is shutting down"):
                async with connect(url, "/", remote=Remote(token=token)):
                    pass
            assert process.poll() is None
            decided.set()
            assert await asking == "yes"
            await agent.peer.wait_closed()
        assert await asyncio.to_thread(process.wait, WAIT_SECONDS) == 0


async def test_an_agent_does_not_wait_for_ever(places: Path, tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def decide(request: object, session: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    words = program(tmp_path, "asking.py", ASKING).split()
    with running(*words[1:], "127.0.0.1:0", "0.1") as process:
        assert process.stderr is not None
        url = process.stderr.readline().split()[4].rstrip(";")
        async with connect(
            url, "/", remote=Remote(token=token_of(places)), permission=decide
        ) as agent:
            session = await agent.new_session()
            asking = asyncio.create_task(session.ask("Hello"))
            await asked.wait()
            process.send_signal(signal.SIGTERM)
            with pytest.raises(ConnectionClosed):
                await asking
        assert await asyncio.to_thread(process.wait, WAIT_SECONDS) == 0


@pytest.mark.requirement("SAFE-IN-04")
def test_an_agent_for_other_machines_without_tls_says_what_that_means(places: Path) -> None:
    with running("examples/remote_agent.py", "0.0.0.0:0") as process:
        assert process.stderr is not None
        told = [process.stderr.readline() for _ in range(4)]
    assert "warning: without TLS, others on the network can read the token" in told[0]
    assert "warning: clients must use an IP address" in told[1]
    assert "served at http://127.0.0.1:" in told[2]
    assert str(token_file(places)) in told[3]
    assert token_of(places) not in "".join(told)


def test_what_an_agent_cannot_serve_is_an_error(tmp_path: Path) -> None:
    agent, file = Agent("x"), tmp_path / "token"
    file.write_text("")
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="is empty, which would give everybody access"):
        agent.run(http="127.0.0.1:0", token_file=file)
    with pytest.raises(ConfigError, match="cannot be used"):
        agent.run(http="127.0.0.1:0", tls=(file, file))
    with pytest.raises(ConnectFailed, match="not an address"):
        agent.run(http="7400")
    with pytest.raises(TypeError, match="token_file: only available with http="):
        agent.run(token_file=file)


async def test_hosted_agents_run_under_another_server() -> None:
    words = ("-m", "uvicorn", "asgi_app:app", "--port", "0", "--app-dir", str(EXAMPLES))
    with running(*words, AGENT_TOKEN=TOKEN) as process:
        assert process.stderr is not None
        line = ""
        while "running on" not in line:
            line = process.stderr.readline()
            assert line
        base = line.partition("running on ")[2].split()[0]
        for scheme in ("http", "ws"):
            where = f"{scheme}{base.removeprefix('http')}/acp"
            async with connect(where, "/", remote=Remote(token=TOKEN)) as agent:
                told = await (await agent.new_session()).ask("Hello")
                assert told == "In this process: Hello"
        with pytest.raises(Unauthorized):
            async with connect(f"{base}/acp/demo", "/"):
                pass


SERVERS = {
    "uvicorn": ("--port", "0", "--app-dir", str(EXAMPLES)),
    "hypercorn": ("--bind", "127.0.0.1:0"),
}
"""The options of each server: any free port, and where the example is."""


def served_url(process: subprocess.Popen[str]) -> str:
    """Wait until a server says where it listens, in any of their words."""
    assert process.stderr is not None
    for line in process.stderr:
        if (found := re.search(r"http://127\.0\.0\.1:[1-9][0-9]*", line)) is not None:
            return found[0]
    raise AssertionError("the server has ended")


@pytest.mark.requirement("TR-HTTP-03", "SAFE-IN-03")
@pytest.mark.parametrize(("name", "http_version"), [("uvicorn", "1.1"), ("hypercorn", "2")])
async def test_an_agent_is_an_application_for_any_asgi_server(name: str, http_version: str) -> None:
    words = ("-m", name, "asgi_agent:app", *SERVERS[name])
    with running(*words, AGENT_TOKEN=TOKEN, PYTHONPATH=str(EXAMPLES)) as process:
        base = served_url(process)
        pool = HttpConnectionPool(Address(base, {}))
        assert (await pool.request("GET", b"/healthz", [])).status == 200
        assert pool.http_version == http_version
        await pool.aclose()
        for scheme in ("http", "ws"):
            url = f"{scheme}{base.removeprefix('http')}/acp"
            async with connect(url, "/", remote=Remote(token=TOKEN)) as agent:
                assert await (await agent.new_session()).ask("Hello") == "By ASGI: Hello"
            with pytest.raises(Unauthorized):
                async with connect(url, "/", remote=Remote(token="guessed-by-somebody")):
                    pass
        process.send_signal(signal.SIGTERM)
        # uvicorn raises the signal again when it has shut down.
        assert process.wait(WAIT_SECONDS) in (0, -signal.SIGTERM)
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


async def test_an_agent_is_mounted_in_a_web_application() -> None:
    folder = str(EXAMPLES / "cookbook")
    words = ("-m", "uvicorn", "starlette_app:app", "--port", "0", "--app-dir", folder)
    with running(*words, AGENT_TOKEN=TOKEN) as process:
        base = served_url(process)
        pool = HttpConnectionPool(Address(base, {}))
        assert (await pool.request("GET", b"/", [])).status == 200
        await pool.aclose()
        for scheme in ("http", "ws"):
            url = f"{scheme}{base.removeprefix('http')}/agents/acp"
            async with connect(url, "/", remote=Remote(token=TOKEN)) as agent:
                assert await (await agent.new_session()).ask("Hello") == "From the web: Hello"
        process.send_signal(signal.SIGTERM)
        assert process.wait(WAIT_SECONDS) in (0, -signal.SIGTERM)
