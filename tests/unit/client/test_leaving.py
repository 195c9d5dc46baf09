from __future__ import annotations

import asyncio
import gc

import pytest

from parley.errors import ConnectionClosed, LocalProtocolError, RequestCancelled
from parley.schema import v2

from .scripted_agent import ScriptedAgent, open_session, opened


async def flood(remote: ScriptedAgent, reason: str | None = None) -> None:
    """Accept a prompt and send more updates than may wait for a loop."""
    await remote.accept()
    for _ in range(100):
        remote.say("x")
    if reason is not None:
        remote.idle(reason)


async def test_who_leaves_the_loop_gets_the_rest_in_the_transcript() -> None:
    async with opened() as (session, remote):
        agent, turn = asyncio.create_task(flood(remote)), session.prompt("Hi.")
        async for event in turn:
            if isinstance(event, v2.AgentMessageChunk):
                break
        await agent
        remote.idle()
        result = await turn
        assert result.text == "x" * 100
        assert session._state.turns.first is None


async def test_an_exception_in_the_body_lets_the_turn_continue() -> None:
    async with opened() as (session, remote):
        agent, turn = asyncio.create_task(flood(remote)), session.prompt("Hi.")

        async def loop() -> None:
            async for _ in turn:
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await loop()
        assert not turn.is_cancelled
        await agent
        remote.idle()
        assert (await turn).text == "x" * 100


async def test_the_next_prompt_works_after_leaving_a_loop() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(flood(remote, "end_turn"))
        async for _ in session.prompt("Hi."):
            break
        await agent
        asking = asyncio.create_task(session.ask("And now?"))
        await remote.accept("u2")
        remote.say("Fine.", message="b")
        remote.idle()
        assert await asking == "Fine."
        assert session.transcript.messages[1].text == "x" * 100


async def test_leaving_at_the_last_update_ends_the_turn() -> None:
    async with opened() as (session, remote):
        agent, turn = asyncio.create_task(flood(remote, "end_turn")), session.prompt("Hi.")
        async for event in turn:
            if isinstance(event, v2.StateUpdated) and event.state == "idle":
                assert not turn.is_done
                break
        await agent
        assert (await turn).stop_reason == "end_turn"


@pytest.mark.requirement("V2-CANC-07")
@pytest.mark.parametrize("is_looped_over", [False, True])
async def test_cancelling_who_waits_for_a_turn_cancels_the_turn(is_looped_over: bool) -> None:
    async with opened() as (session, remote):
        turn = session.prompt("Hi.")

        async def wait() -> None:
            if is_looped_over:
                async for _ in turn:
                    pass
            else:
                await turn

        waiting = asyncio.create_task(wait())
        await remote.accept()
        remote.update("tool_call_update", toolCallId="call", status="in_progress")
        await remote.is_read()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await remote.take("session/cancel")
        assert session.transcript.tool_calls["call"].status == "cancelled"
        remote.update("tool_call_update", toolCallId="call", status="completed")
        remote.idle("cancelled")
        assert (await turn).stop_reason == "cancelled"
        assert session.transcript.tool_calls["call"].status == "completed"


async def test_cancelling_the_body_of_a_loop_cancels_the_turn() -> None:
    async with opened() as (session, remote):
        agent, turn = asyncio.create_task(flood(remote)), session.prompt("Hi.")
        inside = asyncio.Event()

        async def loop() -> None:
            async for _ in turn:
                inside.set()
                await asyncio.Event().wait()

        waiting = asyncio.create_task(loop())
        await inside.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await remote.take("session/cancel")
        await agent
        remote.idle("cancelled")
        result = await turn
        assert (result.stop_reason, result.text) == ("cancelled", "x" * 100)


async def test_a_timeout_around_a_prompt_cancels_it_and_the_next_one_works() -> None:
    async with opened() as (session, remote):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await session.prompt("Hi.")
        await remote.accept()
        await remote.take("session/cancel")
        remote.idle("cancelled")
        asking = asyncio.create_task(session.ask("Again."))
        await remote.accept("u2")
        remote.say("Here.", message="b")
        remote.idle()
        assert await asking == "Here."


async def test_cancelling_a_prompt_that_waits_leaves_the_one_before_alone() -> None:
    async with opened() as (session, remote):
        one = asyncio.ensure_future(session.prompt("one"))
        await remote.accept("u1")
        second = session.prompt("two")
        two = asyncio.ensure_future(second)
        remote.respond(await remote.take("session/prompt"), {"messageId": "u2"})
        await second.cancel()
        await remote.is_read()  # nothing was sent
        remote.idle()
        assert (await one).stop_reason == "end_turn"
        await remote.take("session/cancel")
        remote.idle("cancelled")
        assert (await two).stop_reason == "cancelled"


