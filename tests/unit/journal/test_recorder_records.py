"""What a recorder learns of a session as a whole."""

from __future__ import annotations

import json

import pytest

from parley.journal import MemoryJournal, Recorder
from parley.journal._process import this_process

from .frames import answer, call, chunk, prompt, refusal, update
from .recording import IN, OUT, begun, loads, only, told


def test_a_turn_of_version_1_runs_until_the_prompt_is_answered() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    assert only(journal).state == "idle"
    recorder.observe(OUT, prompt(2, "s", "hello"))
    running = only(journal)
    assert (running.state, running.process) == ("running", this_process())
    assert not running.is_interrupted
    recorder.observe(IN, answer(2, stopReason="end_turn"))
    assert (only(journal).state, only(journal).process) == ("idle", "")
    recorder.observe(OUT, prompt(3, "s", "again"))
    recorder.observe(IN, refusal(3))
    assert only(journal).state == "idle"


def test_a_turn_of_version_2_runs_until_the_session_is_idle() -> None:
    journal = MemoryJournal()
    recorder = begun(journal, version=2)
    recorder.observe(OUT, prompt(2, "s", "hello"))
    recorder.observe(IN, answer(2, messageId="m"))
    assert only(journal).state == "running"
    recorder.observe(IN, update("s", "state_update", state="requires_action"))
    assert only(journal).state == "running"
    recorder.observe(IN, update("s", "state_update", state="idle", stopReason="end_turn"))
    assert only(journal).state == "idle"
    recorder.observe(IN, update("s", "state_update", state="running"))
    assert only(journal).state == "running"
    recorder.observe(IN, update("s", "state_update", state="dreaming"))
    assert only(journal).state == "running"


def test_a_turn_is_interrupted_when_its_connection_ends() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(OUT, prompt(2, "s", "hello"))
    recorder.close()
    assert only(journal).is_interrupted
    later = Recorder(journal, agent="demo")
    loads(later)
    assert only(journal).state == "idle"
    notes = [each for each in told(journal, only(journal).key) if each == "interrupted"]
    assert notes == ["interrupted"]


def test_the_note_of_an_interrupted_turn_comes_before_the_next_connection() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(OUT, prompt(2, "s", "hello"))
    recorder.close()
    later = Recorder(journal, agent="demo")
    later.observe(OUT, call(0, "initialize", protocolVersion=1))
    loads(later)
    found = told(journal, only(journal).key)
    assert found[found.index("interrupted") :][:3] == ["interrupted", "initialize", "session/load"]


def test_a_session_that_ended_well_is_resumed_without_a_note() -> None:
    journal = MemoryJournal()
    begun(journal).close()
    loads(Recorder(journal, agent="demo"))
    assert "interrupted" not in told(journal, only(journal).key)


def test_a_session_with_several_prompts_runs_until_the_last_is_answered() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(OUT, prompt(2, "s", "one"))
    recorder.observe(OUT, prompt(3, "s", "two"))
    recorder.observe(IN, answer(2, stopReason="cancelled"))
    assert only(journal).state == "running"
    recorder.observe(IN, answer(3, stopReason="end_turn"))
    assert only(journal).state == "idle"


def test_the_title_is_the_agents_or_how_the_first_prompt_begins() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(OUT, prompt(2, "s", "A long\n  story " + "about it " * 20))
    title = only(journal).title
    assert title is not None
    assert title.startswith("A long story about it")
    assert len(title) == 80
    recorder.observe(IN, update("s", "session_info_update", title="Mine", updatedAt="x"))
    assert only(journal).title == "Mine"
    recorder.observe(IN, update("s", "session_info_update", updatedAt="y"))
    assert only(journal).title == "Mine"
    recorder.observe(OUT, call(4, "session/set_title", sessionId="s", title="x"))
    recorder.observe(IN, answer(4, title="Yours"))
    assert only(journal).title == "Yours"
    recorder.observe(IN, update("s", "session_info_update", title=None))
    assert only(journal).title is None


@pytest.mark.parametrize(
    ("method", "is_archived"),
    [("session/close", False), ("session/delete", True), ("session/archive", True)],
)
def test_a_session_that_is_closed_stays_in_the_journal(method: str, is_archived: bool) -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(OUT, call(2, method, sessionId="s"))
    recorder.observe(IN, answer(2))
    recorder.observe(IN, chunk("s", "late"))
    found = only(journal)
    assert told(journal, found.key)[-3:] == [method, {}, "late"]
    assert found.is_archived is is_archived


def test_a_session_can_be_put_away_without_being_open() -> None:
    journal = MemoryJournal()
    begun(journal)
    recorder = Recorder(journal, agent="demo")
    recorder.observe(OUT, call(1, "session/archive", sessionId="s"))
    recorder.observe(IN, answer(1))
    recorder.observe(OUT, call(2, "session/archive", sessionId="nobody"))
    recorder.observe(IN, answer(2))
    assert only(journal).is_archived
    recorder.observe(OUT, call(3, "session/unarchive", sessionId="s"))
    recorder.observe(IN, answer(3))
    assert not only(journal).is_archived


def test_notes_stand_among_the_frames() -> None:
    journal = MemoryJournal()
    recorder = begun(journal, secrets=["hunter2hunter2"])
    recorder.note("s", "permission", decision="allow", reason="because hunter2hunter2", at={1, 2})
    recorder.note("nobody", "x")
    *_, note = journal.entries(only(journal).key)
    assert note.kind == "note"
    assert json.loads(note.data) == {
        "note": "permission",
        "decision": "allow",
        "reason": "because [redacted]",
        "at": [1, 2],
    }


def test_a_session_can_be_named() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.rename("s", "work")
    recorder.rename("nobody", "x")
    assert only(journal).name == "work"
    mine = recorder.record_of("s")
    assert mine is not None
    assert (mine.key, mine.name) == (only(journal).key, "work")
    assert recorder.record_of("nobody") is None
