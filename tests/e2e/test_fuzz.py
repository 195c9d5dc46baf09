"""The fuzzer runs, for a bounded number of inputs; `make fuzz` runs it longer."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HAS_WHEEL = sys.platform == "linux" and platform.machine() == "x86_64"
"""Where atheris can be had, and so must be in CI."""


def _fuzz(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/fuzz.py", *options]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None and not (HAS_WHEEL and os.environ.get("CI")),
    reason="atheris is not installed; it has wheels for Linux on x86-64 only",
)
def test_10_000_mutated_inputs_break_nothing(tmp_path: Path) -> None:
    done = _fuzz("--runs", "10000", "--seconds", "200", "--seed", "1", "--home", str(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    ended = re.search(r"^Done (\d+) runs", done.stderr, re.MULTILINE)
    assert ended is not None, done.stderr[-3000:]
    assert int(ended[1]) in (10_000, 10_001), "libFuzzer sometimes counts one more"
    assert len(list((tmp_path / "corpus").iterdir())) > 400, "it kept what reached something new"


def test_what_the_fuzzer_begins_with_holds() -> None:
    done = _fuzz("--replay")
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"(\d+) inputs hold\n", done.stdout)
    assert found is not None
    assert int(found[1]) > 400


def test_an_input_that_breaks_something_can_be_replayed(tmp_path: Path) -> None:
    program = tmp_path / "break.py"
    program.write_text(
        "import sys; sys.path.insert(0, 'scripts')\n"
        "import fuzz, fuzz_target\n"
        "fuzz_target.FrameSplitter.feed = lambda self, data: [data]\n"
        "fuzz.main(['--replay', sys.argv[1]])\n"
    )
    broken = tmp_path / "input"
    broken.write_bytes(b"\x01{}\n{}\n")
    done = subprocess.run(
        [sys.executable, str(program), str(broken)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "AssertionError: pieces matter" in done.stderr
