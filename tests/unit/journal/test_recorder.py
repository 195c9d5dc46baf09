"""From the frames of a connection to the sessions of a journal."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.journal import MemoryJournal, Recorder

from .frames import answer, call, chunk, prompt, record, refusal, update
from .recording import IN, OUT, begun, loads, only, opens, told


def test_a_session_has_all_that_belongs_to_it_and_what_came_before() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(OUT, prompt(2, "s", "Say hello, please"))
    recorder.observe(IN, chunk("s", "hello"))
    recorder.observe(IN, call(1, "session/request_permission", sessionId="s"))
    recorder.observe(OUT, answer(1, outcome="yes"))
    recorder.observe(IN, answer(2, stopReason="end_turn"))
    found = only(journal)
    assert told(journal, found.key) == [
        "initialize",
        {"protocolVersion": 1},
        "session/new",
        {"sessionId": "s"},
        "session/prompt",
        "hello",
        "session/request_permission",
        {"outcome": "yes"},
        {"stopReason": "end_turn"},
    ]
    kinds = [entry.kind for entry in journal.entries(found.key)]
    assert kinds == [
        *("to_agent", "to_client", "to_agent", "to_client"),
        *("to_agent", "to_client", "to_client", "to_agent", "to_client"),
    ]
    assert (found.role, found.agent, found.session_id, found.cwd) == (
        "client",
        "demo",
        "s",
        "/work",
    )
    assert found.title == "Say hello, please"
    times = [entry.at for entry in journal.entries(found.key)]
    assert times == sorted(times)


def test_the_side_of_an_agent_sees_the_same_the_other_way_round() -> None:
    journal = MemoryJournal()
    recorder = Recorder(journal, role="agent", agent="demo")
    recorder.observe(IN, call(1, "session/new", cwd="/work"))
    recorder.observe(OUT, answer(1, sessionId="s"))
    recorder.observe(OUT, chunk("s", "hello"))
    found = only(journal)
    assert found.role == "agent"
    assert [entry.kind for entry in journal.entries(found.key)] == [
        "to_agent",
        "to_client",
        "to_client",
    ]


@pytest.mark.parametrize(
    ("result", "protocol"),
    [
        ({"protocolVersion": 1}, 1),
        ({"protocolVersion": 2, "info": {"name": "x", "version": "1"}}, 2),
        ({"protocolVersion": 2, "agentCapabilities": {}}, 1),
        ({"protocolVersion": "two"}, 1),
    ],
)
def test_the_version_is_that_of_the_answer(result: dict[str, Any], protocol: int) -> None:
    journal = MemoryJournal()
    recorder = Recorder(journal, agent="demo")
    recorder.observe(OUT, call(0, "initialize", protocolVersion=2))
    recorder.observe(IN, answer(0, **result))
    opens(recorder)
    assert only(journal).protocol == protocol


def test_sessions_of_one_connection_do_not_mix() -> None:
    journal = MemoryJournal()
    recorder = begun(journal, session_id="a")
    recorder.observe(OUT, call(2, "session/new", cwd="/b"))
    recorder.observe(OUT, prompt(3, "a", "one"))
    recorder.observe(IN, answer(2, sessionId="b"))
    recorder.observe(OUT, prompt(4, "b", "two"))
    recorder.observe(IN, chunk("a", "to a"))
    recorder.observe(IN, chunk("b", "to b"))
    recorder.observe(IN, answer(4, stopReason="refusal"))
    recorder.observe(IN, answer(3, stopReason="end_turn"))
    logs = {each.session_id: told(journal, each.key) for each in journal.list()}
    assert logs["a"][4:] == ["session/prompt", "to a", {"stopReason": "end_turn"}]
    assert logs["b"][:2] == logs["a"][:2]
    assert logs["b"][2:] == [
        "session/new",
        {"sessionId": "b"},
        "session/prompt",
        "to b",
        {"stopReason": "refusal"},
    ]


def test_what_overtakes_the_answer_that_names_a_session_is_in_its_place() -> None:
    journal = MemoryJournal()
    recorder = Recorder(journal, agent="demo")
    recorder.observe(OUT, call(1, "session/new", cwd="/work"))
    recorder.observe(IN, chunk("s", "early"))
    recorder.observe(IN, update("s", "session_info_update", title="Early title"))
    recorder.observe(IN, call("q", "session/request_permission", sessionId="s"))
    recorder.observe(OUT, answer("q", outcome="no"))
    recorder.observe(IN, answer(1, sessionId="s"))
    recorder.observe(IN, chunk("s", "late"))
    found = only(journal)
    assert told(journal, found.key) == [
        "session/new",
        "early",
        "session_info_update",
        "session/request_permission",
        {"outcome": "no"},
        {"sessionId": "s"},
        "late",
    ]
    assert found.title == "Early title"


def test_a_session_that_nobody_opened_is_begun_by_its_first_frame() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(OUT, call(5, "session/new", cwd="/w"))
    recorder.observe(IN, chunk("sub", "from a subagent"))
    assert journal.list(session_id="sub") == []
    recorder.observe(IN, refusal(5))
    (found,) = journal.list(session_id="sub")
    assert told(journal, found.key) == ["initialize", {"protocolVersion": 1}, "from a subagent"]


def test_a_session_that_could_not_be_opened_leaves_nothing() -> None:
    journal = MemoryJournal()
    recorder = Recorder(journal, agent="demo")
    recorder.observe(OUT, call(1, "session/new", cwd="/work"))
    recorder.observe(IN, refusal(1))
    recorder.observe(OUT, call(2, "session/load", sessionId="s", cwd="/work"))
    recorder.observe(IN, refusal(2, -32002))
    recorder.observe(OUT, call(3, "session/fork", sessionId="s", cwd="/work"))
    recorder.observe(IN, refusal(3))
    assert journal.list() == []


@pytest.mark.parametrize("is_new_connection", [True, False])
def test_a_session_that_is_loaded_goes_on_and_nothing_is_told_twice(
    is_new_connection: bool,
) -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(OUT, prompt(2, "s", "hello"))
    recorder.observe(IN, chunk("s", "the answer"))
    recorder.observe(IN, answer(2, stopReason="end_turn"))
    if is_new_connection:
        recorder = Recorder(journal, agent="demo")
        recorder.observe(OUT, call(0, "initialize", protocolVersion=1))
        recorder.observe(IN, answer(0, protocolVersion=1))
    before = only(journal)
    loads(
        recorder,
        chunk("s", "hello", "user_message_chunk"),
        chunk("s", "the answer"),
        update("s", "available_commands_update"),
        additionalDirectories=["/more"],
    )
    recorder.observe(IN, chunk("s", "more"))
    after = only(journal)
    assert (after.key, after.cwd, after.additional_directories) == (
        before.key,
        "/elsewhere",
        ["/more"],
    )
    assert told(journal, after.key)[before.entries :] == [
        *(["initialize", {"protocolVersion": 1}] if is_new_connection else []),
        "session/load",
        "available_commands_update",
        {},
        "replay",
        "more",
    ]
    note = next(json.loads(e.data) for e in journal.entries(after.key) if e.kind == "note")
    assert note == {"note": "replay", "frames": 2}


def test_the_replay_of_a_session_that_the_journal_does_not_have_is_written() -> None:
    journal = MemoryJournal()
    journal.put(record("s", agent="another"))
    journal.put(record("s", role="agent"))
    recorder = Recorder(journal, agent="demo")
    loads(recorder, chunk("s", "hello", "user_message_chunk"), chunk("s", "the answer"))
    (found,) = journal.list(agent="demo", role="client")
    assert told(journal, found.key) == ["session/load", "hello", "the answer", {}]
    assert found.cwd == "/elsewhere"


def test_a_load_without_a_replay_begins_the_record_with_its_answer() -> None:
    journal = MemoryJournal()
    recorder = Recorder(journal, agent="demo")
    loads(recorder)
    assert told(journal, only(journal).key) == ["session/load", {}]


def test_a_load_that_fails_after_its_replay_keeps_what_came() -> None:
    journal = MemoryJournal()
    recorder = Recorder(journal, agent="demo")
    recorder.observe(OUT, call(8, "session/load", sessionId="s", cwd="/w"))
    recorder.observe(IN, chunk("s", "half"))
    recorder.observe(IN, refusal(8))
    assert told(journal, only(journal).key) == ["session/load", "half", "error"]


@pytest.mark.parametrize(
    ("params", "is_replayed"),
    [({}, False), ({"replayFrom": None}, False), ({"replayFrom": {"type": "start"}}, True)],
)
def test_a_resumed_session_is_told_again_only_if_asked(
    params: dict[str, Any], is_replayed: bool
) -> None:
    journal = MemoryJournal()
    recorder = begun(journal, version=2)
    before = only(journal).entries
    loads(recorder, chunk("s", "once", messageId="m"), method="session/resume", **params)
    log = told(journal, only(journal).key)[before:]
    assert log == ["session/resume", *(["once"] if not is_replayed else []), {}] + (
        ["replay"] if is_replayed else []
    )


def test_a_fork_has_the_past_of_the_other() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(OUT, prompt(2, "s", "hello"))
    recorder.observe(IN, answer(2, stopReason="end_turn"))
    recorder.observe(OUT, call(3, "session/fork", sessionId="s", cwd="/fork"))
    recorder.observe(IN, answer(3, sessionId="t"))
    recorder.observe(IN, chunk("t", "in the fork"))
    (old,), (new,) = journal.list(session_id="s"), journal.list(session_id="t")
    past = told(journal, old.key)
    assert told(journal, new.key) == [*past, "session/fork", {"sessionId": "t"}, "in the fork"]
    assert (new.cwd, new.title) == ("/fork", "hello")


def test_a_fork_on_another_connection_says_how_that_began() -> None:
    journal = MemoryJournal()
    begun(journal)
    past = told(journal, only(journal).key)
    recorder = Recorder(journal, agent="demo")
    recorder.observe(OUT, call(0, "initialize", protocolVersion=1))
    recorder.observe(IN, answer(0, protocolVersion=1))
    recorder.observe(OUT, call(3, "session/fork", sessionId="s", cwd="/fork"))
    recorder.observe(IN, answer(3, sessionId="t"))
    (new,) = journal.list(session_id="t")
    beginning = ["initialize", {"protocolVersion": 1}]
    assert told(journal, new.key) == [*past, *beginning, "session/fork", {"sessionId": "t"}]


def test_the_same_ids_in_both_directions_are_two_requests() -> None:
    journal = MemoryJournal()
    recorder = begun(journal, session_id="a")
    opens(recorder, "b", id=2)
    recorder.observe(OUT, prompt(7, "a", "x"))
    recorder.observe(IN, call(7, "fs/read_text_file", sessionId="b"))
    recorder.observe(IN, answer(7, stopReason="end_turn"))
    recorder.observe(OUT, answer(7, content="file"))
    logs = {each.session_id: told(journal, each.key) for each in journal.list()}
    assert logs["a"][-1] == {"stopReason": "end_turn"}
    assert logs["b"][-1] == {"content": "file"}


def test_an_id_is_a_number_or_a_text_and_not_both() -> None:
    journal = MemoryJournal()
    recorder = begun(journal, session_id="a")
    opens(recorder, "b", id=2)
    recorder.observe(OUT, call("7", "session/set_mode", sessionId="a"))
    recorder.observe(OUT, call(7, "session/set_mode", sessionId="b"))
    recorder.observe(IN, answer("7", which="a"))
    recorder.observe(IN, answer(7, which="b"))
    for each in journal.list():
        assert told(journal, each.key)[-1] == {"which": each.session_id}


def test_what_an_agent_of_version_1_replays_unasked_is_not_written_again() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(IN, chunk("s", "once"))
    before = only(journal).entries
    loads(recorder, chunk("s", "once"), method="session/resume")
    assert told(journal, only(journal).key)[before:] == ["session/resume", {}, "replay"]
