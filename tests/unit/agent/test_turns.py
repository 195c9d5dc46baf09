"""The rules of turns, as a client of version 2 sees them."""

from __future__ import annotations

import asyncio
import logging

import pytest

from parley.agent import Agent, Turn
from parley.errors import AuthRequired, InvalidRequest, RequestError, ResourceNotFound
from parley.schema import v2

from .agent_clients import connected_client, is_idle, states, stop_reason, text_block, texts


def talking() -> Agent:
    agent = Agent("hello")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"You said: {turn.text}")

    return agent


@pytest.mark.requirement("V2-PROMPT-03", "V2-PROMPT-04", "V2-PROMPT-07", "V2-PROMPT-08")
async def test_a_turn_is_its_message_then_running_then_what_is_said_then_idle() -> None:
    async with connected_client(talking()) as client:
        session = await client.new()
        accepted = await client.prompt(session, "hi")
        user_message, running, spoken, idle = await client.until_idle()
    assert user_message == v2.UserMessage(
        message_id=accepted.message_id, content=[text_block("hi")]
    )
    assert running == v2.StateUpdated(state="running")
    assert isinstance(spoken, v2.AgentMessageChunk)
    assert spoken.content == text_block("You said: hi")
    assert idle == v2.StateUpdated(state="idle", stop_reason="end_turn")


