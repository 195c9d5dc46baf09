from __future__ import annotations

import asyncio

import pytest

from parley.client import Session
from parley.client._turn_state import WAITING_UPDATES
from parley.errors import LocalProtocolError
from parley.schema import v2

from .scripted_agent import connected, open_session, opened


def text_of(update: v2.SessionUpdate) -> str:
    assert isinstance(update, v2.AgentMessageChunk)
    assert isinstance(update.content, v2.TextContent)
    return update.content.text


PERMISSION = {
    "sessionId": "s",
    "title": "May I?",
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}


async def test_ten_thousand_updates_come_in_their_order_to_a_loop_that_awaits() -> None:
    async with opened() as (session, remote):

        async def agent() -> None:
            await remote.accept()
            for number in range(10_000):
                remote.say(f"{number} ")
                if (room := remote.transport.drained()) is not None:
                    await room
            remote.idle()

        task = asyncio.create_task(agent())
        seen: list[str] = []
        async for event in session.prompt("Count."):
            if isinstance(event, v2.AgentMessageChunk):
                seen.append(text_of(event))
                if len(seen) % 7 == 0:
                    await asyncio.sleep(0)
                if len(seen) % 1000 == 0:
                    assert session.transcript.text == "".join(seen)
        await task
        assert seen == [f"{number} " for number in range(10_000)]


async def test_the_transcript_is_never_ahead_of_the_loop() -> None:
    async with opened() as (session, remote):
        loop = aiter(session.prompt("Hi."))
        first = asyncio.ensure_future(anext(loop))
        await remote.accept()
        for text in "abc":
            remote.say(text)
        remote.idle()
        await first
        await remote.is_read()
        reply_text = ""
        async for event in loop:
            reply_text += text_of(event) if isinstance(event, v2.AgentMessageChunk) else ""
            assert session.transcript.text == reply_text
        assert reply_text == "abc"


async def test_an_update_that_is_there_is_given_without_a_pause() -> None:
    async with opened() as (session, remote):
        loop = aiter(session.prompt("Hi."))
        first = asyncio.ensure_future(anext(loop))
        await remote.accept()
        remote.say("a")
        await first
        await remote.is_read()
        with pytest.raises(StopIteration):
            anext(loop).__await__().__next__()
        remote.idle()
        assert [type(event) async for event in loop] == [v2.AgentMessageChunk, v2.StateUpdated]


async def test_a_loop_that_falls_behind_makes_its_session_wait_and_loses_nothing() -> None:
    async with opened() as (session, remote):
        loop = aiter(session.prompt("Hi."))
        first = asyncio.ensure_future(anext(loop))
        await remote.accept()
        for _ in range(500):
            remote.say("x")
        remote.idle()
        await first
        await remote.is_read()
        turn = session._state.turns.first
        assert turn is not None
        waiting = turn.updates
        assert waiting is not None
        assert WAITING_UPDATES // 2 < len(waiting.queue) <= WAITING_UPDATES
        async for _ in loop:
            pass
        assert session.transcript.text == "x" * 500


async def test_a_question_for_permission_waits_until_the_loop_has_handled_what_came_before() -> (
    None
):
    order: list[str] = []

    def permission(request: v2.RequestPermissionRequest, _: Session) -> str:
        order.append(f"asked {request.title}")
        return "yes"

    async with opened(permission=permission) as (session, remote):

        async def agent() -> None:
            await remote.accept()
            remote.say("a")
            remote.say("b")
            remote.call(1, "session/request_permission", PERMISSION)
            remote.say("c")
            response = await remote.take()
            assert response["result"]["outcome"] == {"outcome": "selected", "optionId": "yes"}
            remote.idle()

        task = asyncio.create_task(agent())
        async for event in session.prompt("Go."):
            if isinstance(event, v2.AgentMessageChunk):
                await asyncio.sleep(0)
                order.append(text_of(event))
        await task
        assert order == ["a", "b", "asked May I?", "c"] or order == ["a", "b", "c", "asked May I?"]
        assert order.index("b") < order.index("asked May I?")


async def test_the_body_of_a_loop_may_ask_the_agent_in_its_own_session() -> None:
    async with opened() as (session, remote):

        async def agent() -> None:
            await remote.accept()
            remote.say("a")
            remote.say("b")
            request = await remote.take("session/set_config_option")
            remote.say("c")
            remote.respond(request, {"configOptions": []})
            remote.idle()

        task = asyncio.create_task(agent())
        seen: list[str] = []
        async for event in session.prompt("Go."):
            if isinstance(event, v2.AgentMessageChunk):
                seen.append(text_of(event))
                if len(seen) == 1:
                    await session.set_config_option("model", "fast")
                    seen.append("set")
        await task
        assert seen == ["a", "set", "b", "c"]


