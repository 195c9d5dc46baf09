"""A cancel is for the prompts that were begun before it, however shortly, and for no others."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
import pytest

from parley.agent import Agent, Turn
from parley.client import PromptTurn as Prompt
from parley.client import Session, connect
from parley.errors import Overloaded
from parley.peer import Limits
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.schema.v2 import methods

from .scripted_agent import opened

CANCEL = v2.CancelSessionNotification(session_id="s")
STEPS = range(8)
"""How many steps of the loop pass between a prompt and its cancel."""


def patient() -> Agent:
    agent = Agent("patient")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("I wait")
        if turn.text == "wait":
            await asyncio.Event().wait()

    return agent


async def by_session(session: Session, prompt: Prompt) -> None:
    await session.cancel()


async def by_prompt(session: Session, prompt: Prompt) -> None:
    await prompt.cancel()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("cancel", [by_session, by_prompt])
async def test_a_cancel_does_not_overtake_its_prompt(
    version: int, cancel: Callable[[Session, Prompt], Awaitable[None]]
) -> None:
    async with connect(patient(), versions=(version,)) as connection:
        session = await connection.new_session()
        for steps in STEPS:
            prompt = session.prompt("wait")
            done = prompt._state.begin()
            for _ in range(steps):
                await asyncio.sleep(0)
            await cancel(session, prompt)
            assert (await done).stop_reason == "cancelled", steps


@pytest.mark.parametrize("version", [1, 2])
async def test_a_prompt_is_sent_in_the_step_that_awaits_it(version: int) -> None:
    sent: list[str] = []

    def observe(direction: str, frame: Frame) -> None:
        if direction == "outbound":
            sent.append(msgspec.json.decode(frame).get("method", ""))

    async with connect(patient(), versions=(version,), observer=observe) as connection:
        session = await connection.new_session()
        sent.clear()
        prompt = session.prompt("wait")
        waiting = prompt.__await__()
        waiting.send(None)
        assert sent == ["session/prompt"]
        await session.cancel()
        assert sent == ["session/prompt", "session/cancel"]
        assert (await prompt).stop_reason == "cancelled"
        waiting.close()


@pytest.mark.parametrize("version", [1, 2])
async def test_a_prompt_sent_right_after_a_cancelled_one_is_not_cancelled(version: int) -> None:
    async with connect(patient(), versions=(version,)) as connection:
        session = await connection.new_session()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await session.prompt("wait")
        assert await session.ask("go") == "I wait"


async def test_cancelling_a_turn_that_cannot_be_cancelled_any_more_is_harmless(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened() as (session, remote):
        asking = asyncio.create_task(session.ask("Go."))
        await remote.accept()
        await remote.transport.aclose()
        asking.cancel()
        await asyncio.wait({asking})
        assert asking.cancelled()
    assert not caplog.records


async def test_a_turn_that_cannot_be_cancelled_because_nothing_more_can_be_sent_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(limits=Limits(connection_bytes=1000)) as (session, remote):
        asking = asyncio.create_task(session.ask("Go."))
        await remote.accept()
        remote.transport.pause_reading()
        while session.connection._state.peer._transport.drained() is None:
            session.connection._state.peer.notify_now(methods.CANCEL_SESSION, CANCEL)
        for _ in range(100):
            with suppress(Overloaded):
                session.connection._state.peer.notify_now(methods.CANCEL_SESSION, CANCEL)
        asking.cancel()
        await asyncio.wait({asking})
        remote.transport.resume_reading()
    assert "could not be cancelled: More than 1000 bytes" in caplog.text


async def test_a_prompt_that_cannot_be_encoded_fails_and_the_next_one_works() -> None:
    async with opened() as (session, remote):
        with pytest.raises(TypeError, match="object"):
            await session.prompt("Go.", meta={"x": object()})
        assert session._state.turns.first is None
        asking = asyncio.create_task(session.ask("Go."))
        await remote.accept()
        remote.say("Fine.")
        remote.idle()
        assert await asking == "Fine."


@pytest.mark.parametrize("version", [1, 2])
async def test_a_cancel_does_not_reach_the_next_prompt(version: int) -> None:
    async with connect(patient(), versions=(version,)) as connection:
        session = await connection.new_session()
        for steps in STEPS:
            waiting = asyncio.ensure_future(session.ask("wait"))
            for _ in range(steps):
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait({waiting})
            assert await session.ask("go") == "I wait", steps


async def test_a_loop_is_not_cancelled_by_another_task_that_collects_garbage() -> None:
    async with opened() as (session, remote):
        prompt = session.prompt("Go.")
        loop = aiter(prompt)
        accepting = asyncio.create_task(remote.accept())
        await anext(loop)
        await accepting
        ring: list[object] = [loop]
        ring.append(ring)

        async def collect() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                gc.collect()

        gc.disable()
        try:
            del loop, ring
            other = asyncio.create_task(collect())
            await asyncio.sleep(0)
            other.cancel()
            await asyncio.wait({other})
        finally:
            gc.enable()
        assert not prompt.is_cancelled
        remote.idle()
        assert (await prompt).stop_reason == "end_turn"
