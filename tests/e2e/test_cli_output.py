"""`parley` where its output goes nowhere: one sentence, an exit code, no traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from parley.testing.scripted import Respond

from .command import PARLEY, opening, parley, scripted, update

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
            timeout=300,
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
        timeout=300,
        check=False,
    )
    assert done.returncode == 0
    assert done.stdout == ("echo: Hello\n" if closed == "2>&-" else "")
    assert "Traceback" not in done.stderr


def test_a_complaint_that_an_agent_causes_often_is_counted(tmp_path: Path) -> None:
    bad = [update(sessionUpdate="tool_call", toolCallId=number) for number in range(300)]
    end = Respond({"stopReason": "end_turn"}, to="prompt")
    done = parley("run", "x", "-a", scripted(tmp_path, *opening(), *bad, end))
    lines = done.stderr.splitlines()
    assert len(lines) < 10, lines
    assert lines[-1].startswith("parley: 300 times by now, such as: ")
