"""`parley inspect` without a browser."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path

import pytest
from tests.unit.cli.command_line import TRAP, CommandLine
from tests.unit.inspector.inspected import HANDSHAKE, KEY, Frame, chunk, prompt, record, records

from parley.recording import RecordingReader
from parley.recording._jsonl import write_jsonl

END = {"id": 1, "result": {"stopReason": "end_turn"}}
FRAMES: list[Frame] = [
    *HANDSHAKE,
    ("client", prompt(text="Hello")),
    ("agent", chunk("Good ")),
    ("agent", chunk("morning")),
    ("agent", END),
    ("stderr", b"a warning\n"),
    ("event", {"event": "exited", "code": 0}),
]


def test_each_message_is_a_line(parley: CommandLine) -> None:
    record(*FRAMES)
    done = parley("inspect", "demo", "--text")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "     1     0.000 → #0 initialize            version 1\n"
        "     2     0.250 ← #0 initialize            250 ms version 1\n"
        "     3     0.500 → #1 session/prompt        Hello\n"
        "     4     0.750 ← agent_message_chunk      2 chunks Good morning\n"
        "     6     1.250 ← #1 session/prompt        750 ms end_turn\n"
        "     7     1.500 ! text                     a warning\n"
        "     8     1.750 · exited                   exit code 0\n"
    )


def test_chunks_can_have_a_line_each(parley: CommandLine) -> None:
    record(*FRAMES)
    lines = parley("inspect", KEY, "--text", "--chunks").stdout.splitlines()
    assert len(lines) == len(FRAMES)


def test_json_has_the_frames(parley: CommandLine) -> None:
    record(*FRAMES, ("agent", b"not \xff json\n"))
    lines = parley("inspect", "--json").stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == len(FRAMES) + 1
    assert rows[2]["frame"]["params"]["prompt"] == [{"type": "text", "text": "Hello"}]
    assert (rows[2]["match"], rows[2]["latency"]) == (6, 0.75)
    assert rows[-1]["text"] == "not \ufffd json"
    assert rows[-1]["flags"] == ["invalid"]


def test_a_filter_selects_what_is_printed(parley: CommandLine) -> None:
    record(*FRAMES)
    done = parley("inspect", "demo", "--json", "--filter", "method:prompt kind:response")
    assert [json.loads(line)["number"] for line in done.stdout.splitlines()] == [6]
    done = parley("inspect", "demo", "--text", "--filter", "is:wrong")
    assert done.returncode == 2
    assert done.stderr.startswith("parley: --filter: is:wrong is unknown; use one of error, ")


def test_an_export_is_inspected_like_the_recording(parley: CommandLine, tmp_path: Path) -> None:
    path = record(*FRAMES)
    exported = tmp_path / "bug.jsonl"
    with RecordingReader(path) as reader:
        exported.write_bytes(b"".join(write_jsonl(reader.header, reader)))
    expected = parley("inspect", "demo", "--text").stdout
    assert parley("inspect", str(exported), "--text").stdout == expected


def test_what_cannot_be_inspected_is_reported(parley: CommandLine, tmp_path: Path) -> None:
    done = parley("inspect", "--text")
    assert done.returncode == 1
    assert "there are no recordings; `parley tap -- COMMAND` makes one" in done.stderr
    other = tmp_path / "notes.txt"
    other.write_text("hello\n")
    done = parley("inspect", str(other), "--text")
    assert (
        done.stderr == f"parley: {other} cannot be read: line 1 is not from a recording or a "
        "journal\n"
    )
    path = record(*FRAMES)
    path.write_bytes(path.read_bytes() + b"rubbish\n")
    done = parley("inspect", str(path), "--text")
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 7
    assert "the recording is damaged at byte" in done.stderr


def test_hostile_text_is_inert(parley: CommandLine) -> None:
    record(
        ("client", prompt(text=TRAP)),
        ("agent", {"id": 1, "error": {"code": 1, "message": TRAP}}),
        ("agent", {"method": TRAP, "params": {"sessionId": TRAP}}),
        ("agent", chunk(TRAP)),
        ("stderr", TRAP.encode() + b"\n"),
    )
    for form in ("--text", "--json"):
        shown = parley("inspect", "demo", form).stdout
        assert not any(mark in shown for mark in ("\x1b", "\x07", "\x9b", "\u202e"))


def test_follow_shows_what_comes_until_the_recording_ends(
    parley: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = record(("agent", {"method": "first"}), ("agent", chunk("Good ")))
    waits: list[float] = []

    def write_more(seconds: float) -> None:
        waits.append(seconds)
        more: list[Frame] = [("agent", chunk("morning")), ("agent", {"method": "last"})]
        file.write(records(more[len(waits) - 1]))
        if len(waits) == len(more):
            lock.close()

    with path.open("ab", buffering=0) as file, path.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        monkeypatch.setattr("parley.cli.inspect.time.sleep", write_more)
        lines = parley("inspect", "demo", "--text", "--follow").stdout.splitlines()
    assert [" ".join(line.split()[3:]) for line in lines] == [
        "first", "agent_message_chunk 2 chunks Good morning", "last"
    ]  # fmt: skip


def test_a_recording_is_shared_as_a_page_or_as_json_lines(
    parley: CommandLine, tmp_path: Path
) -> None:
    record(*FRAMES)
    for name, begin in (("bug.html", "<!DOCTYPE html>"), ("bug.jsonl", '{"recording":1,')):
        file = tmp_path / name
        done = parley("inspect", "demo", "--share", str(file))
        assert done.stderr == f"parley: {file} is written. Check it before you publish it.\n"
        assert file.read_text().startswith(begin)
        assert file.stat().st_mode & 0o777 == 0o600
    done = parley("inspect", "demo", "--share", str(tmp_path / "missing" / "bug.html"))
    assert (done.returncode, done.stderr.endswith("No such file or directory\n")) == (1, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--follow"], "--follow and --chunks need --text or --json"),
        (["--filter", "x"], "--filter needs --text, --json or --share"),
        (["--port", "70000"], "--port must be a number from 0 to 65535"),
        (["--share", "x.jsonl", "--filter", "x"],
         "--filter is for a page; JSON lines have the whole recording"),
        (["--text", "--json"], "argument --json: not allowed with argument --text"),
    ],
)  # fmt: skip
def test_options_that_do_nothing_together_are_refused(
    parley: CommandLine, words: list[str], message: str
) -> None:
    record(*FRAMES)
    done = parley("inspect", "demo", *words)
    assert done.returncode == 2
    assert message in done.stderr
