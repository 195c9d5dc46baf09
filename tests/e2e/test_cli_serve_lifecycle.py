"""`parley serve`: what is started, under which names, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import select
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from parley.client import Remote, connect
from parley.errors import InternalError, Overloaded, Unauthorized

from .command import PARLEY, parley
from .gateway_process import (
    WAIT_SECONDS,
    GatewayProcess,
    program,
    run_gateway,
    token_file,
    token_of,
)

OTHER = """
from parley import Agent
agent = Agent("other")
@agent.prompt
async def reply(turn):
    await turn.say("from the other")
agent.run()
"""


def agents_of(served: GatewayProcess) -> list[int]:
    """Return the processes of the agents that were started so far."""
    return [
        int(part.partition("=")[2])
        for line in served.lines
        if "agent started" in line
        for part in line.split()
        if part.startswith("pid=")
    ]


def is_gone(pid: int) -> bool:
    """Wait for the end of a process; whoever is its parent by then may be slow to notice."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], WAIT_SECONDS)[0])
    finally:
        os.close(handle)


async def test_what_is_under_way_ends_before_it_does(places: Path) -> None:
    asked, decided = asyncio.Event(), asyncio.Event()

    async def decide(request: object, session: object) -> str:
        asked.set()
        await decided.wait()
        return "yes"

    with run_gateway() as served:
        token = token_of(places)
        assert served.request("GET", "/readyz")[0] == 200
        async with connect(
            served.url(), "/", remote=Remote(token=token), permission=decide
        ) as agent:
            session = await agent.new_session()
            asking = asyncio.create_task(session.ask("perm"))
            await asked.wait()
            served.signal(signal.SIGTERM)
            await asyncio.to_thread(served.until, "draining")
            assert served.request("GET", "/readyz")[0] == 503
            assert served.request("GET", "/healthz")[0] == 200
            with pytest.raises(Overloaded, match="is being shut down"):
                async with connect(served.url(), "/", remote=Remote(token=token)):
                    pass
            decided.set()
            assert await asking == 'perm:{"outcome":"selected","optionId":"yes"}'
            await agent.peer.wait_closed()
        assert served.end() == 0
        assert "stopped" in served.lines[-1]
        pids = agents_of(served)
        assert len(pids) == 1
        assert all(map(is_gone, pids))


async def test_a_second_signal_ends_it_at_once_with_all_agents(places: Path) -> None:
    with run_gateway() as served:
        async with connect(served.url(), "/", remote=Remote(token=token_of(places))) as agent:
            session = await agent.new_session()
            asking = asyncio.create_task(session.ask("slow"))
            await asyncio.to_thread(served.until, "session opened")
            served.signal(signal.SIGINT)
            await asyncio.to_thread(served.until, "draining")
            served.signal(signal.SIGINT)
            assert await asyncio.to_thread(served.end) == 130
            asking.cancel()
        pids = agents_of(served)
        assert len(pids) == 1
        assert all(map(is_gone, pids))


async def test_draining_gives_up_after_its_time(places: Path) -> None:
    with run_gateway("--drain", "0.2") as served:
        async with connect(
            served.url(), "/", remote=Remote(token=token_of(places)), versions=(1,)
        ) as agent:
            session = await agent.new_session()
            asking = asyncio.create_task(session.ask("slow"))
            await asyncio.to_thread(served.until, "session opened")
            served.signal()
            assert await asyncio.to_thread(served.end) == 0
            asking.cancel()


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_a_client_learns_how_its_agent_ended(places: Path, scheme: str) -> None:
    with run_gateway() as served:
        async with connect(
            served.url(scheme=scheme), "/", remote=Remote(token=token_of(places))
        ) as agent:
            session = await agent.new_session()
            with pytest.raises(InternalError, match="demo exited with code 3") as caught:
                await session.ask("crash")
            assert caught.value.data == {"gone": "demo", "exitCode": 3, "lastWords": ""}
        assert "code=3" in served.until("agent exited")
        async with connect(served.url(), "/", remote=Remote(token=token_of(places))) as agent:
            assert await (await agent.new_session()).ask("Hi") == "echo: Hi"


