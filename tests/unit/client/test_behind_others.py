"""A prompt in a session that works on what somebody else has asked for."""

from __future__ import annotations

import asyncio

import pytest

from .scripted_agent import ScriptedAgent, connected


@pytest.mark.parametrize("is_accepted_early", [True, False])
async def test_a_prompt_behind_the_work_of_others_ends_with_its_own(
    is_accepted_early: bool,
) -> None:
    async with connected() as (connection, far):
        resuming = asyncio.create_task(connection.resume_session("s", replay=False))
        asked = await far.take("session/resume")
        far.state("running")
        far.say("theirs", message="before")
        far.answer(asked, {})
        session = await resuming
        turn = session.prompt("mine")._state.begin()
        prompt = await far.take("session/prompt")
        if is_accepted_early:
            far.answer(prompt, {"messageId": "m"})
        far.say(" goes on", message="before")
        far.idle("max_tokens")
        if not is_accepted_early:
            far.answer(prompt, {"messageId": "m"})
        _begin(far)
        far.say("for me", message="after")
        far.idle()
        result = await turn
        assert (result.text, result.stop_reason) == ("for me", "end_turn")


async def test_a_prompt_that_joins_the_work_of_others_ends_with_it() -> None:
    async with connected() as (connection, far):
        resuming = asyncio.create_task(connection.resume_session("s", replay=False))
        asked = await far.take("session/resume")
        far.state("running")
        far.answer(asked, {})
        session = await resuming
        turn = session.prompt("mine")._state.begin()
        far.answer(await far.take("session/prompt"), {"messageId": "m"})
        content = [{"type": "text", "text": "mine"}]
        far.update("user_message", messageId="m", content=content)
        far.say("for all")
        far.idle()
        assert (await turn).text == "for all"


def _begin(far: ScriptedAgent) -> None:
    content = [{"type": "text", "text": "mine"}]
    far.update("user_message", messageId="m", content=content)
    far.state("running")
