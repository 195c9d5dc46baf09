"""What a recorder does with what is malformed, secret, hostile, or of no session."""

from __future__ import annotations

import json

import pytest

from parley.journal import MemoryJournal, Recorder
from parley.rpc._framing import OversizedFrame

from .frames import answer, call, chunk, frame, prompt
from .recording import IN, OUT, begun, only, opens, told


def test_frames_are_kept_byte_by_byte() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    odd = b'{"params": {"update":{"sessionUpdate":"x","n":1e400}, "sessionId":"s"}, '
    odd += b'"method":"session/update" ,"jsonrpc":"2.0"}'
    recorder.observe(IN, odd)
    recorder.observe(IN, bytearray(odd))
    entries = list(journal.entries(only(journal).key))
    assert [entry.data for entry in entries[-2:]] == [odd, odd]
    assert type(entries[-1].data) is bytes


def test_the_number_of_sessions_that_nobody_opened_is_limited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parley.journal._recorder.MAX_UNOPENED_SESSIONS", 3)
    journal = MemoryJournal()
    recorder = Recorder(journal, agent="demo")
    for number in range(10):
        recorder.observe(IN, chunk(str(number), "x"))
    assert len(journal.list()) == 3


def test_what_is_early_is_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("parley.journal._recorder.MAX_EARLY_BYTES", 3000)
    journal = MemoryJournal()
    recorder = Recorder(journal, agent="demo")
    recorder.observe(OUT, call(1, "session/new", cwd="/work"))
    for _ in range(100):
        recorder.observe(IN, chunk("s", "x"))
    recorder.observe(IN, answer(1, sessionId="s"))
    assert 2 < only(journal).entries < 10
    assert "too much" in caplog.text


def test_what_names_no_session_goes_to_the_only_one() -> None:
    journal = MemoryJournal()
    recorder = begun(journal, session_id="a")
    recorder.observe(IN, frame(method="mcp/message", params={"serverId": "x"}))
    recorder.observe(IN, b"some noise")
    recorder.observe(IN, b"  ")
    recorder.observe(IN, OversizedFrame(b'{"x":"', b'"}', 10))
    recorder.observe(IN, answer("unknown"))
    recorder.observe(OUT, call(3, "session/list"))
    recorder.observe(IN, answer(3, sessions=["secret"]))
    log = [entry.data for entry in journal.entries(only(journal).key)][4:]
    assert len(log) == 4
    assert log[1] == b"some noise"
    opens(recorder, "b", id=2)
    counts = [each.entries for each in journal.list()]
    recorder.observe(IN, b"more noise")
    assert [each.entries for each in journal.list()] == counts


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"[]",
        b"[[[[]]]]",
        b"[1, null]",
        b"null",
        b"7",
        b'"text"',
        b"{}",
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","method":"session/update"}',
        b'{"jsonrpc":"2.0","method":"session/update","params":null}',
        b'{"jsonrpc":"2.0","method":"session/update","params":[]}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":7}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"","update":{}}}',
        b'{"jsonrpc":"2.0","method":7}',
        b'{"jsonrpc":"2.0","id":{},"method":"x"}',
        b'{"jsonrpc":"2.0","id":1.5,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}',
        b'{"jsonrpc":"2.0","id":9,"method":"session/new","params":7}',
        b'{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":"s","prompt":7}}',
        b'{"jsonrpc":"2.0","id":9,"method":"session/load","params":{"sessionId":"s","cwd":[]}}',
        b'{"jsonrpc":"2.0","id":9,"result":7}',
        b"[" * 100_000,
    ],
)
def test_nothing_that_passes_is_an_error(odd: bytes) -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    for direction in (OUT, IN):
        recorder.observe(direction, odd)
        recorder.observe(direction, odd)
    recorder.observe(IN, answer(9))
    recorder.observe(IN, chunk("s", "still there"))
    *_, last = journal.entries(journal.list(session_id="s")[0].key)
    assert last.data == chunk("s", "still there")


