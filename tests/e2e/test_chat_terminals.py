"""`parley chat` on terminals of all kinds: as `make run` opens it, with few colours, with none."""

from __future__ import annotations

import os
import re
import select
import shlex
import sys
from pathlib import Path

import pytest
from tests.e2e.command import PARLEY
from tests.e2e.terminal import BOUND_SECONDS, run_in_terminal

ROOT = Path(__file__).parents[2]
SHOW = (sys.executable, str(ROOT / "scripts" / "show.py"))
TRUE_COLOUR = re.compile(rb"[34]8;2;")
MANY_COLOURS = re.compile(rb"[34]8;5;")
FEW_COLOURS = re.compile(rb"\x1b\[[\d;]*[349]\d[;m]")
ON_TERMINAL = {"TERM": "xterm-256color"}


def test_make_run_opens_the_chat_and_greets() -> None:
    with run_in_terminal(*SHOW, env=ON_TERMINAL) as terminal:
        terminal.shows("Welcome to Parley", "parley agents add", "perm", "F1", "ready")
        terminal.press("plan\r")
        terminal.shows("plan:done", "[x] Follow it")
        terminal.press("\x04")
        assert terminal.exit_code() == 0


def test_make_run_shows_lines_where_there_is_no_screen() -> None:
    with run_in_terminal(*SHOW, env={"TERM": "dumb"}) as terminal:
        terminal.until("echo: Hello, who is there?")
        terminal.until("Try it yourself")
        assert terminal.exit_code() == 0
    assert b"\x1b[?1049h" not in terminal.painted


@pytest.mark.parametrize("words", [[], ["chat"]])
def test_a_terminal_that_shows_only_lines_is_told_what_works_there(words: list[str]) -> None:
    with run_in_terminal(*PARLEY, *words, env={"TERM": "dumb"}) as terminal:
        terminal.until("use `parley run`")
        assert terminal.exit_code() == 2
    assert b"\x1b" not in terminal.painted


@pytest.mark.parametrize(
    ("variables", "colours"),
    [
        ({"TERM": "xterm"}, FEW_COLOURS),
        ({"TERM": "linux"}, FEW_COLOURS),
        ({"TERM": "screen-256color"}, MANY_COLOURS),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, TRUE_COLOUR),
    ],
)
def test_it_paints_with_the_colours_that_a_terminal_has(
    variables: dict[str, str], colours: re.Pattern[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLORTERM", raising=False)
    with run_in_terminal(
        "/usr/bin/env", "-u", "NO_COLOR", *PARLEY, "chat", env=variables
    ) as terminal:
        terminal.shows("ready", "Welcome to Parley")
        terminal.press("diff\r")
        terminal.shows("new world", "diff:done")
        terminal.press("\x04")
        assert terminal.exit_code() == 0
    assert colours.search(terminal.painted)
    better = {FEW_COLOURS: [MANY_COLOURS, TRUE_COLOUR], MANY_COLOURS: [TRUE_COLOUR]}
    assert not any(each.search(terminal.painted) for each in better.get(colours, []))


def test_without_colours_everything_is_told_by_signs_and_words() -> None:
    with run_in_terminal(*PARLEY, "chat", env=ON_TERMINAL) as terminal:
        terminal.shows("ready")
        terminal.press("diff\r")
        terminal.shows("- old world", "+ new world", "✓", "diff:done")
        terminal.press("perm\r")
        terminal.shows("May I?", "▸ 2 n  No", "Waiting for you")
        terminal.answer("Waiting for you", "n")
        terminal.shows("not allowed")
        terminal.press("\x04")
        assert terminal.exit_code() == 0
    for colours in (TRUE_COLOUR, MANY_COLOURS, re.compile(rb"\x1b\[[\d;]*[34][1-7][;m]")):
        assert not colours.search(terminal.painted)


def test_the_cursor_of_the_terminal_is_where_one_writes() -> None:
    with run_in_terminal(*PARLEY, "chat", env=ON_TERMINAL) as terminal:
        terminal.shows("ready")
        terminal.has_cursor_at(22, 3)
        terminal.press("hello")
        terminal.shows("> hello")
        terminal.has_cursor_at(22, 8)
        terminal.press("\x03\x04")
        assert terminal.exit_code() == 0


def test_a_link_is_opened_in_the_browser_of_the_user(tmp_path: Path) -> None:
    pipe, browser = tmp_path / "opened", tmp_path / "browser"
    os.mkfifo(pipe)
    opened = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    # One that ends at once looks to Python like one that could not be started.
    browser.write_text(f'#!/bin/sh\necho "$1" > "{pipe}"\nexec sleep 1\n')
    browser.chmod(0o700)
    with run_in_terminal(
        *PARLEY, "chat", env={**ON_TERMINAL, "BROWSER": f"{browser} %s &"}
    ) as terminal:
        terminal.shows("ready")
        terminal.press("look at https://example.org/page?q=1&r=$HOME\r")
        terminal.shows("echo: look at", "ready")
        terminal.press("/links\r")
        terminal.shows("Open a link")
        terminal.press("\r")
        terminal.shows("opened in the browser")
        terminal.press("\x04")
        assert terminal.exit_code() == 0
    assert select.select([opened], [], [], BOUND_SECONDS)[0]
    assert os.read(opened, 1000) == b"https://example.org/page?q=1&r=$HOME\n"
    os.close(opened)


def test_it_is_suspended_and_comes_back() -> None:
    with run_in_terminal("/bin/bash", "--norc", "--noprofile", "-i", env=ON_TERMINAL) as terminal:
        terminal.press(shlex.join([*PARLEY, "chat"]) + "\r")
        terminal.shows("ready")
        terminal.press("\x1bz")
        terminal.shows("Stopped")
        terminal.press("fg\r")
        terminal.shows("ready")
        terminal.press("plan\r")
        terminal.shows("plan:done")
        terminal.press("\x04")
        terminal.shows("resume with")
        terminal.press("exit\r")
        assert terminal.exit_code() == 0