async def test_a_response_to_somebody_else_waits_for_the_loop() -> None:
    async with opened() as (session, remote):
        loop = aiter(session.prompt("Go."))
        first = asyncio.ensure_future(anext(loop))
        await remote.accept()
        await first
        other = asyncio.create_task(session.set_config_option("model", "fast"))
        request = await remote.take("session/set_config_option")
        remote.say("a")
        remote.respond(request, {"configOptions": []})
        await remote.is_read()
        assert not other.done()
        assert isinstance(await anext(loop), v2.StateUpdated)
        assert isinstance(await anext(loop), v2.AgentMessageChunk)
        assert isinstance(await anext(loop), v2.ConfigOptionUpdate), "the response, as an update"
        assert not other.done()
        waiting = asyncio.ensure_future(anext(loop))
        await other
        remote.idle()
        await waiting


async def test_what_came_before_the_response_that_names_a_session_is_not_lost() -> None:
    async with connected() as (connection, remote):
        opening = asyncio.create_task(connection.new_session())
        request = await remote.take("session/new")
        remote.update("session_info_update", "early", title="Early")
        remote.update("available_commands_update", "early", availableCommands=[])
        option = {"configId": "x", "name": "X", "type": "boolean", "currentValue": True}
        remote.respond(request, {"sessionId": "early", "configOptions": [option]})
        session = await opening
        assert session.transcript.title == "Early"
        assert len(session.transcript.config_options) == 1


async def test_two_sessions_at_once_do_not_block_each_other() -> None:
    async with connected() as (connection, remote):
        one = await open_session(connection, remote, "one")
        two = await open_session(connection, remote, "two")
        stuck = aiter(one.prompt("Hi."))
        first = asyncio.ensure_future(anext(stuck))
        await remote.accept("u", "one")
        for _ in range(200):
            remote.say("x", "one")
        await first  # and no further
        other = asyncio.create_task(two.ask("Hi."))
        await remote.accept("u", "two")
        remote.say("y", "two")
        remote.idle("end_turn", "two")
        assert await other == "y"
        remote.idle("end_turn", "one")
        async for _ in stuck:
            pass
        assert one.transcript.text == "x" * 200


@pytest.mark.requirement("V2-PROMPT-16")
async def test_prompts_that_follow_each_other_end_in_the_order_of_their_acceptance() -> None:
    async with opened() as (session, remote):
        one = asyncio.create_task(_collect(session, "one"))
        first = await remote.take("session/prompt")
        two = asyncio.create_task(_collect(session, "two"))
        second = await remote.take("session/prompt")
        assert (first["params"]["prompt"][0]["text"]) == "one"
        remote.respond(second, {"messageId": "u2"})
        remote.respond(first, {"messageId": "u1"})
        for name in ("2", "1"):
            remote.update("user_message", messageId=f"u{name}", content=[])
            remote.state("running")
            remote.say(f"for {name}", message=name)
            remote.idle()
        assert await one == ["for 1"]
        assert await two == ["for 2"]


@pytest.mark.parametrize("is_looped_over", [False, True])
async def test_prompts_on_which_the_agent_works_together_end_together(is_looped_over: bool) -> None:
    async with opened() as (session, remote):
        one = asyncio.create_task(
            _collect(session, "one") if is_looped_over else _ask(session, "one")
        )
        await remote.accept("u1")
        remote.say("On it. ")
        two = asyncio.ensure_future(session.prompt("two"))
        remote.respond(await remote.take("session/prompt"), {"messageId": "u2"})
        three = asyncio.create_task(session.ask("three"))
        remote.respond(await remote.take("session/prompt"), {"messageId": "u3"})
        remote.update("user_message", messageId="u2", content=[])
        remote.say("That too.", message="b")
        remote.idle()
        await one
        result = await two
        assert (result.text, result.stop_reason) == ("That too.", "end_turn")
        assert not three.done(), "it was not reported, so it still waits"
        remote.update("user_message", messageId="u3", content=[])
        remote.state("running")
        remote.say("Now.", message="c")
        remote.idle()
        assert await three == "Now."


async def _collect(session: Session, prompt: str) -> list[str]:
    events = [event async for event in session.prompt(prompt)]
    return [text_of(event) for event in events if isinstance(event, v2.AgentMessageChunk)]