@pytest.mark.parametrize("method", ["session/load", "session/prompt", "session/delete"])
def test_an_agent_cannot_do_what_is_the_clients(method: str) -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    recorder.observe(IN, call(5, method, sessionId="s", cwd="/evil"))
    recorder.observe(IN, chunk("s", "still there"))
    recorder.observe(OUT, answer(5))
    found = only(journal)
    assert told(journal, found.key)[-3:] == [method, "still there", {}]
    assert (found.state, found.cwd, found.is_archived) == ("idle", "/work", False)


def test_an_update_with_an_odd_body_still_finds_its_session() -> None:
    journal = MemoryJournal()
    recorder = begun(journal)
    odd = frame(method="session/update", params={"sessionId": "s", "update": "odd"})
    recorder.observe(IN, odd)
    assert [entry.data for entry in journal.entries(only(journal).key)][-1] == odd


def test_the_messages_of_a_batch_are_written_one_by_one() -> None:
    journal = MemoryJournal()
    recorder = Recorder(journal, agent="demo")
    recorder.observe(OUT, b"[" + call(1, "session/new", cwd="/w") + b"]")
    recorder.observe(IN, b"[" + answer(1, sessionId="s") + b"," + chunk("s", "a") + b"]")
    assert told(journal, only(journal).key) == ["session/new", {"sessionId": "s"}, "a"]


@pytest.mark.parametrize(
    "method", ["session/new", "session/load", "session/resume", "session/fork"]
)
@pytest.mark.requirement("SAFE-REACH-05")
def test_what_mcp_servers_are_given_is_not_written(method: str) -> None:
    journal = MemoryJournal()
    recorder = begun(journal, session_id="s")
    servers = [
        {"name": "a", "command": "/a", "env": [{"name": "TOKEN", "value": "marker-1"}]},
        {"name": "b", "url": "http://b", "headers": [{"name": "Auth", "value": "marker-2"}]},
        {"name": "c", "env": {"X": "marker-3"}, "headers": "marker-4"},
        "odd",
    ]
    recorder.observe(OUT, call(5, method, sessionId="s", cwd="/w", mcpServers=servers))
    recorder.observe(IN, answer(5, sessionId="t"))
    data = b"".join(e.data for each in journal.list() for e in journal.entries(each.key))
    assert b"marker" not in data
    assert b"TOKEN" in data


@pytest.mark.requirement("SAFE-REACH-05")
def test_secrets_are_not_written_wherever_they_stand() -> None:
    journal = MemoryJournal()
    secret = 'pa"ss/wörd'
    recorder = begun(journal, secrets=[secret, "12345"])
    recorder.observe(OUT, prompt(2, "s", f"my password is {secret}!"))
    recorder.observe(IN, chunk("s", f"{secret} is 12345"))
    recorder.observe(IN, f"noise {secret} noise".encode())
    recorder.observe(IN, json.dumps({secret: 1}).replace("/", "\\/").encode())
    recorder.observe(
        IN, call(1, "terminal/create", sessionId="s", env=[{"name": "A", "value": "v1"}])
    )
    texts = [entry.data.decode() for entry in journal.entries(only(journal).key)]
    for text in texts:
        assert "wörd" not in text
        assert "w\\u00f6rd" not in text
        assert '"v1"' not in text
    assert "[redacted] is 12345" in texts[-4]
    assert only(journal).title == "my password is [redacted]!"


def test_what_a_server_was_given_is_not_written_when_the_agent_repeats_it() -> None:
    journal = MemoryJournal()
    recorder = Recorder(journal, agent="demo")
    env = [{"name": "KEY", "value": "walnut-4711"}]
    servers = [{"name": "tools", "command": "x", "args": [], "env": env}]
    recorder.observe(OUT, call(1, "session/new", cwd="/work", mcpServers=servers))
    recorder.observe(IN, answer(1, sessionId="s"))
    recorder.observe(IN, chunk("s", "the key is walnut-4711"))
    entries = list(journal.entries(only(journal).key))
    assert not any(b"walnut" in entry.data for entry in entries)
    assert b"the key is [redacted]" in entries[-1].data
