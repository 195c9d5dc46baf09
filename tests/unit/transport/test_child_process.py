from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from parley.transport._child_process import ProcessIdentity, escaped_descendants, signal_processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

LEAVING = """
import os, signal, subprocess, sys
script = "import os, signal; %s; print(os.getpid(), flush=True); signal.pause()"
for leave in ("0", "os.setpgid(0, 0)", "os.setsid()"):
    subprocess.Popen([sys.executable, "-S", "-c", script % leave])
    sys.stdin.readline()
signal.pause()
"""


def test_who_has_left_the_group_is_found_and_nobody_else() -> None:
    with subprocess.Popen(
        [sys.executable, "-S", "-c", LEAVING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        pids: list[int] = []
        for _ in range(3):
            pids.append(int(child.stdout.readline()))
            child.stdin.write(b"\n")
            child.stdin.flush()
        strays = escaped_descendants(child.pid)
        try:
            assert {each.pid for each in strays} == set(pids[1:])
            signal_processes(
                {ProcessIdentity(pid, started + 1) for pid, started in strays}, signal.SIGKILL
            )
            for pid in pids:
                os.kill(pid, 0)  # others under the same number are left alone
        finally:
            signal_processes(strays, signal.SIGKILL)
            os.killpg(child.pid, signal.SIGKILL)


def test_who_is_gone_is_not_there() -> None:
    with subprocess.Popen(["true"]) as child:
        pass
    assert not Path(f"/proc/{child.pid}").exists()
    assert escaped_descendants(child.pid) == set()
    signal_processes({ProcessIdentity(child.pid, 1)}, signal.SIGKILL)
