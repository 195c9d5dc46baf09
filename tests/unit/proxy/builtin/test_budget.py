from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import notification, proxied_pair, request, result

from parley.agent import Agent, Turn
from parley.errors import BudgetSpent
from parley.proxy import builtin
from parley.schema import v2

from .command_chain import VERSIONS, chain

COST = "The budget of this session is spent: 1.25 of 1.00 EUR"


def spender() -> Agent:
    """Return an agent that costs what it is told, and works until it is cancelled."""
    agent = Agent("spender")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        what, _, much = turn.text.partition(" ")
        if what == "cost":
            await turn.session.usage(10, 1000, v2.Cost(amount=float(much), currency="EUR"))
        elif what == "context":
            await turn.session.usage(int(much), 100_000)
        else:
            tokens = int(much)
            turn.usage = v2.Usage(total_tokens=tokens, input_tokens=tokens, output_tokens=0)
        await turn.say("on it")
        if what == "cost" and float(much) >= 1:
            await asyncio.get_running_loop().create_future()

    return agent


@VERSIONS
async def test_a_session_that_costs_too_much_is_stopped_and_told(version: int) -> None:
    seen: list[v2.SessionUpdate] = []

    def see(session: object, update: v2.SessionUpdate) -> None:
        seen.append(update)

    proxy = builtin.budget(cost=1)
    async with chain(proxy, agent=spender(), version=version, on_update=see) as client:
        session = await client.new_session()
        assert (await session.prompt("cost 0.5")).stop_reason == "end_turn"
        assert (await session.prompt("cost 1.25")).stop_reason == "cancelled"
        assert [each.title for each in seen if isinstance(each, v2.Notice)] == [COST]
        with pytest.raises(BudgetSpent) as refused:
            await session.ask("cost 0")
        assert refused.value.message == COST


@VERSIONS
@pytest.mark.parametrize("prompts", [["tokens 60", "tokens 60"], ["context 110"]])
async def test_tokens_are_counted_over_turns_and_in_the_context(
    version: int, prompts: list[str]
) -> None:
    async with chain(builtin.budget(tokens=100), agent=spender(), version=version) as client:
        session = await client.new_session()
        for prompt in prompts:
            await session.ask(prompt)
        with pytest.raises(BudgetSpent, match="of 100 tokens"):
            await session.ask("tokens 1")
        other = await client.new_session()
        assert await other.ask("tokens 1") == "on it"


@VERSIONS
async def test_a_shared_budget_is_for_all_sessions_of_a_connection(version: int) -> None:
    proxy = builtin.budget(tokens=100, is_shared=True)
    for _ in range(2):
        async with chain(proxy, agent=spender(), version=version) as client:
            one, two = await client.new_session(), await client.new_session()
            await one.ask("tokens 60")
            await two.ask("tokens 60")
            for session in (one, two):
                with pytest.raises(BudgetSpent, match="120 of 100 tokens"):
                    await session.ask("tokens 1")


async def test_a_client_without_notices_is_told_by_a_message() -> None:
    talk = await proxied_pair(builtin.budget(cost=1), 1)
    talk.client.say(
        request(1, "session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": ""}]})
    )
    asked = await talk.agent.hear()
    cost = {"amount": 1.25, "currency": "EUR"}
    update = {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost}
    talk.agent.say(notification("session/update", {"sessionId": "s", "update": update}))
    cancelled = await talk.agent.hear()
    assert (cancelled["method"], cancelled["params"]) == ("session/cancel", {"sessionId": "s"})
    told: list[Any] = [await talk.client.hear(), await talk.client.hear()]
    kinds = [each["params"]["update"]["sessionUpdate"] for each in told]
    assert kinds == ["agent_message_chunk", "usage_update"]
    assert told[0]["params"]["update"]["content"]["text"] == COST
    talk.agent.say(result(asked["id"], {"stopReason": "cancelled"}))
    assert (await talk.client.hear())["result"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize("limits", [{}, {"cost": 0}, {"tokens": -1}])
def test_a_budget_has_a_limit(limits: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="budget"):
        builtin.budget(**limits)
