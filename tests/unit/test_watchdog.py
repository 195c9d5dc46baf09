"""Child processes end with this process, even if it is killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parley.transport._child_process import ChildProcess, child_environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")

PARENT = """
import asyncio, os, sys
from parley.transport._child_process import ChildProcess, child_environment

async def main():
    into = os.open(sys.argv[1], os.O_WRONLY)
    nothing = os.open(os.devnull, os.O_RDWR)
    command = [sys.executable, "-c", sys.argv[2]]
    child = await ChildProcess.start(
        command, cwd=None, env=child_environment(), files=(nothing, into, nothing)
    )
    os.close(into)
    await child.exited

asyncio.run(main())
"""
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.requirement("SAFE-LIVE-02")
def test_a_killed_parent_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "held"
    os.mkfifo(path)
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(path), STUBBORN])
    with path.open() as held:
        assert held.readline() == "ready\n"
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        # The pipe closes when the child and the grandchild, which both ignore us, are gone.
        assert held.read() == ""


async def test_a_group_that_has_ended_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[tuple[str, int]] = []

    def watched(pid: int) -> None:
        received.append(("+", pid))

    def forgotten(pid: int) -> None:
        received.append(("-", pid))

    monkeypatch.setattr("parley._watchdog.watch", watched)
    monkeypatch.setattr("parley._watchdog.forget", forgotten)
    nothing = os.open(os.devnull, os.O_RDWR)
    child = await ChildProcess.start(
        ["true"], cwd=None, env=child_environment(), files=(nothing, nothing, nothing)
    )
    os.close(nothing)
    await child.exited
    child.close()
    child.close()
    assert received == [("+", child.pid), ("-", child.pid)]


SEVERAL = """
import os, signal, subprocess, sys
from parley import _watchdog as watchdog

def start():
    return subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=1)

first, second, third = start(), start(), start()
watchdog.watch(first.pid)
os.kill(watchdog._watchdog._pid, signal.SIGKILL)
os.waitpid(watchdog._watchdog._pid, 0)
watchdog.watch(second.pid)
watchdog.watch(third.pid)
watchdog.forget(third.pid)
watchdog.forget(third.pid)
watchdog.forget(2**30)
if os.fork() == 0:
    os._exit(0 if watchdog._watchdog._pid is None else 1)
assert os.wait()[1] == 0
print(first.pid, second.pid, third.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_watchdog_that_is_gone_is_followed_by_another_and_what_is_forgotten_stays() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SEVERAL], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        *watched, forgotten = map(int, parent.stdout.readline().split())
        try:
            for pid in watched:
                _until_gone(pid)
            os.kill(forgotten, 0)
        finally:
            os.kill(forgotten, signal.SIGKILL)


def _until_gone(pid: int) -> None:
    """Wait for the end of a process that is nobody's child here."""
    if not hasattr(os, "pidfd_open"):
        pytest.skip("this system cannot wait for another's child")
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], 10)[0], f"{pid} is still there"
    finally:
        os.close(fd)
