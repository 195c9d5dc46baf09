"""Updates outside of turns, and sessions that are opened and closed concurrently."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from parley.agent import Agent, AgentSession, Turn
from parley.errors import MethodNotFound, RequestCancelled, RequestError, Unsupported
from parley.schema import v2
from parley.schema.v2 import methods
from parley.testing import pair

from .agent_clients import (
    connected_client,
    connected_raw_client,
    counting_agent,
    stop_reason,
    text_block,
    texts,
)


async def test_title_usage_notices_commands_and_options_are_reported() -> None:
    agent = Agent("reporter")
    command = v2.Command(name="review", description="Look at it")
    option = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=True)
    entry = v2.PlanEntry(content="Two", priority="high", status="completed")
    seen: list[Any] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        session = turn.session
        await session.set_title("A title")
        await session.usage(10, 100, v2.Cost(amount=0.5, currency="EUR"))
        await session.usage(20, 100)
        await session.notice("Careful", "It is hot", severity="warning")
        await session.set_commands([command])
        await session.set_config_options([option])
        await turn.plan(["One", entry], plan_id="mine")
        await turn.update(v2.AgentMessage(message_id="m", content=[text_block("whole")]))
        seen.extend((session.title, session.option("loud"), session.config_options))
        with pytest.raises(KeyError, match="there is no option 'nope'; choose from loud"):
            session.option("nope")

    async with connected_client(agent) as client:
        updates = (await client.turn(await client.new()))[2:-1]
    assert isinstance(updates[0], v2.SessionInfoUpdate)
    assert updates[0].title == "A title"
    first = v2.PlanEntry(content="One", priority="medium", status="pending")
    assert updates[1:] == [
        v2.UsageUpdate(used=10, size=100, cost=v2.Cost(amount=0.5, currency="EUR")),
        v2.UsageUpdate(used=20, size=100),
        v2.Notice(severity="warning", title="Careful", description="It is hot"),
        v2.AvailableCommandsUpdate(available_commands=[command]),
        v2.ConfigOptionUpdate(config_options=[option]),
        v2.PlanUpdate(plan=v2.PlanItems(plan_id="mine", entries=[first, entry])),
        v2.AgentMessage(message_id="m", content=[text_block("whole")]),
    ]
    assert seen == ["A title", True, [option]]


async def test_a_verb_that_gets_something_else_says_what_it_takes() -> None:
    agent = Agent("mistaken")
    received: list[str] = []
    text: Any = 5
    words: Any = ["greet"]
    options: Any = [{"configId": "loud"}]
    word: Any = "one"
    command: Any = v2.Command(name="greet", description="Say hello")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        session = turn.session
        mistakes: list[Callable[[], Coroutine[Any, Any, None]]] = [
            lambda: turn.say(text),
            lambda: turn.think(command),
            lambda: session.message(session, text),
            lambda: session.set_title(text),
            lambda: session.set_commands(words),
            lambda: session.set_config_options(options),
            lambda: turn.plan(word),
            lambda: turn.plan(text),
            lambda: turn.plan([text]),
        ]
        for mistake in mistakes:
            with pytest.raises(TypeError) as refused:
                await mistake()
            received.append(str(refused.value))

    async with connected_client(agent) as client:
        assert texts(await client.turn(await client.new())) == []
    kinds = "v2.SessionConfigSelect and v2.SessionConfigBoolean"
    assert received == [
        "say takes text or a content block, not int",
        "think takes text or a content block, not Command",
        "message takes text or a content block, not int",
        "a title must be a string, not int",
        "set_commands takes a list of v2.Command, not of str",
        f"set_config_options takes a list of {kinds}, not of dict",
        "plan takes a list of texts and v2.PlanEntry, not str",
        "plan takes a list of texts and v2.PlanEntry, not int",
        "plan takes a list of texts and v2.PlanEntry, not of int",
    ]


def test_an_agent_has_a_name() -> None:
    number: Any = 5
    with pytest.raises(TypeError, match="the name of an agent must be a string, not int"):
        Agent(number)
    with pytest.raises(ValueError, match="an agent needs a name"):
        Agent("")


@pytest.mark.parametrize(
    ("done", "statuses"),
    [
        (None, ["pending", "pending", "cancelled"]),
        (0, ["in_progress", "pending", "cancelled"]),
        (1, ["completed", "in_progress", "cancelled"]),
        (3, ["completed", "completed", "cancelled"]),
    ],
)
async def test_a_plan_tells_how_many_of_its_steps_are_done(
    done: int | None, statuses: list[str]
) -> None:
    agent = Agent("planner")
    own = v2.PlanEntry(content="Three", priority="low", status="cancelled")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.plan(["One", "Two", own], done=done)

    async with connected_client(agent) as client:
        await client.prompt(await client.new())
        plan = (await client.until(v2.PlanUpdate)).plan
    assert isinstance(plan, v2.PlanItems)
    assert [each.status for each in plan.entries] == statuses


async def test_sessions_and_connections_can_be_told_apart_in_a_log() -> None:
    agent, shown = Agent("shown"), list[str]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        shown.extend((repr(turn.session), repr(turn.session.connection)))

    async with connected_client(agent) as client:
        id = await client.new()
        await client.turn(id)
    assert shown == [
        f"AgentSession({id!r}, new, Transcript(running, 1 messages, 0 tool calls))",
        "AgentConnection('shown' to 'client', version 2, 1 sessions)",
    ]


async def test_an_agent_may_speak_before_it_is_asked_anything() -> None:
    agent, sessions = counting_agent(), list[AgentSession]()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        sessions.append(session)

    async with connected_client(agent) as client:
        await client.new()
        await sessions[0].say("Hello")
        chunk = await client.until(v2.AgentMessageChunk)
        assert texts([chunk]) == ["Hello"]
        assert chunk.message_id.startswith("message_")


async def test_a_notification_of_ones_own_reaches_the_client() -> None:
    agent = Agent("notifier")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.session.connection.notify("_demo/note", {"a": 1})

    async with connected_raw_client(agent) as client:
        client.prompt(await client.new())
        while (message := await client.receive()).get("method") != "_demo/note":
            pass
    assert message["params"] == {"a": 1}


async def test_a_prompt_in_an_array_begins_after_the_response_to_all_of_it() -> None:
    agent, may_end = counting_agent(), asyncio.Event()

    @agent.request("_wait")
    async def wait(params: Any, connection: Any) -> None:
        await may_end.wait()

    async with connected_raw_client(agent) as client:
        session = await client.new()
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]}
        several: list[Any] = [
            {"jsonrpc": "2.0", "id": "a", "method": "session/prompt", "params": prompt},
            {"jsonrpc": "2.0", "id": "b", "method": "_wait", "params": {}},
        ]
        client.transport.send(json.dumps(several).encode())
        later = client.prompt(session, "later")
        accepted = await client.receive()
        assert accepted["id"] == later
        may_end.set()
        responses: Any = await client.receive()
        assert {each["id"] for each in responses} == {"a", "b"}
        spoken = [(await client.receive())["params"]["update"] for _ in range(8)]
    messages = [
        each["content"] for each in spoken if each["sessionUpdate"] == "agent_message_chunk"
    ]
    assert [each["text"] for each in messages] == ["1: hi", "2: later"]


async def test_closing_twice_closes_once() -> None:
    agent, closed, may_close = counting_agent(), list[str](), asyncio.Event()

    @agent.close_session
    async def close(session: AgentSession) -> None:
        await may_close.wait()
        closed.append(session.id)

    async with connected_raw_client(agent) as client:
        session = await client.new()
        first = client.send("session/close", {"sessionId": session})
        client.notify("$/cancel_request", {"requestId": first})
        second = client.send("session/close", {"sessionId": session})
        may_close.set()
        _, response = await client.until(second)
    assert response["result"] == {}
    assert closed == [session]


async def test_a_program_that_fails_to_close_a_session_has_closed_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = counting_agent()

    @agent.close_session
    async def close(session: AgentSession) -> None:
        raise ValueError("cannot close")

    async with connected_client(agent) as client:
        session = await client.new()
        await client.close(session)
        await client.resume(session)
    assert "cannot close" in caplog.text


async def test_of_two_connections_that_open_a_session_the_later_one_has_it() -> None:
    agent, opening, may_open = counting_agent(), asyncio.Event(), asyncio.Event()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if session.origin == "resumed" and not opening.is_set():
            opening.set()
            await may_open.wait()

    async with connected_client(agent) as one, connected_client(agent) as other:
        session = await one.new()
        await one.close(session)
        slow = asyncio.create_task(one.resume(session))
        await opening.wait()
        await other.resume(session)
        may_open.set()
        with pytest.raises(Exception, match="opened elsewhere"):
            await slow
        await other.turn(session)


async def test_a_part_whose_turn_was_given_up_says_nothing_and_its_failure_is_only_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent, may_speak, spoke = Agent("deaf", cancel_timeout=0.01), asyncio.Event(), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Work") as call:
            while not may_speak.is_set():
                try:
                    await may_speak.wait()
                except asyncio.CancelledError:
                    continue
            with pytest.raises(RequestCancelled):
                await call.add("late")
            spoke.set()
            raise ValueError("too late")

    async with connected_client(agent) as client:
        session = await client.new()
        await client.prompt(session)
        await client.until(v2.ToolCallUpdated)
        await client.cancel(session)
        updates = await client.until_idle()
        assert stop_reason(updates) == "cancelled"
        with caplog.at_level("INFO"):
            may_speak.set()
            await spoke.wait()
            params = v2.ListSessionsRequest()
            await client.request(methods.LIST_SESSIONS, params)
        assert client.unread() == []
    assert "too late" in caplog.text


async def test_a_handler_that_cancels_itself_ends_as_cancelled() -> None:
    agent = Agent("quitter")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        raise asyncio.CancelledError

    async with connected_client(agent) as client:
        assert stop_reason(await client.turn(await client.new())) == "cancelled"


async def test_what_cannot_be_written_about_an_end_is_left_out_of_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = Agent("odd")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "usage":
            count: Any = object()  # a program's mistake
            turn.usage = v2.Usage(total_tokens=count, input_tokens=1, output_tokens=1)
        else:
            raise RequestError("Odd", object(), code=-32050)

    async with connected_client(agent) as client:
        session = await client.new()
        idle = (await client.turn(session, "usage"))[-1]
        assert idle == v2.StateUpdated(state="idle", stop_reason="end_turn")
        idle = (await client.turn(session, "data"))[-1]
        error = v2.Error(code=-32050, message="Odd")
        assert idle == v2.StateUpdated(state="idle", stop_reason="error", error=error)
    assert "cannot be encoded" in caplog.text


@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_without_a_function_for_prompts_says_so(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with pair(Agent("idle"), versions=(version,)) as client:
        with pytest.raises((Unsupported, MethodNotFound)) as refused:
            await client.new_session()
    is_told = "it has no prompt handler" in str(refused.value)
    assert is_told is (version == 2), "only version 2 has a word for it"
    assert "idle has no prompt handler, so it offers no sessions" in caplog.text
