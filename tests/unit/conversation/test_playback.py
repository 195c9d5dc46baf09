"""A recorded session, played again."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.frame_recordings import FrameRecorder, ManualRecording, PlainFrame, transcript_contents

from parley.conversation.playback import MAX_PAUSE, Playback, load_recording
from parley.export import to_jsonl
from parley.journal import MemoryJournal, Record
from parley.schema import v2
from parley.session.frame_replay import RecordedFrame
from parley.testing import pair
from parley.testing.demo import demo_agent


class _Hasty(selectors.DefaultSelector):
    """Waits for nothing: time passes instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    """An event loop in which nobody waits."""

    def __init__(self) -> None:
        self.hasty = _Hasty()
        super().__init__(self.hasty)

    def time(self) -> float:
        return self.hasty.now


def at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """Run something on a loop in which time passes as fast as it is waited for."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(work)


def record() -> list[RecordedFrame]:
    """A session of version 2; chunks come after 0, 1, 2 and 100 seconds, in two turns."""
    script = ManualRecording(2)
    script.begin()
    script.call("session/new", {"cwd": "/"}, {"sessionId": "s"})
    start = len(script.frames)
    for kind, more in (
        ("state_update", {"state": "running"}),
        ("agent_message_chunk", {"messageId": "m", "content": {"type": "text", "text": "a"}}),
        ("agent_message_chunk", {"messageId": "m", "content": {"type": "text", "text": "b"}}),
        ("state_update", {"state": "idle", "stopReason": "end_turn"}),
        ("agent_message_chunk", {"messageId": "n", "content": {"type": "text", "text": "c"}}),
        ("agent_message_chunk", {"messageId": "n", "content": {"type": "text", "text": "d"}}),
    ):
        update = {"sessionUpdate": kind, **more}
        params = {"sessionId": "s", "update": update}
        script.agent({"method": "session/update", "params": params})
    gaps = [0.0, 0.0, 1.0, 1.0, 100.0, 1.0]
    at = 0.0
    frames = script.frames[:start]
    for gap, frame in zip(gaps, script.frames[start:], strict=True):
        at += gap
        frames.append(PlainFrame(1000.0 + at, frame.kind, frame.data))
    return [PlainFrame(1000.0, each.kind, each.data) for each in frames[:start]] + frames[start:]


def text_of(update: v2.SessionUpdate) -> str:
    if isinstance(update, v2.AgentMessageChunk):
        return getattr(update.content, "text", "")
    return "." if isinstance(update, v2.StateUpdated) else "-"


async def timed(playback: Playback) -> list[tuple[str, float]]:
    now = asyncio.get_running_loop().time
    return [(text_of(update), round(now(), 3)) async for update in playback]


def test_updates_come_at_the_recorded_pace_and_long_pauses_are_cut() -> None:
    played = at_once(timed(Playback(record())))
    end = 2.0 + MAX_PAUSE
    assert played[-6:] == [
        (".", 0.0),
        ("a", 0.0),
        ("b", 1.0),
        (".", 2.0),
        ("c", end),
        ("d", end + 1.0),
    ]


@pytest.mark.parametrize(("speed", "last"), [(2.0, 3.5), (None, 0.0)])
def test_another_speed(speed: float | None, last: float) -> None:
    assert at_once(timed(Playback(record(), speed)))[-1] == ("d", last)


def test_a_speed_is_above_zero() -> None:
    for speed in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="must be a positive number"):
            Playback([], speed)


def test_the_speed_may_change_while_it_waits() -> None:
    async def play() -> list[tuple[str, float]]:
        playback = Playback(record())
        loop = asyncio.get_running_loop()
        loop.call_at(0.5, setattr, playback, "speed", None)
        return await timed(playback)

    assert at_once(play())[-1] == ("d", 0.5)


async def test_it_is_paused_gone_through_step_by_step_and_resumed() -> None:
    playback = Playback(record(), None)
    playback.pause()
    seen: list[str] = []
    news = asyncio.Event()

    async def play() -> None:
        async for update in playback:
            seen.append(text_of(update))
            news.set()

    playing = asyncio.create_task(play())
    for number in range(1, 4):
        playback.step()
        await asyncio.wait_for(news.wait(), 300)
        news.clear()
        assert (len(seen), playback.is_paused, playback.played) == (number, True, number)
    playback.resume()
    await playing
    assert "".join(seen).endswith(".ab.cd")
    assert not playback.is_paused


def test_the_rest_of_a_turn_is_skipped() -> None:
    async def play() -> list[tuple[str, float]]:
        playback = Playback(record())
        asyncio.get_running_loop().call_at(0.25, playback.skip)
        return await timed(playback)

    played = at_once(play())
    assert played[-4:] == [
        ("b", 0.25),
        (".", 0.25),
        ("c", 0.25 + MAX_PAUSE),
        ("d", 1.25 + MAX_PAUSE),
    ]


@pytest.mark.parametrize("version", [1, 2])
async def test_both_versions_are_played_from_a_file(version: int, tmp_path: Path) -> None:
    tape = FrameRecorder()
    async with pair(demo_agent(), versions=(version,), observer=tape) as client:
        session = await client.new_session()
        for prompt in ("tool", "plan", "hello"):
            await session.prompt(prompt)
        said = session.transcript
    journal = MemoryJournal()
    entry = Record(key="abcd1", agent="demo", session_id=session.id, name="mine", cwd=str(tmp_path))
    journal.put(entry)
    for frame in tape.frames:
        journal.append("abcd1", frame.kind, frame.data)  # type: ignore[arg-type]
    path = tmp_path / "session.jsonl"
    path.write_bytes(to_jsonl(journal.entries("abcd1")))
    for source in (path, str(path), "mine", "abcd"):
        playback = Playback(load_recording(source, journal, tmp_path), None)
        count = len([update async for update in playback])
        assert transcript_contents(playback.transcript) == transcript_contents(said)
        assert count == playback.played > 10


def test_what_is_no_record_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("hello\n")
    with pytest.raises(ValueError, match="line 1 is not from a recorded session"):
        load_recording(path)
    with pytest.raises(LookupError, match="neither a file nor a session 'gone'"):
        load_recording("gone", MemoryJournal())
    with pytest.raises(LookupError, match="neither"):
        load_recording("gone")
