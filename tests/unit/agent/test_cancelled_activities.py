"""A block that is cancelled alone takes nothing else with it, whatever it makes of that."""

from __future__ import annotations

import asyncio

from parley.agent import Agent, Turn
from parley.schema import v2
from parley.schema.v2 import methods

from .agent_clients import Client, connected_client, stop_reason, texts


async def cancel_next(client: Client, session: str) -> None:
    """Cancel the next tool call that begins."""
    while (call := await client.until(v2.ToolCallUpdated)).status != "in_progress":
        pass
    params = v2.CancelToolCallRequest(session_id=session, tool_call_id=call.tool_call_id)
    await client.request(methods.CANCEL_TOOL_CALL, params)


async def test_a_block_that_swallows_its_cancel_leaves_the_next_ones_alone() -> None:
    agent = Agent("stubborn")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("One", is_cancellable=True):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await turn.say("one goes on")
        async with turn.tool("Two", is_cancellable=True):
            await asyncio.Event().wait()
        await turn.say("so does the turn")

    async with connected_client(agent) as client:
        session = await client.new()
        await client.prompt(session)
        await cancel_next(client, session)
        await cancel_next(client, session)
        updates = await client.until_idle()
    assert texts(updates) == ["so does the turn"]
    assert stop_reason(updates) == "end_turn"


async def test_a_block_that_turns_its_cancel_into_an_error_leaves_the_next_ones_alone() -> None:
    agent = Agent("loud")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            async with turn.tool("One", is_cancellable=True):
                try:
                    await asyncio.Event().wait()
                finally:
                    raise ValueError("no")
        except ValueError:
            pass
        async with turn.tool("Two", is_cancellable=True):
            await asyncio.Event().wait()
        await turn.say("still here")

    async with connected_client(agent) as client:
        session = await client.new()
        await client.prompt(session)
        await cancel_next(client, session)
        await cancel_next(client, session)
        updates = await client.until_idle()
    assert texts(updates) == ["still here"]
    assert stop_reason(updates) == "end_turn"
