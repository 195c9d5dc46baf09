"""Programs that serve the network by themselves: `agent.run(http=…)`, and other ASGI servers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from parley.agent import Agent
from parley.client import connect
from parley.errors import ConfigError, ConnectFailed, Unauthorized

from .served import BOUND, token_file, token_of
from .shell import EXAMPLES, ROOT

TOKEN = "the-token-of-the-test"


@contextmanager
def running(*words: str, **env: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(BOUND)
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
        async with connect(url, "/", token=token_of(places)) as agent:
            assert await (await agent.new_session()).ask("Hello") == "From afar: Hello"
        for token in (None, "guessed"):
            with pytest.raises(Unauthorized):
                async with connect(url, "/", token=token):
                    pass
        process.send_signal(signal.SIGTERM)
        assert process.wait(BOUND) == 0
        assert process.stderr.read() == "stopping\n"


def test_what_an_agent_cannot_serve_is_an_error(tmp_path: Path) -> None:
    agent, file = Agent("x"), tmp_path / "token"
    file.write_text("")
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="is empty, which would let everybody in"):
        agent.run(http="127.0.0.1:0", token_file=file)
    with pytest.raises(ConfigError, match="cannot be used"):
        agent.run(http="127.0.0.1:0", tls=(file, file))
    with pytest.raises(ConnectFailed, match="no address"):
        agent.run(http="7400")
    with pytest.raises(TypeError, match="token_file: only with http="):
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
            async with connect(where, "/", token=TOKEN) as agent:
                told = await (await agent.new_session()).ask("Hello")
                assert told == "In this process: Hello"
        with pytest.raises(Unauthorized):
            async with connect(f"{base}/acp/demo", "/"):
                pass
