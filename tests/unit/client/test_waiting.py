"""Places where a turn cannot be awaited, because that would block its own updates."""

from __future__ import annotations

import asyncio

import pytest

from parley.client import PromptTurn, Session
from parley.errors import ConnectionClosed, LocalProtocolError
from parley.schema import v2

from .scripted_agent import open_session, opened


async def over(turn: PromptTurn) -> None:
    async for _ in turn:
        pass


async def end(turn: PromptTurn) -> None:
    await turn


async def test_a_turn_cannot_be_awaited_inside_its_own_loop() -> None:
    async with opened() as (session, remote):
        turn = session.prompt("one")
        loop = aiter(turn)
        first = asyncio.ensure_future(anext(loop))
        await remote.accept()
        await first
        remote.idle()
        async for _ in loop:
            with pytest.raises(LocalProtocolError, match="leave the loop"):
                await turn
        assert (await turn).stop_reason == "end_turn"


@pytest.mark.parametrize("is_looped_over", [False, True])
async def test_a_turn_cannot_be_awaited_inside_on_update_of_its_session(
    is_looped_over: bool,
) -> None:
    refused: list[str] = []
    begun: list[asyncio.Task[str]] = []

    async def on_update(session: Session, update: v2.SessionUpdate) -> None:
        if isinstance(update, v2.AgentMessageChunk) and not refused:
            for turn in (session.prompt("two"), first):
                with pytest.raises(LocalProtocolError, match="inside on_update") as raised:
                    await turn
                refused.append(str(raised.value))
            begun.append(asyncio.create_task(session.ask("three")))

    async with opened(on_update=on_update) as (session, remote):
        first = session.prompt("one")
        turn = asyncio.create_task(over(first) if is_looped_over else end(first))
        await remote.accept()
        remote.say("a")
        await remote.accept("u3")
        remote.idle()
        await turn
        remote.idle()
        await begun[0]
        assert len(refused) == 2


async def test_another_session_may_be_asked_inside_on_update() -> None:
    messages: list[str] = []

    async def on_update(session: Session, update: v2.SessionUpdate) -> None:
        if session.id == "s" and isinstance(update, v2.AgentMessageChunk):
            messages.append(await session.connection.sessions["t"].ask("Hm?"))

    async with opened(on_update=on_update) as (session, remote):
        await open_session(session.connection, remote, "t")
        remote.say("a")
        await remote.accept(session="t")
        remote.say("yes", "t")
        remote.idle(session="t")
        turn = asyncio.create_task(session.ask("Hi."))
        await remote.accept()
        remote.idle()
        await turn
        assert messages == ["yes"]


async def test_who_waits_until_a_session_is_idle_waits_for_prompts_and_for_other_work() -> None:
    async with opened() as (session, remote):
        await session.until_idle()
        turn = asyncio.create_task(end(session.prompt("one")))
        await asyncio.sleep(0)  # it is sent
        waiting = asyncio.create_task(session.until_idle())
        await remote.accept()
        remote.idle()
        await turn
        await waiting

        remote.update("state_update", state="running")
        await remote.is_read()
        assert session.transcript.state == "running"
        waiting = asyncio.create_task(session.until_idle())
        remote.update("state_update", state="requires_action")
        await remote.is_read()
        assert not waiting.done()
        remote.update("state_update", state="idle")
        await waiting


async def test_who_waits_until_a_session_is_idle_learns_that_it_has_ended() -> None:
    async with opened() as (session, remote):
        remote.update("state_update", state="running")
        await remote.is_read()
        assert session.transcript.state == "running"
        waiting = asyncio.create_task(session.until_idle())
        await asyncio.sleep(0)  # it waits
        await remote.transport.aclose()
        with pytest.raises(ConnectionClosed):
            await waiting
