"""A login that an agent has for terminals: the chat gives its terminal away, and has it back."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.command import PARLEY
from tests.e2e.shell import EXAMPLES
from tests.e2e.terminal import Terminal, run_in_terminal


@contextmanager
def asked_to_log_in(token: Path) -> Generator[Terminal]:
    agent = shlex.join([sys.executable, str(EXAMPLES / "login_agent.py"), str(token)])
    with run_in_terminal(*PARLEY, "chat", agent, env={"TERM": "xterm-256color"}) as terminal:
        terminal.shows("The agent wants a login")
        terminal.until_quiet(0.5)  # a key that comes too early is no answer
        yield terminal


def log_in_here(terminal: Terminal) -> None:
    terminal.press("terminal")
    terminal.shows("1 of 2")
    terminal.until_quiet(0.5)
    terminal.press("\r")
    terminal.until("parley: running ")
    terminal.until("Token: ")


def test_a_login_runs_in_the_terminal_and_the_chat_goes_on(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with asked_to_log_in(token) as terminal:
        log_in_here(terminal)
        painted = len(terminal.painted)
        terminal.press("from the keyboard\r")
        terminal.shows("Log in on the terminal: done", "ready")
        assert token.read_text() == "from the keyboard"
        assert b"\x1b[?1049h" in terminal.painted[painted:]
        terminal.press("hello\r")
        terminal.shows("Welcome, member.")
        terminal.press("\x04")
        assert terminal.exit_code() == 0


def test_a_login_that_fails_can_be_read_is_told_and_asked_for_again(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with asked_to_log_in(token) as terminal:
        log_in_here(terminal)
        terminal.press("\x04")
        terminal.until("EOFError")
        terminal.until("it exited with code 1. Press Enter to return to the chat.")
        terminal.press("\r")
        terminal.shows("The login in a terminal failed", "requires a login")
        assert not token.exists()
        terminal.press("\r")
        terminal.shows("The agent wants a login")


def test_ctrl_c_ends_the_login_and_not_the_chat(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with asked_to_log_in(token) as terminal:
        log_in_here(terminal)
        terminal.until_quiet(0.5)  # the prompt is there a little before it can be interrupted
        terminal.press("\x03")
        terminal.shows("The login in a terminal failed", "requires a login")
        assert not token.exists()
        terminal.press("\x04")
        assert terminal.exit_code() == 0


def test_who_ends_us_meanwhile_ends_the_login_and_has_the_terminal_back(tmp_path: Path) -> None:
    with asked_to_log_in(tmp_path / "token") as terminal:
        log_in_here(terminal)
        terminal.process.terminate()
        assert terminal.exit_code() == 0
        assert terminal.painted.rindex(b"\x1b[?1049l") > terminal.painted.rindex(b"\x1b[?1049h")
