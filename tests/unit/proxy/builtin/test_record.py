from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, TypeGuard, cast

import pytest

import parley
from parley.errors import AcpError, ConfigError, InvalidRequest
from parley.journal import MemoryJournal
from parley.proxy import Component, builtin
from parley.testing import Replay
from parley.testing.demo import demo_agent
from parley.transport import Transport

from .command_chain import VERSIONS, chain


class Unspoken:
    """An agent that nobody is to speak to."""

    def __init__(self) -> None:
        self.frames: list[object] = []
        self._lost = asyncio.Event()

    async def serve(self, transport: Transport, /) -> None:
        transport.start(self)
        await self._lost.wait()

    def frames_received(self, frames: object, /) -> None:
        self.frames.append(frames)

    def connection_lost(self, reason: object, /) -> None:
        self._lost.set()


@VERSIONS
async def test_what_was_recorded_is_played_without_the_agent(tmp_path: Path, version: int) -> None:
    path = tmp_path / "session.jsonl"
    async with chain(builtin.record(path), agent=demo_agent(), version=version) as client:
        session = await client.new_session()
        said = [await session.ask(prompt) for prompt in ("tool", "hello")]
        calls = list(session.transcript.tool_calls)
    agent, journal = Unspoken(), MemoryJournal()
    proxies: list[Component] = [builtin.log(journal), builtin.replay(path)]
    async with chain(*proxies, agent=agent, version=version) as client:
        again = await client.new_session()
        assert again.id == session.id
        assert [await again.ask(prompt) for prompt in ("tool", "hello")] == said
        assert list(again.transcript.tool_calls) == calls
        with pytest.raises(InvalidRequest, match="it has 2 prompts"):
            await again.ask("more")
    assert not agent.frames
    assert len(journal.list()) == 1
    assert Replay.load(path).session_id == session.id


@VERSIONS
async def test_a_record_may_stand_for_the_agent(tmp_path: Path, version: int) -> None:
    path = tmp_path / "session.jsonl"
    async with chain(builtin.record(path), agent=demo_agent(), version=version) as client:
        await (await client.new_session()).ask("hello")
    played = builtin.parse(["replay", str(path)])
    async with parley.connect(played, versions=(version,)) as client:
        assert await (await client.new_session()).ask("hello") == "echo: hello"


async def test_a_record_is_not_overwritten_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    proxy = builtin.record(path)
    for prompt in ("one", "two"):
        async with chain(proxy, agent=demo_agent(), version=2) as client:
            await (await client.new_session()).ask(prompt)
    assert b"echo: one" in path.read_bytes()
    assert b"echo: two" in (tmp_path / "session-2.jsonl").read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_record_that_cannot_be_written_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    async with chain(builtin.record(tmp_path / "a.jsonl"), agent=demo_agent(), version=2) as client:
        assert await (await client.new_session()).ask("hi") == "echo: hi"
    assert caplog.text.count("the record ends here: [Errno 28] No space left") == 1


async def test_a_directory_that_is_gone_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "gone").mkdir()
    proxy = builtin.record(tmp_path / "gone" / "a.jsonl")
    (tmp_path / "gone").rmdir()
    async with chain(proxy, agent=demo_agent(), version=2) as client:
        assert await (await client.new_session()).ask("hi") == "echo: hi"
    assert "nothing is recorded" in caplog.text


def test_the_speed_of_a_replay_is_above_zero(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="above zero"):
        builtin.replay(tmp_path / "a.jsonl", speed=0)


async def _recorded(path: Path) -> list[Any]:
    async with chain(builtin.record(path), agent=demo_agent(), version=1) as client:
        session = await client.new_session()
        await session.ask("tool")
    return _read(path)


def _read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _written(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _broken(value: Any, choose: Random) -> Any:
    """Return JSON with something else somewhere in it."""
    if value and choose.random() < 0.8:
        if type(value) is dict:
            members = cast("dict[str, Any]", value)
            name = choose.choice(sorted(members))
            return members | {name: _broken(members[name], choose)}
        if _is_list(value):
            items = value
            place = choose.randrange(len(items))
            return [*items[:place], _broken(items[place], choose), *items[place + 1 :]]
    return choose.choice([None, -1, 2**70, 1e300, "", "\ud800", "x" * 9999, [], {}, {"a": 1}])


@pytest.mark.parametrize("seed", range(40))
async def test_a_hostile_record_is_refused_or_fails_as_an_agent_does(
    tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing hangs, and nothing but what the protocol knows is raised."""
    choose = Random(seed)
    lines = await _recorded(tmp_path / "good.jsonl")
    for _ in range(choose.randint(1, 4)):
        place = choose.randrange(len(lines))
        match choose.randrange(4):
            case 0:
                del lines[place]
            case 1:
                lines.insert(choose.randrange(len(lines)), deepcopy(lines[place]))
            case 2:
                choose.shuffle(lines)
            case _:
                lines[place]["message"] = _broken(lines[place]["message"], choose)
    with suppress(AcpError):
        proxy = builtin.replay(_written(tmp_path / "bad.jsonl", lines))
        async with asyncio.timeout(300), chain(proxy, agent=Unspoken(), version=1) as client:
            session = await client.new_session()
            await session.close()
    assert "replay failed" not in caplog.text


async def test_a_record_out_of_order_is_not_played(tmp_path: Path) -> None:
    lines = await _recorded(tmp_path / "good.jsonl")
    asked = [each for each in lines if each["message"].get("method") == "session/prompt"]
    for bad, why in (
        (lines[2:], "does not begin with initialize"),
        ([lines[0], *lines[2:]], "does not begin with initialize"),
        ([*lines[:2], *asked, *lines[2:]], "does not continue with the opening"),
        ([lines[0], lines[2], lines[1], *lines[3:]], "does not begin with initialize"),
        ([lines[1], lines[0], *lines[2:]], "does not begin with initialize"),
    ):
        with pytest.raises(ConfigError, match=why):
            builtin.replay(_written(tmp_path / "bad.jsonl", bad))


async def test_a_record_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").symlink_to(tmp_path / "elsewhere")
    async with chain(builtin.record(tmp_path / "s.jsonl"), agent=demo_agent(), version=2) as client:
        await client.new_session()
    assert not (tmp_path / "elsewhere").exists()
    assert (tmp_path / "s-2.jsonl").stat().st_size > 0
