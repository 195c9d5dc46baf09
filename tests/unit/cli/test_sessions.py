"""`parley sessions` on a journal that has everything."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.frame_recordings import ManualRecording

from parley.cli import parser_of
from parley.cli.reporting import Exit, Failure
from parley.cli.sessions import main
from parley.export import from_jsonl
from parley.journal import Record, SqliteJournal

from .command_line import TRAP

MARKER = "planted-marker-4711-xyz"


def sessions(*words: str) -> int:
    _, parser = parser_of("sessions")
    return main(parser.parse_args(words))


def keep(script: ManualRecording | None = None, **fields: Any) -> Record:
    """Keep a session; its directory is the one the tests run in."""
    at: float = fields.pop("updated_at", time.time())
    known: dict[str, Any] = {"key": "3f9a1c2e00000000", "agent": "demo", "session_id": "s"}
    known |= {"cwd": str(Path.cwd()), "created_at": at, "updated_at": at, **fields}
    record = Record(**known)
    journal = SqliteJournal()
    journal.put(record)
    for frame in (script or talk()).frames:
        journal.append(record.key, frame.kind, frame.data, at)  # type: ignore[arg-type]
    asyncio.run(journal.aclose())
    return record


def talk(question: str = "What is it?", answer: str = "A test.") -> ManualRecording:
    script = ManualRecording()
    script.open()
    end = script.prompt(question)
    script.update("tool_call", toolCallId="c", title="Look", kind="read", status="in_progress")
    note = {"note": "permission", "kind": "read", "commands": ["ls -l"], "paths": ["/a"]}
    script.raw("note", json.dumps({**note, "decision": "allow", "reason": "--allow read"}).encode())
    script.raw("note", b'{"note":"replay","frames":3}')
    script.raw("note", b"not JSON")
    script.raw("note", b'{"note":"permission","kind":"other","decision":"deny","reason":"no"}')
    script.update("tool_call_update", toolCallId="c", status="completed")
    script.say(answer)
    script.answer(end, {"stopReason": "end_turn"})
    return script


Captured = pytest.CaptureFixture[str]


def test_an_empty_history_says_how_to_begin(capsys: Captured) -> None:
    assert sessions() == Exit.DONE
    assert sessions("list", "--json") == Exit.DONE
    told = capsys.readouterr()
    assert told.out == "[]\n"
    assert "no session is saved yet" in told.err
    assert "parley run" in told.err


def test_the_newest_session_comes_first_with_all_that_is_known(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    now = time.time()
    keep(key="aaaa000000000000", updated_at=now - 90, title="One", agent="a very long command line")
    keep(key="bbbb000000000000", updated_at=now - 7200, title="Two", name="mine", state="running")
    keep(key="cccc000000000000", updated_at=0.0, title="Three", is_archived=True)
    keep(key="dddd000000000000", updated_at=now, cwd=str(tmp_path / "far"), title="Four")
    keep(key="eeee000000000000", updated_at=now, role="agent", title="An agent's own")
    assert sessions() == Exit.DONE
    assert capsys.readouterr().out.splitlines() == [
        "aaaa0000  1 min ago   a very long com…  One",
        "bbbb0000  2 h ago     demo              mine: Two [interrupted]",
        "cccc0000  1970-01-01  demo              Three [archived]",
    ]
    assert sessions("list", "--all", "--limit", "2") == Exit.DONE
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "dddd0000  just now    demo              Four",
        "          ~/far",
        "aaaa0000  1 min ago   a very long com…  One",
        "          ~",
    ]
    assert "--limit 10" in told.err
    assert sessions("list", "--json", "--limit", "1") == Exit.DONE
    [first] = json.loads(capsys.readouterr().out)
    assert (first["key"], first["title"], first["state"]) == ("aaaa000000000000", "One", "idle")
    monkeypatch.chdir("/")
    assert sessions() == Exit.DONE
    told = capsys.readouterr()
    assert "no session was started in this directory" in told.err
    assert len(told.out.splitlines()) == 8


def test_a_session_that_runs_is_said_to(capsys: Captured) -> None:
    from parley.journal._process import this_process

    keep(state="running", process=this_process())
    sessions()
    assert capsys.readouterr().out == "3f9a1c2e  just now    demo  nothing was said [running]\n"


def test_a_session_is_shown_as_it_was(capsys: Captured) -> None:
    keep(name="mine", state="running")
    for key in ("3f9a1c2e00000000", "3f9a", "mine"):
        assert sessions("show", key) == Exit.DONE
        told = capsys.readouterr()
        assert told.out.splitlines()[1:] == [
            "",
            "> What is it?",
            "▸ read: Look",
            "? ls -l, /a: allow (--allow read)",
            "? other: deny (no)",
            "✓ read: Look",
            "A test.",
            "interrupted: the turn has no end",
        ]
        assert told.out.startswith("3f9a1c2e, just now, demo, ")
        assert told.err == ""


def test_other_things_in_a_prompt_are_named(capsys: Captured) -> None:
    script = ManualRecording()
    script.open()
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "two\nlines"},
        {"type": "resource_link", "name": "a.txt", "uri": "file:///a.txt"},
        {"type": "resource", "resource": {"uri": "file:///b.txt", "text": "b"}},
        {"type": "image", "data": "", "mimeType": "image/png"},
    ]
    script.ask("session/prompt", script.named(prompt=blocks))
    script.say("Hello", "user_message_chunk")
    keep(script)
    sessions("show", "3f9a")
    assert capsys.readouterr().out.splitlines()[2:] == [
        "> two",
        "> lines",
        "> [a.txt]",
        "> [file:///b.txt]",
        "> [not a text]",
        "",
        "> Hello",
    ]


def test_updates_are_printed_for_programs(capsys: Captured) -> None:
    keep(talk(answer=TRAP))
    sessions("show", "3f9a", "--json")
    out = capsys.readouterr().out
    events = [json.loads(line) for line in out.splitlines()]
    assert events[0]["update"]["sessionUpdate"] == "user_message"
    assert {each["event"] for each in events} == {"update"}
    assert all(each["at"] for each in events)
    assert not any(char in out for char in "\x1b\x07\x9b\u202e")


@pytest.mark.parametrize("action", ["list", "show", "search"])
def test_what_was_said_cannot_control_the_terminal(action: str, capsys: Captured) -> None:
    words = f"trap {TRAP}"
    keep(talk(words, words), title=words, name=words, agent=words, cwd="/trap\x1b")
    sessions(action, *{"list": ["--all"], "show": ["3f9a"], "search": ["trap"]}[action])
    out = capsys.readouterr().out
    assert "trap" in out
    assert not any(char in out for char in "\x1b\x07\x9b\u202e")


def test_what_was_said_is_found(capsys: Captured) -> None:
    keep(talk("Where is the needle?", "In the haystack."), key="aaaa000000000000", title="Needles")
    keep(talk("Nothing", "else"), key="bbbb000000000000")
    assert sessions("search", "hayst") == Exit.DONE
    assert capsys.readouterr().out.splitlines() == [
        "aaaa0000  just now    demo  Needles",
        "          In the haystack.",
    ]
    assert sessions("search", "the", "--json") == Exit.DONE
    hits = json.loads(capsys.readouterr().out)
    assert {each["key"] for each in hits} == {"aaaa000000000000"}
    assert any("**the**" in each["text"] for each in hits)
    assert sessions("search", "never", "said") == Exit.FAILED
    assert "'never said' was never said" in capsys.readouterr().err


def test_words_that_were_found_are_bold_on_a_terminal(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(talk("Where is the needle?", "In the haystack."))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    sessions("search", "needle")
    assert "Where is the \x1b[1mneedle\x1b[0m?" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "options", "begin"),
    [
        ("a.md", [], "# Things"),
        ("a.html", [], "<!DOCTYPE html>"),
        ("a.jsonl", [], '{"at":'),
        ("a.txt", ["--format", "html"], "<!DOCTYPE html>"),
        ("a", [], "# Things"),
    ],
)
def test_a_session_is_exported_to_a_private_file_without_secrets(
    name: str,
    options: list[str],
    begin: str,
    capsys: Captured,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EXAMPLE_TOKEN", MARKER)
    keep(talk(f"use {MARKER}", f"I used {MARKER}"), title="Things")
    path = tmp_path / name
    assert sessions("export", "3f9a", "-o", str(path), *options) == Exit.DONE
    assert path.read_text().startswith(begin)
    assert "I used [redacted]" in path.read_text()
    assert MARKER not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    told = capsys.readouterr()
    assert told.out == ""
    assert "3f9a1c2e is written" in told.err
    sessions("export", "3f9a", "-o", str(path), *options, "--no-redact")
    assert MARKER in path.read_text()
    assert "with all secrets in it" in capsys.readouterr().err


def test_an_export_goes_to_stdout(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(talk(answer="fine \x9b"))
    sessions("export", "3f9a")
    assert b"> What is it?" in capsysbinary.readouterr().out
    sessions("export", "3f9a", "--format", "jsonl")
    plain = capsysbinary.readouterr().out
    assert len(from_jsonl(plain)) == len(talk().frames)
    assert "\x9b".encode() in plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    sessions("export", "3f9a", "--format", "jsonl")
    shown = capsysbinary.readouterr().out
    assert "\x9b".encode() not in shown
    assert [each.kind for each in from_jsonl(shown)] == [each.kind for each in from_jsonl(plain)]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["export", "3f9a", "-o", "a.pdf"], ".pdf is not a known format"),
        (["export", "3f9a", "-o", "no/such/a.md"], "cannot write no/such/a.md"),
        (["show", "nothing"], "no session 'nothing'"),
        (["show", "same"], "'same' matches several sessions"),
        (["delete"], "name a session: a KEY"),
        (["delete", "3f9a"], "add --yes"),
        (["prune"], "--older-than DAYS"),
        (["prune", "--keep", "some"], "'some' is not a number"),
    ],
)
def test_what_cannot_be_done_is_said_with_a_way_out(words: list[str], problem: str) -> None:
    keep()
    for number in range(2):
        keep(key=f"aaaa00000000000{number}", name="same", cwd="/elsewhere")
    with pytest.raises(Failure, match=problem):
        sessions(*words)


def test_a_journal_that_is_none_is_reported(places: Path) -> None:
    path = places / "state" / "parley" / "journal.db"
    path.parent.mkdir(parents=True)
    path.mkdir()
    with pytest.raises(Failure, match="journal"):
        sessions("list")


def test_sessions_are_forgotten(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(name="mine")
    keep(key="aaaa000000000000")
    keep(key="bbbb000000000000")
    keep(key="cccc000000000000", cwd="/elsewhere")
    assert sessions("delete", "mine", "3f9a", "--yes") == Exit.DONE
    assert "1 session forgotten" in capsys.readouterr().err
    assert sessions("delete", "--all-of-project", "--yes") == Exit.DONE
    assert "2 sessions forgotten" in capsys.readouterr().err
    sessions("list")
    assert [line[:8] for line in capsys.readouterr().out.splitlines()[::2]] == ["cccc0000"]


@pytest.mark.parametrize("options", [["--older-than", "30"], ["--keep", "1"], ["--max-bytes", "9"]])
def test_old_sessions_are_forgotten(options: list[str], capsys: Captured) -> None:
    keep()
    keep(key="aaaa000000000000", updated_at=1.0)
    assert sessions("prune", *options) == Exit.DONE
    count = 2 if "--max-bytes" in options else 1
    assert f"{count} session" in capsys.readouterr().err
    assert len(SqliteJournal().list()) == 2 - count


def test_the_limits_of_the_configuration_count(places: Path, capsys: Captured) -> None:
    own = places / "config" / "parley"
    own.mkdir(parents=True)
    (own / "config.toml").write_text("[journal]\nmax_age_days = 30\n")
    keep(key="aaaa000000000000", updated_at=1.0)
    assert sessions("prune") == Exit.DONE
    assert "0 sessions forgotten" in capsys.readouterr().err, "the clock may be wrong"
    assert sessions("prune", "--trust-clock") == Exit.DONE
    assert "1 session forgotten" in capsys.readouterr().err
    (own / "config.toml").write_text("[journal\n")
    with pytest.raises(Failure, match=r"config\.toml"):
        sessions("prune")


def test_help_fits_a_narrow_terminal(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    _, parser = parser_of("sessions")
    for action in ("", "list", "show", "search", "export", "resume", "delete", "prune"):
        with pytest.raises(SystemExit):
            parser.parse_args([*action.split(), "--help"])
        told = capsys.readouterr().out
        assert max(map(len, told.splitlines())) <= 80
