"""Every way in which a turn is cancelled ends it as cancelled, never as an error."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from contextlib import suppress
from typing import Any

import pytest

from parley.agent import Agent, AgentSession, Turn
from parley.errors import RequestCancelled
from parley.peer import RequestContext
from parley.schema import v2
from parley.schema.v2 import methods
from parley.transport import memory_pair

from .agent_clients import (
    RawClient,
    connected_client,
    connected_raw_client,
    states,
    stop_reason,
    texts,
)


class Waiting:
    """An agent whose handler waits until it is cancelled, and then does what the test wants."""

    def __init__(self) -> None:
        self.agent = Agent("waiting", cancel_timeout=0.01)
        self.begun = asyncio.Event()
        self.turns: list[Turn] = []
        self.agent.prompt(self.reply)

    async def reply(self, turn: Turn) -> None:
        self.turns.append(turn)
        if turn.text == "quick":
            await turn.say("quick")
            return
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.cancelled(turn)

    async def cancelled(self, turn: Turn) -> None:
        pass


@pytest.mark.requirement("V2-CANC-01", "V2-CANC-04", "V2-CANC-06", "V1-PROMPT-21")
async def test_cancel_ends_the_handler_and_the_turn() -> None:
    waiting = Waiting()
    async with connected_client(waiting.agent) as client:
        session = await client.new()
        await client.prompt(session)
        await waiting.begun.wait()
        await client.cancel(session)
        updates = await client.until_idle()
        assert stop_reason(updates) == "cancelled"
        assert states(updates) == ["running", "idle"]
        assert waiting.turns[0].is_cancelled
        got = await client.turn(session, "quick")
        assert texts(got) == ["quick"]


@pytest.mark.requirement("V2-CANC-03", "V1-PROMPT-23")
async def test_what_a_handler_raises_while_it_is_cancelled_is_not_received() -> None:
    class Failing(Waiting):
        async def cancelled(self, turn: Turn) -> None:
            raise ValueError("cannot clean up")

    waiting = Failing()
    async with connected_client(waiting.agent) as client:
        session = await client.new()
        await client.prompt(session)
        await waiting.begun.wait()
        await client.cancel(session)
        idle = (await client.until_idle())[-1]
    assert idle == v2.StateUpdated(state="idle", stop_reason="cancelled")


@pytest.mark.requirement("V2-CANC-02", "V1-PROMPT-24")
async def test_what_a_handler_says_while_it_is_cancelled_comes_before_the_end() -> None:
    class Polite(Waiting):
        async def cancelled(self, turn: Turn) -> None:
            await turn.say("goodbye")

    waiting = Polite()
    async with connected_client(waiting.agent) as client:
        session = await client.new()
        await client.prompt(session)
        await waiting.begun.wait()
        await client.cancel(session)
        updates = await client.until_idle()
    assert texts(updates) == ["goodbye"]
    assert stop_reason(updates) == "cancelled"


async def test_a_handler_that_returns_when_it_is_cancelled_was_cancelled_all_the_same() -> None:
    agent, begun = Agent("swallower"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> str:
        begun.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "refusal"

    async with connected_client(agent) as client:
        session = await client.new()
        await client.prompt(session)
        await begun.wait()
        await client.cancel(session)
        assert stop_reason(await client.until_idle()) == "cancelled"


async def test_a_handler_that_does_not_end_is_given_up_and_may_say_nothing_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    may_speak, refused = asyncio.Event(), asyncio.Event()

    class Deaf(Waiting):
        async def cancelled(self, turn: Turn) -> None:
            async with turn.tool("Work on"):
                while not may_speak.is_set():
                    try:
                        await may_speak.wait()
                    except asyncio.CancelledError:
                        continue
                with pytest.raises(RequestCancelled):
                    await turn.say("still here")
                refused.set()

    waiting = Deaf()
    async with connected_client(waiting.agent) as client:
        session = await client.new()
        await client.prompt(session)
        await waiting.begun.wait()
        await client.cancel(session)
        updates = await client.until_idle()
        may_speak.set()
        await refused.wait()
        got = await client.turn(session, "quick")
        assert texts(got) == ["quick"]
    tool = [each for each in updates if isinstance(each, v2.ToolCallUpdated)]
    assert [each.status for each in tool] == ["in_progress", "cancelled"]
    assert stop_reason(updates) == "cancelled"
    assert "abandoned" in caplog.text


async def test_the_end_of_a_connection_waits_for_a_handler_that_was_given_up() -> None:
    ends: list[str] = []

    class Stubborn(Waiting):
        async def cancelled(self, turn: Turn) -> None:
            with suppress(asyncio.CancelledError):  # the cancel at the end of the connection
                await asyncio.Event().wait()
            await asyncio.sleep(0)
            ends.append("handler")

    waiting = Stubborn()
    async with connected_client(waiting.agent) as client:
        session = await client.new()
        await client.prompt(session)
        await waiting.begun.wait()
        await client.cancel(session)
        assert stop_reason(await client.until_idle()) == "cancelled"
        assert ends == []
    assert ends == ["handler"]


@pytest.mark.requirement("V1-PROMPT-26", "V2-CANC-08")
async def test_cancelling_what_does_nothing_changes_nothing() -> None:
    waiting = Waiting()
    async with connected_client(waiting.agent) as client:
        session = await client.new()
        await client.cancel(session)
        await client.cancel("nope")
        got = await client.turn(session, "quick")
        assert texts(got) == ["quick"]
        await client.cancel(session)
        updates = await client.turn(session, "quick")
        assert states(updates) == ["running", "idle"]
        assert stop_reason(updates) == "end_turn"


@pytest.mark.requirement("SAFE-LIVE-01")
async def test_cancelling_twice_ends_the_turn_once() -> None:
    cancelled = 0

    class Counting(Waiting):
        async def cancelled(self, turn: Turn) -> None:
            nonlocal cancelled
            cancelled += 1
            await turn.say("cleaned up")

    waiting = Counting()
    async with connected_client(waiting.agent) as client:
        session = await client.new()
        await client.prompt(session)
        await waiting.begun.wait()
        await client.cancel(session)
        await client.cancel(session)
        assert texts(await client.until_idle()) == ["cleaned up"]
        assert cancelled == 1
        assert states(await client.turn(session, "quick")) == ["running", "idle"]


async def test_prompts_that_wait_are_cancelled_too_and_never_begin() -> None:
    waiting = Waiting()
    async with connected_client(waiting.agent) as client:
        session = await client.new()
        ids = [(await client.prompt(session, text)).message_id for text in "abc"]
        await waiting.begun.wait()
        await client.cancel(session)
        first = await client.until_idle()
        second = await client.until_idle()
        third = await client.until_idle()
        assert [stop_reason(each) for each in (first, second, third)] == ["cancelled"] * 3
        assert [states(each) for each in (second, third)] == [["idle"], ["idle"]]
        messages = [each[0] for each in (first, second, third)]
        assert [each.message_id for each in messages if isinstance(each, v2.UserMessage)] == ids
        assert len(waiting.turns) == 1


@pytest.mark.requirement("SAFE-LIVE-01")
async def test_a_cancel_right_after_the_prompt_is_for_that_prompt() -> None:
    waiting = Waiting()
    async with connected_raw_client(waiting.agent) as client:
        session = await client.new()
        client.prompt(session)
        client.notify("session/cancel", {"sessionId": session})
        messages: list[dict[str, Any]] = []
        while not messages or messages[-1].get("state") != "idle":
            message = await client.receive()
            messages.append(message.get("params", {}).get("update", message))
    assert "result" in messages[0]
    assert messages[-1]["stopReason"] == "cancelled"


@pytest.mark.requirement("V2-RQC-04")
async def test_withdrawing_a_prompt_that_was_accepted_changes_nothing() -> None:
    waiting = Waiting()
    async with connected_raw_client(waiting.agent) as client:
        id = client.prompt(await client.new())
        await client.until(id)
        await waiting.begun.wait()
        client.notify("$/cancel_request", {"requestId": id})
        await client.until(client.send("_unknown", {}))
        assert not waiting.turns[0].is_cancelled


@pytest.mark.requirement("V2-RQC-05", "V2-PERM-12")
async def test_cancel_while_the_user_is_asked_ends_the_question_and_the_turn() -> None:
    agent, responses = Agent("asker"), list[object]()
    was_requested, withdrawn = asyncio.Event(), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        responses.append(await turn.ask_permission("May I?"))

    async def never(params: Any, request: RequestContext) -> None:
        was_requested.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()

    async with connected_client(agent, requests={methods.REQUEST_PERMISSION.name: never}) as client:
        session = await client.new()
        await client.prompt(session)
        await was_requested.wait()
        await client.cancel(session)
        updates = await client.until_idle()
        await withdrawn.wait()
    assert states(updates) == ["running", "requires_action", "idle"]
    assert stop_reason(updates) == "cancelled"
    assert responses == []


@pytest.mark.requirement("V1-PERM-08", "V2-PERM-07")
async def test_a_question_that_the_client_answers_as_cancelled_allows_nothing() -> None:
    agent, responses = Agent("asker"), list[object]()
    was_requested = asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            responses.append(await turn.ask_permission("May I?"))
        except asyncio.CancelledError:
            responses.append("cancelled")
            raise

    async def cancel_then_respond(params: Any, request: RequestContext) -> Any:
        was_requested.set()
        outcome = v2.CancelledPermissionOutcome()
        return v2.RequestPermissionResponse(outcome=outcome)

    requests = {methods.REQUEST_PERMISSION.name: cancel_then_respond}
    async with connected_client(agent, requests=requests) as client:
        updates = await client.turn(await client.new())
    assert responses == [None]
    assert stop_reason(updates) == "end_turn"


@pytest.mark.requirement("V2-SESS-24")
async def test_closing_a_session_cancels_its_turns_and_then_responds() -> None:
    waiting, closed = Waiting(), list[str]()

    @waiting.agent.close_session
    async def close(session: AgentSession) -> None:
        closed.append(session.id)

    async with connected_client(waiting.agent) as client:
        session = await client.new()
        await client.prompt(session)
        await client.prompt(session)
        await waiting.begun.wait()
        await client.close(session)
        updates = client.unread()
        assert states(updates) == ["running", "idle", "idle"]
        assert stop_reason(updates) == "cancelled"
        assert closed == [session]


async def test_a_lost_connection_ends_the_handler_and_closes_the_session() -> None:
    waiting, closed, ended = Waiting(), asyncio.Event(), asyncio.Event()

    class Ending(Waiting):
        async def cancelled(self, turn: Turn) -> None:
            ended.set()

    waiting = Ending()

    @waiting.agent.close_session
    async def close(session: AgentSession) -> None:
        closed.set()

    async with connected_client(waiting.agent) as client:
        session = await client.new()
        await client.prompt(session)
        await waiting.begun.wait()
    assert ended.is_set()
    assert closed.is_set()
    assert waiting.agent._state.session_owners == {}
    async with connected_client(waiting.agent) as client:
        await client.resume(session)
        await client.until_idle()
        assert texts(await client.turn(session, "quick")) == ["quick"]


async def test_a_client_that_goes_while_the_agent_speaks_is_not_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent, may_speak = Agent("talker"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            await may_speak.wait()
        except asyncio.CancelledError:
            await turn.say("to nobody")
            raise

    with caplog.at_level(logging.WARNING):
        async with connected_client(agent) as client:
            await client.prompt(await client.new())
            await client.until(v2.StateUpdated)
    assert caplog.records == []


async def test_when_we_end_the_connection_the_client_learns_how_its_turn_ended() -> None:
    waiting = Waiting()
    local, remote = memory_pair()
    serving = asyncio.create_task(waiting.agent.serve(remote))
    client = RawClient(local)
    client.prompt(await client.new())
    await waiting.begun.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    messages = [await client.receive() for _ in range(5)]
    assert messages[3]["params"]["update"]["stopReason"] == "cancelled"
    assert "lost" in messages[4]
