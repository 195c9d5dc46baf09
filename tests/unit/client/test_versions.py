"""The same client with an agent of either version."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Unpack

import pytest

from parley.client import Connection, ConnectOptions, Session, Workspace, connect
from parley.errors import RequestError, ResourceNotFound, Unsupported
from parley.schema import v1, v2
from parley.testing.demo import demo_agent

BOTH = pytest.mark.parametrize("version", [1, 2])


@asynccontextmanager
async def demo(
    version: int, **options: Unpack[ConnectOptions]
) -> AsyncGenerator[tuple[Connection, Session], None]:
    options["versions"] = (version,)
    async with connect(demo_agent(), "/", **options) as connection:
        assert connection.version == version
        yield connection, await connection.new_session()


@BOTH
async def test_a_loop_sees_the_same_of_both_versions(version: int) -> None:
    async with demo(version) as (_, session):
        turn = session.prompt("hello")
        kinds = [type(event).__name__ async for event in turn]
        assert kinds[0] == "UserMessage"
        states = [each for each in kinds if each == "StateUpdated"]
        assert (len(states), kinds[-1]) == (2, "StateUpdated")
        result = await turn
        assert (result.text, result.stop_reason) == ("echo: hello", "end_turn")
        assert session.transcript.state == "idle"


@BOTH
async def test_prompts_follow_each_other(version: int) -> None:
    async with demo(version) as (_, session):
        assert [await session.ask(f"{number}") for number in range(3)] == [
            f"echo: {number}" for number in range(3)
        ]
        together = await asyncio.gather(*(session.ask(f"{number}") for number in range(5)))
        assert together == [f"echo: {number}" for number in range(5)]


@BOTH
async def test_a_flood_arrives_whole_and_in_order(version: int) -> None:
    async with demo(version) as (_, session):
        messages = [
            event.content.text
            async for event in session.prompt("flood 2000")
            if isinstance(event, v2.AgentMessageChunk) and isinstance(event.content, v2.TextContent)
        ]
        assert messages == [f"chunk {number}" for number in range(2000)]
        assert await session.ask("hello") == "echo: hello"


@BOTH
async def test_an_error_has_its_code_and_data(version: int) -> None:
    async with demo(version) as (_, session):
        with pytest.raises(RequestError) as raised:
            await session.ask("boom")
        assert (raised.value.code, raised.value.data) == (-32050, {"detail": 42})
        assert await session.ask("hello") == "echo: hello"


@BOTH
@pytest.mark.parametrize("by_task", [False, True])
@pytest.mark.requirement("SAFE-LIVE-01")
async def test_cancelling_ends_the_turn_and_the_next_one_works(version: int, by_task: bool) -> None:
    async with demo(version) as (_, session):
        turn = session.prompt("slow")
        is_running = asyncio.Event()

        async def loop() -> None:
            async for event in turn:
                if isinstance(event, v2.StateUpdated) and event.state == "running":
                    is_running.set()

        waiting = asyncio.create_task(loop())
        await is_running.wait()
        if by_task:
            waiting.cancel()
        else:
            await session.cancel()
        await asyncio.wait({waiting})
        assert waiting.cancelled() == by_task
        assert (await turn).stop_reason == "cancelled"
        assert await session.ask("hello") == "echo: hello"


@BOTH
async def test_permission_and_questions_are_asked_of_the_program(version: int) -> None:
    async with demo(
        version, permission=lambda _, session: "yes", elicit=lambda _, session: {"name": "Ada"}
    ) as (
        _,
        session,
    ):
        assert '"optionId":"yes"' in await session.ask("perm")
        assert '"name":"Ada"' in await session.ask("elicit")
    async with demo(version) as (_, session):
        assert '"cancelled"' in await session.ask("perm")


@BOTH
async def test_extensions_reach_the_program(version: int) -> None:
    async with demo(version, extensions={"_demo/value": lambda _: 42}) as (_, session):
        assert await session.ask("ext") == "ext:42"


@BOTH
async def test_sessions_are_listed_resumed_forked_and_deleted(version: int) -> None:
    async with demo(version) as (connection, session):
        await session.ask("hello")
        await session.close()
        listed = [info.session_id async for info in connection.list_sessions()]
        assert listed == [session.id]
        again = await connection.resume_session(session.id)
        assert [message.text for message in again.transcript.messages] == ["hello", "echo: hello"]
        fork = await connection.fork_session(session.id)
        assert fork.id != session.id
        assert await fork.ask("hello") == "echo: hello"
        await connection.delete_session(session.id)
        assert session.id not in [info.session_id async for info in connection.list_sessions()]


@BOTH
async def test_a_session_that_is_not_known_cannot_be_resumed(version: int) -> None:
    async with demo(version) as (connection, _):
        with pytest.raises(ResourceNotFound):
            await connection.resume_session("nothing")
        assert len(connection.sessions) == 1


class Files:
    def __init__(self) -> None:
        self.texts = {f"{os.sep}a.txt": "hello"}

    def read_text_file(
        self, path: str, line: int | None, limit: int | None, session: Session
    ) -> str:
        assert line is None
        assert limit is None
        try:
            return self.texts[path]
        except KeyError:
            raise FileNotFoundError(path) from None

    async def write_text_file(self, path: str, content: str, session: Session) -> None:
        self.texts[path] = content


class Terminals:
    """One terminal that has run already."""

    def create_terminal(
        self, request: v1.CreateTerminalRequest, session: Session
    ) -> v1.CreateTerminalResponse:
        self.command = [request.command, *request.args]
        return v1.CreateTerminalResponse(terminal_id="t")

    async def terminal_output(
        self, _: v1.TerminalOutputRequest, session: Session
    ) -> v1.TerminalOutputResponse:
        return v1.TerminalOutputResponse(output=" ".join(self.command), truncated=False)

    def wait_for_terminal_exit(self, _: v1.WaitForTerminalExitRequest, session: Session) -> Any:
        return {"exitCode": 0}

    def kill_terminal(self, _: v1.KillTerminalRequest, session: Session) -> None:
        raise AssertionError("it has ended already")

    def release_terminal(self, request: v1.ReleaseTerminalRequest, session: Session) -> None:
        assert request.terminal_id == "t"


async def test_files_and_terminals_are_for_version_1() -> None:
    files = Files()
    async with demo(1, workspace=Workspace(files=files, terminals=Terminals())) as (_, session):
        assert await session.ask("fs a.txt") == "read:hello"
        assert files.texts["/a.txt.out"] == "HELLO"
        assert await session.ask("term") == "term:0:echo hi"
        with pytest.raises(ResourceNotFound):
            await session.ask("fs b.txt")


@BOTH
async def test_what_version_1_does_not_have_is_unsupported_before_anything_is_sent(
    version: int,
) -> None:
    async with demo(version) as (_, session):
        with pytest.raises(Unsupported):
            await session.cancel_tool_call("none")
