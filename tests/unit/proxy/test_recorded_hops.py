"""Recordings of a chain: one for each hop, whatever its components are."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

import parley
from parley.proxy import Conductor, Proxy
from parley.recording import RecordedLine, RecordingLimits, RecordingStore, RecordingWriter
from parley.testing.demo import demo_agent

from .conducted_chain import component_command

MARK = shlex.join(component_command("mark", "a"))
SECRET = "sk-proj-0123456789abcdefghij"


async def _recorded(directory: Path, *components: str | Proxy, version: int = 2) -> RecordingStore:
    """Have a conversation through a chain; return the recordings of its hops."""
    store = RecordingStore(directory)
    writer = RecordingWriter(store, limits=RecordingLimits(), environ={}, may_wait=False)
    conductor = Conductor(*components, agent=demo_agent(), recordings=writer)
    versions = tuple(range(1, version + 1))
    async with parley.connect(conductor, "/", versions=versions) as connection:
        session = await connection.new_session()
        assert "Hello" in await session.ask("Hello")
    writer.close()
    return store


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("components", "hops"),
    [
        ([], ["client → bridge", "bridge → parley-demo"]),
        (
            [Proxy("one"), Proxy("two")],
            ["client → one", "one → two", "two → bridge", "bridge → parley-demo"],
        ),
        (
            [Proxy("one"), MARK, MARK, Proxy("two")],
            [
                "client → one",
                f"one → {MARK}",
                f"{MARK} → {MARK}",
                f"{MARK} → two",
                "two → bridge",
                "bridge → parley-demo",
            ],
        ),
    ],
    ids=["agent", "objects", "processes"],
)
async def test_each_hop_of_a_chain_has_a_recording(
    tmp_path: Path, components: list[str | Proxy], hops: list[str], version: int
) -> None:
    store = await _recorded(tmp_path, *components, version=version)
    recordings = store.recordings()
    assert sorted(each.header.hop for each in recordings) == sorted(hops)
    assert len({each.header.chain for each in recordings}) == 1
    for recording in recordings:
        with recording.open() as reader:
            lines = [each for each in reader if isinstance(each, RecordedLine)]
        methods = [each.message.get("method") for each in lines if each.source == "client"]
        assert [each for each in methods if each and "initialize" in each]
        assert methods.count("session/prompt") == 1
        assert any(b"Hello" in each.data for each in lines if each.source == "agent")


async def test_two_connections_have_two_chains(tmp_path: Path) -> None:
    await _recorded(tmp_path)
    store = await _recorded(tmp_path)
    assert len({each.header.chain for each in store.recordings()}) == 2


async def test_the_names_of_hops_have_no_secrets(tmp_path: Path) -> None:
    command = ["sh", "-c", f"exec {MARK}", "sh", "--api-key", SECRET]
    store = await _recorded(tmp_path, shlex.join(command))
    assert any("--api-key [redacted]" in each.header.hop for each in store.recordings())
    for recording in store.recordings():
        assert SECRET not in recording.path.name
        assert SECRET.encode() not in recording.path.read_bytes()