async def test_a_prompt_that_is_cancelled_before_it_is_sent_is_cancelled_right_after() -> None:
    async with opened() as (session, remote):
        turn = session.prompt("Hi.")
        await turn.cancel()
        waiting = asyncio.ensure_future(turn)
        await remote.accept()
        await remote.take("session/cancel")
        remote.idle("cancelled")
        assert (await waiting).stop_reason == "cancelled"


async def test_a_prompt_that_is_accepted_after_its_session_was_closed_is_no_matter() -> None:
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Hi."))
        request = await remote.take("session/prompt")
        closing = asyncio.create_task(session.close())
        remote.respond(await remote.take("session/close"), {})
        await closing
        remote.respond(request, {"messageId": "u"})
        await remote.is_read()
        with pytest.raises(RequestCancelled):
            await turn


async def test_cancelling_a_session_ends_all_its_prompts() -> None:
    async with opened() as (session, remote):
        one = asyncio.ensure_future(session.prompt("one"))
        await remote.accept("u1")
        two = asyncio.ensure_future(session.prompt("two"))
        remote.respond(await remote.take("session/prompt"), {"messageId": "u2"})
        await remote.is_read()
        await session.cancel()
        await remote.take("session/cancel")
        remote.idle("cancelled")
        remote.idle("cancelled")
        assert (await one).stop_reason == (await two).stop_reason == "cancelled"


@pytest.mark.requirement("V2-SDK-09")
@pytest.mark.parametrize("is_accepted", [False, True])
async def test_a_turn_fails_when_the_agent_hangs_up(is_accepted: bool) -> None:
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Hi."))
        if is_accepted:
            await remote.accept()
            remote.say("I was going to")
        else:
            await remote.take("session/prompt")
        await remote.transport.aclose()
        with pytest.raises(ConnectionClosed):
            await turn
        assert session.transcript.text == ("I was going to" if is_accepted else "")
        with pytest.raises(LocalProtocolError, match="closed"):
            session.prompt("Still there?")


async def test_a_loop_gets_what_came_before_the_agent_hung_up() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(flood(remote))
        seen: list[v2.SessionUpdate] = []

        async def loop() -> None:
            async for event in session.prompt("Hi."):
                if not seen:
                    await agent
                    await remote.is_read()
                    await remote.transport.aclose()
                seen.append(event)

        with pytest.raises(ConnectionClosed):
            await loop()
        assert len(seen) == 102
        assert session.transcript.text == "x" * 100


async def test_closing_the_connection_does_not_wait_for_a_loop_that_stands_still() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(flood(remote))
        loop = aiter(session.prompt("Hi."))
        await anext(loop)
        await agent
        await remote.is_read()
    with pytest.raises(ConnectionClosed):
        await anext(loop)
    assert session.transcript.text == "x" * 100


@pytest.mark.requirement("V2-SESS-24")
async def test_closing_a_session_ends_its_turn() -> None:
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Hi."))
        await remote.accept()
        closing = asyncio.create_task(session.close())
        request = await remote.take("session/close")
        remote.idle("cancelled")
        remote.respond(request, {})
        await closing
        assert (await turn).stop_reason == "cancelled"
        assert session.connection.sessions == {}


async def test_a_turn_whose_end_is_not_reported_when_its_session_closes_fails() -> None:
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Hi."))
        await remote.accept()
        closing = asyncio.create_task(session.close())
        remote.respond(await remote.take("session/close"), {})
        await closing
        with pytest.raises(RequestCancelled, match="closed"):
            await turn


async def test_a_turn_fails_when_the_agent_gives_its_session_to_another() -> None:
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Go."))
        await remote.accept()
        other = await open_session(session.connection, remote, session.id)
        with pytest.raises(RequestCancelled):
            await turn
        assert session.is_closed
        assert session.connection.sessions == {session.id: other}


async def test_a_loop_that_was_never_begun_leaves_nothing_behind() -> None:
    async with opened() as (session, remote):
        loop = [aiter(session.prompt("Hi."))]
        loop.clear()
        with pytest.warns(RuntimeWarning, match="never sent"):
            gc.collect()
        await remote.is_read()
        assert session._state.turns.first is None
