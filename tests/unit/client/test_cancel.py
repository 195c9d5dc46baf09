"""A cancel is for the prompts that were begun before it, however shortly, and for no others."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from parley.agent import Agent, Turn
from parley.client import PromptTurn as Prompt
from parley.client import Session, connect

from .scripted_agent import opened

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
