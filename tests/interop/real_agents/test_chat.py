"""`parley chat` in tmux with real agents: what a person types, sees and answers.

One conversation with each agent: a turn with tools, the questions that it asks on the way, a turn
that is cancelled, leaving, and going on.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.interop.tmux import Tmux, tmux
from tests.peers import FAST_AGENT

from .headless import PARLEY, Desk, until
from .launch import KINDS, Kind, Launch, fast_agent
from .model import ANSWER, TEXT, conversation

SIZE = (100, 36)
READING_SECONDS = 0.7
"""So long nobody answers a question that has just come."""
PATIENT = "echo $$ > pid && exec sleep 600"


def _passthrough(program: Path, home: Path, model_url: str) -> Launch:
    """It repeats the prompt, or calls the tool that the prompt names."""
    return fast_agent(program, home)


PASSTHROUGH = Kind("passthrough", FAST_AGENT, _passthrough, 1)
OPENCODE = next(each for each in KINDS if each.name == "opencode")


@contextmanager
def chat(desk: Desk, *words: str) -> Generator[Tmux]:
    """Type `parley chat` into a shell, and wait until the agent is ready."""
    with tmux(desk.top, env=desk.env, cwd=desk.work, size=SIZE) as window:
        window.say(shlex.join([*PARLEY, "chat", *words]))
        window.until("● ready", "Ask something")
        yield window


def answer(window: Tmux, key: str, *shown: str) -> None:
    """Read a question, which shows this, and answer it with a key."""
    window.until("? Waiting for you", *shown)
    window.until_still(READING_SECONDS)
    window.press(key)
    window.until_gone("? Waiting for you")


def leave(window: Tmux, desk: Desk) -> None:
    """Leave by Ctrl-C twice; the shell has the terminal back, and the agent is gone."""
    way_back = f"resume with `parley chat --session {desk.record.key}`"

    def is_left_or_idle(screen: str) -> bool:
        is_leaving = "again to leave" in screen or "ending the agent" in screen
        return way_back in screen or ("Ask something" in screen and not is_leaving)

    while way_back not in window.screen:  # on a busy machine the second key may come too late
        window.press("C-c")
        window.until("Ctrl-C again to leave")
        window.press("C-c")
        window.until_it(is_left_or_idle, "the end, or a chat that has forgotten the first Ctrl-C")
    window.say("echo left $?")
    window.until("left 0")
    until(lambda: len(desk.alive()) == 2, "only tmux and its shell are left")


def execute(command: str) -> str:
    """What makes fast-agent run a command."""
    return f"***CALL_TOOL execute {json.dumps({'command': command})}"


@pytest.mark.parametrize("kind", [PASSTHROUGH], ids=["fast-agent"])
def test_a_conversation_with_fast_agent(desk: Desk) -> None:
    with chat(desk) as window:
        window.say(execute("echo one > ran.txt && cat ran.txt"))
        answer(window, "y", "$ echo one > ran.txt && cat ran.txt", "y  Allow Once", "n  Reject")
        window.until("✓ execute", "[Exit code: 0]", "● ready")
        assert (desk.work / "ran.txt").read_text() == "one\n"

        window.say(execute("touch no.txt"))
        answer(window, "n", "$ touch no.txt")
        window.until("execute: touch no.txt — you: Reject Once (not allowed)", "● ready")
        assert not (desk.work / "no.txt").exists()

        window.say(execute(PATIENT))
        answer(window, "y", f"$ {PATIENT}")
        window.until("▶ working", "Esc to stop")
        pid = desk.work / "pid"
        until(lambda: pid.exists() and pid.read_text(), "the command runs")
        window.press("Escape")
        screen = window.until("■ execute  cancelled", "! cancelled", "● ready")
        assert screen.count("■ execute") == 1  # what it asked about under another id is no card
        process = Path("/proc", pid.read_text().strip())
        until(lambda: not process.exists(), "the command has ended, too")
        leave(window, desk)
    assert desk.record.state == "idle"
    assert [each["decision"] for each in desk.decisions if each["by"] == "user"] == [
        "allow",
        "deny",
        "allow",
    ]

    with chat(desk, "--session", desk.record.key) as window:
        window.until("echo one > ran.txt", PATIENT)
        window.say("Hello?")  # to which it says that it was interrupted
        window.until("\n The user interrupted this tool call", "● ready")
        window.say("Are you still there?")
        window.until_it(lambda screen: screen.count("Are you still there?") == 2, "its answer")
        leave(window, desk)


@pytest.mark.parametrize("kind", [OPENCODE], ids=["opencode"])
def test_a_conversation_with_opencode(desk: Desk) -> None:
    file = desk.work / "out.txt"
    file.write_text("one\ntwo\n")
    with chat(desk) as window:
        window.say(f"Please WRITE {file} RUN echo hi > ran.txt;")
        answer(window, "y", f"modify {file}", "- two", f"+ {TEXT.strip()}", "y  Allow once")
        answer(window, "1", "$ echo hi > ran.txt", "1 y  Allow once")
        screen = window.until("✓ edit", "✓ execute echo hi > ran.txt", ANSWER, "● ready")
        assert f"+ {TEXT.strip()}" in screen  # the diff stays when all is done
        assert file.read_text() == TEXT
        assert (desk.work / "ran.txt").read_text() == "hi\n"

        hold(window, desk)
        window.until("▶ working", "Esc to stop")
        window.press("Escape")
        window.until("! cancelled", "● ready")
        leave(window, desk)
    record = desk.record
    assert record.state == "idle"

    with chat(desk) as window:
        window.press("F3")
        window.until("Resume a session", "▸")
        window.press("Enter")
        window.until("✓ execute echo hi > ran.txt", ANSWER, "● ready")
        window.say("And now?")
        window.until_it(lambda screen: screen.count(ANSWER) == 2, "another answer")
        window.until("● ready")
        heard = [text for role, text in conversation(desk.model.asked[-1]) if role == "user"]
        assert "RUN echo hi > ran.txt;" in heard[0]
        assert heard[-1] == "And now?"
        window.press("C-d")
        window.until(f"resume with `parley chat --session {record.key}`")


@pytest.mark.parametrize("kind", [OPENCODE], ids=["opencode"])
def test_an_agent_that_is_killed_is_started_again_and_goes_on(desk: Desk) -> None:
    with chat(desk) as window:
        window.say("Please RUN echo hi > ran.txt;")
        answer(window, "y", "$ echo hi > ran.txt")
        window.until(ANSWER, "● ready")
        hold(window, desk)
        os.killpg(agent_of(desk), signal.SIGKILL)
        window.until("was killed by signal 9", "Press F5 or Enter to restart and resume")
        window.until("✗ Ended. Press F5 to restart.")
        window.press("Enter")
        window.until("peer runs again, and the session is resumed", "● ready")
        window.say("And now?")
        window.until_it(lambda screen: screen.count(ANSWER) == 2, "another answer")
        window.until("● ready")
        heard = [text for role, text in conversation(desk.model.asked[-1]) if role == "user"]
        assert "RUN echo hi > ran.txt;" in heard[0]
        leave(window, desk)


def hold(window: Tmux, desk: Desk) -> None:
    """Ask for something, and wait until the beginning of the answer is seen."""
    desk.model.is_holding.clear()
    window.say("Please HOLD")
    until(desk.model.is_holding.is_set, "the model is in its answer")
    beginning = ANSWER.split()[0]
    window.until_it(lambda screen: f"\n {beginning}\n" in screen, "the beginning of the answer")


def agent_of(desk: Desk) -> int:
    """Return the process of the agent, the leader of a group."""
    named = (pid for pid in desk.alive() if b"\0acp\0" in Path(f"/proc/{pid}/cmdline").read_bytes())
    return next(pid for pid in named if os.getpgid(pid) == pid)
