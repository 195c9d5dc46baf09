"""The terminals of a client, as an agent of version 1 sees them.

https://agentclientprotocol.com/protocol/v1/terminals
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import parley.client
from parley.client import Session, Workspace
from parley.schema import v2

from .raw_agent import RawAgent
from .wire_values import update

requirement = pytest.mark.requirement

FOREVER = [sys.executable, "-S", "-c", "import signal; signal.pause()"]


@asynccontextmanager
async def workspace_agent(
    cwd: Path, **options: Any
) -> AsyncGenerator[tuple[RawAgent, Session], None]:
    """Connect a client that lends its terminals in a session that works in a directory."""
    agent, ids = RawAgent(1), iter("st")
    agent.answers["session/new"] = lambda params: {"sessionId": next(ids)}
    async with parley.client.connect(agent, cwd, workspace=Workspace(**options)) as connection:
        session = await connection.new_session()
        await connection.new_session()
        yield agent, session


def params(command: list[str] | str, *args: str, **more: Any) -> dict[str, Any]:
    words = [command, *args] if isinstance(command, str) else command
    return {"sessionId": "s", "command": words[0], "args": words[1:], **more}


async def started(agent: RawAgent, command: list[str] | str, *args: str, **more: Any) -> Any:
    """Start a command and return what names its terminal."""
    created = await agent.call("terminal/create", params(command, *args, **more))
    return {"sessionId": "s", **created}


async def output(agent: RawAgent, command: list[str] | str, *args: str, **more: Any) -> Any:
    """Run a command to its end and return its output."""
    terminal = await started(agent, command, *args, **more)
    await agent.call("terminal/wait_for_exit", terminal)
    return await agent.call("terminal/output", terminal)


@requirement("V1-TERM-02", "V1-TERM-08")
async def test_creating_does_not_wait_and_output_answers_at_once(tmp_path: Path) -> None:
    async with workspace_agent(tmp_path) as (agent, _):
        terminal = await started(agent, FOREVER)
        running = await agent.call("terminal/output", terminal)
        assert running.get("exitStatus") is None
        await agent.call("terminal/kill", terminal)
        assert (await agent.call("terminal/output", terminal))["exitStatus"] is not None


@requirement("V1-TERM-03", "V1-TERM-05")
async def test_arguments_variables_and_directory_are_applied(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with workspace_agent(tmp_path) as (agent, _):
        env = [{"name": "A", "value": "1 2"}]
        assert (await output(agent, "printenv", "A", env=env))["output"] == "1 2\n"
        assert (await output(agent, "pwd"))["output"] == f"{tmp_path}\n"
        inside = await output(agent, "pwd", cwd=f"{tmp_path}/sub")
        assert inside["output"] == f"{tmp_path}/sub\n"
        assert (await output(agent, "echo", "a b", "$A"))["output"] == "a b $A\n"


@requirement("V1-TERM-04")
@pytest.mark.parametrize("cwd", ["sub", "..", "/", "/etc"])
async def test_a_directory_that_is_relative_or_outside_is_refused(cwd: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with workspace_agent(tmp_path) as (agent, _):
        assert await agent.refusal("terminal/create", params("true", cwd=cwd)) == -32602


@requirement("V1-TERM-06", "V1-TERM-09")
async def test_beyond_the_limit_the_oldest_output_is_dropped(tmp_path: Path) -> None:
    numbers = "".join(f"{number}\n" for number in range(1, 2001))
    async with workspace_agent(tmp_path) as (agent, _):
        cut = await output(agent, "seq", "2000", outputByteLimit=1000)
        assert (cut["output"], cut["truncated"]) == (numbers[-1000:], True)
        whole = await output(agent, "seq", "2000", outputByteLimit=len(numbers))
        assert (whole["output"], whole["truncated"]) == (numbers, False)


@requirement("V1-TERM-07")
@pytest.mark.parametrize("limit", range(1, 9))
async def test_output_is_cut_between_characters(limit: int, tmp_path: Path) -> None:
    async with workspace_agent(tmp_path) as (agent, _):
        cut = await output(agent, "printf", "%s", "😀é😀é", outputByteLimit=limit)
        assert cut["truncated"]
        assert "😀é😀é".endswith(cut["output"])
        assert len(cut["output"].encode()) <= limit


@requirement("V1-TERM-10", "V1-TERM-11")
async def test_waiting_answers_at_the_end_with_a_code_or_a_signal(tmp_path: Path) -> None:
    async with workspace_agent(tmp_path) as (agent, _):
        for line, code, signal in (("exit 3", 3, None), ("kill -9 $$", None, "SIGKILL")):
            terminal = await started(agent, "sh", "-c", line)
            before, after = [await agent.call("terminal/wait_for_exit", terminal) for _ in "ab"]
            assert (before.get("exitCode"), before.get("signal")) == (code, signal)
            shown = await agent.call("terminal/output", terminal)
            assert shown["exitStatus"] == after == before


@requirement("V1-TERM-12", "V1-TERM-13", "V1-TERM-14")
async def test_a_kill_answers_who_waits_and_leaves_the_terminal(tmp_path: Path) -> None:
    async with workspace_agent(tmp_path) as (agent, _):
        terminal = await started(agent, FOREVER)
        waiting = [agent.request("terminal/wait_for_exit", terminal) for _ in range(3)]
        assert await agent.call("terminal/kill", terminal) == {}
        for each in waiting:
            assert (await agent.reply(each))["result"]["signal"] == "SIGTERM"
        assert (await agent.call("terminal/wait_for_exit", terminal))["signal"] == "SIGTERM"
        assert "exitStatus" in await agent.call("terminal/output", terminal)
        assert await agent.call("terminal/kill", terminal) == {}


@requirement("V1-TERM-13", "V1-TERM-16", "V1-TERM-17")
async def test_a_release_kills_and_makes_the_id_invalid(tmp_path: Path) -> None:
    received: asyncio.Queue[bytes] = asyncio.Queue()

    def see(session: Session, terminal: str, data: bytes) -> None:
        received.put_nowait(data)

    program = "import os, signal; os.write(1, b'%d' % os.getpid()); signal.pause()"
    async with workspace_agent(tmp_path, on_output=see) as (agent, _):
        terminal = await started(agent, [*FOREVER[:-1], program])
        pid = int(await received.get())
        waiting = agent.request("terminal/wait_for_exit", terminal)
        assert await agent.call("terminal/release", terminal) == {}
        assert (await agent.reply(waiting))["result"]["signal"] == "SIGTERM"
        for method in ("output", "wait_for_exit", "kill", "release"):
            assert await agent.refusal(f"terminal/{method}", terminal) == -32002
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@requirement("V1-TERM-18", "V1-TOOL-13")
async def test_output_that_a_tool_call_shows_is_live_and_stays_visible(tmp_path: Path) -> None:
    seen: asyncio.Queue[str] = asyncio.Queue()

    def see(session: Session, terminal: str, data: bytes) -> None:
        seen.put_nowait(session.transcript.terminals[terminal].text)

    program = "import os, signal; os.write(1, b'still here'); signal.pause()"
    async with workspace_agent(tmp_path, on_output=see) as (agent, session):
        terminal = await started(agent, [*FOREVER[:-1], program])
        shown = {"type": "terminal", "terminalId": terminal["terminalId"]}
        agent.send_updates(update("tool_call", toolCallId="t", title="Look", content=[shown]))
        assert await seen.get() == "still here"
        await agent.call("terminal/release", terminal)
        (content,) = session.transcript.tool_calls["t"].content
        assert isinstance(content, v2.Terminal)
        kept = session.transcript.terminals[content.terminal_id]
        assert (kept.text, kept.exit_status is None) == ("still here", False)


@requirement("V1-TERM-19")
async def test_ids_of_nobody_and_of_another_session_are_refused(tmp_path: Path) -> None:
    async with workspace_agent(tmp_path) as (agent, _):
        terminal = await started(agent, FOREVER)
        for bad in ({**terminal, "sessionId": "t"}, {**terminal, "terminalId": "nope"}):
            for method in ("output", "wait_for_exit", "kill", "release"):
                assert await agent.refusal(f"terminal/{method}", bad) == -32002
        nobody = {**terminal, "sessionId": "nope"}
        assert await agent.refusal("terminal/output", nobody) == -32602
        assert "exitStatus" not in await agent.call("terminal/output", terminal)


@requirement("V1-TERM-20")
@pytest.mark.parametrize("command", ["/no/such", "no-such-program", ""])
async def test_a_command_that_cannot_start_is_an_error(command: str, tmp_path: Path) -> None:
    async with workspace_agent(tmp_path) as (agent, _):
        assert await agent.refusal("terminal/create", params(command)) == -32602


@requirement("V1-TERM-23")
async def test_what_is_not_lent_starts_nothing(tmp_path: Path) -> None:
    async with workspace_agent(tmp_path, terminals=None) as (agent, _):
        assert await agent.refusal("terminal/create", params("touch", "made")) == -32601
    assert not (tmp_path / "made").exists()


@requirement("V1-TERM-21")
@pytest.mark.parametrize(
    "wrong",
    [{"args": ["a", 5]}, {"env": [{"name": "A"}]}, {"env": [5]}],
    ids=["args", "variable", "env"],
)
async def test_broken_arguments_and_variables_are_refused(
    wrong: dict[str, Any], tmp_path: Path
) -> None:
    async with workspace_agent(tmp_path) as (agent, _):
        assert await agent.refusal("terminal/create", params("ls") | wrong) == -32602
        assert (await output(agent, "printf", "fine"))["output"] == "fine"
