from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from parley.nes._eval.process import peak_bytes


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells it so")
def test_the_memory_of_a_process_counts_with_that_of_its_children() -> None:
    alone = peak_bytes(os.getpid())
    assert alone > 1 << 20
    child = subprocess.Popen(
        [sys.executable, "-c", "print(1, flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"1\n"
    assert peak_bytes(os.getpid()) >= alone + peak_bytes(child.pid)
    assert peak_bytes(child.pid) > 0
    child.communicate(b"\n", timeout=300)
    assert peak_bytes(child.pid) == 0