@pytest.mark.requirement("V2-PROMPT-03")
async def test_a_prompt_gets_a_response_while_its_handler_still_works() -> None:
    agent, may_end = Agent("slow"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await may_end.wait()

    async with connected_client(agent) as client:
        session = await client.new()
        await client.prompt(session)
        await client.until(v2.StateUpdated)
        may_end.set()
        assert stop_reason(await client.until_idle()) == "end_turn"


@pytest.mark.requirement("V2-MSG-01", "V2-MSG-08")
async def test_pieces_of_one_message_share_an_id_and_a_thought_or_a_tool_begins_another() -> None:
    agent = Agent("speaker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("a")
        await turn.say("b")
        await turn.think("hm")
        await turn.say("c")
        async with turn.tool("Look"):
            await turn.say("d")
        await turn.say("e")
        await turn.plan(["One"])
        await turn.say("f")

    async with connected_client(agent) as client:
        updates = await client.turn(await client.new())
    chunks = [each for each in updates if isinstance(each, v2.ContentChunk)]
    ids = [each.message_id for each in chunks]
    assert ids[0] == ids[1]
    assert len(set(ids[1:])) == len(ids[1:])


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests", "refusal", "_budget"])
async def test_a_handler_says_why_it_stopped(reason: str) -> None:
    agent = Agent("stopper")

    @agent.prompt
    async def reply(turn: Turn) -> str:
        if turn.text == "stop":
            turn.stop(reason)
        return reason

    async with connected_client(agent) as client:
        session = await client.new()
        assert stop_reason(await client.turn(session, "return")) == reason
        assert stop_reason(await client.turn(session, "stop")) == reason


async def test_a_reason_that_does_not_exist_is_the_programs_error() -> None:
    agent = Agent("stopper")

    @agent.prompt
    async def reply(turn: Turn) -> str:
        return "tired"

    async with connected_client(agent) as client:
        idle = (await client.turn(await client.new()))[-1]
    assert isinstance(idle, v2.StateUpdated)
    assert idle.stop_reason == "error"


async def test_what_a_handler_refuses_ends_the_turn_with_code_message_and_data() -> None:
    agent = Agent("refuser")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        raise RequestError("Boom", {"detail": 42}, code=-32050)

    async with connected_client(agent) as client:
        idle = (await client.turn(await client.new()))[-1]
    error = v2.Error(code=-32050, message="Boom", data={"detail": 42})
    assert idle == v2.StateUpdated(state="idle", stop_reason="error", error=error)


async def test_of_a_failure_the_client_learns_nothing_and_the_next_turn_works(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = Agent("breaker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "break":
            raise ValueError("the secret")
        await turn.say("fine")

    async with connected_client(agent) as client:
        session = await client.new()
        with caplog.at_level(logging.ERROR):
            idle = (await client.turn(session, "break"))[-1]
        assert texts(await client.turn(session)) == ["fine"]
    error = v2.Error(code=-32603, message="Internal error")
    assert idle == v2.StateUpdated(state="idle", stop_reason="error", error=error)
    assert "the secret" in caplog.text


async def test_what_the_client_does_not_offer_is_reported_with_its_text() -> None:
    agent = Agent("reader")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.read_text_file("a.txt")

    async with connected_client(agent) as client:
        idle = (await client.turn(await client.new()))[-1]
    missing = "the client does not offer fs/read_text_file"
    error = v2.Error(code=-32600, message=missing)
    assert idle == v2.StateUpdated(state="idle", stop_reason="error", error=error)


async def test_a_handler_may_ask_for_a_login() -> None:
    agent = Agent("guarded")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        raise AuthRequired()

    async with connected_client(agent) as client:
        idle = (await client.turn(await client.new()))[-1]
    assert isinstance(idle, v2.StateUpdated)
    assert idle.error == v2.Error(code=-32000, message="Authentication required")


async def test_the_tokens_of_a_turn_come_with_its_end() -> None:
    agent = Agent("counter")
    usage = v2.Usage(total_tokens=3, input_tokens=1, output_tokens=2)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        turn.usage = usage

    async with connected_client(agent) as client:
        idle = (await client.turn(await client.new()))[-1]
    assert isinstance(idle, v2.StateUpdated)
    assert idle.usage == usage


@pytest.mark.requirement("V2-PROMPT-16")
async def test_prompts_wait_for_their_turn_and_each_comes_with_its_message_and_its_end() -> None:
    agent, gate = Agent("queue"), asyncio.Semaphore(0)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await gate.acquire()
        await turn.say(turn.text)

    async with connected_client(agent) as client:
        session = await client.new()
        ids = [(await client.prompt(session, text)).message_id for text in "abc"]
        for id, text in zip(ids, "abc", strict=True):
            gate.release()
            updates = await client.until_idle()
            first = updates[0]
            assert isinstance(first, v2.UserMessage)
            assert first.message_id == id
            assert texts(updates) == [text]
            assert states(updates) == ["running", "idle"]


async def test_sixteen_prompts_may_wait_and_one_more_is_refused() -> None:
    agent, may_end = Agent("queue"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await may_end.wait()

    async with connected_client(agent) as client:
        session = await client.new()
        for _ in range(17):
            await client.prompt(session)
        with pytest.raises(InvalidRequest, match="16 prompts are already waiting"):
            await client.prompt(session)
        may_end.set()
        for _ in range(17):
            assert stop_reason(await client.until_idle()) == "end_turn"
        await client.turn(session)


@pytest.mark.requirement("V2-SESS-38", "V1-SESS-04")
async def test_a_prompt_for_a_session_that_is_not_open_is_refused() -> None:
    async with connected_client(talking()) as client:
        with pytest.raises(ResourceNotFound) as caught:
            await client.prompt("nope")
    assert caught.value.data == {"sessionId": "nope"}


@pytest.mark.requirement("V2-PROMPT-10")
async def test_what_is_said_after_the_end_is_sent_and_the_session_stays_idle() -> None:
    agent, may_speak, tasks = Agent("background"), asyncio.Event(), list[asyncio.Task[None]]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async def speak_later() -> None:
            await may_speak.wait()
            await turn.say("late")

        tasks.append(asyncio.create_task(speak_later()))

    async with connected_client(agent) as client:
        await client.turn(await client.new())
        may_speak.set()
        assert texts([await client.next()]) == ["late"]
        assert client.unread() == []


async def test_the_prompt_and_its_meta_reach_the_handler() -> None:
    agent, seen = Agent("reader"), list[Turn]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        seen.append(turn)

    async with connected_client(agent) as client:
        session = await client.new()
        await client.prompt(session, "hi", meta={"trace": 1})
        await client.until_idle()
    (turn,) = seen
    assert (turn.text, turn.prompt, turn.meta) == ("hi", [text_block("hi")], {"trace": 1})
    assert turn.session.id == session
    assert turn.session.client_info == v2.Implementation(name="test", version="1")
    assert turn.is_over
    assert not turn.is_cancelled


async def test_sessions_run_beside_each_other() -> None:
    agent, may_end = Agent("two"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "wait":
            await may_end.wait()
        await turn.say(turn.text)

    async with connected_client(agent) as client:
        one, other = await client.new(), await client.new()
        await client.prompt(one, "wait")
        await client.prompt(other, "quick")
        ended: list[str] = []
        while len(ended) < 2:
            note = await client.updates.get()
            if is_idle(note.update):
                ended.append(note.session_id)
                may_end.set()
    assert ended == [other, one]
