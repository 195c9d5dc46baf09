"""A replay is an agent that says again what an agent once said."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.frame_recordings import FrameRecorder, transcript_contents

from parley.agent import Agent, AgentFeatures, Turn
from parley.agent import AgentSession as AgentSession
from parley.client import Connection, ConnectOptions, Session, connect
from parley.errors import (
    InvalidRequest,
    MethodNotFound,
    RequestError,
    ResourceNotFound,
)
from parley.journal._jsonl import from_jsonl, write_line
from parley.peer import Observer
from parley.schema import v2
from parley.session._transcript import Transcript
from parley.testing import Recorder, Replay, pair
from parley.testing.demo import demo_agent

PROMPTS = ("perm", "elicit", "plan", "tool", "diff", "flood 30", "boom", "commands", "hello")
BOTH = pytest.mark.parametrize("version", [1, 2])


def options(version: int, observer: Observer | None = None) -> ConnectOptions:
    return {
        "versions": (version,),
        "observer": observer,
        "permission": lambda request, session: request.options[0],
        "elicit": lambda form, session: {"name": "Ada"},
    }


async def converse(client: Connection, prompts: list[Any]) -> Transcript:
    session = await client.new_session()
    for prompt in prompts:
        with suppress(RequestError):  # as boom raises it
            await session.prompt(*prompt)
    return session.transcript


async def record(
    version: int, *prompts: str, agent: Agent | None = None
) -> tuple[FrameRecorder, Transcript]:
    tape = FrameRecorder()
    async with pair(agent or demo_agent(), **options(version, tape)) as client:
        transcript = await converse(client, [(prompt,) for prompt in prompts])
    return tape, transcript


@BOTH
async def test_a_replay_gives_the_same_transcript(version: int) -> None:
    tape, transcript = await record(version, *PROMPTS)
    replay = Replay(tape.frames)
    for _ in range(2):
        async with connect(replay, **options(version)) as client:
            assert client.info.name == "parley-demo"
            assert transcript_contents(
                await converse(client, replay.prompts)
            ) == transcript_contents(transcript)
    texts = [block.text for [block] in replay.prompts if isinstance(block, v2.TextContent)]
    assert texts == list(PROMPTS)


@BOTH
async def test_a_replay_is_read_from_a_file(version: int, tmp_path: Path) -> None:
    recorder = Recorder()
    async with pair(demo_agent(), **options(version, recorder)) as client:
        transcript = await converse(client, [("tool",)])
    recorder.save(tmp_path / "recorded.jsonl")
    entries = from_jsonl((tmp_path / "recorded.jsonl").read_bytes())
    (tmp_path / "exported.jsonl").write_bytes(b"".join(map(write_line, entries)))
    for name in ("recorded.jsonl", "exported.jsonl"):
        replay = Replay.load(tmp_path / name)
        async with connect(replay) as client:
            assert transcript_contents(
                await converse(client, replay.prompts)
            ) == transcript_contents(transcript)


@BOTH
async def test_a_prompt_beyond_the_record_is_refused(version: int) -> None:
    tape, _ = await record(version, "hello")
    async with connect(Replay(tape.frames), **options(version)) as client:
        session = await client.new_session()
        assert await session.ask("hello") == "echo: hello"
        for _ in range(2):
            with pytest.raises(InvalidRequest, match="it has 1 prompt"):
                await session.ask("and now?")


@BOTH
async def test_prompts_that_come_too_early_wait_for_their_turn(version: int) -> None:
    tape, _ = await record(version, "one", "two")
    async with connect(Replay(tape.frames), **options(version)) as client:
        session = await client.new_session()
        first, second, third = (session.prompt(text) for text in ("one", "two", "three"))
        results = await asyncio.gather(first, second, third, return_exceptions=True)
        assert [getattr(each, "text", None) for each in results[:2]] == ["echo: one", "echo: two"]
        assert isinstance(results[2], InvalidRequest)


@BOTH
async def test_what_the_user_answers_now_is_accepted(version: int) -> None:
    tape, _ = await record(version, "perm")
    requests: list[str] = []

    def deny(request: v2.RequestPermissionRequest, session: Session) -> None:
        call = session.tool_call_of(request)
        assert call is not None
        requests.append(f"{request.title}: {call.title}")

    async with connect(Replay(tape.frames), versions=(version,), permission=deny) as client:
        session = await client.new_session()
        assert await session.ask("perm") == 'perm:{"outcome":"selected","optionId":"yes"}'
    assert len(requests) == 1
    assert requests[0].endswith(": Do something that needs permission")


def keeper() -> Agent:
    agent = Agent("keeper", features=AgentFeatures(fork=True))

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        loud = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=False)
        await session.set_config_options([loud])

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"{turn.text}!")

    return agent


@BOTH
async def test_a_session_may_be_opened_otherwise_than_it_was(version: int) -> None:
    agent = keeper()
    first, _ = await record(version, "one", agent=agent)
    session_id = Replay(first.frames).session_id
    async with pair(agent, **options(version, second := FrameRecorder())) as client:
        resumed = await client.resume_session(session_id)
        await resumed.ask("two")
    for tape in (first, second):
        async with connect(Replay(tape.frames), **options(version)) as client:
            session = await client.new_session()
            assert session.id == session_id
            assert len(session.transcript.config_options) == 1
        async with connect(Replay(tape.frames), **options(version)) as client:
            with pytest.raises(ResourceNotFound, match=session_id):
                await client.resume_session("another")
            session = await client.resume_session(session_id)
            assert len(session.transcript.config_options) == 1
            with pytest.raises(InvalidRequest, match="open already"):
                await client.new_session()
        async with connect(Replay(tape.frames), **options(version)) as client:
            assert (await client.fork_session("any")).id == session_id
    replay = Replay([*first.frames, *second.frames])
    async with connect(replay, **options(version)) as client:
        transcript = await converse(client, replay.prompts)
    assert [each.text for each in transcript.messages] == ["one", "one!", "two", "two!"]


@BOTH
async def test_a_fork_is_played_as_the_session_that_it_came_from(version: int) -> None:
    agent = keeper()
    first, _ = await record(version, "one", agent=agent)
    session_id = Replay(first.frames).session_id
    async with pair(agent, **options(version, second := FrameRecorder())) as client:
        fork = await client.fork_session(session_id)
        await fork.ask("two")
    assert fork.id != session_id
    replay = Replay([*first.frames, *second.frames])
    async with connect(replay, **options(version)) as client:
        transcript = await converse(client, replay.prompts)
        assert list(client.sessions) == [session_id]
    assert [each.text for each in transcript.messages] == ["one", "one!", "two", "two!"]


@BOTH
async def test_other_requests_are_answered_from_the_record_in_their_order(version: int) -> None:
    tape = FrameRecorder()
    async with pair(keeper(), **options(version, tape)) as client:
        session = await client.new_session()
        [listed] = [each async for each in client.list_sessions()]
        await session.set_config_option("loud", True)
        await session.set_config_option("loud", False)
        await session.ask("one")
        live = transcript_contents(session.transcript)
    async with connect(Replay(tape.frames), **options(version)) as client:
        session = await client.new_session()
        assert [each async for each in client.list_sessions()] == [listed]
        with pytest.raises(MethodNotFound, match="no answer to this session/list"):
            [each async for each in client.list_sessions()]
        for value in (True, False):
            [option] = await session.set_config_option("loud", value)
            assert isinstance(option, v2.SessionConfigBoolean)
            assert option.current_value is value
        await session.ask("one")
        assert transcript_contents(session.transcript) == live
        await session.close()
