from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec import UNSET

from parley.client import PromptTurn
from parley.errors import (
    AuthRequired,
    InternalError,
    InvalidRequest,
    LocalProtocolError,
    RequestError,
    Unsupported,
)
from parley.schema import v2

from .scripted_agent import Message, ScriptedAgent, opened


async def respond(remote: ScriptedAgent, *texts: str, reason: str = "end_turn") -> None:
    """Accept a prompt, say something, and stop."""
    await remote.accept()
    for text in texts:
        remote.say(text)
    remote.idle(reason)


@pytest.mark.requirement("V2-PROMPT-06", "V2-PROMPT-03")
async def test_a_prompt_is_awaited_until_the_agent_is_idle() -> None:
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Hi."))
        request = await remote.accept()
        assert request["params"] == {"sessionId": "s", "prompt": [{"type": "text", "text": "Hi."}]}
        remote.say("Hel")
        await remote.is_read()
        assert not turn.done()
        remote.say("lo.")
        remote.idle()
        result = await turn
        assert (result.stop_reason, result.text, result.message_id) == ("end_turn", "Hello.", "u")
        assert session.transcript.text == "Hello."


async def test_a_prompt_is_looped_over_update_by_update() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(respond(remote, "Hel", "lo.", reason="max_tokens"))
        turn = session.prompt("Hi.")
        kinds = [type(event) async for event in turn]
        await agent
        assert kinds == [
            v2.UserMessage,
            v2.StateUpdated,
            v2.AgentMessageChunk,
            v2.AgentMessageChunk,
            v2.StateUpdated,
        ]
        result = await turn
        assert (result.stop_reason, result.text) == ("max_tokens", "Hello.")


async def test_asking_returns_what_the_agent_says() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(respond(remote, "Yes."))
        assert await session.ask("Well?") == "Yes."
        await agent


@pytest.mark.parametrize("reason", ["refusal", "cancelled", "max_turn_requests", "_tired"])
async def test_why_the_agent_stopped_is_a_result_and_no_exception(reason: str) -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(respond(remote, reason=reason))
        assert (await session.prompt("Do it.")).stop_reason == reason
        await agent


