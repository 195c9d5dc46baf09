"""`turn.text_stream()`, prompts in tasks, and prompts that are never sent."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from parley.agent import Agent, Turn
from parley.client import connect
from parley.errors import InternalError, LocalProtocolError
from parley.schema import v2

from .scripted_agent import ScriptedAgent, opened


async def speak(remote: ScriptedAgent, reason: str = "end_turn") -> None:
    """Send two messages, a thought and a picture between them, and end the turn."""
    await remote.accept()
    thought = {"type": "text", "text": "Hmm."}
    picture = {"type": "image", "data": "", "mimeType": "image/png"}
    remote.update("agent_thought_chunk", messageId="t", content=thought)
    remote.say("Hello")
    remote.say(" Ada.")
    remote.update("agent_message_chunk", messageId="a", content=picture)
    remote.say("Bye.", message="b")
    remote.idle(reason)


@pytest.mark.parametrize("version", [1, 2])
async def test_the_text_of_the_agents_message_streams_in_one_line(version: int) -> None:
    agent = Agent("talker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.think("Hmm.")
        for text in ("Hello", " ", "Ada."):
            await turn.say(text)

    async with connect(agent, versions=(version,)) as connection:
        session = await connection.new_session()
        texts = [text async for text in session.prompt("Hi.").text_stream()]
        assert texts == ["Hello", " ", "Ada."]


async def test_a_blank_line_separates_messages_and_everything_else_is_left_out() -> None:
    async with opened() as (session, remote):
        agent, turn = asyncio.create_task(speak(remote)), session.prompt("Hi.")
        texts = [text async for text in turn.text_stream()]
        await agent
        assert texts == ["Hello", " Ada.", "\n\nBye."]
        result = await turn
        assert "".join(texts) == result.text
        assert result.stop_reason == "end_turn"


async def test_text_that_extends_a_replaced_message_follows() -> None:
    async def replace(remote: ScriptedAgent) -> None:
        await remote.accept()

        def message(*texts: str) -> None:
            content = [{"type": "text", "text": text} for text in texts]
            remote.update("agent_message", messageId="a", content=content)

        message("Hel")
        message("Hel", "lo")
        message("Hello")
        message("Other")
        remote.update("agent_message", messageId="a", _meta={"k": 1})
        remote.idle()

    async with opened() as (session, remote):
        agent = asyncio.create_task(replace(remote))
        assert [text async for text in session.prompt("Hi.").text_stream()] == ["Hel", "lo"]
        await agent


async def test_a_turn_that_fails_raises_after_its_text() -> None:
    async with opened() as (session, remote):
        agent, texts = asyncio.create_task(speak(remote, "error")), list[str]()

        async def stream() -> None:
            async for text in session.prompt("Hi.").text_stream():
                texts.append(text)

        with pytest.raises(InternalError):
            await stream()
        await agent
        assert len(texts) == 3


async def test_leaving_the_text_stream_lets_the_turn_continue() -> None:
    async with opened() as (session, remote):
        agent, turn = asyncio.create_task(speak(remote)), session.prompt("Hi.")
        async for _ in turn.text_stream():
            break
        await agent
        assert (await turn).text == "Hello Ada.\n\nBye."


async def test_the_text_stream_is_the_one_loop_over_a_turn() -> None:
    async with opened() as (session, remote):
        agent, turn = asyncio.create_task(speak(remote)), session.prompt("Hi.")
        async with turn:
            assert len([text async for text in turn.text_stream()]) == 3
            with pytest.raises(LocalProtocolError, match="looped over once"):
                turn.text_stream()
        await agent


async def test_a_prompt_can_be_waited_for_in_a_task() -> None:
    async with opened() as (session, remote):
        agent = asyncio.create_task(speak(remote))
        waiting = asyncio.create_task(session.prompt("Hi.").wait())
        assert (await waiting).stop_reason == "end_turn"
        await agent


async def test_a_prompt_that_is_never_sent_warns() -> None:
    async with opened() as (session, _):
        with pytest.warns(RuntimeWarning, match='prompt "Hi." was never sent; await it'):
            session.prompt("Hi.")
        with pytest.warns(RuntimeWarning, match='prompt "…" was never sent'):
            session.prompt(v2.ResourceLink(name="x", uri="file:///x"))
        loop = [aiter(session.prompt("Hi."))]
        loop.clear()
        with pytest.warns(RuntimeWarning, match="was never sent"):
            gc.collect()


async def test_a_prompt_that_was_sent_or_refused_does_not_warn() -> None:
    async with opened() as (session, remote):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            agent = asyncio.create_task(speak(remote))
            async for _ in session.prompt("Hi."):
                with pytest.raises(LocalProtocolError):
                    await session.prompt("And?")
            gc.collect()
            await agent
