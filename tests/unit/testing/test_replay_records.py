"""Replays of records written by hand: broken off, overlapping, slow, withdrawn, malformed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.frame_recordings import ManualRecording

from parley.client import Session, connect
from parley.errors import InternalError, InvalidRequest, VersionMismatch
from parley.journal import Entry
from parley.schema import v2
from parley.testing import Recorder, Replay

BOTH = pytest.mark.parametrize("version", [1, 2])


def acting(path: Path) -> ManualRecording:
    script = ManualRecording()
    script.open()
    end = script.prompt()
    script.agent(
        {
            "id": 1,
            "method": "_do",
            "params": script.named(path=str(path)),
        }
    )
    script.client({"id": 1, "result": {"done": True}})
    script.say("done")
    script.answer(end, {"stopReason": "end_turn"})
    return script


@pytest.mark.parametrize("acts", [False, True])
async def test_what_the_client_did_is_not_done_again_unless_that_is_wanted(
    acts: bool, tmp_path: Path
) -> None:
    done: list[Any] = []

    def do(params: Any) -> str:
        done.append(params)
        return "anything"

    replay = Replay(acting(tmp_path).frames, acts=acts)
    async with connect(replay, extensions={"_do": do}) as client:
        assert await (await client.new_session()).ask("go") == "done"
    assert done == ([{"sessionId": "s", "path": str(tmp_path)}] if acts else [])


@BOTH
async def test_many_updates_of_a_replay_do_not_come_before_their_session(version: int) -> None:
    script = ManualRecording(version)
    script.begin()
    opening = script.ask("session/load" if version == 1 else "session/resume", script.named())
    for _ in range(3000):
        script.say("x", messageId="m")
    script.update("session_info_update", title="over")
    script.answer(opening, {})
    is_over = asyncio.Event()

    def look(session: Session, update: v2.SessionUpdate) -> None:
        if isinstance(update, v2.SessionInfoUpdate):
            is_over.set()

    async with connect(Replay(script.frames), on_update=look) as client:
        session = await client.new_session()
        await is_over.wait()
        assert session.transcript.text == 3000 * "x"


@BOTH
async def test_a_record_that_breaks_off_ends_its_turn_with_an_error(version: int) -> None:
    script = ManualRecording(version)
    script.open()
    script.prompt("one")
    if version == 2:
        script.answer(2, {})
        script.answer(3, {"messageId": "u"})
        script.update("user_message", messageId="u", content=[])
        script.update("state_update", state="running")
    script.say("half an", messageId="m")
    for frames in (script.frames, [*script.frames, *reopened(script)]):
        async with connect(Replay(frames), versions=(version,)) as client:
            session = await client.new_session()
            with pytest.raises(InternalError, match="ends in the middle of this turn"):
                await session.ask("one")
            assert session.transcript.text == "half an"


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("has_end", [False, True])
async def test_a_prompt_whose_answer_the_record_lacks_is_refused(
    version: int, has_end: bool
) -> None:
    script = ManualRecording(version)
    script.open()
    script.prompt("one")
    if has_end:
        script.update("state_update", state="idle", stopReason="end_turn")
    async with connect(Replay(script.frames), versions=(version,)) as client:
        session = await client.new_session()
        with pytest.raises(InternalError, match="ends in the middle of this turn"):
            await session.ask("one")


def reopened(script: ManualRecording) -> list[Any]:
    """The session is opened once more, by another process, and nothing else."""
    more = ManualRecording(script.version)
    more.begin()
    more.ask("session/load" if script.version == 1 else "session/resume", more.named())
    more.say("half an", messageId="m")
    return more.frames


async def test_a_record_that_continues_in_another_version_ends_there() -> None:
    one, two = ManualRecording(1), ManualRecording(2)
    one.open()
    one.answer(one.prompt("one"), {"stopReason": "end_turn"})
    two.begin()
    two.call("session/resume", two.named(), {})
    two.answer(two.prompt("two"), {"messageId": "u"})
    replay = Replay([*one.frames, *two.frames])
    assert len(replay.prompts) == 1
    with pytest.raises(VersionMismatch):
        async with connect(replay, versions=(2,)):
            pass


def waiting(at: Callable[[int], float]) -> list[Entry]:
    script = ManualRecording()
    script.open()
    end = script.prompt("one")
    script.say("a")
    script.say("b")
    script.answer(end, {"stopReason": "end_turn"})
    frames = enumerate(script.frames)
    return [Entry(number, at(number), each.kind, each.data) for number, each in frames]  # type: ignore[arg-type]


async def test_a_replay_takes_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float | None] = []
    real = asyncio.timeout

    def at_once(seconds: float | None) -> asyncio.Timeout:
        pauses.append(seconds)
        return real(0)

    entries = waiting(lambda number: max(number, 4) ** 2)
    async with connect(Replay(entries, speed=0.5)) as client:
        session = await client.new_session()
        monkeypatch.setattr("parley.proxy._recording.replay.asyncio.timeout", at_once)
        assert await session.ask("one") == "ab"
    assert pauses == [18.0, 22.0, 26.0]


async def test_who_cancels_a_turn_gets_the_rest_of_it_at_once() -> None:
    entries = waiting(lambda number: 3600 * max(0, number - 5))
    async with connect(Replay(entries, speed=1)) as client:
        session = await client.new_session()
        turn = session.prompt("one")
        messages: list[str] = []
        async for update in turn:
            if isinstance(update, v2.AgentMessageChunk):
                if not messages:
                    await turn.cancel()
                messages.append(getattr(update.content, "text", ""))
        assert messages == ["a", "b"]


async def test_a_question_that_was_withdrawn_is_withdrawn_again() -> None:
    script = ManualRecording()
    script.open()
    end = script.prompt()
    call = {"toolCallId": "c", "title": "Do it"}
    allow = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    message = script.named(toolCall=call, options=allow)
    script.agent({"id": "q", "method": "session/request_permission", "params": message})
    script.agent({"method": "$/cancel_request", "params": {"requestId": "q"}})
    script.agent({"method": "$/cancel_request", "params": {"requestId": "unknown"}})
    script.agent({"method": "$/cancel_request", "params": {}})
    script.client({"id": "q", "error": {"code": -32800, "message": "Cancelled"}})
    script.say("never mind")
    script.answer(end, {"stopReason": "end_turn"})

    async def ponder(request: v2.RequestPermissionRequest, session: Session) -> str:
        await asyncio.get_running_loop().create_future()
        return "y"

    recorder = Recorder()
    async with connect(Replay(script.frames), permission=ponder, observer=recorder) as client:
        assert await (await client.new_session()).ask("go") == "never mind"
    [response] = [each for each in recorder.messages("outbound") if "error" in each]
    assert response["error"]["code"] == -32800


@pytest.mark.parametrize("version", [1, 2])
async def test_prompts_that_overlapped_are_played_one_after_the_other(version: int) -> None:
    script = ManualRecording(version)
    script.open()
    first, second = script.prompt("one"), script.prompt("two")
    for id, text in ((first, "one"), (second, "two")):
        if version == 2:
            script.answer(id, {"messageId": text})
    for id, text in ((first, "one"), (second, "two")):
        if version == 2:
            script.update("user_message", messageId=text, content=[])
        script.say(f"{text}!", messageId=f"{text}!")
        if version == 1:
            script.answer(id, {"stopReason": "end_turn"})
        else:
            script.update("state_update", state="idle", stopReason="end_turn")
    async with connect(Replay(script.frames), versions=(version,)) as client:
        session = await client.new_session()
        assert await session.ask("one") == "one!"
        assert await session.ask("two") == "two!"


async def test_a_prompt_that_was_refused_is_refused_again() -> None:
    script = ManualRecording(2)
    script.open()
    script.agent({"id": script.prompt("one"), "error": {"code": -32600, "message": "Not now"}})
    second = script.prompt("two")
    script.answer(second, {"messageId": "u"})
    script.update("user_message", messageId="u", content=[])
    script.update("state_update", state="idle", stopReason="end_turn")
    async with connect(Replay(script.frames)) as client:
        session = await client.new_session()
        with pytest.raises(InvalidRequest, match="Not now"):
            await session.ask("one")
        await session.ask("two")


async def test_what_is_not_a_message_is_sent_as_it_was_and_batches_piece_by_piece() -> None:
    script = ManualRecording()
    script.raw("to_client", b"npm warn deprecated")
    script.open()
    end = script.prompt("one")
    script.raw("to_client", b"a warning")
    chunks = [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        for text in ("a", "b")
    ]
    notes = [{"method": "session/update", "params": script.named(update=each)} for each in chunks]
    script.agent(*notes, {"jsonrpc": "1.0"})
    script.client({"method": "session/cancel", "params": script.named()})
    script.raw("note", b"{}")
    script.raw("to_client", b" ")
    script.answer(end, {"stopReason": "end_turn"})
    recorder = Recorder()
    async with connect(Replay(script.frames), observer=recorder) as client:
        assert await (await client.new_session()).ask("one") == "ab"
    assert b"a warning" in [each.frame for each in recorder.frames]


async def test_a_session_that_could_not_be_opened_at_first_is_opened_at_once() -> None:
    script = ManualRecording()
    script.begin()
    refused = {"error": {"code": -32000, "message": "Log in"}}
    script.agent({"id": script.ask("session/new", {}), **refused})
    script.ask("session/list", {})
    script.call("authenticate", {"methodId": "key"}, {})
    script.call("session/new", {}, script.named())
    async with connect(Replay(script.frames)) as client:
        assert (await client.new_session()).id == "s"


async def test_a_prompt_that_cannot_be_read_is_empty() -> None:
    script = ManualRecording()
    script.open()
    script.answer(script.ask("session/prompt", script.named(prompt=5)), {"stopReason": "end_turn"})
    assert Replay(script.frames).prompts == [[]]


def never_opened() -> ManualRecording:
    script = ManualRecording()
    script.begin()
    script.ask("session/new", {})
    return script


def nameless() -> ManualRecording:
    script = ManualRecording()
    script.begin()
    script.call("session/new", {}, {})
    return script


def never_begun() -> ManualRecording:
    script = ManualRecording()
    script.agent({"id": script.ask("initialize", {}), "error": {"code": 1, "message": "No"}})
    script.call("initialize", {}, {"protocolVersion": "two"})
    return script


@pytest.mark.parametrize("make", [ManualRecording, never_opened, nameless, never_begun])
def test_a_record_without_a_session_is_refused(make: Callable[[], ManualRecording]) -> None:
    with pytest.raises(ValueError, match="does not show how a session was opened"):
        Replay(make().frames)


def test_a_replay_has_a_speed_above_zero() -> None:
    for speed in (0, -1.0):
        with pytest.raises(ValueError, match="above zero"):
            Replay([], speed=speed)