def test_the_command_says_how_to_go_on_after_its_agent_has_died(places: Path) -> None:
    with run_gateway() as served:
        done = parley("run", "crash", "-a", served.url(), "--token-file", str(token_file(places)))
        assert (done.returncode, "demo exited with code 3\n" in done.stderr) == (5, True)
        told = done.stderr.partition("resume with `parley ")[2].partition(" …`")[0]
        done = parley(*shlex.split(told), "-q", "Hi")
        assert (done.returncode, done.stdout) == (0, "echo: Hi\n"), done.stderr


async def test_several_agents_are_served_under_their_names(tmp_path: Path, places: Path) -> None:
    other = program(tmp_path, "other.py", OTHER)
    with run_gateway(
        "--name", f"one={shlex.join(PARLEY)} demo", "--name", f"two={other}"
    ) as served:
        for name, told in (("", "parley-demo"), ("one", "parley-demo"), ("two", "other")):
            async with connect(
                served.url(name), "/", remote=Remote(token=token_of(places))
            ) as agent:
                assert agent.info.name == told
        assert served.initialize("/acp/three", authorization=f"Bearer {token_of(places)}")[0] == 404
        with pytest.raises(Unauthorized):
            async with connect(
                served.url("two"), "/", remote=Remote(token="another-token-altogether")
            ):
                pass


def test_an_address_that_is_in_use_is_told() -> None:
    with run_gateway() as served:
        done = parley("serve", "--http", f"127.0.0.1:{served.port}")
        told = f"cannot listen on 127.0.0.1:{served.port}: the address is already in use; "
        assert (done.returncode, told in done.stderr) == (1, True)


def test_it_is_configured_in_the_users_file_too(places: Path) -> None:
    file = places / "config" / "parley" / "config.toml"
    file.parent.mkdir(parents=True)
    demo = json.dumps([*PARLEY, "demo"])
    agents = f'[serve.agents.mine]\ncommand = ["not-here"]\n[serve.agents.demo]\ncommand = {demo}\n'
    file.write_text(agents)
    with run_gateway() as served:
        told = "\n".join(served.lines)
        assert "warning: mine: not-here was not found" in told
        assert served.request("GET", "/readyz")[0] == 503
    file.write_text("[serve]\nhttps = 1\n")
    done = parley("serve")
    assert done.stderr == f"parley: {file}:2: serve.https is not known; did you mean http?\n"
    assert "serve.https is not known" in parley("doctor", "--no-agents").stdout


def test_who_comes_to_a_session_that_is_at_work_joins_it_and_it_is_written_down_once(
    places: Path,
) -> None:
    with run_gateway() as served:
        way = ("-a", served.url(), "--token-file", str(token_file(places)))
        words = [*PARLEY, "run", "slow", "--session", "busy", "--json", "--protocol", "1", *way]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as first:
            assert first.stdout is not None
            while b"waiting" not in first.stdout.readline():
                pass
            joining = [*PARLEY, "run", "Hi", "--session", "busy", "--json", *way]
            with subprocess.Popen(
                joining, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
            ) as second:
                assert second.stderr is not None
                assert second.stdout is not None
                told = second.stderr.readline()
                while b"is already recorded by another process" not in told:
                    assert told
                    told = second.stderr.readline()
                assert b'"event":"session"' in second.stdout.readline()
                first.send_signal(signal.SIGINT)
                said = second.stdout.read()
                assert (second.wait(), b"echo: Hi" in said) == (0, True), second.stderr.read()
        shown = parley("sessions", "show", "busy", "--json").stdout
        assert shown.count('"text":"slow"') == shown.count("waiting to be cancelled") == 1
        assert shown.count("echo: Hi") <= 1
        assert parley("run", "On", "--session", "busy", "-q", *way).stdout == "echo: On\n"
        assert parley("sessions", "show", "busy", "--json").stdout.count("echo: On") == 1
