"""A recorder on a connection that reads blocks writes what it would write frame by frame."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from parley.journal import MemoryJournal, Recorder
from parley.journal._base import Kind
from parley.peer import Peer
from parley.peer._tracing import Direction, Observers
from parley.rpc._framing import Frame, FrameSplitter
from parley.schema.base import MethodTable
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2
from parley.transport import memory_pair

from .frames import answer, call, chunk, frame, prompt, update
from .recording import IN, OUT, begun, opens

SECRET = "hunter2hunter2"
TABLES: Mapping[int, MethodTable] = {1: methods1.TABLE, 2: methods2.TABLE}
USUAL = [
    chunk("s", "one", messageId="m"),
    chunk("other", "two", messageId="m"),
    chunk("s", "ä 𝄞", messageId="n"),
    update("s", "plan_update", plan={"type": "items", "planId": "p", "entries": []}),
    chunk("stranger", "nobody opened this session", messageId="m"),
]
TITLE = update("s", "session_info_update", title="A title")
ODD = [
    update("s", "state_update", state="running"),
    update("s", "state_update", state="idle", stopReason="end_turn"),
    TITLE,
    update("s", "_unknown_kind", text="x"),
    TITLE.replace(b"session_info", b"session\\u005finfo"),
    chunk("s", f"it is {SECRET}", messageId="m"),
    chunk("s", "lenient", messageId=5),
    frame(method="session/update", params={"sessionId": "s"}),
    frame(method="_extension", params={"sessionId": "s"}),
    answer(2, stopReason="end_turn"),
    call(7, "_unknown", sessionId="s"),
    b"[" + chunk("s", "in a batch", messageId="m") + b"]",
    chunk("s", "x", messageId="m") + b"\r",
    chunk("s", "x", messageId="m") + chunk("s", "y", messageId="m"),
    chunk("s", "\xff").replace(b"\\u00ff", b"\xff"),
    b"{bad",
    b"",
    b"  ",
]
lines = st.lists(st.one_of(st.sampled_from(USUAL), st.sampled_from([*USUAL, *ODD])), max_size=30)


class CountingJournal(MemoryJournal):
    """Counts how often it is called to add entries."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def extend(self, key: str, kind: Kind, data: Iterable[bytes], at: float | None = None) -> None:
        self.calls += 1
        super().extend(key, kind, data, at)


class Both:
    """A recorder, and everything that it was shown, as a second observer sees it."""

    def __init__(self, version: int, journal: MemoryJournal | None = None) -> None:
        self.journal = journal or MemoryJournal()
        self.recorder = _recorder(self.journal, version)
        self.seen: list[tuple[Direction, bytes]] = []

    def see(self, direction: Direction, frame: Frame) -> None:
        self.seen.append((direction, bytes(frame)))


def _recorder(journal: MemoryJournal, version: int) -> Recorder:
    recorder = begun(journal, version=version, secrets=[SECRET])
    opens(recorder, "other", id=3)
    recorder.observe(OUT, prompt(2, "s", "go"))
    return recorder


def _contents(journal: MemoryJournal) -> Any:
    """Return all sessions and their entries, without what differs from run to run."""
    found: dict[str, Any] = {}
    for record in journal.list():
        entries = [(each.number, each.kind, each.data) for each in journal.entries(record.key)]
        plain = structs.replace(record, key="", created_at=0.0, updated_at=0.0)
        found[record.session_id] = (plain, entries)
    return found


async def _received(version: int, both: Both, reads: Sequence[bytes]) -> None:
    near, far = memory_pair()
    peer = Peer(near, "client", observer=Observers(both.recorder, both.see))
    peer.set_handlers(TABLES[version], notifications={"session/update": lambda params: None})
    splitter = FrameSplitter(1 << 20)
    async with peer:
        for data in reads:
            peer.frames_received(splitter.feed(data))
    await far.aclose()


@pytest.mark.parametrize("version", [1, 2])
@given(lines=lines, cuts=st.lists(st.integers(0, 10_000), max_size=4))
def test_any_mix_of_frames_is_recorded_as_if_each_had_come_alone(
    version: int, lines: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    reads = [stream[begin:end] for begin, end in pairwise(places)]
    both = Both(version)
    asyncio.run(_received(version, both, reads))
    assert [data for direction, data in both.seen if direction == IN] == lines
    alone = MemoryJournal()
    recorder = _recorder(alone, version)
    for direction, data in both.seen:
        recorder.observe(direction, data)
    assert _contents(both.journal) == _contents(alone)


@pytest.mark.parametrize("version", [1, 2])
async def test_a_block_is_written_at_once(version: int) -> None:
    counted = CountingJournal()
    both = Both(version, counted)
    before = counted.calls
    frames = [chunk("s", str(number), messageId="m") for number in range(100)]
    await _received(version, both, [b"\n".join(frames) + b"\n"])
    assert counted.calls == before + 1
    (record,) = counted.list(session_id="s")
    assert [entry.data for entry in counted.entries(record.key)][-100:] == frames


async def test_a_secret_in_a_block_is_masked_and_the_rest_is_as_it_was() -> None:
    both = Both(2)
    usual = [chunk("s", str(number), messageId="m") for number in range(5)]
    block = b"\n".join([*usual, chunk("s", SECRET, messageId="m"), *usual]) + b"\n"
    await _received(2, both, [block])
    (record,) = both.journal.list(session_id="s")
    written = [entry.data for entry in both.journal.entries(record.key)][-11:]
    assert written == [*usual, chunk("s", "[redacted]", messageId="m"), *usual]
