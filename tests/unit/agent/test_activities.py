"""Tool calls, terminals, subagents and compactions: blocks that report themselves."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.errors import InvalidRequest, LocalProtocolError, ResourceNotFound
from parley.schema import v2
from parley.schema.v2 import methods

from .agent_clients import Client, connected_client, is_idle, stop_reason, text_block, texts


def agent_of(body: Callable[[Turn], Awaitable[None]]) -> Agent:
    agent = Agent("worker", cancel_timeout=0.01)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await body(turn)

    return agent


def tool_statuses(updates: list[v2.SessionUpdate]) -> list[Any]:
    calls = [each for each in updates if isinstance(each, v2.ToolCallUpdated)]
    return [each.status for each in calls if isinstance(each.status, str)]


async def cancel_tool(client: Client, session: str, id: str) -> None:
    params = v2.CancelToolCallRequest(session_id=session, tool_call_id=id)
    await client.request(methods.CANCEL_TOOL_CALL, params)


@pytest.mark.requirement("V2-TOOL-01", "V2-TOOL-02", "V1-TOOL-01")
async def test_a_tool_call_reports_its_begin_its_progress_and_its_end() -> None:
    async def body(turn: Turn) -> None:
        place = v2.ToolCallLocation(path="/b", line=3)
        async with turn.tool(
            "Edit", kind="edit", name="edit", locations=["/a", place], raw_input={"a": 1}
        ) as call:
            await call.add("looking")
            await call.add(v2.Content(content=text_block("found")))
            await call.diff("/a", "old\n", "new\n")
            await call.show_terminal("t1")
            await call.update(title="Edited")
            await call.result({"ok": True})

    async with connected_client(agent_of(body)) as client:
        updates = (await client.turn(await client.new()))[2:-1]
    first = updates[0]
    assert isinstance(first, v2.ToolCallUpdated)
    id = first.tool_call_id
    assert first == v2.ToolCallUpdated(
        tool_call_id=id,
        title="Edit",
        kind="edit",
        name="edit",
        status="in_progress",
        locations=[v2.ToolCallLocation(path="/a"), v2.ToolCallLocation(path="/b", line=3)],
        raw_input={"a": 1},
    )
    shown = [each.content for each in updates if isinstance(each, v2.ToolCallContentChunk)]
    assert shown[:2] == [v2.Content(content=text_block(text)) for text in ("looking", "found")]
    assert isinstance(shown[2], v2.Diff)
    assert shown[3] == v2.Terminal(terminal_id="t1")
    assert updates[-3:] == [
        v2.ToolCallUpdated(tool_call_id=id, title="Edited"),
        v2.ToolCallUpdated(tool_call_id=id, raw_output={"ok": True}),
        v2.ToolCallUpdated(tool_call_id=id, status="completed"),
    ]


async def test_a_tool_call_that_raises_has_failed_and_the_error_continues() -> None:
    async def body(turn: Turn) -> None:
        with pytest.raises(ValueError, match="no"):
            async with turn.tool("Try"):
                raise ValueError("no")

    async with connected_client(agent_of(body)) as client:
        updates = await client.turn(await client.new())
    assert tool_statuses(updates) == ["in_progress", "failed"]
    assert stop_reason(updates) == "end_turn"


async def test_an_end_that_the_program_reports_itself_stays() -> None:
    async def body(turn: Turn) -> None:
        async with turn.tool("Try") as call:
            await call.update(status="failed", content=[])

    async with connected_client(agent_of(body)) as client:
        updates = await client.turn(await client.new())
    assert tool_statuses(updates) == ["in_progress", "failed"]


async def test_a_tool_call_in_a_cancelled_turn_is_reported_as_cancelled() -> None:
    begun = asyncio.Event()

    async def body(turn: Turn) -> None:
        async with turn.tool("Wait"):
            begun.set()
            await asyncio.Event().wait()

    async with connected_client(agent_of(body)) as client:
        session = await client.new()
        await client.prompt(session)
        await begun.wait()
        await client.cancel(session)
        updates = await client.until_idle()
    assert tool_statuses(updates) == ["in_progress", "cancelled"]
    assert stop_reason(updates) == "cancelled"


async def test_a_tool_call_can_be_cancelled_alone_and_the_turn_continues() -> None:
    async def body(turn: Turn) -> None:
        async with turn.tool("Wait", is_cancellable=True) as call:
            await asyncio.Event().wait()
        assert call.is_cancelled
        assert not turn.is_cancelled
        await turn.say("went on")

    async with connected_client(agent_of(body)) as client:
        session = await client.new()
        await client.prompt(session)
        first = await client.until(v2.ToolCallUpdated)
        assert first.capabilities == v2.ToolCallCapabilities(cancel=v2.ToolCallCancelCapabilities())
        await cancel_tool(client, session, first.tool_call_id)
        updates = await client.until_idle()
        assert tool_statuses(updates) == ["cancelled"]
        assert texts(updates) == ["went on"]
        assert stop_reason(updates) == "end_turn"
        await cancel_tool(client, session, first.tool_call_id)  # it has ended already


async def test_a_tool_call_and_its_turn_cancelled_together_end_both() -> None:
    async def body(turn: Turn) -> None:
        async with turn.tool("Wait", is_cancellable=True):
            await asyncio.Event().wait()
        await turn.say("went on")

    async with connected_client(agent_of(body)) as client:
        session = await client.new()
        await client.prompt(session)
        first = await client.until(v2.ToolCallUpdated)
        await client.cancel(session)
        params = v2.CancelToolCallRequest(session_id=session, tool_call_id=first.tool_call_id)
        asking = asyncio.create_task(client.request(methods.CANCEL_TOOL_CALL, params))
        updates = await client.until_idle()
        await asking
    assert texts(updates) == []
    assert stop_reason(updates) == "cancelled"


async def test_only_what_allows_it_can_be_cancelled_alone() -> None:
    may_end = asyncio.Event()

    async def body(turn: Turn) -> None:
        async with turn.tool("Wait"):
            await may_end.wait()

    async with connected_client(agent_of(body)) as client:
        session = await client.new()
        await client.prompt(session)
        first = await client.until(v2.ToolCallUpdated)
        with pytest.raises(InvalidRequest):
            await cancel_tool(client, session, first.tool_call_id)
        with pytest.raises(ResourceNotFound):
            await cancel_tool(client, session, "nope")
        params = v2.CancelTerminalRequest(session_id=session, terminal_id=first.tool_call_id)
        with pytest.raises(ResourceNotFound):
            await client.request(methods.CANCEL_TERMINAL, params)
        may_end.set()
        assert tool_statuses(await client.until_idle()) == ["completed"]


@pytest.mark.requirement("V2-TERM-04", "V2-TERM-08")
async def test_a_terminal_shows_its_command_its_output_and_its_exit() -> None:
    async def body(turn: Turn) -> None:
        async with turn.tool("Build") as call, turn.terminal("make", cwd="/src") as terminal:
            await call.show_terminal(terminal)
            await terminal.write("building\n")
            await terminal.write(b"\xff")
            await terminal.exit(2)

    async with connected_client(agent_of(body)) as client:
        updates = await client.turn(await client.new())
    terminal = [
        each for each in updates if isinstance(each, v2.TerminalUpdate | v2.TerminalOutputChunk)
    ]
    id = terminal[0].terminal_id
    assert terminal == [
        v2.TerminalUpdate(terminal_id=id, command="make", cwd="/src"),
        v2.TerminalOutputChunk(terminal_id=id, data=b64encode(b"building\n").decode()),
        v2.TerminalOutputChunk(terminal_id=id, data=b64encode(b"\xff").decode()),
        v2.TerminalUpdate(terminal_id=id, exit_status=v2.TerminalExitStatus(exit_code=2)),
    ]


async def test_a_terminal_can_be_cancelled_alone_and_is_then_over() -> None:
    async def body(turn: Turn) -> None:
        async with turn.terminal("sleep", is_cancellable=True):
            await asyncio.Event().wait()

    async with connected_client(agent_of(body)) as client:
        session = await client.new()
        await client.prompt(session)
        first = await client.until(v2.TerminalUpdate)
        assert first.cwd == "/project"
        params = v2.CancelTerminalRequest(session_id=session, terminal_id=first.terminal_id)
        await client.request(methods.CANCEL_TERMINAL, params)
        last = await client.until(v2.TerminalUpdate)
        assert last.exit_status == v2.TerminalExitStatus()
        assert stop_reason(await client.until_idle()) == "end_turn"


async def test_work_in_the_background_is_named_at_the_end_and_when_it_is_over() -> None:
    may_end, tasks = asyncio.Event(), list[asyncio.Task[None]]()

    async def body(turn: Turn) -> None:
        begun = asyncio.Event()

        async def work() -> None:
            async with turn.tool("Index"):
                begun.set()
                await may_end.wait()

        tasks.append(asyncio.create_task(work()))
        await begun.wait()

    async with connected_client(agent_of(body)) as client:
        updates = await client.turn(await client.new())
        first = next(each for each in updates if isinstance(each, v2.ToolCallUpdated))
        idle = updates[-1]
        may_end.set()
        ended, quiet = await client.next(), await client.next()
    work_beside: list[v2.BackgroundWork] = [v2.BackgroundToolCall(tool_call_id=first.tool_call_id)]
    assert idle == v2.StateUpdated(state="idle", stop_reason="end_turn", background=work_beside)
    assert ended == v2.ToolCallUpdated(tool_call_id=first.tool_call_id, status="completed")
    assert quiet == v2.StateUpdated(state="idle", background=[])


async def test_terminals_and_subagents_run_in_the_background_too() -> None:
    may_end, tasks = asyncio.Event(), list[asyncio.Task[None]]()

    async def body(turn: Turn) -> None:
        begun = asyncio.Event()

        async def work() -> None:
            async with turn.terminal("make watch"), turn.session.subagent("Watch"):
                begun.set()
                await may_end.wait()

        tasks.append(asyncio.create_task(work()))
        await begun.wait()

    async with connected_client(agent_of(body)) as client:
        session = await client.new()
        await client.prompt(session)
        while not is_idle(idle := await client.next()):
            pass
        may_end.set()
        await asyncio.gather(*tasks)
    assert isinstance(idle, v2.StateUpdated)
    kinds = [type(each).__name__ for each in idle.background or ()]
    assert kinds == ["BackgroundTerminal", "BackgroundSubagent"]


async def test_a_subagent_speaks_in_a_session_of_its_own() -> None:
    async def body(turn: Turn) -> None:
        async with turn.session.subagent("Explore", description="Looks around") as explorer:
            await explorer.session.say("found it")
            await explorer.session.message(turn.session, "It is in a.py")
        await turn.say("done")

    async with connected_client(agent_of(body)) as client:
        session = await client.new()
        await client.prompt(session)
        notes = [await client.updates.get() for _ in range(11)]
    parent = [each.update for each in notes if each.session_id == session]
    child = [each.update for each in notes if each.session_id != session]
    announced, received, ended = parent[2:5]
    assert isinstance(announced, v2.SubagentUpdate)
    assert (announced.title, announced.description) == ("Explore", "Looks around")
    assert announced.state == v2.RunningStateUpdate()
    running, spoken, sent, idle = child
    assert running == v2.StateUpdated(state="running")
    assert texts([spoken]) == ["found it"]
    assert isinstance(sent, v2.SessionMessage)
    assert isinstance(received, v2.SessionMessage)
    assert sent.recipient_message_id == received.message_id
    assert received.sender_message_id == sent.message_id
    assert idle == v2.StateUpdated(state="idle", stop_reason="end_turn")
    assert isinstance(ended, v2.SubagentUpdate)
    assert ended.state == v2.IdleStateUpdate(stop_reason="end_turn")


async def test_a_subagent_can_be_cancelled_and_its_tools_too_but_not_prompted() -> None:
    begun = asyncio.Event()

    async def body(turn: Turn) -> None:
        async with turn.session.subagent("Explore", is_cancellable=True) as explorer:
            async with explorer.session.tool("Look", is_cancellable=True):
                begun.set()
                await asyncio.Event().wait()
            await asyncio.Event().wait()
        await turn.say("went on")

    async with connected_client(agent_of(body)) as client:
        session = await client.new()
        await client.prompt(session)
        announced = await client.until(v2.SubagentUpdate)
        call = await client.until(v2.ToolCallUpdated)
        await begun.wait()
        with pytest.raises(ResourceNotFound):
            await client.prompt(announced.session_id)
        await cancel_tool(client, announced.session_id, call.tool_call_id)
        assert (await client.until(v2.ToolCallUpdated)).status == "cancelled"
        await client.cancel(announced.session_id)
        ended = await client.until(v2.SubagentUpdate)
        assert ended.state == v2.IdleStateUpdate(stop_reason="cancelled")
        updates = await client.until_idle()
    assert texts(updates) == ["went on"]
    assert stop_reason(updates) == "end_turn"


@pytest.mark.requirement("V2-COMP-01", "V1-PROMPT-36", "V1-PROMPT-37")
async def test_a_compaction_ends_in_exactly_one_way() -> None:
    begun = asyncio.Event()

    async def body(turn: Turn) -> None:
        async with turn.session.compaction() as compaction:
            await compaction.add("We talked.")
        with pytest.raises(ValueError, match="full"):
            async with turn.session.compaction():
                raise ValueError("full")
        async with turn.session.compaction():
            begun.set()
            await asyncio.Event().wait()

    async with connected_client(agent_of(body)) as client:
        session = await client.new()
        await client.prompt(session)
        await begun.wait()
        await client.cancel(session)
        updates = (await client.until_idle())[2:-1]
    statuses = [each.status for each in updates if isinstance(each, v2.CompactionUpdate)]
    begins = ["in_progress", "completed", "in_progress", "failed", "in_progress", "cancelled"]
    assert statuses == begins
    assert isinstance(updates[1], v2.CompactionSummaryChunk)


async def test_a_tool_call_that_has_not_begun_cannot_be_used() -> None:
    async def work(turn: Turn) -> None:
        call, terminal = turn.tool("Read"), turn.terminal("make")
        uses = (call.add("text"), call.update(title="Write"), turn.ask_permission(tool=call))
        for use in uses:
            with pytest.raises(LocalProtocolError, match=r"^this tool call has not begun: use its"):
                await use
        with pytest.raises(LocalProtocolError, match=r"^this terminal has not begun"):
            await terminal.write("ok")
        async with call, terminal:
            await call.add("text")

    async with connected_client(agent_of(work)) as client:
        updates = await client.turn(await client.new())
    assert sum(isinstance(each, v2.ToolCallContentChunk) for each in updates) == 1
    assert stop_reason(updates) == "end_turn"


@pytest.mark.parametrize("noun", ["tool call", "terminal", "subagent", "compaction"])
async def test_an_activity_that_is_never_entered_warns_when_it_is_deleted(noun: str) -> None:
    async def work(turn: Turn) -> None:
        create: dict[str, Callable[[], object]] = {
            "tool call": lambda: turn.tool("Read"),
            "terminal": lambda: turn.terminal("make"),
            "subagent": lambda: turn.session.subagent("Explore"),
            "compaction": lambda: turn.session.compaction(),
        }
        with pytest.warns(RuntimeWarning, match=f"^a {noun} was created but never shown: enter"):
            create[noun]()

    async with connected_client(agent_of(work)) as client:
        assert stop_reason(await client.turn(await client.new())) == "end_turn"


@pytest.mark.parametrize("usage", [{}, 5, "many"])
async def test_a_usage_of_the_wrong_type_is_refused_where_it_is_given(usage: Any) -> None:
    async def work(turn: Turn) -> None:
        with pytest.raises(TypeError, match=r"^turn\.usage must be a version 2 Usage or None"):
            turn.usage = usage
        turn.usage = None

    async with connected_client(agent_of(work)) as client:
        assert stop_reason(await client.turn(await client.new())) == "end_turn"
