"""A recording as an agent on stdin and stdout."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time

from parley.recording._replay.agent import Action, AgentReplay, CloseOutput, Exit, Output
from parley.recording._replay.loading import LoadedRecording

from .reporting import Exit as ExitCode
from .reporting import Failure
from .tap_connection import end_like

__all__ = ["serve_replay"]

_MAX_LINE_BYTES = 64 * 1024 * 1024
_MAX_LINES = 1000
"""How many lines of the client may wait."""


def serve_replay(recording: LoadedRecording, speed: float | None) -> int:
    """Behave like the recorded agent until it exited; return its exit code."""
    if sys.stdin is not None and sys.stdin.isatty():
        hint = "this is an agent, which a program talks to over stdin and stdout"
        raise Failure(f"{hint}; see `parley replay --help`", ExitCode.USAGE)
    replay = AgentReplay(recording.items, speed=speed)
    lines: queue.Queue[bytes | None] = queue.Queue(_MAX_LINES)
    threading.Thread(target=_read_lines, args=(lines,), daemon=True).start()
    while True:
        for action in replay.actions(time.monotonic()):
            if isinstance(action, Exit):
                return _exit_code(action)
            _perform(action)
        at = replay.next_at()
        try:
            line = lines.get(timeout=None if at is None else max(0.0, at - time.monotonic()))
        except queue.Empty:
            continue
        if line is None:
            replay.receive_end(time.monotonic())
        else:
            replay.receive(line, time.monotonic())


def _read_lines(lines: queue.Queue[bytes | None]) -> None:
    """Read stdin to its end; what follows a line that is too long is not read."""
    # Not `sys.stdin`: Python cannot exit while a thread waits in it.
    with open(0, "rb", closefd=False) as file:
        while (line := file.readline(_MAX_LINE_BYTES)) and len(line) < _MAX_LINE_BYTES:
            lines.put(line.rstrip(b"\n"))
    lines.put(None)


def _perform(action: Action) -> None:
    if isinstance(action, CloseOutput):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
    elif isinstance(action, Output):
        _write(2 if action.source == "stderr" else 1, action.data)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError:
        if fd == 1:  # the client is gone; nobody misses stderr
            raise BrokenPipeError from None


def _exit_code(action: Exit) -> int:
    number = getattr(signal, action.signal or "", None)
    if isinstance(number, signal.Signals):
        return end_like(number)
    return action.code
