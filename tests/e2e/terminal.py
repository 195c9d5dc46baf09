"""A terminal with a program in it: what it paints can be waited for, and keys can be pressed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress

import pyte

from .command import PARLEY, fork_server
from .fork_server import ForkedProcess, is_forkable

BOUND_SECONDS = 300.0
PATIENCE_SECONDS = 20.0

# The program becomes the foreground of the terminal, so that Ctrl-C and hanging up reach it as from
# a real one. A suite that was started in the background ignores the first, with nohup the second,
# and children inherit that.
TAKE_TERMINAL = """
import fcntl, os, signal, sys, termios
for each in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    signal.signal(each, signal.SIG_DFL)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """What was painted so far, as bytes, and what of it can be seen."""

    def __init__(
        self,
        process: subprocess.Popen[bytes] | ForkedProcess,
        terminal: int,
        columns: int,
        lines: int,
    ) -> None:
        self.process = process
        self.painted = b""
        self._cells = pyte.Screen(columns, lines)
        self._stream = pyte.ByteStream(self._cells)
        self._cut = b""
        self._seen = 0
        self._terminal = terminal

    def press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def until(self, text: str) -> None:
        """Wait until a text is painted, behind the one that was waited for last."""
        end = time.monotonic() + BOUND_SECONDS
        while (at := self.painted.find(text.encode(), self._seen)) < 0:
            assert self._read(end), f"{text!r} did not come: {self.painted.decode()}"
        self._seen = at + len(text.encode())

    @property
    def output(self) -> str:
        """What was painted so far, without the progress line of slow steps."""
        return re.sub(r"\r\x1b\[K(?:… [^\r\n]*)?", "", self.painted.decode())

    @property
    def text(self) -> str:
        """What can be seen now."""
        return "\n".join(row.rstrip() for row in self._cells.display)

    @property
    def cursor(self) -> tuple[int, int]:
        """The row and the column of the cursor, from 0 on."""
        return self._cells.cursor.y, self._cells.cursor.x

    def shows(self, *texts: str) -> None:
        """Wait until all of these texts are on the screen at once, wherever their lines break.

        Where a line breaks depends on the path of the checkout, which many messages contain.
        """
        end = time.monotonic() + BOUND_SECONDS
        while missing := [each for each in texts if not self._has(each)]:
            assert self._read(end), f"{missing} did not come:\n{self.text}"

    def shows_no_more(self, text: str) -> None:
        """Wait until a text is no longer on the screen."""
        end = time.monotonic() + BOUND_SECONDS
        while self._has(text):
            assert self._read(end), f"{text!r} did not go:\n{self.text}"

    def _has(self, text: str) -> bool:
        """Return whether a text is on the screen; any white space matches any other."""
        return " ".join(text.split()) in " ".join(self.text.split())

    def has_cursor_at(self, row: int, column: int) -> None:
        """Wait until the cursor is somewhere."""
        end = time.monotonic() + BOUND_SECONDS
        while self.cursor != (row, column):
            assert self._read(end), f"the cursor is at {self.cursor}"

    def answer(self, question: str, keys: str) -> None:
        """Press keys until a question is not shown any more: keys that come too early do not count.

        They are pressed again only if nothing has been painted for long.
        """
        while question in self.text:
            self.until_quiet(0.5)
            self.press(keys)
            while question in self.text and self._is_readable(PATIENCE_SECONDS):
                assert self._read(time.monotonic() + BOUND_SECONDS)

    def leave(self) -> int:
        """Press Ctrl-C twice and return the exit code.

        The second Ctrl-C counts only if it comes soon after the first, which a busy machine does
        not promise. So both are pressed again if nothing has been painted for long.
        """
        while self.process.poll() is None:
            self.press("\x03")
            self.shows("again to leave")
            self.press("\x03")
            while self._is_readable(PATIENCE_SECONDS):
                if not self._read(time.monotonic() + BOUND_SECONDS):
                    return self.process.wait(BOUND_SECONDS)
        return self.process.wait(BOUND_SECONDS)

    def until_quiet(self, seconds: float) -> None:
        """Wait until nothing was painted for a while: who reads has had time to."""
        while self._is_readable(seconds):
            assert self._read(time.monotonic() + BOUND_SECONDS)

    def hang_up(self) -> int:
        """Close the terminal, as when a window is closed, and wait for the end."""
        os.close(self._terminal)
        return self.process.wait(BOUND_SECONDS)

    def exit_code(self) -> int:
        """Wait for the end."""
        end = time.monotonic() + BOUND_SECONDS
        while self._read(end):
            pass
        return self.process.wait(BOUND_SECONDS)

    def _is_readable(self, seconds: float) -> bool:
        """Wait until something is painted; False if nothing is, in this time."""
        return bool(select.select([self._terminal], [], [], seconds)[0])

    def _read(self, end: float) -> bool:
        ready = self._is_readable(max(0, end - time.monotonic()))
        assert ready, f"nothing comes any more:\n{self.text}"
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # the other side is closed
            return False
        self.painted += data
        self._paint(data)
        return bool(data)

    def _paint(self, data: bytes) -> None:
        """Paint bytes; the beginning of a sequence waits for more.

        pyte does not know the private sequences that begin with `<` and would write their ends.
        """
        data = self._cut + data
        self._cut = next((begin for begin in (b"\x1b[", b"\x1b") if data.endswith(begin)), b"")
        self._stream.feed(data.removesuffix(self._cut).replace(b"\x1b[<", b"\x1b[>"))


def _start(command: Sequence[str], terminal: int, env: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", TAKE_TERMINAL, *command],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
        env=env,
    )


@contextmanager
def run_in_terminal(
    *command: str, env: Mapping[str, str] | None = None, columns: int = 80, lines: int = 24
) -> Generator[Terminal]:
    """Run a command in a terminal; it is killed if it is still there at the end.

    `parley` is forked where that makes no difference; see `fork_server.py`.
    """
    own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    all_env = {**own, "NO_COLOR": "1", **(env or {})}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process: subprocess.Popen[bytes] | ForkedProcess
    if command[: len(PARLEY)] == PARLEY and is_forkable(env or {}):
        words, fds = command[len(PARLEY) :], (theirs, theirs, theirs)
        process = fork_server.start(words, fds, all_env, takes_terminal=True)
    else:
        process = _start(command, theirs, all_env)
    os.close(theirs)
    try:
        yield Terminal(process, ours, columns, lines)
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
        with suppress(OSError):  # it may have hung up
            os.close(ours)
