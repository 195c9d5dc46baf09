"""`async with session.prompt(…) as turn`: the turn ends with the block."""

from __future__ import annotations

import asyncio
import logging

import pytest

from parley.agent import Agent, Turn
from parley.client import PromptTurn, _turn_state, connect
from parley.errors import ConnectionClosed, InternalError, LocalProtocolError
from parley.schema import v2

from .scripted_agent import ScriptedAgent, opened


async def work(remote: ScriptedAgent, chunks: int, reason: str | None = None) -> None:
    """Accept a prompt and send a message in chunks."""
    await remote.accept()
    for number in range(chunks):
        remote.say(f"{number} ")
    if reason is not None:
        remote.idle(reason)


async def confirm_cancel(remote: ScriptedAgent) -> None:
    await remote.take("session/cancel")
    remote.idle("cancelled")


def chunks_of(updates: list[v2.SessionUpdate]) -> list[str]:
    contents = [each.content for each in updates if isinstance(each, v2.AgentMessageChunk)]
    return [content.text for content in contents if isinstance(content, v2.TextContent)]


async def test_entering_sends_the_prompt_and_leaving_waits_for_the_end() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 2, "end_turn"))
        async with session.prompt("Hi.") as turn:
            await agent
        assert turn.is_done
        assert (await turn).text == "0 1 "


@pytest.mark.parametrize("version", [1, 2])
async def test_a_cancel_right_after_entering_is_for_that_prompt(version: int) -> None:
    agent = Agent("patient")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await asyncio.Event().wait()

    async with connect(agent, versions=(version,)) as connection:
        session = await connection.new_session()
        async with session.prompt("Hi.") as turn:
            await session.cancel()
        assert (await turn).stop_reason == "cancelled"


async def test_a_loop_in_the_block_gets_every_update_and_the_block_the_result() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 3, "end_turn"))
        async with session.prompt("Hi.") as turn:
            updates = [update async for update in turn]
        await agent
        assert chunks_of(updates) == ["0 ", "1 ", "2 "]
        assert (await turn).stop_reason == "end_turn"
        assert not turn.is_cancelled


async def test_leaving_the_loop_of_a_block_cancels_the_turn_and_waits_for_its_end() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 3))
        async with session.prompt("Hi.") as turn:
            updates = aiter(turn)  # held, so that its deletion cannot end the loop
            await anext(updates)
            confirming = asyncio.create_task(confirm_cancel(remote))
        assert turn.is_done
        await asyncio.gather(agent, confirming)
        assert (await turn).stop_reason == "cancelled"
        assert (await turn).text == "0 1 2 "
        assert session._state.turns.first is None


async def test_an_exception_in_the_block_cancels_the_turn_and_waits_for_its_end() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 3))
        turn = session.prompt("Hi.")

        async def fail() -> None:
            async with turn:
                await agent
                raise ZeroDivisionError

        confirming = asyncio.create_task(confirm_cancel_after(agent, remote))
        with pytest.raises(ZeroDivisionError):
            await fail()
        assert turn.is_done
        await confirming
        assert (await turn).stop_reason == "cancelled"


async def confirm_cancel_after(agent: asyncio.Task[None], remote: ScriptedAgent) -> None:
    await agent
    await confirm_cancel(remote)


async def test_the_end_of_a_block_does_not_wait_forever_for_an_agent_that_ignores_cancels(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(_turn_state, "LEAVE_TIMEOUT", 0)
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 3))
        turn = session.prompt("Hi.")

        async def run_out_of_time() -> None:
            async with asyncio.timeout(None) as timeout, turn:
                await agent
                timeout.reschedule(0)
                await asyncio.Event().wait()

        with pytest.raises(TimeoutError):
            await run_out_of_time()
        await remote.take("session/cancel")
        assert turn.is_cancelled
        assert not turn.is_done
        assert "did not end a cancelled turn" in caplog.text
        remote.idle("cancelled")
        assert (await turn).stop_reason == "cancelled"


