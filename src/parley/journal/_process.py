"""Which process runs a turn, and whether it still lives.

A process is identified by its number and its start time, because numbers are reused. Where the
system does not report the start time, the number has to do. On Windows only this process is known
to live: asking for another one there interrupts it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def this_process() -> str:
    """Return an identifier of this process that no other on the machine has."""
    pid = os.getpid()
    return f"{pid}:{_started(pid)}"


def is_alive(process: str) -> bool:
    """Return whether a process that `this_process` has named is still running."""
    number, _, started = process.partition(":")
    if not number.isdecimal() or not int(number):
        return False
    pid = int(number)
    if sys.platform == "win32":
        return pid == os.getpid()
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (ProcessLookupError, OverflowError):
        return False
    return _started(pid) == started


def _started(pid: int) -> str:
    """Return when a process was started, in ticks since the machine was; empty if unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    fields = stat.rpartition(b")")[2].split()  # the name before may hold anything
    return "" if fields[0] in b"ZX" else fields[19].decode()
