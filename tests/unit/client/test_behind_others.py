"""A prompt in a session that works on what somebody else has asked for."""

from __future__ import annotations

import asyncio

import pytest

from .scripted_agent import ScriptedAgent, connected


@pytest.mark.parametrize("is_accepted_early", [True, False])
async def test_a_prompt_after_the_work_of_others_ends_with_its_own(
    is_accepted_early: bool,
) -> None:
    async with connected() as (connection, remote):
        resuming = asyncio.create_task(connection.resume_session("s", replay=False))
        request = await remote.take("session/resume")
        remote.state("running")
        remote.say("theirs", message="before")
        remote.respond(request, {})
        session = await resuming
        turn = session.prompt("mine")._state.begin()
        prompt = await remote.take("session/prompt")
        if is_accepted_early:
            remote.respond(prompt, {"messageId": "m"})
        remote.say(" goes on", message="before")
        remote.idle("max_tokens")
        if not is_accepted_early:
            remote.respond(prompt, {"messageId": "m"})
        _begin(remote)
        remote.say("for me", message="after")
        remote.idle()
        result = await turn
        assert (result.text, result.stop_reason) == ("for me", "end_turn")


async def test_a_prompt_that_joins_the_work_of_others_ends_with_it() -> None:
    async with connected() as (connection, remote):
        resuming = asyncio.create_task(connection.resume_session("s", replay=False))
        request = await remote.take("session/resume")
        remote.state("running")
        remote.respond(request, {})
        session = await resuming
        turn = session.prompt("mine")._state.begin()
        remote.respond(await remote.take("session/prompt"), {"messageId": "m"})
        content = [{"type": "text", "text": "mine"}]
        remote.update("user_message", messageId="m", content=content)
        remote.say("for all")
        remote.idle()
        assert (await turn).text == "for all"


def _begin(remote: ScriptedAgent) -> None:
    content = [{"type": "text", "text": "mine"}]
    remote.update("user_message", messageId="m", content=content)
    remote.state("running")