async def test_updates_that_arrive_before_the_loop_are_kept_for_it() -> None:
    seen: list[str] = []
    arrived = asyncio.Event()

    def on_update(_: object, update: v2.SessionUpdate) -> None:
        seen.extend(chunks_of([update]))
        if len(seen) == 3:
            arrived.set()

    async with opened(on_update=on_update) as (session, remote):
        agent = asyncio.create_task(work(remote, 3))
        async with session.prompt("Hi.") as turn:
            await agent
            await arrived.wait()
            remote.say("3 ")
            remote.idle()
            updates: list[v2.SessionUpdate] = []
            async for update in turn:
                if not updates:
                    await session.connection.notify("_note", {})
                updates.append(update)
        assert chunks_of(updates) == ["0 ", "1 ", "2 ", "3 "]
        assert session.transcript.text == "0 1 2 3 "
        assert seen == ["0 ", "1 ", "2 ", "3 "]


async def test_a_loop_over_kept_updates_may_request_something_of_the_agent() -> None:
    arrived = asyncio.Event()

    def on_update(_: object, update: v2.SessionUpdate) -> None:
        if chunks_of([update]) == ["1 "]:
            arrived.set()

    async with opened(on_update=on_update) as (session, remote):
        agent = asyncio.create_task(work(remote, 2))
        async with session.prompt("Hi.") as turn:
            await agent
            await arrived.wait()

            async def respond() -> None:
                remote.say("2 ")
                remote.respond(await remote.take("_question"), {"answer": 42})
                remote.idle()

            responding = asyncio.create_task(respond())
            responses = [
                await session.connection.request("_question", {"sessionId": session.id})
                async for update in turn
                if chunks_of([update]) == ["0 "]
            ]
            await responding
        assert responses == [{"answer": 42}]


async def test_a_turn_that_ended_before_its_loop_is_looped_over_nevertheless() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 2, "end_turn"))
        async with session.prompt("Hi.") as turn:
            await agent
            await session.until_idle()
            assert turn.is_done
            updates = [update async for update in turn]
        assert chunks_of(updates) == ["0 ", "1 "]


async def test_a_loop_that_starts_too_late_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_turn_state, "KEPT_UPDATES", 3)
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 10, "end_turn"))
        async with session.prompt("Hi.") as turn:
            await agent
            await session.until_idle()
            with pytest.raises(LocalProtocolError, match="more than 3 updates arrived"):
                aiter(turn)


async def test_a_block_raises_an_error_of_the_turn_that_it_has_not_seen() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 1, "error"))
        with pytest.raises(InternalError):
            async with session.prompt("Hi."):
                await agent


async def test_a_block_does_not_repeat_an_error_that_it_has_seen() -> None:
    async def loop(turn: PromptTurn) -> None:
        async for _ in turn:
            pass

    async with opened() as (session, remote):
        for see in (PromptTurn.wait, loop):
            agent = asyncio.create_task(work(remote, 1, "error"))
            async with session.prompt("Hi.") as turn:
                with pytest.raises(InternalError):
                    await see(turn)
            await agent


async def test_a_prompt_that_cannot_be_sent_fails_when_the_block_is_entered() -> None:
    async with opened() as (session, remote):
        await remote.transport.aclose()
        turn = session.prompt("Hi.")
        await session.connection._state.peer.wait_closed()
        with pytest.raises(ConnectionClosed):
            await turn.__aenter__()


async def test_a_prompt_is_entered_once_and_first() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 1, "end_turn"))
        turn = session.prompt("Hi.")
        await turn
        await agent
        with pytest.raises(LocalProtocolError, match="entered once"):
            await turn.__aenter__()


async def test_a_cancelled_block_cancels_the_turn(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with opened() as (session, remote):
        agent = asyncio.create_task(work(remote, 3))
        turn = session.prompt("Hi.")

        async def loop() -> None:
            async with turn:
                async for _ in turn:
                    pass

        looping = asyncio.create_task(loop())
        await agent
        await remote.is_read()
        looping.cancel()
        await confirm_cancel(remote)
        await asyncio.wait({looping})
        assert looping.cancelled()
        assert (await turn).stop_reason == "cancelled"
    assert not caplog.records
