"""Sessions that are opened again although the agent does not know the method that it offers.

https://agentclientprotocol.com/protocol/v1/session-setup#loading-sessions
https://agentclientprotocol.com/protocol/v2/draft/session-setup
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.client import Session
from parley.errors import MethodNotFound, ResourceNotFound
from parley.schema import v2
from parley.schema.base import Unknown

from .raw_agent import RawAgent, connected
from .raw_connection import ErrorResponse
from .wire_values import text, update

RESUMING = ("session/load", "session/resume")


def unknown(params: Any) -> Any:
    raise ErrorResponse(-32601)


class Replaying(RawAgent):
    """An agent that replays one message when a session is loaded."""

    def load(self, params: Any) -> Any:
        chunk = update("agent_message_chunk", messageId="m", content=text("Once."))
        self.send_updates(chunk, session=params["sessionId"])
        return {}


def said_in(session: Session) -> list[str]:
    """Return the messages of the agent."""
    return [each.text for each in session.transcript.messages if each.role == "agent"]


async def test_a_load_that_version_1_does_not_know_falls_back_to_resume() -> None:
    agent = Replaying(1)
    agent.answers["session/load"] = unknown
    async with connected(agent) as connection:
        session = await connection.resume_session("old")
        assert agent.methods[1:] == ["session/load", "session/resume"]
        assert agent.got("session/resume") == [{"sessionId": "old", "cwd": "/"}]
        assert not session.is_replaying
        assert connection.sessions == {"old": session}


async def test_a_resume_that_version_1_does_not_know_falls_back_to_load() -> None:
    agent = Replaying(1)
    agent.answers |= {"session/resume": unknown, "session/load": agent.load}
    async with connected(agent) as connection:
        history = [v2.AgentMessage(message_id="kept", content=[v2.TextContent(text="Kept.")])]
        session = await connection.resume_session("old", replay=False, history=history)
        assert agent.methods[1:] == ["session/resume", "session/load"]
        await session.prompt("go")
        assert said_in(session) == ["Once."], "the agent tells the conversation itself"


@pytest.mark.parametrize("replay", [True, False])
async def test_a_resume_that_version_2_does_not_know_falls_back_to_load(replay: bool) -> None:
    agent = Replaying(2)
    agent.answers |= {"session/resume": unknown, "session/load": agent.load}
    async with connected(agent) as connection:
        session = await connection.resume_session("old", replay=replay)
        assert agent.methods[1:] == ["session/resume", "session/load"]
        (params,) = agent.got("session/load")
        assert params == {"sessionId": "old", "cwd": "/"}
        await session.prompt("go")
        assert said_in(session) == ["Once."]


@pytest.mark.parametrize(
    ("version", "offered", "sent"),
    [
        (1, {"loadSession": True}, ["session/load"]),
        (1, {"sessionCapabilities": {"resume": {}}}, ["session/resume"]),
        (2, {"session": {}}, ["session/resume", "session/load"]),
    ],
    ids=["load", "resume", "version 2"],
)
async def test_without_another_way_the_agents_error_is_raised(
    version: int, offered: dict[str, Any], sent: list[str]
) -> None:
    agent = RawAgent(version, offered)
    agent.answers |= dict.fromkeys(RESUMING, unknown)
    async with connected(agent) as connection:
        with pytest.raises(MethodNotFound):
            await connection.resume_session("old")
        assert agent.methods[1:] == sent
        assert connection.sessions == {}


async def test_a_place_to_replay_from_that_is_not_known_has_no_fallback() -> None:
    async with connected(RawAgent(2)) as connection:
        place = Unknown("_bookmark", b'{"type":"_bookmark"}')
        request = v2.ResumeSessionRequest(session_id="old", cwd="/", replay_from=place)
        assert connection.adapter.resume_fallback(request) is None


async def test_other_errors_are_not_tried_around() -> None:
    agent = RawAgent(1)

    def gone(params: Any) -> Any:
        raise ErrorResponse(-32002)

    agent.answers |= dict.fromkeys(RESUMING, gone)
    async with connected(agent) as connection:
        with pytest.raises(ResourceNotFound):
            await connection.resume_session("old")
        assert agent.methods[1:] == ["session/load"]
