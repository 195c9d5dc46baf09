"""`parley` where its output goes nowhere: one sentence, an exit code, no traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .command import PARLEY

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("how", [[], ["--quiet"], ["--json"]])
def test_an_answer_that_cannot_be_written_is_told_in_a_sentence(how: list[str]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [*PARLEY, "run", "Hello", *how],
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "parley: cannot read or write here: No space left on device"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_one_that_nobody_reads(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *PARLEY, "run", "Hello"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == ("echo: Hello\n" if closed == "2>&-" else "")
    assert "Traceback" not in done.stderr
