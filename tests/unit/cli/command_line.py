"""`parley` in this process, for command lines without a terminal or an agent."""

from __future__ import annotations

import io
import logging
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

import pytest

from parley.cli import main

BOUND_SECONDS = 300.0
TRAP = "\x1b]52;c;QQ==\x07\x1b[2J\x9b6n\u202e"
"""The clipboard, the screen, a reply that the terminal types, and text that runs backwards."""


class CommandLine:
    """Runs commands, without a terminal, and captures what they write."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(
        self, *words: str, given: str = "", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command line with this on stdin, and these variables besides those of the test."""
        logger = logging.getLogger("parley")
        handlers = logger.handlers
        self._capsys.readouterr()
        with self._monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8"))
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            try:
                with _bounded():
                    code = main(words)
            except SystemExit as left:  # of argparse, after it has shown help
                code = int(left.code or 0)
            finally:
                logger.handlers = handlers
        written = self._capsys.readouterr()
        return subprocess.CompletedProcess(words, code, written.out, written.err)


@contextmanager
def _bounded() -> Generator[None]:
    """Raise `TimeoutError` in a command that does not end."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"the command did not end within {BOUND_SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, BOUND_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
