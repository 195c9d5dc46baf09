"""`parley nes demo` in a real terminal, with the engine that needs no model."""

from __future__ import annotations

import re
import time
from pathlib import Path

from tests.e2e.command import PARLEY, parley
from tests.e2e.terminal import BOUND_SECONDS, Terminal, run_in_terminal

TERM = {"TERM": "xterm-256color"}
DELETE = "\x1b[3~"
RIGHT = "\x1b[C"
SAVE, LEAVE = "\x13", "\x11"


def take_all(terminal: Terminal, line: str, lines: int) -> None:
    """Take what is suggested, until so many lines were added that look as a pattern says."""
    taken: dict[str, str] = {}
    while len(taken) < lines:
        end = time.monotonic() + BOUND_SECONDS
        while not (fresh := _added(terminal, line).items() - taken.items()):
            assert terminal._read(end)
        taken.update(fresh)
        terminal.press("\t")
        terminal.shows(*(f"{number}  {text}" for number, text in fresh))


def _added(terminal: Terminal, line: str) -> dict[str, str]:
    return dict(re.findall(rf"(\d+) \+ ({line})", terminal.text))


def test_the_hint_of_the_sample_keeps_its_promise() -> None:
    with run_in_terminal(*PARLEY, "nes", "demo", env=TERM, lines=36) as terminal:
        terminal.shows("Change debug to info")
        terminal.press(DELETE * 5 + "info")
        take_all(terminal, r' *log\.info\("\w+', 4)
        terminal.shows_no_more("log.debug")
        terminal.press(LEAVE)
        assert terminal.exit_code() == 0


def test_a_file_is_edited_and_saved(tmp_path: Path) -> None:
    file = tmp_path / "names.py"
    file.write_text("a = fetch('x', 1)\nb = fetch('y', 1)\nc = fetch('z', 1)\nd = fetch('w', 1)\n")
    with run_in_terminal(*PARLEY, "nes", "demo", str(file), env=TERM) as terminal:
        terminal.shows("names.py")
        terminal.press(RIGHT * 15 + DELETE + "2")
        terminal.shows("1  a = fetch('x', 2)")
        take_all(terminal, r"[b-d] = fetch\('\w', 2\)", 3)
        terminal.press(SAVE)
        terminal.until("names.py is saved.")
        terminal.press(LEAVE)
        assert terminal.exit_code() == 0
    assert [line[-4:] for line in file.read_text().splitlines()] == [", 2)"] * 4


def test_it_needs_a_terminal_and_a_file_that_it_can_edit(tmp_path: Path) -> None:
    piped = parley("nes", "demo")
    assert piped.returncode == 2
    assert "needs a terminal" in piped.stderr
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\x00")
    with run_in_terminal(*PARLEY, "nes", "demo", str(binary), env=TERM) as terminal:
        terminal.until("is not valid UTF-8 text")
        assert terminal.exit_code() == 2
