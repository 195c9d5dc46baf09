"""The line that says what is waited for: when it appears, and that questions are safe from it."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable

import pytest

from parley.cli.held_stderr import hold_stderr
from parley.cli.progress_line import ProgressLine


class FakeTerminal(io.StringIO):
    """Stderr as a terminal."""

    def isatty(self) -> bool:
        return True


class Timers:
    """Collects what is to be called later, and calls it when a test wants it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.due: list[tuple[asyncio.TimerHandle, Callable[[], object]]] = []
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", self._call_later)
        self._loop = loop

    def _call_later(self, delay: float, callback: Callable[[], object]) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(self._loop.time() + delay, callback, (), self._loop)
        self.due.append((handle, callback))
        return handle

    def run(self) -> None:
        """Call what is due now; what that starts is due next."""
        due, self.due = self.due, []
        for handle, callback in due:
            if not handle.cancelled():
                callback()


def open_terminal(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    stderr = FakeTerminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    return stderr


async def test_it_appears_after_a_silence_and_goes_before_anything_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = open_terminal(monkeypatch)
    timers = Timers(monkeypatch)
    line = ProgressLine()
    line.wait("waiting for it")
    assert terminal.getvalue() == ""
    timers.run()
    assert terminal.getvalue() == "\r\x1b[K… waiting for it (0 s)"
    line.clear()
    assert terminal.getvalue().endswith("(0 s)\r\x1b[K")
    line.wait("")
    timers.run()
    assert terminal.getvalue().endswith("\r\x1b[K")


async def test_it_never_appears_while_a_question_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = open_terminal(monkeypatch)
    timers = Timers(monkeypatch)
    line = ProgressLine()
    line.wait("waiting for it")
    with hold_stderr():
        for _ in range(5):
            timers.run()
        assert terminal.getvalue() == ""
    timers.run()
    assert terminal.getvalue() == "\r\x1b[K… waiting for it (0 s)"