async def test_a_result_has_what_the_turn_added_and_its_tokens() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(respond(remote, "One."))
        await session.prompt("First.")
        await agent
        turn = asyncio.ensure_future(session.prompt("Second."))
        await remote.accept("u2")
        remote.say("Two.", message="b")
        remote.update("tool_call_update", toolCallId="call", title="Look")
        remote.say("Three.", message="c")
        usage = {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
        remote.state("idle", stopReason="end_turn", usage=usage, _meta={"cost": 1})
        result = await turn
        assert result.text == "Two.\n\nThree."
        assert result.entries == session.transcript.entries[-4:]
        assert result.tokens is not None
        assert (result.tokens.total_tokens, result.meta) == (3, {"cost": 1})


async def test_an_error_of_the_agent_is_raised_with_its_code_and_data() -> None:
    error = {"code": -32050, "message": "Boom", "data": {"detail": 42}}
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Go."))
        await remote.accept()
        remote.state("idle", stopReason="error", error=error)
        with pytest.raises(RequestError, match="Boom") as raised:
            await turn
        assert (raised.value.code, raised.value.data) == (-32050, {"detail": 42})
        turn = asyncio.ensure_future(session.prompt("Again."))
        await remote.accept("u2")
        remote.state("idle", stopReason="error", error={"code": -32000, "message": "Log in"})
        with pytest.raises(AuthRequired, match="Log in") as again:
            await turn
        assert again.value.data is UNSET


async def test_an_error_ends_a_loop_after_its_last_update() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(respond(remote, "Oh.", reason="error"))
        seen: list[v2.SessionUpdate] = []

        async def loop() -> None:
            async for event in session.prompt("Go."):
                seen.append(event)

        with pytest.raises(InternalError, match="gave no details"):
            await loop()
        await agent
        assert isinstance(seen[-1], v2.StateUpdated)
        assert len(seen) == 4


@pytest.mark.parametrize("is_looped_over", [False, True])
async def test_a_prompt_that_is_refused_raises_and_the_next_one_works(is_looped_over: bool) -> None:
    async with opened() as (session, remote):
        turn = session.prompt("Go.")
        waiting = asyncio.create_task(_drain(turn) if is_looped_over else _result(turn))
        remote.refuse(await remote.take("session/prompt"), -32600, "Not now")
        with pytest.raises(InvalidRequest, match="Not now"):
            await waiting
        agent = asyncio.create_task(respond(remote, "Now."))
        assert await session.ask("And now?") == "Now."
        await agent


async def _drain(turn: PromptTurn) -> None:
    async for _ in turn:
        pass


async def _result(turn: PromptTurn) -> None:
    await turn


@pytest.mark.requirement("V2-PROMPT-05")
async def test_the_response_may_come_after_everything_else() -> None:
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Hi."))
        request = await remote.take("session/prompt")
        remote.update("user_message", messageId="u", content=request["params"]["prompt"])
        remote.state("running")
        remote.say("Quick.")
        remote.idle()
        remote.respond(request, {"messageId": "u"})
        assert (await turn).text == "Quick."


async def test_the_end_of_other_work_does_not_end_a_prompt() -> None:
    async with opened() as (session, remote):
        remote.state("running")
        turn = asyncio.ensure_future(session.prompt("Hi."))
        request = await remote.take("session/prompt")
        remote.say("Background.", message="b")
        remote.idle()
        remote.respond(request, {"messageId": "u"})
        remote.state("idle", background=[])
        remote.update("user_message", messageId="u", content=[])
        remote.state("running")
        remote.say("For you.")
        await remote.is_read()
        assert not turn.done()
        remote.idle()
        assert (await turn).message_id == "u"


async def test_an_idle_without_a_reason_ends_work_that_was_seen_running() -> None:
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Hi."))
        await remote.accept()
        remote.state("requires_action")
        remote.state("idle")
        assert (await turn).stop_reason == "end_turn"


@pytest.mark.requirement("V2-PROMPT-12")
async def test_an_unknown_state_does_not_end_a_prompt() -> None:
    async with opened() as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Hi."))
        await remote.accept()
        remote.state("_paused")
        remote.state("unknown")
        await remote.is_read()
        assert not turn.done()
        assert session.transcript.state == "unknown"
        remote.idle("_done")
        assert (await turn).stop_reason == "_done"


async def test_a_prompt_is_not_sent_before_somebody_waits_for_it() -> None:
    async with opened() as (session, remote):
        turn = session.prompt("Never.")
        assert not turn.is_begun
        assert "not sent" in repr(turn)
        await remote.is_read()
        with pytest.warns(RuntimeWarning, match="never sent"):
            del turn


async def test_a_prompt_can_be_looped_over_only_once() -> None:
    async with opened() as (session, remote):
        turn = session.prompt("Hi.")
        waiting = asyncio.ensure_future(turn)
        await remote.accept()
        with pytest.raises(LocalProtocolError, match="once"):
            aiter(turn)
        remote.idle()
        await waiting
        assert "done" in repr(turn)


@pytest.mark.requirement("V2-PROMPT-01")
async def test_content_that_the_agent_does_not_take_is_not_sent() -> None:
    image = v2.ImageContent(data="", mime_type="image/png")
    async with opened() as (session, remote):
        with pytest.raises(Unsupported, match="pictures"):
            session.prompt("Look:", image)
        with pytest.raises(LocalProtocolError, match="must have content"):
            session.prompt()
        mistaken: Any = 5
        with pytest.raises(TypeError, match="a prompt takes text or a content block, not int"):
            session.prompt("One", mistaken)
        with pytest.raises(TypeError, match="not int"):
            await session.ask(mistaken)
        await remote.is_read()
    pictures: Message = {"session": {"prompt": {"image": {}}}}
    async with opened({"capabilities": pictures}) as (session, remote):
        agent = asyncio.create_task(respond(remote, "Nice."))
        assert await session.ask("Look:", image, meta={"x": 1}) == "Nice."
        await agent
