"""A client that does not read: who says something waits, and can still be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.transport import memory_pair
from parley.transport._base import HIGH_WATER_BYTES

from .agent_clients import Message, RawClient

LONG = "x" * (2 * HIGH_WATER_BYTES)


@asynccontextmanager
async def served(agent: Agent) -> AsyncGenerator[tuple[RawClient, asyncio.Event], None]:
    """Serve an agent to raw messages; the event says that somebody waits for room."""
    local, remote = memory_pair()
    is_full, drained = asyncio.Event(), remote.drained

    def watched() -> asyncio.Future[None] | None:
        if (room := drained()) is not None:
            is_full.set()
        return room

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "drained", watched)
        serving = asyncio.create_task(agent.serve(remote))
        yield RawClient(local), is_full
        await local.aclose()
        await serving


async def updates_to_idle(client: RawClient) -> list[Message]:
    """Return the updates up to the end of a turn."""
    updates: list[Message] = []
    while not updates or updates[-1].get("state") != "idle":
        updates.append((await client.receive())["params"]["update"])
    return updates


async def test_a_client_that_stops_reading_holds_the_handler_up_and_can_still_cancel() -> None:
    agent, sent_count = Agent("flooder"), 0

    @agent.prompt
    async def reply(turn: Turn) -> None:
        nonlocal sent_count
        while True:
            await turn.say("x" * 1000)
            sent_count += 1

    async with served(agent) as (client, is_full):
        session = await client.new()
        await client.until(client.prompt(session))
        client.transport.pause_reading()
        await is_full.wait()
        held_up_at = sent_count
        client.notify("session/cancel", {"sessionId": session})
        client.transport.resume_reading()
        assert (await updates_to_idle(client))[-1]["stopReason"] == "cancelled"
        assert held_up_at < 1000


def cancellable() -> tuple[Agent, asyncio.Event]:
    """An agent, and what says that it has got a cancel that `_cancelled` follows."""
    agent, is_cancelled = Agent("waiting"), asyncio.Event()

    @agent.notification("_cancelled")
    async def note(params: Any, connection: Any) -> None:
        is_cancelled.set()

    return agent, is_cancelled


async def fill_up(turn: Turn) -> None:
    """Send more than the buffers hold, without waiting."""
    saying = asyncio.create_task(turn.say(LONG))
    turn.session.data["saying"] = saying
    await asyncio.sleep(0)  # it is sent


async def cancel(client: RawClient, session: str, is_cancelled: asyncio.Event) -> None:
    """Cancel, and read on when the agent knows it."""
    client.notify("session/cancel", {"sessionId": session})
    client.notify("_cancelled", {})
    await is_cancelled.wait()
    client.transport.resume_reading()


def tool_call(turn: Turn) -> AbstractAsyncContextManager[Any]:
    return turn.tool("Read")


def compaction(turn: Turn) -> AbstractAsyncContextManager[Any]:
    return turn.session.compaction()


@pytest.mark.parametrize("block", [tool_call, compaction])
async def test_a_block_that_is_cancelled_while_it_is_announced_still_ends(
    block: Callable[[Turn], AbstractAsyncContextManager[Any]],
) -> None:
    agent, is_cancelled = cancellable()
    may_begin = asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await may_begin.wait()
        await fill_up(turn)
        async with block(turn):
            pytest.fail("it is cancelled before")

    async with served(agent) as (client, is_full):
        session = await client.new()
        await client.until(client.prompt(session))
        client.transport.pause_reading()
        may_begin.set()
        await is_full.wait()
        await cancel(client, session, is_cancelled)
        updates = await updates_to_idle(client)
    statuses = [each["status"] for each in updates if "status" in each]
    assert statuses == ["in_progress", "cancelled"]
    assert updates[-1]["stopReason"] == "cancelled"


async def test_a_question_that_is_cancelled_while_it_is_announced_leaves_nothing_behind() -> None:
    agent, is_cancelled = cancellable()
    may_begin = asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await may_begin.wait()
        if turn.text == "long":
            await fill_up(turn)
        await turn.ask_permission("May I?")

    async with served(agent) as (client, is_full):
        session = await client.new()
        await client.until(client.prompt(session, "long"))
        client.transport.pause_reading()
        may_begin.set()
        await is_full.wait()
        await cancel(client, session, is_cancelled)
        await updates_to_idle(client)
        await client.until(client.prompt(session))
        states: list[str] = []
        while "id" not in (request := await client.receive()):
            states.append(request["params"]["update"].get("state"))
        assert states[-2:] == ["running", "requires_action"]
        client.respond(request, {"outcome": {"outcome": "cancelled"}})
        await updates_to_idle(client)
