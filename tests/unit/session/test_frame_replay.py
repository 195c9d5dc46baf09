"""The replay of a recording gives the transcript that a live client had."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from tests.frame_recordings import FrameRecorder, fold_recording, transcript_contents

from parley.agent import Agent, AgentFeatures, Turn
from parley.agent import AgentSession as AgentSession
from parley.client import ConnectOptions, Session
from parley.errors import RequestError
from parley.journal import MemoryJournal
from parley.schema import v2
from parley.session._transcript import Transcript
from parley.session.frame_replay import transcript_from_frames
from parley.testing import pair
from parley.testing.demo import demo_agent

PROMPTS = (
    *("fs a.txt", "perm", "elicit", "plan", "tool", "diff", "flood 30"),
    *("ext", "boom", "commands", "help", "hello"),
)
LOUD = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=False)
TONE = v2.SessionConfigSelect(
    config_id="tone",
    name="Tone",
    category="mode",
    current_value="mild",
    options=[v2.SessionConfigSelectOption(value=each, name=each) for each in ("mild", "curt")],
)


def check(tape: FrameRecorder, live: Transcript) -> None:
    assert transcript_contents(transcript_from_frames(tape.frames)) == transcript_contents(live)
    assert transcript_contents(fold_recording(tape)) == transcript_contents(live)


def first_option(request: v2.RequestPermissionRequest, session: Session) -> v2.PermissionOption:
    return request.options[0]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("prompt", PROMPTS)
async def test_every_prompt_of_the_demo_agent_is_replayed(
    prompt: str, version: int, tmp_path: Path
) -> None:
    options: ConnectOptions = {
        "versions": (version,),
        "permission": first_option,
        "elicit": lambda form, session: {"name": "Ada"},
        "observer": (tape := FrameRecorder()),
    }
    async with pair(demo_agent(), tmp_path, **options) as client:
        session = await client.new_session()
        for text in (prompt, "and again", prompt):
            with suppress(RequestError):  # as boom raises it
                await session.prompt(text)
        check(tape, session.transcript)
        assert len(session.transcript.messages) >= 4


@pytest.mark.parametrize("version", [1, 2])
async def test_a_turn_that_was_cancelled_is_replayed(version: int) -> None:
    agent = Agent("worker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Wait") as call:
            await call.add("waiting")
            await turn.say("it takes a while")
            await asyncio.get_running_loop().create_future()

    tape = FrameRecorder()
    async with pair(agent, versions=(version,), observer=tape) as client:
        session = await client.new_session()
        turn = session.prompt("go")
        async for update in turn:
            if isinstance(update, v2.AgentMessageChunk):
                await turn.cancel()
        assert (await turn).stop_reason == "cancelled"
        check(tape, session.transcript)
        [call] = session.transcript.tool_calls.values()
        assert call.status == ("failed" if version == 1 else "cancelled")


@pytest.mark.parametrize("version", [1, 2])
async def test_options_and_commands_are_replayed(version: int) -> None:
    agent = Agent("options")

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        await session.set_config_options([TONE, LOUD])
        await session.set_commands([v2.Command(name="greet", description="Greets.")])

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.session.set_title("Options")
        await turn.session.usage(5, 10, v2.Cost(amount=0.5, currency="EUR"))
        turn.usage = v2.Usage(total_tokens=3, input_tokens=2, output_tokens=1)
        await turn.say("fine")

    tape = FrameRecorder()
    async with pair(agent, versions=(version,), observer=tape) as client:
        session = await client.new_session()
        await session.set_config_option("tone", "curt")
        await session.set_config_option("loud", True)
        await session.ask("go")
        check(tape, session.transcript)
        assert session.transcript.commands
        assert session.transcript.title == "Options"


@pytest.mark.parametrize("version", [1, 2])
async def test_a_session_that_was_opened_again_or_forked_is_replayed(version: int) -> None:
    agent = Agent("keeper", features=AgentFeatures(fork=True))

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        await session.set_config_options([TONE, LOUD])

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"{turn.text}!")

    async with pair(agent, versions=(version,), observer=(first := FrameRecorder())) as client:
        session = await client.new_session()
        await session.ask("one")
        before = transcript_contents(session.transcript)
    for replays in (True, False):
        async with pair(agent, versions=(version,), observer=(second := FrameRecorder())) as client:
            again = await client.resume_session(session.id, replay=replays)
            await again.ask("two")
            check(second, again.transcript)
            tape = FrameRecorder()
            tape.frames = [*first.frames, *second.frames]
            both = transcript_from_frames(tape.frames)
    assert transcript_contents(transcript_from_frames(first.frames)) == before
    assert [each.text for each in both.messages] == ["one", "one!", "two", "two!"]
    async with pair(agent, versions=(version,), observer=(third := FrameRecorder())) as client:
        fork = await client.fork_session(session.id)
        await fork.ask("three")
        check(third, fork.transcript)


@pytest.mark.parametrize("version", [1, 2])
async def test_what_is_in_a_journal_is_replayed(version: int) -> None:
    agent = Agent("keeper", features=AgentFeatures(fork=True))

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Think") as call:
            await turn.ask_permission("May I?", tool=call)
        await turn.say(f"{turn.text}!")

    journal = MemoryJournal()
    options: ConnectOptions = {
        "versions": (version,),
        "journal": journal,
        "permission": first_option,
        "name": "keeper",
    }
    async with pair(agent, **options) as client:
        session = await client.new_session()
        await session.ask("one")
        live = transcript_contents(session.transcript)
    [record] = journal.list()
    assert transcript_contents(transcript_from_frames(journal.entries(record.key))) == live
    async with pair(agent, **options) as client:
        again = await client.resume_session(session.id)
        await again.ask("two")
        fork = await client.fork_session(session.id)
        await fork.ask("three")
    for id, texts in ((session.id, ["one", "two"]), (fork.id, ["one", "two", "three"])):
        [record] = journal.list(session_id=id)
        transcript = transcript_from_frames(journal.entries(record.key))
        expected = [each for text in texts for each in (text, f"{text}!")]
        assert [each.text for each in transcript.messages] == expected
        assert len(transcript.tool_calls) == len(texts)
