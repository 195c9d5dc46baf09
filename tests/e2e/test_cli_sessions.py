"""`parley sessions` behind real runs: what was said is found, played, gone on with, forgotten."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import parley as front
from parley.testing import Replay

from .command import PARLEY, parley
from .shell import EXAMPLES
from .terminal import run_in_terminal

DEMO = shlex.join([sys.executable, "-m", "parley", "demo"])
DIARY = shlex.join([sys.executable, str(EXAMPLES / "journal_agent.py")])


@pytest.fixture(autouse=True)
def shared_state(monkeypatch: pytest.MonkeyPatch, places: Path) -> None:
    """Agents get no variable that is not named; this one keeps its sessions where ours are."""
    monkeypatch.setenv("HOME", str(places / "home"))


def run(prompt: str, *options: str) -> str:
    words = ("--env", "XDG_STATE_HOME", "--allow", "edit", "-q")
    done = parley("run", prompt, "-a", DIARY, *words, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_run_is_kept_shown_and_gone_on_with(version: str) -> None:
    assert run("Rain", "--session", "diary", "--protocol", version) == "Day 1: Rain\n"
    [told] = json.loads(parley("sessions", "list", "--json").stdout)
    assert (told["name"], told["state"], told["protocol"]) == ("diary", "idle", int(version))
    words = ("--env", "XDG_STATE_HOME", "--allow", "edit", "-q", "--protocol", version)
    done = parley("sessions", "resume", told["key"][:6], "Sun", *words)
    assert (done.stdout, done.stderr) == ("Day 2: Sun\n", "")
    shown = parley("sessions", "show", "diary").stdout.splitlines()
    assert [line for line in shown if line.startswith((">", "✓", "Day"))] == [
        "> Rain",
        "✓ edit: Write down: Rain",
        "Day 1: Rain",
        "> Sun",
        "✓ edit: Write down: Sun",
        "Day 2: Sun",
    ]
    assert "Day 2: Sun" in parley("sessions", "search", "sun").stdout


def kill_in_its_turn(*options: str) -> None:
    """Kill `parley run` while the demo agent works, when what it has said is in the journal."""
    words = ("run", "slow", "-a", DEMO, "--session", "crash", *options)
    with subprocess.Popen([*PARLEY, *words], stdout=subprocess.PIPE) as process:
        try:
            shown = (parley("sessions", "show", "crash").stdout for _ in range(60))
            assert any("waiting to be cancelled" in each for each in shown)
        finally:
            process.kill()


def exported(form: str) -> str:
    done = parley("sessions", "export", "crash", "--format", form)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_turn_without_an_end_stays_interrupted_when_its_session_is_resumed(version: str) -> None:
    kill_in_its_turn("--protocol", version)
    before = parley("sessions", "show", "crash").stdout.splitlines()
    assert before[-2:] == ["waiting to be cancelled", "interrupted: the turn has no end"]
    done = parley("run", "hi", "-a", DEMO, "--session", "crash", "-q", "--protocol", version)
    assert (done.returncode, done.stdout) == (0, "echo: hi\n")
    shown = parley("sessions", "show", "crash").stdout.splitlines()[2:]
    assert shown == ["> slow", *before[-2:], "", "> hi", "echo: hi"]
    updates = map(json.loads, parley("sessions", "show", "crash", "--json").stdout.splitlines())
    reasons = [each["update"].get("stopReason") for each in updates]
    assert [each for each in reasons if each] == ["interrupted", "end_turn"]
    notes = [json.loads(line) for line in exported("jsonl").splitlines() if '"note"' in line]
    assert {"note": "interrupted"} in [each["message"] for each in notes]
    for form in ("md", "html"):
        document = exported(form)
        places = [document.index(each) for each in ("waiting to be", "Interrupted", "echo: hi")]
        assert places == sorted(places)
        assert document.count("Interrupted") == 1


@pytest.mark.parametrize("version", ["1", "2"])
async def test_an_export_can_be_played(version: str, tmp_path: Path) -> None:
    run("Rain", "--session", "diary", "--protocol", version)
    path = tmp_path / "diary.jsonl"
    assert parley("sessions", "export", "diary", "-o", str(path)).returncode == 0
    replay = Replay.load(path)
    asked: list[str] = []
    async with front.connect(
        replay, permission=lambda request, session: asked.append(request.title)
    ) as agent:
        session = await agent.new_session()
        assert await session.ask(*replay.prompts[0]) == "Day 1: Rain"
    assert len(asked) == 1


def test_a_session_is_forgotten_when_the_user_says_so() -> None:
    run("Rain", "--session", "diary")
    with run_in_terminal(*PARLEY, "sessions", "delete", "diary") as shown:
        shown.until("diary: A diary of 1 days")
        shown.until("Delete 1 session for good? [y/N] ")
        shown.press("\r")
        shown.until("nothing was deleted")
        assert shown.exit_code() == 130
    with run_in_terminal(*PARLEY, "sessions", "delete", "diary") as shown:
        shown.until("[y/N] ")
        shown.press("y\r")
        shown.until("1 session forgotten")
        assert shown.exit_code() == 0
    assert parley("sessions", "list", "--json").stdout == "[]\n"


def test_a_list_that_is_cut_off_is_no_error() -> None:
    run("Rain")
    line = f"{shlex.join(PARLEY)} sessions list | head -n 0"
    with run_in_terminal("/bin/sh", "-c", f"{line}; echo done") as shown:
        shown.until("done")
        assert b"Traceback" not in shown.painted
