"""A project directory never runs its own code in a process of Parley's, whatever is started in it.

The directory has modules named like those that Parley and Python import. Each one leaves a mark
when it is imported, and so do the programs that the directory's git configuration names.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.mcp.bridged_provider import bridged_provider
from tests.unit.nes.eval.made_repository import Repository

import parley
from parley._interpreter import parley_command
from parley.client import Remote
from parley.testing import ScriptedPeer
from parley.testing.scripted import Respond

from .command import chunk, opening
from .gateway_process import WAIT_SECONDS, GatewayProcess, token_of
from .terminal import run_in_terminal

PYTHON = "/usr/bin:/bin"
"""A PATH without `parley`."""
MODULES = (
    *("json.py", "asyncio.py", "typing.py", "argparse.py", "logging.py", "socket.py", "runpy.py"),
    *("msgspec.py", "sitecustomize.py", "usercustomize.py", "readline.py", "textual.py"),
    *("parley/__init__.py", "parley/__main__.py", "parley/testing/scripted/__main__.py"),
)
CHAIN = """
[agents.own]
command = ["parley", "demo"]

[chains.guarded]
proxies = ["log", "parley conduct 'limits --prompts 9'"]
agent = "parley demo"
"""


class Project:
    """A directory full of code that wants to run."""

    def __init__(self, folder: Path, marks: Path) -> None:
        self.folder = folder
        self._marks = marks
        marks.mkdir()
        for name in MODULES:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"open({str(marks / path.stem)!r}, 'w').close()\n")
            (path.parent / "__init__.py").touch()
        (folder / "__init__.py").unlink()

    @property
    def ran(self) -> list[str]:
        """What has been executed."""
        return sorted(each.name for each in self._marks.iterdir())

    def run(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run `parley` in the directory."""
        return subprocess.run(
            parley_command(*words),
            cwd=self.folder,
            env=environment(),
            input=given,
            capture_output=True,
            encoding="utf-8",
            timeout=WAIT_SECONDS,
            check=False,
        )


def environment() -> Mapping[str, str]:
    return {**os.environ, "PATH": PYTHON}


@pytest.fixture
def project(tmp_path: Path, places: Path) -> Project:
    path = places / "config" / "parley" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(CHAIN)
    return Project(tmp_path / "project", tmp_path / "marks")


def test_the_directory_would_run_its_code_if_it_could(project: Project) -> None:
    subprocess.run([sys.executable, "-m", "parley"], cwd=project.folder, check=False)
    assert project.ran


@pytest.mark.requirement("SAFE-USER-01")
@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(None, id="default"),
        pytest.param("parley demo", id="command"),
        pytest.param("own", id="configured"),
        pytest.param("guarded", id="chain"),
        pytest.param("parley conduct log -- parley demo", id="conduct"),
    ],
)
def test_an_agent_that_is_parley_runs_none_of_it(project: Project, agent: str | None) -> None:
    done = project.run("run", "-q", "Hello", *(() if agent is None else ("-a", agent)))
    assert done.returncode == 0, done.stderr
    assert "Hello" in done.stdout
    assert project.ran == []


@pytest.mark.requirement("SAFE-USER-01")
def test_the_chat_runs_none_of_it(project: Project) -> None:
    words = shlex.join(parley_command("chat", "-a", "parley demo"))
    line = f"cd {shlex.quote(str(project.folder))} && exec {words}"
    with run_in_terminal("/bin/sh", "-c", line, env={"TERM": "xterm-256color"}) as shown:
        shown.shows("ready")
        shown.press("hello\r")
        shown.shows("echo: hello")
        shown.press("\x04")
        assert shown.exit_code() == 0
    assert project.ran == []


def test_a_scripted_peer_runs_none_of_it(project: Project, tmp_path: Path) -> None:
    steps = [*opening(), chunk("scripted text"), Respond({"stopReason": "end_turn"}, to="prompt")]
    command = ScriptedPeer(*steps).command(tmp_path / "script.json")
    done = project.run("run", "Hello", "-a", shlex.join(command))
    assert "scripted text" in done.stdout, done.stderr
    assert project.ran == []


@pytest.mark.requirement("SAFE-USER-01")
async def test_an_agent_of_the_gateway_runs_none_of_it(project: Project, places: Path) -> None:
    words = ("--http", "127.0.0.1:0", "parley demo")
    served = GatewayProcess(words, dict(environment()), cwd=project.folder, is_forked=False)
    try:
        served.until("press Ctrl-C to stop")
        listening = next(line for line in served.lines if "listening" in line)
        url = f"{listening.partition('url=')[2]}/acp"
        async with parley.connect(
            url, project.folder, remote=Remote(token=token_of(places))
        ) as agent:
            session = await agent.new_session()
            assert "Hello" in await session.ask("Hello")
    finally:
        served.signal()
        await asyncio.to_thread(served.end)
        served.close()
    assert project.ran == []


@pytest.mark.requirement("SAFE-USER-01")
async def test_the_program_that_reaches_a_server_over_acp_runs_none_of_it(project: Project) -> None:
    async with bridged_provider("stdio") as bridge:
        declared: dict[str, Any] = await bridge.declare()
        process = await asyncio.create_subprocess_exec(
            declared["command"],
            *declared["args"],
            cwd=project.folder,
            env={each["name"]: each["value"] for each in declared["env"]},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"x"}\n')
        assert b'"id":1' in await process.stdout.readline()
        process.stdin.close()
        assert await process.wait() == 0
    assert project.ran == []


@pytest.mark.requirement("SAFE-USER-01")
def test_measuring_suggestions_runs_none_of_it(project: Project) -> None:
    repository = Repository(project.folder)
    lines = "".join(f"x = old()\n{number}\n" for number in range(3))
    repository.commit({"a.py": lines})
    repository.commit({"a.py": lines.replace("old", "new")})
    program = project.folder / "mark.sh"
    program.write_text(
        f"#!/bin/sh\n: > {shlex.quote(str(project.folder.parent / 'marks' / 'git'))}"
    )
    program.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "diff.x.textconv", "gpg.program"):
        repository.git("config", name, str(program))
    repository.git("config", "log.showSignature", "true")
    (project.folder / ".git" / "info" / "attributes").write_text("*.py diff=x\n")
    done = project.run("nes", "eval", ".", "--settle", "0", "--commits", "2")
    assert done.returncode == 0, done.stderr
    assert project.ran == []


@pytest.mark.parametrize("action", ["serve", "lsp"])
def test_serving_suggestions_runs_none_of_it(project: Project, action: str) -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}})
    given = f"Content-Length: {len(message)}\r\n\r\n{message}" if action == "lsp" else message
    project.run("nes", action, given=f"{given}\n")
    assert project.ran == []
