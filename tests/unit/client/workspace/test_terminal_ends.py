"""The end of commands: by themselves, killed, released, with their session, with the connection."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from parley.client.workspace._command import RunningCommand, _exit_status
from parley.session._transcript_entries import TerminalEntry
from parley.transport import child_environment

from .terminal_commands import FOREVER, PYTHON, STUBBORN, OutputLog, is_alive, until
from .workspace_agent import new_session, workspace_connection


@pytest.fixture(params=["asyncio", "uvloop"])
def loop_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on both event loops."""
    if request.param == "uvloop":
        uvloop = pytest.importorskip("uvloop")
        monkeypatch.setattr("tests.steady_loop.new_event_loop", uvloop.new_event_loop)
    return str(request.param)


async def test_several_wait_and_a_kill_answers_them_all(tmp_path: Path) -> None:
    seen = OutputLog()
    async with workspace_connection(tmp_path, on_output=seen) as (agent, _):
        terminal = await agent.run(*PYTHON, FOREVER)
        waiting = [agent.ask("terminal/wait_for_exit", terminalId=terminal) for _ in range(5)]
        await seen.until(b"ready\n")
        assert await agent.get("terminal/kill", terminalId=terminal) == {}
        ended = {"exitCode": None, "signal": "SIGTERM"}
        assert [(await each)["result"] for each in waiting] == [ended] * 5
        assert await agent.wait(terminal) == ended
        output = await agent.output(terminal)
        assert (output["output"], output["exitStatus"]) == ("ready\n", ended)
        assert await agent.get("terminal/kill", terminalId=terminal) == {}
        assert await agent.get("terminal/release", terminalId=terminal) == {}


async def test_who_does_not_go_is_killed(tmp_path: Path) -> None:
    seen = OutputLog()
    async with workspace_connection(tmp_path, on_output=seen, grace_after=0.05) as (agent, _):
        terminal = await agent.run(*PYTHON, STUBBORN)
        await seen.until(b"ready\n")
        await agent.get("terminal/kill", terminalId=terminal)
        assert await agent.wait(terminal) == {"exitCode": None, "signal": "SIGKILL"}


TREE = """
import os, signal, subprocess, sys
script = "import os, signal; %s; print(os.getpid(), flush=True); signal.pause()"
for leave in ("0", "os.setpgid(0, 0)", "os.setsid()"):
    subprocess.Popen([sys.executable, "-S", "-c", script % leave])
signal.pause()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="finds them in /proc")
@pytest.mark.parametrize("how", ["kill", "release"])
@pytest.mark.parametrize("pty", [False, True], ids=["pipe", "pty"])
@pytest.mark.requirement("SAFE-REACH-03")
async def test_the_whole_tree_is_ended(how: str, pty: bool, tmp_path: Path) -> None:
    seen = OutputLog()
    async with workspace_connection(tmp_path, on_output=seen, pty=pty) as (agent, _):
        terminal = await agent.run(*PYTHON, TREE)
        pids = [int(word) for word in (await seen.until(b"\n", 3)).split()]
        assert all(map(is_alive, pids))
        await agent.get(f"terminal/{how}", terminalId=terminal)
        await until(lambda: not any(map(is_alive, pids)))


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_who_holds_the_pipe_does_not_hold_up_the_end(tmp_path: Path) -> None:
    seen = OutputLog()
    program = (
        "import os, signal\n"
        "ready, printed = os.pipe()\n"
        "if os.fork():\n"
        "  os.wait()\n"
        "  os.read(ready, 1)\n"
        "else:\n"
        "  os.setsid()\n"
        "  if os.fork(): os._exit(0)\n"
        "  print(os.getpid(), flush=True)\n"
        "  os.write(printed, b'.')\n"
        "  signal.pause()\n"
    )
    async with workspace_connection(tmp_path, on_output=seen) as (agent, _):
        terminal = await agent.run(*PYTHON, program)
        assert await agent.wait(terminal) == {"exitCode": 0, "signal": None}
        (pid,) = map(int, (await seen.until(b"\n")).split())
        os.kill(pid, signal.SIGKILL)  # it has got away for good: it made itself a daemon


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_what_is_left_behind_in_the_background_ends_with_the_command(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, _):
        output = await agent.finished("sh", "-c", "sleep 1000 & echo $!")
        await until(lambda: not is_alive(int(output["output"])))


async def test_the_commands_of_a_session_end_when_it_is_closed(tmp_path: Path) -> None:
    seen = OutputLog()
    async with workspace_connection(tmp_path, on_output=seen) as (agent, session):
        terminal = await agent.run(*PYTHON, FOREVER)
        other = await new_session(session, agent, "t", tmp_path)
        kept = (await agent.get("terminal/create", "t", command="cat"))["terminalId"]
        await seen.until(b"ready\n")
        closing = asyncio.create_task(session.close())
        agent.respond(await agent.take("session/close"), {})
        await closing
        (ended,) = session.transcript.terminals.values()
        await until(lambda: ended.exit_status is not None)
        await agent.get("terminal/output", "t", terminalId=kept)
        code, _message = await agent.fail("terminal/output", "t", terminalId=terminal)
        assert code == -32002
        assert not other.is_closed


@pytest.mark.parametrize("end", ["we leave", "the agent goes"])
@pytest.mark.usefixtures("loop_kind")
async def test_all_commands_end_with_the_connection(end: str, tmp_path: Path) -> None:
    seen = OutputLog()
    async with workspace_connection(tmp_path, on_output=seen, grace_after=0.05) as (agent, session):
        for program in (FOREVER, STUBBORN, f"import time; {FOREVER}"):
            await agent.run(*PYTHON, program)
        await seen.until(b"ready\n", 3)
        terminals = list(session.transcript.terminals.values())
        if end == "the agent goes":
            await agent.transport.aclose()
            await until(lambda: all(each.exit_status is not None for each in terminals))
    assert [each.exit_status is not None for each in terminals] == [True] * 3


def test_a_loop_that_ends_leaves_no_command(tmp_path: Path) -> None:
    commands: list[RunningCommand] = []

    async def leave() -> None:
        is_ready = asyncio.Event()
        command = await RunningCommand.start(
            [*PYTHON, STUBBORN],
            TerminalEntry("t"),
            cwd=str(tmp_path),
            env=child_environment(),
            on_output=lambda _: is_ready.set(),
        )
        await is_ready.wait()
        commands.append(command)

    asyncio.run(leave())
    (command,) = commands
    assert command.ended.result().signal == "SIGKILL"
    assert not is_alive(command.pid)


def test_a_signal_without_a_name_has_its_number() -> None:
    assert _exit_status(-60).signal == "SIG60"


async def test_stopping_commands_keeps_those_that_are_named(
    tmp_path: Path,
) -> None:
    async with workspace_connection(tmp_path) as (agent, session):
        kept, stopped = [await agent.run(*PYTHON, FOREVER) for _ in range(2)]
        workspace = session.connection.workspace
        assert workspace is not None
        await workspace.stop_commands(session, {kept})
        assert "exitStatus" not in await agent.output(kept)
        assert (await agent.output(stopped))["exitStatus"]["signal"] == "SIGTERM"
        await workspace.stop_commands(session)
        assert (await agent.wait(kept))["signal"] == "SIGTERM"
