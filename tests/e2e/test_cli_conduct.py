"""`parley conduct`: proxies and an agent as one agent, for editors and for everybody else."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from tests.unit.proxy.conducted_chain import component_command

import parley as front
from parley.errors import ProcessExited

from .command import PARLEY, parley
from .gateway_process import INITIALIZE

DEMO = [sys.executable, "-m", "parley", "demo"]
MARK = shlex.join(component_command("mark", "a"))
HELLO = json.dumps(INITIALIZE) + "\n"


def _configure(places: Path, text: str) -> None:
    path = places / "config" / "parley" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("version", [1, 2])
async def test_a_chain_of_processes_is_an_agent(places: Path, version: int) -> None:
    words = [*PARLEY, "conduct", MARK, shlex.join(component_command("plain")), "--", *DEMO]
    async with front.connect(
        words,
        "/",
        permission=lambda request, session: "yes",
        versions=tuple(range(1, version + 1)),
    ) as agent:
        assert agent.version == version
        session = await agent.new_session()
        assert await session.ask("Hello") == "aecho: aHello"
    plain = [*PARLEY, "conduct", *[shlex.join(component_command("plain"))] * 2, "--", *DEMO]
    async with front.connect(plain, "/") as agent:
        session = await agent.new_session()
        assert "chunk 499" in await session.ask("flood 500")


async def test_a_chain_is_part_of_another(places: Path) -> None:
    inner = shlex.join([*PARLEY, "conduct", shlex.join(component_command("mark", "b"))])
    words = [*PARLEY, "conduct", MARK, inner, "--", *DEMO]
    async with front.connect(words, "/") as agent:
        session = await agent.new_session()
        assert await session.ask("!") == "abecho: ba!"


async def test_a_configured_chain_is_an_agent_wherever_one_is_named(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_AGENT", "42")
    _configure(
        places,
        f"""
        [agents.shown]
        command = {json.dumps(DEMO)}
        env = {{ KEY = "$SECRET_OF_THE_AGENT" }}

        [chains.marked]
        proxies = [{json.dumps(MARK)}]
        agent = "shown"

        [chains.twice]
        proxies = [{json.dumps(MARK)}]
        agent = "marked"
        """,
    )
    async with front.connect("twice", "/", config=True) as agent:
        session = await agent.new_session()
        assert await session.ask("!") == "aaecho: aa!"
    done = parley("run", "!", "-a", "marked")
    assert (done.returncode, done.stdout.strip()) == (0, "aecho: a!"), done.stderr
    assert "marked" in parley("agents", "list").stdout


async def test_who_dies_is_told_to_the_editor_and_on_stderr(places: Path) -> None:
    dying = shlex.join(component_command("dying", "session/new"))
    process = await asyncio.create_subprocess_exec(
        *PARLEY, "conduct", dying, "--", *DEMO, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(HELLO.encode())
    await process.stdout.readline()
    new = {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/"}}
    process.stdin.write(json.dumps(new).encode() + b"\n")
    failed = json.loads(await process.stdout.readline())
    assert failed["error"]["message"].endswith("exited with code 3")
    assert "my last words" in failed["error"]["data"]["lastWords"]
    told = (await process.stderr.read()).decode()
    assert await process.wait() == 5
    assert "these were my last words" in told
    assert "exited with code 3" in told.splitlines()[-1]


@pytest.mark.requirement("SAFE-LIVE-07")
@pytest.mark.parametrize("how", ["hangs up", signal.SIGTERM, signal.SIGINT])
async def test_the_end_of_the_editor_ends_every_process(
    places: Path, tmp_path: Path, how: str | signal.Signals
) -> None:
    pids = tmp_path / "pids"
    process = await asyncio.create_subprocess_exec(
        *PARLEY, "conduct", "--inherit", "PIDS",
        *[shlex.join(component_command("plain"))] * 2, "--", *component_command("agent"),
        stdin=PIPE, stdout=PIPE, env={**os.environ, "PIDS": str(pids)},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HELLO.encode())
    await process.stdout.readline()
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 3
    if isinstance(how, signal.Signals):
        process.send_signal(how)
    else:
        process.stdin.close()
    assert await process.wait() == 0
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_what_cannot_be_started_is_told(places: Path) -> None:
    with pytest.raises((front.RequestError, ProcessExited), match="no-such-program"):
        async with front.connect([*PARLEY, "conduct", MARK, "--", "no-such-program", "x"], "/"):
            raise AssertionError("it cannot be there")


def test_a_component_that_cannot_be_started_is_the_exit_code(places: Path) -> None:
    for words, told in (
        (["bugdet --cost 1", "--", *DEMO], "did you mean budget?"),
        (["no-such-program x", "--", *DEMO], "'no-such-program' is neither a built-in proxy nor a"),
        (["log", "--", "no-such-program", "x"], "no-such-program x cannot be started"),
        (["false", "--", *DEMO], "false exited with code 1"),
        (["log", "--", "false"], "false exited with code 1"),
    ):
        done = parley("conduct", *words, given=HELLO)
        assert done.returncode == 5, words
        assert told in done.stderr.splitlines()[-1]


def test_a_chain_with_an_agent_is_no_proxy(places: Path) -> None:
    _configure(places, '[chains.whole]\nproxies = ["log"]\nagent = "demo"\n')
    done = parley("conduct", "whole", "--", *DEMO, given=HELLO)
    assert (done.returncode, done.stdout) == (2, "")
    assert "whole is a chain that ends with an agent, so it is not a proxy" in done.stderr


def test_what_was_asked_before_stdin_ended_is_answered(places: Path) -> None:
    done = parley("conduct", "log", "--", *DEMO, given=HELLO)
    assert done.returncode == 0
    assert "result" in json.loads(done.stdout)


async def test_a_proxy_that_blocks_does_not_outlive_the_chain(places: Path, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    blocking = shlex.join(component_command("blocking"))
    process = await asyncio.create_subprocess_exec(
        *PARLEY, "conduct", "--inherit", "PIDS", blocking, "--", *DEMO,
        stdin=PIPE, stdout=PIPE, stderr=PIPE, env={**os.environ, "PIDS": str(pids)},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(HELLO.encode())
    await process.stdout.readline()
    process.stdin.write(
        b'{"jsonrpc":"2.0","id":"b","method":"_block","params":{"sessionId":"s"}}\n'
    )
    (pid,) = map(int, pids.read_text().split())
    assert await process.stderr.readline() == b"I block\n"
    process.send_signal(signal.SIGTERM)
    await process.stdout.read()  # it has begun to end, and waits for the proxy
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_log_calls_the_agent_by_its_name(places: Path) -> None:
    _configure(places, f"[agents.shown]\ncommand = {json.dumps(DEMO)}\n")
    chain = shlex.join([*PARLEY, "conduct", "log", "--", "shown"])
    assert parley("run", "Hello", "-a", chain, "--no-journal").returncode == 0
    (kept,) = json.loads(parley("sessions", "list", "--json").stdout)
    assert kept["agent"] == "shown"
    done = parley("run", "--session", kept["key"], "More")
    assert (done.returncode, done.stdout) == (0, "echo: More\n"), done.stderr


def test_a_builtin_proxy_tells_what_it_takes(places: Path) -> None:
    done = parley("conduct", "budget --help")
    assert done.returncode == 0
    assert "--cost" in done.stdout


def test_a_chain_that_ends_with_itself_is_refused(places: Path) -> None:
    _configure(places, '[chains.a]\nagent = "b"\n[chains.b]\nagent = "a"\n')
    done = parley("run", "x", "-a", "a")
    assert done.returncode == 2
    assert "the chain contains itself through b" in done.stderr


def test_a_process_that_starts_itself_is_stopped(places: Path) -> None:
    command = shlex.join([*PARLEY, "conduct", "--chain", "loop"])
    _configure(places, f"[chains.loop]\nagent = {json.dumps(command)}\n")
    done = parley("run", "x", "-a", "loop")
    assert done.returncode != 0
    assert "does one start itself?" in done.stderr