async def test_updates_of_the_next_turn_wait_for_the_loop_of_the_one_before() -> None:
    async with opened() as (session, remote):
        loop = aiter(session.prompt("one"))
        event = asyncio.ensure_future(anext(loop))
        await remote.accept("u1")
        await event
        two = asyncio.create_task(session.ask("two"))
        request = await remote.take("session/prompt")
        remote.respond(request, {"messageId": "u2"})
        remote.say("one")
        remote.idle()
        remote.update("user_message", messageId="u2", content=[])
        remote.state("running")
        remote.say("two", message="b")
        remote.idle()
        await remote.is_read()
        assert not two.done()
        assert [text_of(each) async for each in loop if isinstance(each, v2.AgentMessageChunk)]
        assert await two == "two"


async def test_a_prompt_inside_the_loop_over_another_one_is_refused_before_it_hangs() -> None:
    async with opened() as (session, remote):
        loop = aiter(session.prompt("one"))
        event = asyncio.ensure_future(anext(loop))
        await remote.accept()
        await event
        remote.idle()
        async for _ in loop:
            with pytest.raises(LocalProtocolError, match="leave the loop"):
                await session.ask("two")


@pytest.mark.requirement("V2-PROMPT-11", "V2-PROMPT-10")
async def test_updates_come_at_any_time_and_for_any_session() -> None:
    seen: list[tuple[str, str]] = []

    def on_update(session: Session, update: v2.SessionUpdate) -> None:
        seen.append((session.id, type(update).__name__))

    async with opened(on_update=on_update) as (session, remote):
        remote.say("before")
        turn = asyncio.create_task(session.ask("Hi."))
        await remote.accept()
        remote.idle()
        await turn
        remote.say("after", message="b")
        remote.say("elsewhere", "child")
        await remote.is_read()
        assert session.transcript.text == "after"
        assert session.connection.sessions["child"].transcript.text == "elsewhere"
        assert seen[0] == ("s", "AgentMessageChunk")
        assert seen[-2:] == [("s", "AgentMessageChunk"), ("child", "AgentMessageChunk")]


async def test_callbacks_for_updates_are_done_before_the_next_one_and_before_the_end() -> None:
    done: list[str] = []

    async def on_update(_: Session, update: v2.SessionUpdate) -> None:
        await asyncio.sleep(0)
        done.append(type(update).__name__)

    async with opened(on_update=on_update) as (session, remote):
        for is_looped_over in (False, True):
            done.clear()
            turn = asyncio.create_task(
                _collect(session, "Hi.") if is_looped_over else _ask(session, "Hi.")
            )
            await remote.accept()
            remote.say("a")
            remote.idle()
            await turn
            assert done == ["UserMessage", "StateUpdated", "AgentMessageChunk", "StateUpdated"]


async def _ask(session: Session, prompt: str) -> list[str]:
    return [await session.ask(prompt)]


async def test_who_leaves_a_loop_leaves_the_telling_in_order() -> None:
    received: list[str] = []

    async def on_update(_: Session, update: v2.SessionUpdate) -> None:
        await asyncio.sleep(0)
        if isinstance(update, v2.AgentMessageChunk):
            received.append(text_of(update))

    async with opened(on_update=on_update) as (session, remote):
        turn = session.prompt("Hi.")
        loop = aiter(turn)
        first = asyncio.ensure_future(anext(loop))
        await remote.accept()
        for number in range(200):
            remote.say(f"{number}")
        await first
        await remote.is_read()
        del loop, first
        remote.idle()
        await turn
        assert received == [f"{number}" for number in range(200)]


async def test_a_prompt_that_is_accepted_first_takes_over_when_the_loop_has_got_on() -> None:
    async with opened() as (session, remote):
        loop = aiter(session.prompt("one"))
        event = asyncio.ensure_future(anext(loop))
        first = await remote.take("session/prompt")
        remote.say("before", message="b")
        await event
        two = asyncio.create_task(_collect(session, "two"))
        second = await remote.take("session/prompt")
        remote.respond(second, {"messageId": "u2"})
        remote.say("for two", message="two")
        remote.idle()
        await remote.is_read()
        assert not two.done(), "the loop has not asked for more"
        event = asyncio.ensure_future(anext(loop))
        assert await two == ["for two"]
        remote.respond(first, {"messageId": "u1"})
        remote.say("for one", message="one")
        remote.idle()
        assert text_of(await event) == "for one"
        assert [type(each) async for each in loop] == [v2.StateUpdated]
