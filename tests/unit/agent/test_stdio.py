"""An agent as a program of its own, on stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import parley
from parley.agent import Turn

TEN_LINES = """
from parley import Agent

agent = Agent("hello")

@agent.prompt
async def reply(turn):
    print("not for the client")
    await turn.say(f"You said: {turn.text}")

agent.run()
"""

SLOW = """
import asyncio, sys
from parley import Agent

agent = Agent("slow", cancel_timeout=0.01)

@agent.prompt
async def reply(turn):
    await turn.say(type(asyncio.get_running_loop()).__module__)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("cancelled", file=sys.stderr)
            if turn.text != "deaf":
                raise

@agent.close_session
async def close(session):
    print("closed", file=sys.stderr)

agent.run()
print("came back", file=sys.stderr)
"""

WITHOUT_UVLOOP = 'import sys; sys.modules["uvloop"] = None'


class Program:
    """A program that speaks version 2."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def send(self, id: int, method: str, params: object) -> None:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.stdin.write(json.dumps(message).encode() + b"\n")

    async def receive(self) -> Any:
        return json.loads(await self.stdout.readline())

    async def prompt(self, text: str) -> Any:
        """Begin a turn and return the first thing that the agent says."""
        info = {"name": "test", "version": "1"}
        self.send(1, "initialize", {"protocolVersion": 2, "info": info})
        assert (await self.receive())["result"]["info"]["name"] in ("hello", "slow")
        self.send(2, "session/new", {"cwd": "/"})
        session = (await self.receive())["result"]["sessionId"]
        prompt = [{"type": "text", "text": text}]
        self.send(3, "session/prompt", {"sessionId": session, "prompt": prompt})
        while True:
            update = (await self.receive()).get("params", {}).get("update", {})
            if update.get("sessionUpdate") == "agent_message_chunk":
                return update["content"]["text"]

    async def stop_reason(self) -> str:
        """Return why the turn ended, which is said next."""
        reason: str = (await self.receive())["params"]["update"]["stopReason"]
        return reason

    async def end(self) -> list[str]:
        """Close stdin, see that the program ends well, and return what it wrote to stderr."""
        _, errors = await self.process.communicate(b"")
        assert self.process.returncode == 0
        return errors.decode().splitlines()


@asynccontextmanager
async def started(source: str) -> AsyncGenerator[Program, None]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", source, stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_ten_lines_are_an_agent() -> None:
    async with started(TEN_LINES) as program:
        assert await program.prompt("hi") == "You said: hi"
        assert await program.stop_reason() == "end_turn"
        assert await program.end() == ["not for the client"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_the_turn_the_session_and_the_program(number: int) -> None:
    async with started(SLOW) as program:
        await program.prompt("wait")
        program.process.send_signal(number)
        assert await program.stop_reason() == "cancelled"
        await program.process.wait()
        assert await program.end() == ["cancelled", "closed", "came back"]


@pytest.mark.requirement("SAFE-LIVE-07")
async def test_the_end_of_stdin_ends_the_program() -> None:
    async with started(SLOW) as program:
        await program.prompt("wait")
        assert await program.end() == ["cancelled", "closed", "came back"]


async def test_a_handler_that_does_not_end_does_not_keep_the_program_alive() -> None:
    async with started(SLOW) as program:
        await program.prompt("deaf")
        errors = await program.end()
    assert "closed" in errors
    assert "came back" in errors


@pytest.mark.parametrize(("before", "loop"), [("", "uvloop"), (WITHOUT_UVLOOP, "asyncio")])
async def test_the_loop_is_uvloops_where_that_is_installed(before: str, loop: str) -> None:
    if not before:
        pytest.importorskip("uvloop")
    async with started(before + SLOW) as program:
        assert (await program.prompt("wait")).startswith(loop)


async def test_what_is_printed_is_seen_at_once() -> None:
    async with started(TEN_LINES) as program:
        await program.prompt("hi")
        assert program.process.stderr is not None
        assert await program.process.stderr.readline() == b"not for the client\n"


EXITING = """
import sys
from parley import Agent

agent = Agent("hello")

@agent.prompt
async def reply(turn):
    await turn.say("Good bye")
    sys.exit(7)

agent.run()
"""


@pytest.mark.requirement("SAFE-COST-03")
@pytest.mark.parametrize("before", ["", WITHOUT_UVLOOP], ids=["default", "asyncio"])
async def test_a_handler_that_calls_exit_fails_its_turn_and_not_the_program(before: str) -> None:
    async with started(before + EXITING) as program:
        assert await program.prompt("hi") == "Good bye"
        assert await program.stop_reason() == "error"
        errors = await program.end()
    assert "SystemExit: 7" in errors


async def test_the_front_door_loads_the_agent_and_one_version_only_when_asked() -> None:
    source = "import sys, parley; parley.Agent; print(*sys.modules)"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", source, stdout=asyncio.subprocess.PIPE
    )
    loaded = (await process.communicate())[0].decode().split()
    assert "parley.schema.v2" in loaded
    assert not [name for name in loaded if name.startswith("parley.schema.v1")]


@pytest.mark.parametrize(
    ("arguments", "keeps"),
    [
        ("", False),
        (", features=AgentFeatures(load=True, resume=True)", True),
        (", store=JournalStore(MemoryJournal())", True),
    ],
    ids=["memory", "claimed", "journal"],
)
async def test_sessions_that_end_with_the_process_are_not_offered_to_be_opened_again(
    arguments: str, keeps: bool
) -> None:
    imports = (
        "from parley.agent import AgentFeatures\n"
        "from parley.agent.journal_store import JournalStore\n"
        "from parley.journal import MemoryJournal\n"
    )
    code = imports + TEN_LINES.replace('Agent("hello")', f'Agent("hello"{arguments})')
    async with parley.connect([sys.executable, "-c", code], versions=(1,)) as client:
        features = client.features
        assert (features.load, features.resume) == (keeps, keeps)
        assert (features.list, features.close, features.delete) == (True, True, True)
        session = await client.new_session()
        assert await session.ask("hi") == "You said: hi"
        await session.close()
        if keeps:
            again = await client.resume_session(session.id)
            assert [each.text for each in again.transcript.messages] == ["hi", "You said: hi"]
        else:
            with pytest.raises(parley.Unsupported):
                await client.resume_session(session.id)


async def test_sessions_in_memory_can_be_opened_again_where_the_process_lives_on() -> None:
    agent = parley.Agent("hello")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    async with parley.connect(agent, versions=(1,)) as client:
        session = await client.new_session()
        await session.ask("hi")
    async with parley.connect(agent, versions=(1,)) as client:
        again = await client.resume_session(session.id)
        assert [each.text for each in again.transcript.messages] == ["hi", "You said: hi"]
