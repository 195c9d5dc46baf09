"""A session that several processes are on is written down by one of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from parley.journal import MemoryJournal, Recorder
from parley.journal._process import _started  # pyright: ignore[reportPrivateUsage]

from .frames import answer, call, chunk, prompt
from .recording import IN, OUT, begun, loads, only, told


@pytest.fixture
def other() -> Iterator[str]:
    """Another process, as the journal names it, which lives as long as the test."""
    words = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        yield f"{process.pid}:{_started(process.pid)}"
        assert process.stdin is not None
        process.stdin.close()


def held_by(journal: MemoryJournal, process: str) -> None:
    record = only(journal)
    record.process = process
    journal.put(record, "process")


def joined(journal: MemoryJournal) -> Recorder:
    recorder = Recorder(journal, agent="demo", is_shared=True)
    recorder.observe(OUT, call(0, "initialize", protocolVersion=1))
    recorder.observe(IN, answer(0, protocolVersion=1))
    loads(recorder, chunk("s", "before"), method="session/resume")
    return recorder


def test_who_joins_a_session_leaves_it_to_the_process_that_writes_it_down(
    other: str, caplog: pytest.LogCaptureFixture
) -> None:
    journal = MemoryJournal()
    begun(journal, is_shared=True)
    held_by(journal, other)
    before = only(journal)
    recorder = joined(journal)
    recorder.observe(OUT, prompt(2, "s", "hello"))
    recorder.observe(IN, chunk("s", "the answer"))
    recorder.note("s", "decision")
    recorder.observe(IN, answer(2, stopReason="end_turn"))
    recorder.close()
    assert only(journal) == before
    said = [each.getMessage() for each in caplog.records]
    assert said == [
        f"the session {before.key} is already recorded by another process; this one only "
        "takes part in it"
    ]
    found = recorder.record_of("s")
    assert found is not None
    assert found.key == before.key


def test_it_is_written_down_here_once_the_other_is_gone(other: str) -> None:
    journal = MemoryJournal()
    begun(journal, is_shared=True)
    held_by(journal, other)
    recorder = joined(journal)
    recorder.observe(IN, chunk("s", "of the other"))
    count = only(journal).entries
    held_by(journal, "")
    recorder.observe(OUT, prompt(2, "s", "hello"))
    recorder.observe(IN, chunk("s", "the answer"))
    recorder.observe(IN, answer(2, stopReason="end_turn"))
    assert told(journal, only(journal).key)[count:] == [
        "initialize",
        {"protocolVersion": 1},
        "session/prompt",
        "the answer",
        {"stopReason": "end_turn"},
    ]


def test_a_session_is_held_while_it_is_open_and_not_only_while_it_works() -> None:
    journal = MemoryJournal()
    recorder = begun(journal, is_shared=True)
    assert (only(journal).process != "", only(journal).state) == (True, "idle")
    recorder.observe(OUT, prompt(2, "s", "hello"))
    recorder.observe(IN, answer(2, stopReason="end_turn"))
    assert (only(journal).process != "", only(journal).state) == (True, "idle")
    recorder.close()
    assert only(journal).process == ""


def test_a_session_of_an_agent_of_ones_own_is_written_down_as_ever(other: str) -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    assert only(journal).process == ""
    held_by(journal, other)
    recorder = Recorder(journal, agent="demo")
    loads(recorder)
    recorder.observe(IN, chunk("s", "more"))
    assert told(journal, only(journal).key)[-1] == "more"
