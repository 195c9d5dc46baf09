"""Tests of a client against an agent that does exactly what a script says, faults included."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import parley
from parley.testing import ScriptedPeer
from parley.testing.scripted import Exit, Expect, Respond, Send, SendBytes, Stderr, Step

WELCOME: dict[str, Any] = {"protocolVersion": 1, "agentInfo": {"name": "scripted", "version": "0"}}
BEGIN: list[Step] = [
    Expect({"method": "initialize"}),
    Respond(WELCOME),
    Expect({"method": "session/new"}),
    Respond({"sessionId": "s1"}),
    Expect({"method": "session/prompt"}, name="prompt"),
]


def say(text: str) -> Send:
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    return Send({"method": "session/update", "params": {"sessionId": "s1", "update": update}})


async def ask(target: Any) -> str:
    async with parley.connect(target) as agent:
        session = await agent.new_session()
        return await session.ask("Hello")


def test_noise_on_stdout_does_not_disturb() -> None:
    end = Respond({"stopReason": "end_turn"}, to="prompt")
    peer = ScriptedPeer(*BEGIN, say("Hel"), SendBytes(b"npm warn deprecated\n"), say("lo"), end)
    assert asyncio.run(ask(peer)) == "Hello"
    peer.check()


def test_an_agent_that_dies_is_reported_with_its_last_words(tmp_path: Path) -> None:
    peer = ScriptedPeer(*BEGIN, say("Hel"), Stderr("out of memory"), Exit(3))
    with pytest.raises(parley.ProcessExited) as died:
        asyncio.run(ask(peer.command(tmp_path / "script.json")))
    assert died.value.code == 3
    assert "out of memory" in died.value.stderr
