"""`parley replay`: a recording as an agent, and as a client that shows what differs."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

import parley as front
from parley.recording import RecordingStore

from .command import PARLEY, parley

DEMO = [*PARLEY, "demo"]


def script(code: str) -> list[str]:
    """Return the command of an agent that is a script in Python."""
    return [sys.executable, "-S", "-E", "-c", f"import os, signal, sys\n{code}"]


def tapped(name: str, *command: str) -> str:
    return shlex.join([*PARLEY, "tap", "--name", name, "--", *command])


def replayed(recording: str | Path, *options: str) -> str:
    return shlex.join([*PARLEY, "replay", str(recording), "--as", "agent", *options])


def record_demo(*prompts: str) -> None:
    for prompt in prompts:
        done = parley("run", prompt, "--yes", "--no-journal", "-a", tapped("demo", *DEMO))
        assert done.returncode == 0, done.stderr


async def test_a_client_gets_the_same_from_a_recording_as_from_the_agent() -> None:
    for agent in (tapped("demo", *DEMO), replayed("demo"), replayed("demo", "--speed", "1000")):
        async with front.connect(
            agent, "/", permission=lambda request, session: "yes"
        ) as connection:
            first = await connection.new_session()
            second = await connection.new_session()
            assert await first.ask("Hello") == "echo: Hello"
            assert "yes" in await second.ask("perm")
            assert await first.ask("Again") == "echo: Again"


def test_the_files_of_all_formats_are_replayed(tmp_path: Path) -> None:
    record_demo("tool")
    exported, copied = tmp_path / "demo.jsonl", tmp_path / "demo.acprec"
    assert parley("tap", "export", "demo", "-o", str(exported)).returncode == 0
    copied.write_bytes(RecordingStore().find("demo").path.read_bytes())
    for file in (exported, copied):
        done = parley("run", "tool", "--no-journal", "-q", "-a", replayed(file))
        assert (done.returncode, done.stdout) == (0, "tool:done\n"), done.stderr


def test_a_session_of_the_journal_is_replayed(tmp_path: Path) -> None:
    assert parley("run", "tool", "--session", "x", "-a", shlex.join(DEMO)).returncode == 0
    exported = parley("sessions", "export", "x", "--format", "jsonl")
    assert exported.returncode == 0, exported.stderr
    file = tmp_path / "session.jsonl"
    file.write_text(exported.stdout)
    done = parley("run", "tool", "--no-journal", "-q", "-a", replayed(file))
    assert (done.returncode, done.stdout) == (0, "tool:done\n"), done.stderr


def test_an_agent_that_could_not_start_a_session_is_replayed_to_its_exit() -> None:
    code = "print('boom', file=sys.stderr); print('noise', flush=True); input(); sys.exit(3)"
    recorded = parley("run", "x", "-a", tapped("crash", *script(code)))
    again = parley("run", "x", "-a", replayed("crash"))
    for done in (recorded, again):
        assert done.returncode == 5
        assert "exited with code 3" in done.stderr
        assert "boom" in done.stderr


def test_an_agent_that_was_ended_by_a_signal_ends_by_that_signal() -> None:
    code = "input(); os.kill(os.getpid(), signal.SIGABRT)"
    parley("run", "x", "-a", tapped("crash", *script(code)))
    again = parley("run", "x", "-a", replayed("crash"))
    assert "was killed by signal 6" in again.stderr


def test_nothing_differs_from_the_recorded_agent_and_from_its_replay() -> None:
    record_demo("perm")
    for command in (DEMO, shlex.split(replayed("demo"))):
        done = parley("replay", "demo", "--as", "client", "--", *command)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith("Nothing differs from ")
    done = parley("replay", "demo", "--as", "client", "-a", shlex.join(DEMO))
    assert done.returncode == 0


def test_what_another_agent_does_differently_is_shown(tmp_path: Path) -> None:
    record_demo("Hello")
    text = RecordingStore().find("demo").path.read_bytes()
    file = tmp_path / "changed.acprec"
    file.write_bytes(text.replace(b"echo: Hello", b"echo: Howdy"))
    other = shlex.split(replayed(file))
    done = parley("replay", "demo", "--as", "client", "--", *other)
    assert done.returncode == 1
    assert "session 1, turn 1: agent_message" in done.stdout
    assert "  - echo: Hello\n  + echo: Howdy\n" in done.stdout
    found = parley("replay", "demo", "--as", "client", "--json", "--", *other)
    assert found.returncode == 1
    result = json.loads(found.stdout)
    assert [each["kind"] for each in result["differences"]] == ["text"]
    assert result["differences"][0]["live"] == "echo: Howdy"
    assert {each["method"] for each in result["timing"]} >= {"initialize", "session/prompt"}


def test_an_agent_that_is_silent_or_dies_is_reported() -> None:
    record_demo("Hello")
    silent = script("sys.stdin.read()")
    words = ("replay", "demo", "--as", "client", "--timeout", "0.1", "--")
    done = parley(*words, *silent)
    assert done.returncode == 1
    assert "missing: initialize" in done.stderr
    died = parley(*words, *script("input(); sys.exit(7)"))
    assert died.returncode == 1
    assert "  - no exit\n  + exit code 7\n" in died.stdout


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("nix", "--as", "agent"), 2, "there is no recording 'nix'"),
        (("/nowhere.acprec", "--as", "agent"), 2, "cannot be read"),
        (("demo", "--as", "client"), 2, "the agent is missing"),
        (("demo", "--as", "agent", "--", "x"), 2, "takes no other agent"),
        (("demo", "--as", "client", "-a", "x", "--", "x"), 2, "give the agent once"),
        (("demo", "--as", "agent", "--speed", "0"), 2, "not a positive number"),
    ],
    ids=["unknown", "missing", "agent", "two", "twice", "speed"],
)
def test_a_wrong_command_line_says_what_to_do(
    words: tuple[str, ...], code: int, problem: str
) -> None:
    done = parley("replay", *words)
    assert done.returncode == code
    assert problem in done.stderr


def test_an_agent_that_cannot_be_started_is_reported(tmp_path: Path) -> None:
    record_demo("Hello")
    done = parley("replay", "demo", "--as", "client", "--", "no-such-agent")
    assert done.returncode == 5
    assert "no-such-agent was not found" in done.stderr
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{}\n")
    refused = parley("replay", str(broken), "--as", "agent")
    assert refused.returncode == 2
    assert "cannot be replayed" in refused.stderr
